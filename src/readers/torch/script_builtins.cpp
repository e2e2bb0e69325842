// What TorchScript computes on numbers, lists and dictionaries, and what it asks of tensors without running anything.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "readers/printable.hpp"
#include "readers/torch/call.hpp"
#include "readers/torch/script_run.hpp"

namespace forerun::pytorch {
namespace {

constexpr std::int64_t kMaxListed = 1'000'000;

bool is_number(const Argument& value) {
  return value.as<std::int64_t>() != nullptr || value.as<double>() != nullptr || value.as<bool>() != nullptr;
}
bool is_whole(const Argument& value) { return value.as<std::int64_t>() != nullptr || value.as<bool>() != nullptr; }

std::int64_t wrapped(std::uint64_t value) { return std::int64_t(value); }

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == -1) return wrapped(0 - std::uint64_t(a));
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::optional<Argument> whole_arithmetic(std::string_view name, std::int64_t a, std::int64_t b) {
  const auto ua = std::uint64_t(a), ub = std::uint64_t(b);
  if (name == "add") return Argument{wrapped(ua + ub)};
  if (name == "sub") return Argument{wrapped(ua - ub)};
  if (name == "mul") return Argument{wrapped(ua * ub)};
  if (name == "max") return Argument{std::max(a, b)};
  if (name == "min") return Argument{std::min(a, b)};
  if (name == "__and__") return Argument{a & b};
  if (name == "__or__") return Argument{a | b};
  if (name == "__xor__") return Argument{a ^ b};
  if (name == "floordiv" || name == "floor_divide" || name == "remainder") {
    if (b == 0) return std::nullopt;
    const std::int64_t quotient = floor_divide(a, b);
    return Argument{name == "remainder" ? wrapped(ua - std::uint64_t(quotient) * ub) : quotient};
  }
  if (name == "div" && b != 0) return Argument{double(a) / double(b)};
  return std::nullopt;
}

std::optional<Argument> real_arithmetic(std::string_view name, double a, double b) {
  if (name == "add") return Argument{a + b};
  if (name == "sub") return Argument{a - b};
  if (name == "mul") return Argument{a * b};
  if (name == "max") return Argument{std::max(a, b)};
  if (name == "min") return Argument{std::min(a, b)};
  if (name == "pow") return Argument{std::pow(a, b)};
  if (b == 0) return std::nullopt;
  if (name == "div") return Argument{a / b};
  if (name == "floordiv") return Argument{std::floor(a / b)};
  if (name == "remainder") return Argument{a - std::floor(a / b) * b};
  return std::nullopt;
}

std::optional<bool> compare(std::string_view name, double a, double b) {
  if (name == "eq") return a == b;
  if (name == "ne") return a != b;
  if (name == "lt") return a < b;
  if (name == "le") return a <= b;
  if (name == "gt") return a > b;
  if (name == "ge") return a >= b;
  return std::nullopt;
}

std::optional<Argument> unary(std::string_view name, const Argument& value) {
  const auto real = real_of(value);
  const auto whole = integer_of(value);
  if (name == "neg") return is_whole(value) ? Argument{wrapped(0 - std::uint64_t(*whole))} : Argument{-*real};
  if (name == "sqrt") return Argument{std::sqrt(*real)};
  if (name == "floor" || name == "ceil" || name == "round") {
    const double result = name == "floor"  ? std::floor(*real)
                          : name == "ceil" ? std::ceil(*real)
                                           : std::nearbyint(*real);
    if (std::abs(result) < 9e15) return Argument{std::int64_t(result)};
  }
  if (name == "abs") return is_whole(value) && *whole >= 0 ? Argument{*whole} : Argument{std::abs(*real)};
  if (name == "exp") return Argument{std::exp(*real)};
  if (name == "log") return Argument{std::log(*real)};
  return std::nullopt;
}

// Numbers, texts and lists of them; nullopt when it is known only at run time.
std::optional<bool> equal(const Argument& a, const Argument& b) {
  if (a.as<AtRunTime>() != nullptr || b.as<AtRunTime>() != nullptr) return std::nullopt;
  if (is_number(a) && is_number(b)) return real_of(a) == real_of(b);
  const auto* text = a.as<std::string>();
  if (text != nullptr) return b.as<std::string>() != nullptr && *text == *b.as<std::string>();
  const List* x = a.as<List>();
  const List* y = b.as<List>();
  if (x == nullptr || y == nullptr) return a.is_none() && b.is_none();
  if ((*x)->size() != (*y)->size()) return false;
  for (std::size_t i = 0; i < (*x)->size(); ++i) {
    if (is_number((**x)[i]) != is_number((**y)[i])) return std::nullopt;
    if (is_number((**x)[i]) && real_of((**x)[i]) != real_of((**y)[i])) return false;
  }
  return true;
}

// c10's number of an element type.
std::int64_t number_of(DType type) {
  for (std::int64_t number = 0; number < 48; ++number) {
    if (dtype_of_number(number) == type) return number;
  }
  return 6;
}

std::optional<std::size_t> place_in(const Argument& index, std::size_t size) {
  const auto* number = index.as<std::int64_t>();
  if (number == nullptr) return std::nullopt;
  const std::int64_t at = *number < 0 ? *number + std::int64_t(size) : *number;
  return at >= 0 && at < std::int64_t(size) ? std::optional(std::size_t(at)) : std::nullopt;
}

std::string shown(const Argument& value) {
  if (const auto* text = value.as<std::string>()) return *text;
  if (const auto* number = value.as<std::int64_t>()) return std::to_string(*number);
  if (const auto* flag = value.as<bool>()) return *flag ? "True" : "False";
  if (const auto real = real_of(value)) return std::to_string(*real);
  const List* list = value.as<List>();
  if (list == nullptr) return value.is_none() ? "None" : "…";
  std::string text = "[";
  for (const Argument& item : **list) {
    if (text.size() > 200) break;
    text += (text.size() > 1 ? ", " : "") + (item.as<List>() != nullptr ? std::string("…") : shown(item));
  }
  return text + "]";
}

}  // namespace

