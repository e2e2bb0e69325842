#include "readers/torch/call.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"
#include "ops/rule_context.hpp"
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

constexpr std::size_t kMaxListed = 65536;  // numbers of one argument
const Dims kNoDims;

// The place of `name` among a row's space-separated parameters.
std::size_t place_of(std::string_view parameters, std::string_view name) {
  std::size_t place = 0;
  while (!parameters.empty()) {
    const std::size_t space = std::min(parameters.find(' '), parameters.size());
    if (parameters.substr(0, space) == name) return place;
    parameters.remove_prefix(std::min(parameters.size(), space + 1));
    ++place;
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<std::int64_t> integer_of(const Argument& argument) {
  if (const auto* number = argument.as<std::int64_t>()) return *number;
  if (const auto* flag = argument.as<bool>()) return *flag ? 1 : 0;
  if (const auto* real = argument.as<double>(); real != nullptr && std::abs(*real) < 9e15) return std::int64_t(*real);
  return std::nullopt;
}

std::optional<double> real_of(const Argument& argument) {
  if (const auto* real = argument.as<double>()) return *real;
  if (const auto number = integer_of(argument)) return double(*number);
  return std::nullopt;
}

void Call::fail(std::string what) {
  if (failure_.empty()) failure_ = std::move(what);
}

const Argument* Call::find(std::string_view name) const {
  const std::size_t place = place_of(row_.parameters, name);
  for (std::size_t i = 0; i < operation_.arguments.size(); ++i) {
    const auto& [given, argument] = operation_.arguments[i];
    if (given.empty() ? i == place : given == name) return argument.is_none() ? nullptr : &argument;
  }
  return nullptr;
}

bool Call::is_tensor(std::string_view name) const {
  const Argument* found = find(name);
  return found != nullptr && found->as<Tensor>() != nullptr;
}

ValueId Call::tensor(std::string_view name) {
  const ValueId id = optional_tensor(name);
  if (id == kNoValue) fail("'" + std::string(name) + "' is no tensor");
  return id;
}

ValueId Call::optional_tensor(std::string_view name) {
  const Argument* found = find(name);
  const auto* tensor = found != nullptr ? found->as<Tensor>() : nullptr;
  return tensor != nullptr ? tensor->id : kNoValue;
}

std::vector<ValueId> Call::tensors(std::string_view name) {
  const Argument* found = find(name);
  std::vector<ValueId> ids;
  if (found != nullptr && found->as<Tensor>() != nullptr) return {found->as<Tensor>()->id};
  const List* list = found != nullptr ? found->as<List>() : nullptr;
  if (list == nullptr) {
    fail("'" + std::string(name) + "' is no list of tensors");
    return ids;
  }
  for (const Argument& item : **list) {
    if (const auto* tensor = item.as<Tensor>()) {
      ids.push_back(tensor->id);
    } else if (item.is_none()) {
      ids.push_back(kNoValue);
    } else {
      fail("'" + std::string(name) + "' holds something that is no tensor");
    }
  }
  return ids;
}

std::int64_t Call::integer(std::string_view name, std::int64_t fallback) {
  const Argument* found = find(name);
  if (found == nullptr) return fallback;
  if (const auto number = integer_of(*found)) return std::clamp(*number, -kSizeLimit, kSizeLimit);
  if (const auto* tensor = found->as<Tensor>()) {
    const auto& literal = writer_.value(tensor->id).literal;
    if (literal && literal->ints.size() == 1) return std::clamp(literal->ints[0], -kSizeLimit, kSizeLimit);
  }
  fail("'" + std::string(name) + "' is known only at run time");
  return fallback;
}

std::int64_t Call::integer(std::string_view name) {
  if (!has(name)) fail("'" + std::string(name) + "' is missing");
  return integer(name, 0);
}

std::vector<std::int64_t> Call::integers(std::string_view name) {
  const Argument* found = find(name);
  if (found == nullptr) return {};
  if (const auto number = integer_of(*found)) return {std::clamp(*number, -kSizeLimit, kSizeLimit)};
  const List* list = found->as<List>();
  std::vector<std::int64_t> numbers;
  if (list == nullptr || (*list)->size() > kMaxListed) {
    fail("'" + std::string(name) + "' is no list of numbers");
    return numbers;
  }
  for (const Argument& item : **list) {
    std::optional<std::int64_t> number = integer_of(item);
    if (const auto* tensor = item.as<Tensor>()) {
      const auto& literal = writer_.value(tensor->id).literal;
      if (literal && literal->ints.size() == 1) number = literal->ints[0];
    }
    if (!number) fail("'" + std::string(name) + "' holds a number that is known only at run time");
    numbers.push_back(std::clamp(number.value_or(1), -kSizeLimit, kSizeLimit));
  }
  return numbers;
}

std::vector<std::int64_t> Call::integers(std::string_view name, std::size_t count, std::int64_t fallback) {
  std::vector<std::int64_t> numbers = integers(name);
  if (numbers.empty()) return std::vector<std::int64_t>(count, fallback);
  if (numbers.size() == 1) return std::vector<std::int64_t>(count, numbers.front());
  if (numbers.size() != count) {
    fail("'" + std::string(name) + "' has " + std::to_string(numbers.size()) + " numbers, not " +
         std::to_string(count));
    numbers.resize(count, fallback);
  }
  return numbers;
}

double Call::real(std::string_view name, double fallback) {
  const Argument* found = find(name);
  return found == nullptr ? fallback : real_of(*found).value_or(fallback);
}

bool Call::flag(std::string_view name, bool fallback) {
  const Argument* found = find(name);
  return found == nullptr ? fallback : integer_of(*found).value_or(fallback ? 1 : 0) != 0;
}

std::string Call::text(std::string_view name, std::string_view fallback) {
  const Argument* found = find(name);
  const auto* text = found != nullptr ? found->as<std::string>() : nullptr;
  return text != nullptr ? *text : std::string(fallback);
}

std::optional<DType> Call::dtype(std::string_view name) {
  const Argument* found = find(name);
  if (found == nullptr) return std::nullopt;
  DType type = DType::Undefined;
  if (const auto* given = found->as<ElementType>()) type = given->type;
  if (const auto* number = found->as<std::int64_t>()) type = dtype_of_number(*number);
  return type == DType::Undefined ? std::nullopt : std::optional(type);
}

const Dims& Call::dims(ValueId id) {
  const Dims* found = writer_.shape(id);
  if (found != nullptr) return *found;
  fail("the shape of " + (id == kNoValue ? "an operand" : "'" + writer_.value(id).name + "'") + " is not known");
  return kNoDims;
}

std::size_t Call::axis(std::int64_t axis, std::size_t rank) {
  const auto found = normalize_axis(axis, std::max<std::size_t>(1, rank));
  if (!found) fail("dimension " + std::to_string(axis) + " is out of range");
  return std::size_t(found.value_or(0));
}

ValueId Call::scalar(double value, DType type) {
  Literal literal;
  if (is_floating(type)) {
    literal.reals.push_back(value);
  } else {
    literal.ints.push_back(std::abs(value) < 9e15 ? std::int64_t(value) : 0);
  }
  return writer_.add_constant(std::move(literal), type, {});
}

ValueId Call::ints(std::vector<std::int64_t> values) {
  const auto count = std::int64_t(values.size());
  return writer_.add_constant({std::move(values), {}}, DType::Int64, {count});
}

ValueId Call::operand(std::string_view name, DType like) {
  const Argument* found = find(name);
  if (found != nullptr && found->as<Tensor>() != nullptr) return found->as<Tensor>()->id;
  if (found != nullptr && found->as<AtRunTime>() != nullptr)  // a number of the run: one element, contents unknown
    return writer_.add_value("number", like, Dims{}, ValueRole::Constant);
  const auto number = found != nullptr ? real_of(*found) : std::nullopt;
  if (!number) fail("'" + std::string(name) + "' is neither a tensor nor a number");
  const bool fraction = found != nullptr && found->as<double>() != nullptr && !is_floating(like);
  return scalar(number.value_or(0), fraction ? DType::Float32 : like);
}

ValueId Call::cast(ValueId id, DType type) {
  if (dtype_of(id) == type || type == DType::Undefined) return id;
  return node(OpKind::Cast, {id}, {{"to", std::int64_t(type)}});
}

ValueId Call::node(OpKind kind, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                   std::string_view op_type) {
  return writer_.add_node(kind, op_type, std::move(inputs), std::move(attributes), 1).front();
}

std::vector<ValueId> Call::nodes(OpKind kind, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                                 std::size_t results) {
  return writer_.add_node(kind, {}, std::move(inputs), std::move(attributes), results);
}

ValueId Call::reshape(ValueId id, std::vector<std::int64_t> shape) {
  return node(OpKind::Reshape, {id}, {{"shape", std::move(shape)}, {"allowzero", std::int64_t{1}}});
}
ValueId Call::transpose(ValueId id, std::vector<std::int64_t> order) {
  return node(OpKind::Transpose, {id}, {{"perm", std::move(order)}});
}
ValueId Call::squeeze(ValueId id, std::vector<std::int64_t> axes) {
  return node(OpKind::Squeeze, {id}, {{"axes", std::move(axes)}});
}
ValueId Call::unsqueeze(ValueId id, std::vector<std::int64_t> axes) {
  return node(OpKind::Unsqueeze, {id}, {{"axes", std::move(axes)}});
}

void Call::give_list(const std::vector<ValueId>& ids) {
  std::vector<Argument> items;
  for (const ValueId id : ids) items.push_back({Tensor{id}});
  results.push_back(make_list(std::move(items)));
}

}  // namespace forerun::pytorch
