// Element-wise operators.
#include <algorithm>

#include "readers/paddle/operators.hpp"

namespace forerun::paddle {
namespace {

// y [.., b, c] of an older program lies at `axis` of x [a, b, c, d]: ones are appended so that it broadcasts.
ValueId aligned(Call& c, ValueId x, ValueId y) {
  const std::int64_t axis = c.integer("axis", -1);
  const auto wide = c.rank(x);
  const auto narrow = c.rank(y);
  if (axis < 0 || !wide || !narrow || *narrow == 0) return y;
  const std::int64_t missing = std::int64_t(*wide) - axis - std::int64_t(*narrow);
  if (missing <= 0 || missing > 8) return y;
  return c.w.op(OpKind::Unsqueeze, {y, c.w.constant(iota(std::int64_t(*narrow), std::int64_t(*narrow) + missing))});
}

// A stored vector, looked for behind the view that gives it the rank of what it is added to: [C] or [1, C, 1, 1].
ValueId bias_vector(Call& c, ValueId id, std::size_t channel_axis, std::size_t rank) {
  const Node* view = c.w.producer(id);
  if (view != nullptr && (view->kind == OpKind::Reshape || view->kind == OpKind::Unsqueeze) && !view->inputs.empty()) {
    const ValueId from = view->inputs[0];
    if (from == kNoValue || !is_weight(c.w.value(from)) || c.w.value(from).dims.size() != 1) return kNoValue;
    if (view->kind == OpKind::Unsqueeze) return from;
    const auto seen = c.dims(id);
    if (!seen || seen->size() != rank || (*seen)[channel_axis] != c.w.value(from).dims[0]) return kNoValue;
    return from;
  }
  const bool last = channel_axis + 1 == rank;
  if (last && is_weight(c.w.value(id)) && c.w.value(id).dims.size() == 1) return id;
  return kNoValue;
}

// A convolution and the addition of its bias are one operator, and so are a product of matrices and its.
bool add_bias(Call& c, ValueId x, ValueId y) {
  Node* node = c.w.producer(x);
  if (node == nullptr || c.t.uses_of(x) != 1 || node->inputs.size() != 2 || node->outputs.size() != 1) return false;
  const auto rank = c.rank(x);
  if (!rank) return false;
  const bool convolves = node->kind == OpKind::Conv || node->kind == OpKind::ConvTranspose;
  if (convolves && *rank >= 3) {
    const ValueId bias = bias_vector(c, y, 1, *rank);
    if (bias == kNoValue || c.w.value(bias).dims[0] < 0) return false;
    const ValueId weight = node->inputs[1];
    const std::int64_t channels = c.dims(x)->at(1);
    if (weight == kNoValue || channels != c.w.value(bias).dims[0]) return false;
    node->inputs.push_back(bias);
    return c.w.redirect(x, c.out());
  }
  if (node->kind != OpKind::MatMul || *rank != 2) return false;
  const ValueId bias = bias_vector(c, y, 1, 2);
  const ValueId weight = node->inputs[1];
  if (bias == kNoValue || weight == kNoValue || !is_weight(c.w.value(weight)) || c.w.value(weight).dims.size() != 2 ||
      c.w.value(weight).dims[1] != c.w.value(bias).dims[0])
    return false;
  node->kind = OpKind::Gemm;
  node->inputs.push_back(bias);
  return c.w.redirect(x, c.out());
}

ValueId number(Call& c, double content, ValueId like) { return c.w.real(content, c.dtype(like)); }

}  // namespace

Status unary(Call& c) {
  c.emit(c.kind(), {c.in("X")});
  return ok();
}

Status identity(Call& c) {
  c.emit(OpKind::Identity, {c.in("X")});
  return ok();
}

Status binary(Call& c) {
  const ValueId x = c.in("X"), given = c.in("Y");
  if (x == kNoValue || given == kNoValue) return c.unknown();
  const ValueId y = aligned(c, x, given);
  if (c.kind() == OpKind::Add && c.out() != kNoValue && (add_bias(c, x, y) || add_bias(c, y, x))) return ok();
  c.emit(c.kind(), {x, y},
         c.kind() == OpKind::Mod ? std::vector<Attribute>{{"fmod", std::int64_t{is_floating(c.dtype(x))}}}
                                 : std::vector<Attribute>{});
  return ok();
}

Status comparison(Call& c) {
  const ValueId x = c.in("X"), y = c.in("Y");
  if (x == kNoValue || y == kNoValue) return c.unknown();
  if (c.kind() == OpKind::Not) {  // not_equal
    const ValueId same = c.w.op(OpKind::Equal, {x, aligned(c, x, y)}, {}, DType::Bool);
    c.emit(OpKind::Not, {same});
    return ok();
  }
  c.emit(c.kind(), {x, aligned(c, x, y)});
  return ok();
}

// x * scale + bias, or (x + bias) * scale.
Status scale(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  double factor = c.real("scale", 1);
  ValueId by = c.in("ScaleTensor");
  bool is_one = by == kNoValue && factor == 1;
  if (by != kNoValue && c.w.value(by).literal) {
    const Literal& held = *c.w.value(by).literal;
    if (held.reals.size() == 1) factor = held.reals[0];
    if (held.ints.size() == 1) factor = double(held.ints[0]);
    is_one = factor == 1 && held.reals.size() + held.ints.size() == 1;
    by = kNoValue;
  }
  const double bias = c.real("bias", 0);
  if (is_one && bias == 0) {  // how paddle.jit.save marks results: nothing runs
    if (!c.t.alias_unmade(c.native_out(0), x)) return identity(c);
    return ok();
  }
  if (by == kNoValue && !is_one) by = number(c, factor, x);
  if (bias == 0) {
    c.emit(OpKind::Mul, {x, by});
  } else if (is_one) {
    c.emit(OpKind::Add, {x, number(c, bias, x)});
  } else if (c.integer("bias_after_scale", 1) != 0) {
    const ValueId scaled = c.w.op(OpKind::Mul, {x, by});
    c.emit(OpKind::Add, {scaled, number(c, bias, x)});
  } else {
    const ValueId shifted = c.w.op(OpKind::Add, {x, number(c, bias, x)});
    c.emit(OpKind::Mul, {shifted, by});
  }
  return ok();
}

Status cast(Call& c) {
  const std::string name = c.text("dtype", "");
  DType to = name.empty() ? dtype_of_number(c.integer("out_dtype", -1)) : dtype_of_name(name);
  if (to == DType::Undefined && c.out() != kNoValue) to = c.dtype(c.out());
  if (to == DType::Undefined) return c.unknown();
  c.emit(OpKind::Cast, {c.in("X")}, {{"to", std::int64_t(to)}});
  return ok();
}

Status clip(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  if (c.op.type == "relu6") {
    c.emit(OpKind::Clip, {x, number(c, 0, x), number(c, c.real("threshold", 6), x)});
    return ok();
  }
  const ValueId low = c.has("Min") ? c.in("Min") : number(c, c.real("min", c.real("t_min", 0)), x);
  const ValueId high = c.has("Max") ? c.in("Max") : number(c, c.real("max", c.real("t_max", 0)), x);
  c.emit(OpKind::Clip, {x, low, high});
  return ok();
}

Status hard_sigmoid(Call& c) {
  c.emit(OpKind::HardSigmoid, {c.in("X")}, {{"alpha", c.real("slope", 0.2)}, {"beta", c.real("offset", 0.5)}});
  return ok();
}

Status leaky(Call& c) {
  const double alpha = c.real("alpha", c.real("negative_slope", c.real("threshold", 0.02)));
  c.emit(c.kind(), {c.in("X")}, {{"alpha", alpha}});
  return ok();
}

Status gelu(Call& c) {
  c.emit(OpKind::Gelu, {c.in("X")}, {{"approximate", std::string(c.integer("approximate", 0) != 0 ? "tanh" : "none")}});
  return ok();
}

Status prelu(Call& c) {
  const ValueId x = c.in("X");
  ValueId slope = c.in("Alpha");
  const auto wide = c.rank(x);
  const auto narrow = c.rank(slope);
  if (c.text("mode", "all") == "channel" && wide && narrow && *narrow == 1 && *wide > 2)
    slope = c.w.op(OpKind::Unsqueeze, {slope, c.w.constant(iota(1, std::int64_t(*wide) - 1))});
  c.emit(OpKind::PRelu, {x, slope});
  return ok();
}

Status rsqrt(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  c.emit(OpKind::Reciprocal, {c.w.op(OpKind::Sqrt, {x})});
  return ok();
}

Status square(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  c.emit(OpKind::Mul, {x, x});
  return ok();
}

Status log1p(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  c.emit(OpKind::Log, {c.w.op(OpKind::Add, {x, number(c, 1, x)})});
  return ok();
}

Status power(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  const ValueId by = c.has("FactorTensor") ? c.in("FactorTensor") : number(c, c.real("factor", c.real("y", 1)), x);
  c.emit(OpKind::Pow, {x, by});
  return ok();
}

Status log_sigmoid(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  c.emit(OpKind::Log, {c.w.op(OpKind::Sigmoid, {x})});
  return ok();
}

// silu(x) * y; without y, of the halves of x.
Status swiglu(Call& c) {
  ValueId x = c.in("X"), y = c.in("Y");
  if (x == kNoValue) return c.unknown();
  if (y == kNoValue) {
    const ValueId whole = x;
    x = c.w.new_value("", c.dtype(whole));
    y = c.w.new_value("", c.dtype(whole));
    if (!c.w.has_room()) return ok();
    c.w.add(OpKind::Split, {whole}, {x, y}, {{"axis", std::int64_t{-1}}, {"num_outputs", std::int64_t{2}}});
  }
  c.emit(OpKind::Mul, {c.w.op(OpKind::Swish, {x}), y});
  return ok();
}

Status where(Call& c) {
  c.emit(OpKind::Where, {c.in("Condition"), c.in("X"), c.in("Y")});
  return ok();
}

Status sum_list(Call& c) {
  const std::vector<ValueId> parts = c.all("X");
  if (parts.empty()) return c.unknown();
  if (parts.size() == 1) {
    c.emit(OpKind::Identity, parts);
  } else if (parts.size() == 2) {
    c.emit(OpKind::Add, parts);
  } else {
    c.emit(OpKind::Sum, parts);
  }
  return ok();
}

Status cumulative_sum(Call& c) {
  const ValueId x = c.in("X");
  if (x == kNoValue) return c.unknown();
  ValueId from = x;
  if (c.integer("flatten", 0) != 0) from = c.w.op(OpKind::Reshape, {x, c.w.constant({-1})});
  const std::vector<std::int64_t> axis = c.ints_of("Axis", "axis");
  c.emit(OpKind::CumSum, {from, c.w.scalar(axis.empty() ? -1 : axis[0])},
         {{"exclusive", c.integer("exclusive", 0)}, {"reverse", c.integer("reverse", 0)}});
  return ok();
}

Status softmax(Call& c) {
  c.emit(c.kind(), {c.in("X")}, {{"axis", c.integer("axis", -1)}});
  return ok();
}

}  // namespace forerun::paddle