std::optional<bool> ScriptRun::truth(const Argument& value) const {
  if (const auto number = real_of(value)) return *number != 0;
  if (value.is_none()) return false;
  if (const List* list = value.as<List>()) return !(*list)->empty();
  if (const auto* text = value.as<std::string>()) return !text->empty();
  const auto* tensor = value.as<Tensor>();
  if (tensor == nullptr) return std::nullopt;
  const auto& literal = writer_.value(tensor->id).literal;
  if (literal && literal->ints.size() == 1) return literal->ints[0] != 0;
  if (literal && literal->reals.size() == 1) return literal->reals[0] != 0;
  return std::nullopt;
}

// Does `value` hold the container, at any depth? Values that hold themselves would never be freed.
bool ScriptRun::holds(const Argument& value, const void* container, int depth) {
  const List* list = value.as<List>();
  const Object* object = value.as<Object>();
  if (list == nullptr && object == nullptr) return false;
  if (++steps_; depth > 64) return true;
  if (list != nullptr) {
    if (list->get() == container) return true;
    return std::any_of((*list)->begin(), (*list)->end(),
                       [&](const Argument& item) { return holds(item, container, depth + 1); });
  }
  if (object->get() == container) return true;
  for (const auto& [name, item] : (*object)->attributes) {
    if (holds(item, container, depth + 1)) return true;
  }
  return std::any_of((*object)->entries.begin(), (*object)->entries.end(), [&](const auto& entry) {
    return holds(entry.first, container, depth + 1) || holds(entry.second, container, depth + 1);
  });
}

