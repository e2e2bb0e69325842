// Tensors made from numbers, and numbers taken from tensors.
#include <algorithm>

#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

double fill_of(Call& c) {
  const std::string_view name = c.row().name;
  if (name.find("ones") != std::string_view::npos) return 1;
  return c.has("value") ? c.real("value", 0) : c.real("fill_value", 0);
}

DType type_of_fill(const Call& c) {
  const Argument* fill = c.find("fill_value");
  if (fill != nullptr && fill->as<std::int64_t>() != nullptr) return DType::Int64;
  if (fill != nullptr && fill->as<bool>() != nullptr) return DType::Bool;
  return DType::Float32;
}

ValueId fill(Call& c, std::vector<std::int64_t> shape, DType type, double value) {
  const Attribute content = is_floating(type) ? Attribute{"value", value} : Attribute{"value", std::int64_t(value)};
  return c.node(OpKind::ConstantOfShape, {c.ints(std::move(shape))}, {content, {"value_dtype", std::int64_t(type)}});
}

}  // namespace

void filled(Call& c) {
  const auto shape = c.integers("size");
  DType like = type_of_fill(c);
  if (c.row().name.starts_with("new_") && c.is_tensor("self")) like = c.dtype_of(c.tensor("self"));
  if (!c.failed()) c.give(fill(c, shape, c.dtype("dtype").value_or(like), fill_of(c)));
}

void filled_like(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const Dims shape = c.dims(x);
  if (!c.failed()) c.give(fill(c, shape, c.dtype("dtype").value_or(c.dtype_of(x)), fill_of(c)));
}

void arange(Call& c) {
  const std::size_t given = std::count_if(c.arguments().begin(), c.arguments().end(), [](const auto& argument) {
    return argument.first.empty() &&
           (argument.second.template as<std::int64_t>() != nullptr || argument.second.template as<double>() != nullptr);
  });
  // By position, one number is the end; two are start and end.
  const std::string_view last = given == 1 && !c.has("end") ? "start" : "end";
  const std::string_view first = last == "start" ? "" : "start";
  const auto is_real = [&](std::string_view name) { return c.has(name) && c.find(name)->as<double>() != nullptr; };
  const bool real = is_real("start") || is_real("end") || is_real("step");
  const DType type = c.dtype("dtype").value_or(real ? DType::Float32 : DType::Int64);
  const double begin = first.empty() ? 0 : c.real("start", 0), step = c.real("step", 1);
  if (!c.has(last)) return c.fail("the end is missing");
  const ValueId end = c.operand(last, type);
  if (!c.failed()) c.give(c.node(OpKind::Range, {c.scalar(begin, type), end, c.scalar(step, type)}));
}

void random_like(Call& c) {
  const ValueId x = c.tensor("self");
  if (!c.failed()) c.give(c.node(c.row().kind, {x}));
}

void random_filled(Call& c) {
  const auto shape = c.integers("size");
  if (!c.failed())
    c.give(c.node(c.row().kind, {},
                  {{"shape", shape}, {"dtype", std::int64_t(c.dtype("dtype").value_or(DType::Float32))}}));
}

void eye(Call& c) {
  const std::int64_t rows = c.integer("n");
  const std::int64_t columns = c.integer("m", rows);
  if (c.failed() || rows < 0 || columns < 0) return c.fail("negative size");
  const ValueId like = fill(c, {rows, columns}, c.dtype("dtype").value_or(DType::Float32), 0);
  c.give(c.node(OpKind::EyeLike, {like}, {{"dtype", std::int64_t(c.dtype_of(like))}}));
}

void scalar_tensor(Call& c) {
  const Argument* number = c.find("s");
  if (number == nullptr || !real_of(*number)) return c.fail("the number is known only at run time");
  const bool whole = number->as<std::int64_t>() != nullptr;
  const DType type = c.dtype("dtype").value_or(whole ? DType::Int64 : DType::Float32);
  c.give(c.scalar(*real_of(*number), type));
}

void size_of_dimension(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const Dims shape = c.dims(x);
  if (c.failed()) return;
  if (!c.has("dim")) {
    std::vector<Argument> sizes;
    for (const std::int64_t size : shape) sizes.push_back({size});
    return c.give(make_list(std::move(sizes)));
  }
  const std::size_t axis = c.axis(c.integer("dim"), shape.size());
  if (c.failed() || shape.empty()) return c.fail("the input is a scalar");
  c.give(Argument{shape[axis]});
}

// The number in a tensor of one element, when it follows from the file.
void item(Call& c) {
  const ValueId x = c.tensor("self");
  if (c.failed()) return;
  const auto& literal = c.writer().value(x).literal;
  if (literal && literal->ints.size() == 1) {
    const bool is_bool = c.dtype_of(x) == DType::Bool;
    return c.give(is_bool ? Argument{literal->ints[0] != 0} : Argument{literal->ints[0]});
  }
  if (literal && literal->reals.size() == 1) return c.give(Argument{literal->reals[0]});
  c.give(Argument{AtRunTime{}});
}

}  // namespace forerun::pytorch
