// TorchScript's functions on numbers, and its questions about tensors, which run nothing.
#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "readers/printable.hpp"
#include "readers/torch/call.hpp"
#include "readers/torch/script_numbers.hpp"
#include "readers/torch/script_run.hpp"

namespace forerun::pytorch {
namespace {

// c10's number of an element type.
std::int64_t number_of(DType type) {
  for (std::int64_t number = 0; number < 48; ++number) {
    if (dtype_of_number(number) == type) return number;
  }
  return 6;
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

}  // namespace forerun::pytorch