// A condition on data: the branch that does not raise an error, else the first.
bool ScriptRun::assume(const Statement& statement) {
  const auto raises = [](const std::vector<Statement>& body) {
    return !body.empty() && body[0].kind == Statement::Kind::Expression && body[0].value.kind == Expr::Kind::Call &&
           body[0].value.children[0].text == "RaiseException";
  };
  if (raises(statement.body)) return false;
  if (!raises(statement.otherwise))
    warnings_.push_back("a condition depends on data: its first branch is assumed (" + file_ + " line " +
                        std::to_string(statement.line) + ")");
  return true;
}

Result<Argument> ScriptRun::item_at(const Argument& of, const Argument& index) {
  if (const List* list = of.as<List>()) {
    if (index.as<AtRunTime>() != nullptr && !(*list)->empty()) return (*list)->front();
    const auto place = place_in(index, (*list)->size());
    if (!place) return wrong("an item is taken that the list does not have");
    const auto* stored = (**list)[*place].as<Stored>();
    return stored != nullptr ? tensor_of(stored->index) : (**list)[*place];
  }
  if (const Object* object = of.as<Object>(); object != nullptr && (*object)->form == ScriptObject::Form::Dictionary) {
    for (const auto& [key, value] : (*object)->entries) {
      if (equal(key, index).value_or(false)) return value;
    }
    return wrong("a key is not in the dictionary");
  }
  if (of.as<Tensor>() != nullptr) {
    Arguments arguments;
    arguments.values = {of, {std::int64_t{0}}, index};
    arguments.keywords.resize(3);
    return call_operator("aten", "select", std::move(arguments));
  }
  return wrong("an item is taken of what is no list");
}

// nullopt when the name means an operator on tensors.
std::optional<Result<Argument>> ScriptRun::builtin(const std::string& name, const Arguments& arguments) {
  if (auto result = language(name, arguments)) return result;
  const bool is_operator = name.starts_with("torch.") || name.starts_with("ops.prim.") || name.starts_with("ops.aten.");
  if (!is_operator) return std::nullopt;
  const std::string_view own = std::string_view(name).substr(name.rfind('.') + 1);
  const std::vector<Argument>& values = arguments.values;
  if (auto result = on_tensor(std::string(own), arguments)) return result;
  if (values.empty()) return std::nullopt;
  const bool any_tensor =
      std::any_of(values.begin(), values.end(), [](const Argument& value) { return value.as<Tensor>() != nullptr; });
  const List* list = values[0].as<List>();
  if (list != nullptr) {
    if (auto result = on_list(std::string(own), arguments)) return result;
  }
  if (auto result = on_dictionary(std::string(own), arguments)) return result;
  if (any_tensor) return std::nullopt;
  // Numbers.
  if (own == "__not__") {
    const auto known = truth(values[0]);
    return known ? Argument{!*known} : Argument{AtRunTime{}};
  }
  const bool unknown =
      std::any_of(values.begin(), values.end(), [](const Argument& value) { return value.as<AtRunTime>() != nullptr; });
  if (unknown) return Argument{AtRunTime{}};
  if ((own == "eq" || own == "ne") && values.size() == 2) {
    const auto same = equal(values[0], values[1]);
    return same ? Argument{(own == "eq") == *same} : Argument{AtRunTime{}};
  }
  if (values.size() == 1 && is_number(values[0])) {
    if (auto result = unary(own, values[0])) return Result<Argument>(*result);
  }
  if (values.size() != 2 || !is_number(values[0]) || !is_number(values[1])) return std::nullopt;
  const double a = *real_of(values[0]), b = *real_of(values[1]);
  if (const auto result = compare(own, a, b)) return Result<Argument>(Argument{*result});
  if (own == "__and__" && values[0].as<bool>() != nullptr) return Result<Argument>(Argument{a != 0 && b != 0});
  if (own == "__or__" && values[0].as<bool>() != nullptr) return Result<Argument>(Argument{a != 0 || b != 0});
  if (is_whole(values[0]) && is_whole(values[1])) {
    if (auto result = whole_arithmetic(own, *integer_of(values[0]), *integer_of(values[1])))
      return Result<Argument>(*result);
  }
  if (auto result = real_arithmetic(own, a, b)) return Result<Argument>(*result);
  return Result<Argument>(wrong("the numbers given to " + in_quotes(own) + " do not fit it"));
}

