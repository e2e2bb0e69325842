#include "readers/torch/script_numbers.hpp"

#include <algorithm>
#include <cmath>

#include "readers/torch/call.hpp"

namespace forerun::pytorch {

namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == -1) return wrapped(0 - std::uint64_t(a));
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

}  // namespace

bool is_number(const Argument& value) {
  return value.as<std::int64_t>() != nullptr || value.as<double>() != nullptr || value.as<bool>() != nullptr;
}
bool is_whole(const Argument& value) { return value.as<std::int64_t>() != nullptr || value.as<bool>() != nullptr; }

std::int64_t wrapped(std::uint64_t value) { return std::int64_t(value); }

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

}  // namespace forerun::pytorch