// Python's own functions and what the serialiser adds to them.
std::optional<Result<Argument>> ScriptRun::language(const std::string& name, const Arguments& arguments) {
  const std::vector<Argument>& values = arguments.values;
  const auto give = [](Argument value) { return std::optional<Result<Argument>>(std::move(value)); };
  if (name.ends_with(".__new__")) {
    auto object = std::make_shared<ScriptObject>();
    object->name = name.substr(0, name.size() - 8);
    return give({std::move(object)});
  }
  if (name == "ops.prim.RaiseException")
    return Result<Argument>(wrong("the network raises " + in_quotes(values.empty() ? "" : shown(values[0]))));
  if (name == "torch.warn" || name == "torch.manual_seed" || name == "torch.save" || name == "print") return give({});
  if (name == "torch.device" || name == "torch.Generator") return give({std::string("cpu")});
  if (name == "range") {
    std::int64_t begin = 0, end = 0, step = 1;
    for (const Argument& value : values) {
      if (value.as<std::int64_t>() == nullptr) return give({AtRunTime{}});
    }
    if (values.empty() || values.size() > 3) return Result<Argument>(wrong("a range without an end"));
    if (values.size() > 1) begin = *values[0].as<std::int64_t>();
    end = *values[values.size() > 1 ? 1 : 0].as<std::int64_t>();
    if (values.size() == 3) step = *values[2].as<std::int64_t>();
    if (step == 0 || double(end) - double(begin) > double(kMaxListed) ||
        double(begin) - double(end) > double(kMaxListed))
      return Result<Argument>(wrong("a loop has too many steps"));
    std::vector<Argument> items;
    for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) items.push_back({i});
    steps_ += std::int64_t(items.size());
    return give(make_list(std::move(items)));
  }
  if (values.empty()) return std::nullopt;
  const Argument& first = values[0];
  if (name == "getattr" && values.size() >= 2 && values[1].as<std::string>() != nullptr)
    return attribute(first, *values[1].as<std::string>());
  if (name == "isinstance") return give({true});
  if (name == "bool" || name == "torch.Bool" || name == "ops.aten.Bool") {
    const auto known = truth(first);
    return give(known ? Argument{*known} : Argument{AtRunTime{}});
  }
  const bool to_int = name == "int" || name == "torch.Int" || name == "ops.aten.Int" || name == "ops.aten.IntImplicit";
  const bool to_float = name == "float" || name == "torch.Float" || name == "ops.aten.Float" ||
                        name == "ops.aten.ScalarImplicit" || name == "ops.aten.FloatImplicit";
  if (!to_int && !to_float) return std::nullopt;
  if (const auto* tensor = first.as<Tensor>()) {
    const auto& literal = writer_.value(tensor->id).literal;
    if (!literal || literal->ints.size() + literal->reals.size() != 1) return give({AtRunTime{}});
    const double value = literal->ints.empty() ? literal->reals[0] : double(literal->ints[0]);
    if (to_float) return give({value});
    return give(literal->ints.empty() ? Argument{std::int64_t(std::clamp(value, -9e15, 9e15))}
                                      : Argument{literal->ints[0]});
  }
  if (const auto* text = first.as<std::string>(); text != nullptr && to_float)
    return give({text->find("inf") == std::string::npos ? 0.0 : text->front() == '-' ? -HUGE_VAL : HUGE_VAL});
  const auto real = real_of(first);
  if (!real) return give({AtRunTime{}});
  if (to_float) return give({*real});
  const auto whole = integer_of(first);
  return give(whole ? Argument{*whole} : Argument{AtRunTime{}});
}

// Questions about a tensor that its shape and type answer.
std::optional<Result<Argument>> ScriptRun::on_tensor(const std::string& name, const Arguments& arguments) {
  const std::vector<Argument>& values = arguments.values;
  const auto give = [](Argument value) { return std::optional<Result<Argument>>(std::move(value)); };
  if (name == "tensor" || name == "as_tensor" || name == "NumToTensor") return new_tensor(arguments);
  if (values.empty()) return std::nullopt;
  if ((name == "__is__" || name == "__isnot__") && values.size() == 2) {
    const bool same = values[0].is_none() && values[1].is_none();
    return give({name == "__is__" ? same : !same});
  }
  const auto* tensor = values[0].as<Tensor>();
  if (tensor == nullptr) return std::nullopt;
  const Value& value = writer_.value(tensor->id);
  if (name == "dtype") return give({number_of(value.dtype)});
  if (name == "device" || name == "layout") return give({std::string("cpu")});
  if (name == "is_floating_point") return give({is_floating(value.dtype)});
  if (name == "is_cuda" || name == "requires_grad" || name == "is_complex" || name == "is_nested" ||
      name == "is_quantized" || name == "is_sparse" || name == "is_mkldnn" || name == "is_mps")
    return give({false});
  if (name == "is_contiguous") return give({true});
  if (name != "dim" && name != "size" && name != "shape" && name != "numel" && name != "len" && name != "ndim" &&
      name != "sym_size")
    return std::nullopt;
  const Dims* dims = writer_.shape(tensor->id);
  if (dims == nullptr)
    return Result<Argument>(wrong("the shape of " + in_quotes(value.name) + " is needed and not known"));
  if (name == "dim" || name == "ndim") return give({std::int64_t(dims->size())});
  if (name == "numel") return give({checked_product(*dims)});
  if (name == "len") return give({dims->empty() ? std::int64_t{0} : dims->front()});
  if (values.size() > 1) {
    const auto place = place_in(values[1], dims->size());
    if (!place) return Result<Argument>(wrong("a size is asked for of a dimension that is not there"));
    return give({(*dims)[*place]});
  }
  std::vector<Argument> sizes;
  for (const std::int64_t size : *dims) sizes.push_back({size});
  return give(make_list(std::move(sizes)));
}

// torch.tensor: nested lists of numbers, or one number.
Result<Argument> ScriptRun::new_tensor(const Arguments& arguments) {
  if (arguments.values.empty()) return wrong("a tensor is made of nothing");
  const Argument* level = &arguments.values[0];
  if (level->as<Tensor>() != nullptr) return *level;
  Dims dims;
  std::vector<Argument> flat = {*level};
  while (!flat.empty() && flat.front().as<List>() != nullptr && dims.size() < 16) {
    std::vector<Argument> inner;
    dims.push_back(std::int64_t((*flat.front().as<List>())->size()));
    for (const Argument& item : flat) {
      const List* list = item.as<List>();
      if (list == nullptr || std::int64_t((*list)->size()) != dims.back()) return wrong("a tensor's rows differ");
      if (inner.size() + (*list)->size() > std::size_t(kMaxListed)) return wrong("a tensor of too many numbers");
      inner.insert(inner.end(), (*list)->begin(), (*list)->end());
    }
    flat = std::move(inner);
  }
  bool real = false, known = true;
  Literal literal;
  for (const Argument& item : flat) real = real || item.as<double>() != nullptr;
  for (const Argument& item : flat) {
    const auto number = real_of(item);
    known = known && number.has_value();
    if (real) {
      literal.reals.push_back(number.value_or(0));
    } else {
      literal.ints.push_back(integer_of(item).value_or(0));
    }
  }
  DType type = real ? DType::Float32 : !flat.empty() && flat[0].as<bool>() != nullptr ? DType::Bool : DType::Int64;
  for (std::size_t i = 0; i < arguments.values.size(); ++i) {
    const auto* number = arguments.values[i].as<std::int64_t>();
    const bool names_type = arguments.keywords[i] == "dtype" || (i == 1 && arguments.keywords[i].empty());
    if (names_type && number != nullptr && dtype_of_number(*number) != DType::Undefined)
      type = dtype_of_number(*number);
  }
  if (is_floating(type) && literal.reals.empty()) {
    literal.reals.assign(literal.ints.begin(), literal.ints.end());
    literal.ints.clear();
  }
  known = known && std::int64_t(flat.size()) <= kMaxLiteralElements && is_floating(type) == !literal.reals.empty();
  const ValueId id = writer_.add_value("tensor", type, dims, ValueRole::Constant);
  if (known && !flat.empty()) writer_.value(id).literal = std::move(literal);
  return Argument{Tensor{id}};
}

std::optional<Result<Argument>> ScriptRun::on_list(const std::string& name, const Arguments& arguments) {
  const std::vector<Argument>& values = arguments.values;
  const List list = *values[0].as<List>();
  const auto give = [](Argument value) { return std::optional<Result<Argument>>(std::move(value)); };
  if (std::int64_t(list->size()) > kMaxListed) return Result<Argument>(wrong("a list grows too long"));
  if (name == "len") return give({std::int64_t(list->size())});
  if (name == "list" || name == "copy" || name == "_tensor_to_list") return give(make_list(*list));
  if (name == "__getitem__" && values.size() == 2) return item_at(values[0], values[1]);
  if (name == "append" && values.size() == 2) {
    if (holds(values[1], list.get(), 0)) return Result<Argument>(wrong("a list is put into itself"));
    list->push_back(values[1]);
    return give(values[0]);
  }
  if ((name == "extend" || name == "add_" || name == "add") && values.size() == 2 && values[1].as<List>() != nullptr) {
    std::vector<Argument> joined = *list;
    const std::vector<Argument>& more = **values[1].as<List>();
    if (name != "add" && holds(values[1], list.get(), 0)) return Result<Argument>(wrong("a list is put into itself"));
    joined.insert(joined.end(), more.begin(), more.end());
    steps_ += std::int64_t(joined.size());
    if (name == "add") return give(make_list(std::move(joined)));
    *list = std::move(joined);
    return give(values[0]);
  }
  if (name == "mul" && values.size() == 2 && values[1].as<std::int64_t>() != nullptr) {
    std::vector<Argument> repeated;
    const std::int64_t times = std::clamp<std::int64_t>(*values[1].as<std::int64_t>(), 0, kMaxListed);
    if (checked_mul(times, std::int64_t(list->size())) > kMaxListed)
      return Result<Argument>(wrong("a list grows too long"));
    for (std::int64_t i = 0; i < times; ++i) repeated.insert(repeated.end(), list->begin(), list->end());
    steps_ += std::int64_t(repeated.size());
    return give(make_list(std::move(repeated)));
  }
  if (name == "_set_item" && values.size() == 3) {
    const auto place = place_in(values[1], list->size());
    if (!place) return Result<Argument>(wrong("an item is set that the list does not have"));
    if (holds(values[2], list.get(), 0)) return Result<Argument>(wrong("a list is put into itself"));
    (*list)[*place] = values[2];
    return give(values[0]);
  }
  if (name == "pop" && !list->empty()) {
    Argument last = list->back();
    list->pop_back();
    return give(std::move(last));
  }
  if (name == "__contains__" && values.size() == 2)
    return give({std::any_of(list->begin(), list->end(),
                             [&](const Argument& item) { return equal(item, values[1]).value_or(false); })});
  if (name == "slice") {
    const auto number = [&](std::size_t i, std::int64_t fallback) {
      return i < values.size() && values[i].as<std::int64_t>() != nullptr ? *values[i].as<std::int64_t>() : fallback;
    };
    const auto size = std::int64_t(list->size());
    const auto clip = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size); };
    const std::int64_t step = std::max<std::int64_t>(1, number(3, 1));
    std::vector<Argument> items;
    for (std::int64_t i = clip(number(1, 0)); i < clip(number(2, size)); i += step)
      items.push_back((*list)[std::size_t(i)]);
    steps_ += std::int64_t(items.size());
    return give(make_list(std::move(items)));
  }
  if ((name == "max" || name == "min") && values.size() == 1 && !list->empty()) {
    Argument best = list->front();
    for (const Argument& item : *list) {
      if (!is_number(item) || !is_number(best)) return give({AtRunTime{}});
      if (name == "max" ? *real_of(item) > *real_of(best) : *real_of(item) < *real_of(best)) best = item;
    }
    return give(best);
  }
  return std::nullopt;
}

std::optional<Result<Argument>> ScriptRun::on_dictionary(const std::string& name, const Arguments& arguments) {
  const std::vector<Argument>& values = arguments.values;
  const auto give = [](Argument value) { return std::optional<Result<Argument>>(std::move(value)); };
  if (name == "format") {
    const auto* text = values[0].as<std::string>();
    std::string result;
    std::size_t next = 1;
    for (std::size_t i = 0; text != nullptr && i < text->size() && result.size() < 1000; ++i) {
      const bool slot = (*text)[i] == '{' && i + 1 < text->size() && (*text)[i + 1] == '}';
      result += slot ? (next < values.size() ? shown(values[next++]) : "") : std::string(1, (*text)[i]);
      if (slot) ++i;
    }
    return give({std::move(result)});
  }
  if (name == "__range_length" && values.size() == 3) {
    const auto low = integer_of(values[0]), high = integer_of(values[1]), step = integer_of(values[2]);
    if (!low || !high || !step || *step == 0) return give({AtRunTime{}});
    const double span = std::ceil((double(*high) - double(*low)) / double(*step));
    return give({std::int64_t(std::clamp(span, 0.0, 9e15))});
  }
  if (name == "__derive_index" && values.size() == 3) {
    const auto index = integer_of(values[0]), start = integer_of(values[1]), step = integer_of(values[2]);
    if (!index || !start || !step) return give({AtRunTime{}});
    return give({wrapped(std::uint64_t(*start) + std::uint64_t(*index) * std::uint64_t(*step))});
  }
  if (name == "str") return give({shown(values[0])});
  const Object* object = values[0].as<Object>();
  if (object == nullptr || (*object)->form != ScriptObject::Form::Dictionary) return std::nullopt;
  auto& entries = (*object)->entries;
  if (name == "len") return give({std::int64_t(entries.size())});
  if (name == "__getitem__" && values.size() == 2) return item_at(values[0], values[1]);
  if (name == "_set_item" && values.size() == 3) {
    if (holds(values[2], object->get(), 0) || holds(values[1], object->get(), 0))
      return Result<Argument>(wrong("a dictionary is put into itself"));
    for (auto& [key, value] : entries) {
      if (!equal(key, values[1]).value_or(false)) continue;
      value = values[2];
      return give({});
    }
    entries.emplace_back(values[1], values[2]);
    return give({});
  }
  const auto find = [&]() {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const auto& entry) { return equal(entry.first, values[1]).value_or(false); });
  };
  if (name == "__contains__" && values.size() == 2) return give({find() != entries.end()});
  if (name == "get" && values.size() >= 2) {
    const auto found = find();
    return give(found != entries.end() ? found->second : values.size() > 2 ? values[2] : Argument{});
  }
  std::vector<Argument> items;
  for (const auto& [key, value] : entries) {
    if (name == "keys") items.push_back(key);
    if (name == "values") items.push_back(value);
    if (name == "items") items.push_back(make_list({key, value}));
  }
  if (name == "keys" || name == "values" || name == "items") return give(make_list(std::move(items)));
  return std::nullopt;
}

}  // namespace forerun::pytorch
