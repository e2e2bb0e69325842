// Element-wise operators: the order of dimensions is that of their operands.
#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "readers/tensorflow/builders.hpp"

namespace forerun::tensorflow {

ValueId activate(Call& call, ValueId id, std::int64_t code) {
  enum Activation : std::int64_t { kNone, kRelu, kRelu1, kRelu6, kTanh, kSign };
  switch (code) {
    case kRelu: return call.node(OpKind::Relu, {id});
    case kRelu1: return call.node(OpKind::Clip, {id}, {{"min", -1.0}, {"max", 1.0}});
    case kRelu6: return call.node(OpKind::Clip, {id}, {{"min", 0.0}, {"max", 6.0}});
    case kTanh: return call.node(OpKind::Tanh, {id});
    case kSign: return call.node(OpKind::Sign, {id});
    default: return id;
  }
}

ValueId activate(Call& call, ValueId id) { return activate(call, id, call.integer("activation")); }

namespace {

// Operand i as part of a channels-first broadcast of `rank` dimensions.
ValueId align_first(Call& call, std::size_t i, std::size_t rank) {
  const auto dims = call.shape(i);
  if (!dims || dims->empty()) return call.plain(i);
  if (dims->size() == rank) return call.first(i, rank);
  // Missing dimensions come first in TensorFlow: [C] is [C, 1, 1] here.
  Dims whole(rank - dims->size(), 1);
  whole.insert(whole.end(), dims->begin(), dims->end());
  Dims wanted = permute(whole, to_first(rank));
  if (call.is_constant(i)) {
    while (wanted.size() > 1 && wanted.front() == 1) wanted.erase(wanted.begin());
    return call.reshaped(i, wanted);
  }
  if (dims->size() == 1) {
    Ints target(rank, 1);
    target[1] = -1;
    return call.reshape(call.plain(i), target);
  }
  Ints axes;
  for (std::size_t n = 0; n < rank - dims->size(); ++n) axes.push_back(std::int64_t(n));
  const ValueId padded = call.node(OpKind::Unsqueeze, {call.plain(i), call.integer_list(axes)});
  return call.transposed(padded, to_first(rank));
}

}  // namespace

bool align(Call& call, const std::vector<std::size_t>& operands, std::vector<ValueId>& aligned) {
  std::size_t rank = 0;
  std::size_t rank_of_first = 0;
  bool known = true;
  for (const std::size_t i : operands) {
    const auto own = call.rank(i);
    known = known && own.has_value();
    rank = std::max(rank, own.value_or(0));
    if (call.is_first(i)) rank_of_first = std::max(rank_of_first, own.value_or(0));
  }
  const bool first = known && rank_of_first >= 3 && rank_of_first == rank;
  aligned.clear();
  for (const std::size_t i : operands) aligned.push_back(first ? align_first(call, i, rank) : call.plain(i));
  return first;
}

void build_unary(Call& call) {
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  call.result(0, call.node(call.kind(), {x}), first);
}

void build_binary(Call& call) {
  std::vector<ValueId> operands;
  const bool first = align(call, {0, 1}, operands);
  call.result(0, activate(call, call.node(call.kind(), operands)), first);
}

ValueId add_bias(Call& call, std::size_t operand, std::size_t bias, bool channels_first) {
  const ValueId x = channels_first ? call.first(operand) : call.plain(operand);
  Node* made = call.only_producer(operand, x);
  // One number a column or channel; dimensions of one before it change nothing.
  const auto bias_dims = call.shape(bias);
  const auto fits = [&](const Node& node) {
    if (node.inputs.size() != 2 || !bias_dims || bias_dims->empty() || bias_dims->back() != checked_product(*bias_dims))
      return false;
    const Value& y = call.value(node.outputs[0]);
    const bool is_conv = node.kind == OpKind::Conv || node.kind == OpKind::ConvTranspose;
    if (is_conv) return y.has_shape && y.dims.size() >= 3 && y.dims[1] == bias_dims->back();
    return node.kind == OpKind::Gemm && y.has_shape && y.dims.back() == bias_dims->back();
  };
  if (made != nullptr && call.is_constant(bias)) {
    Node* product = made;
    if (made->kind == OpKind::Reshape && call.value(x).has_shape) {  // a dense layer over more than two dimensions
      const auto at = call.translator().producer_of(made->inputs[0], call.scope());
      const Dims& y = call.value(x).dims;
      if (at != nullptr && at->kind == OpKind::Gemm && !y.empty() && call.value(made->inputs[0]).has_shape &&
          y.back() == call.value(made->inputs[0]).dims.back())
        product = at;
    }
    if (fits(*product)) {
      const ValueId constant = call.reshaped(bias, {bias_dims->back()});
      product->inputs.push_back(constant);
      return x;
    }
  }
  return kNoValue;
}

void build_add(Call& call) {
  for (const std::size_t bias : {std::size_t{1}, std::size_t{0}}) {
    const std::size_t operand = 1 - bias;
    if (!call.has(0) || !call.has(1) || !call.is_constant(bias) || call.is_constant(operand)) continue;
    const bool first = call.is_first(operand);
    if (const ValueId made = add_bias(call, operand, bias, first); made != kNoValue) {
      const ValueId result = activate(call, made);
      if (result != made) {
        call.result(0, result, first);
      } else {
        call.alias(0, operand);
      }
      return;
    }
  }
  build_binary(call);
}

void build_bias_add(Call& call) {
  const bool first = call.is_first(0);
  if (call.has(1)) {
    if (const ValueId made = add_bias(call, 0, 1, first); made != kNoValue) return call.alias(0, 0);
  }
  if (!call.is_nchw()) return build_binary(call);
  const auto rank = call.rank(0);
  const auto dims = call.shape(1);
  if (!rank || *rank < 2 || !dims || dims->size() != 1) return call.unknown();
  Dims target(*rank - 1, 1);
  target.front() = dims->front();
  call.result(0, call.node(OpKind::Add, {call.plain(0), call.reshaped(1, target)}));
}

void build_add_n(Call& call) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < call.inputs(); ++i) all.push_back(i);
  std::vector<ValueId> operands;
  const bool first = align(call, all, operands);
  call.result(0, call.node(OpKind::Sum, operands), first);
}

void build_not_equal(Call& call) {
  std::vector<ValueId> operands;
  const bool first = align(call, {0, 1}, operands);
  call.result(0, call.node(OpKind::Not, {call.node(OpKind::Equal, operands)}), first);
}

void build_floor_div(Call& call) {
  std::vector<ValueId> operands;
  const bool first = align(call, {0, 1}, operands);
  const ValueId quotient = call.node(OpKind::Div, operands);
  const bool is_real = is_floating(call.dtype(0));
  call.result(0, is_real ? call.node(OpKind::Floor, {quotient}) : quotient, first);
}

void build_squared_difference(Call& call) {
  std::vector<ValueId> operands;
  const bool first = align(call, {0, 1}, operands);
  const ValueId difference = call.node(OpKind::Sub, operands);
  call.result(0, call.node(OpKind::Mul, {difference, difference}), first);
}

void build_square(Call& call) {
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  call.result(0, call.node(OpKind::Mul, {x, x}), first);
}

// torch.rsqrt is one kernel; the IR's nearest single operator of the same cost is Sqrt's reciprocal.
void build_rsqrt(Call& call) {
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  call.result(0, call.node(OpKind::Reciprocal, {call.node(OpKind::Sqrt, {x})}), first);
}

namespace {

void clip(Call& call, double low, double high) {
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  call.result(0, call.node(OpKind::Clip, {x}, {{"min", low}, {"max", high}}), first);
}

}  // namespace

void build_relu6(Call& call) { clip(call, 0, 6); }
void build_relu1(Call& call) { clip(call, -1, 1); }
void build_relu_0_to_1(Call& call) { clip(call, 0, 1); }

void build_leaky_relu(Call& call) {
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  call.result(0, call.node(OpKind::LeakyRelu, {x}, {{"alpha", call.real("alpha", 0.2)}}), first);
}

void build_prelu(Call& call) {
  std::vector<ValueId> operands;
  const bool first = align(call, {0, 1}, operands);
  call.result(0, call.node(OpKind::PRelu, operands), first);
}

void build_gelu(Call& call) {
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  const bool tanh = call.integer("approximate") != 0;
  call.result(0, call.node(OpKind::Gelu, {x}, {{"approximate", std::string(tanh ? "tanh" : "none")}}), first);
}

void build_softmax(Call& call) {
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  call.result(0, call.node(call.kind(), {x}, {{"axis", std::int64_t{first ? 1 : -1}}}), first);
}

void build_select(Call& call) {
  // Select takes a condition of one dimension for whole rows; SelectV2 broadcasts.
  const auto condition = call.shape(0);
  const auto data = call.shape(1);
  if (call.operation().type == "Select" && condition && data && condition->size() == 1 && data->size() > 1) {
    Ints target(data->size(), 1);
    target[0] = -1;
    call.result(0, call.node(OpKind::Where, {call.reshape(call.plain(0), target), call.plain(1), call.plain(2)}));
    return;
  }
  std::vector<ValueId> operands;
  const bool first = align(call, {0, 1, 2}, operands);
  call.result(0, call.node(OpKind::Where, operands), first);
}

void build_cast(Call& call) {
  const Tensor* to = call.output_tensor(0);
  if (to == nullptr || to->dtype == DType::Undefined) return call.unknown();
  if (to->dtype == call.dtype(0)) return call.alias(0, 0);
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  call.result(0, call.node(OpKind::Cast, {x}, {{"to", static_cast<std::int64_t>(to->dtype)}}), first);
}

void build_quantize(Call& call) {
  const bool first = call.is_first(0);
  ValueId x = first ? call.first(0) : call.plain(0);
  const Tensor* to = call.output_tensor(0);
  const DType type = to == nullptr ? DType::Int8 : to->dtype;
  const ValueId scale = call.translator().quantisation(DType::Float32);
  if (is_integer(call.dtype(0)))  // to another scale
    x = call.node(OpKind::DequantizeLinear, {x, scale, call.translator().quantisation(call.dtype(0))});
  call.result(0, call.node(OpKind::QuantizeLinear, {x, scale, call.translator().quantisation(type)}), first);
}

// Of a constant it runs once: the constant itself, in the type it is stored in.
void build_dequantize(Call& call) {
  if (call.is_constant(0)) return call.alias(0, 0);
  if (is_floating(call.dtype(0))) return build_cast(call);
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  const ValueId scale = call.translator().quantisation(DType::Float32);
  call.result(0, call.node(OpKind::DequantizeLinear, {x, scale, call.translator().quantisation(call.dtype(0))}), first);
}

void build_fake_quant(Call& call) {
  if (call.is_constant(0)) return call.alias(0, 0);
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  const ValueId scale = call.translator().quantisation(DType::Float32);
  const ValueId zero = call.translator().quantisation(DType::UInt8);
  const ValueId integers = call.node(OpKind::QuantizeLinear, {x, scale, zero});
  call.result(0, call.node(OpKind::DequantizeLinear, {integers, scale, zero}), first);
}

void build_identity(Call& call) { call.alias(0, 0); }

void build_identity_n(Call& call) {
  for (std::size_t i = 0; i < call.outputs(); ++i) call.alias(i, i);
}

void build_nothing(Call&) {}

void build_l2_normalization(Call& call) {
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  const ValueId y = call.node(OpKind::LpNormalization, {x}, {{"axis", std::int64_t{first ? 1 : -1}}});
  call.result(0, activate(call, y), first);
}

void build_clip(Call& call) {
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  call.result(0, call.node(OpKind::Clip, {x, call.plain(1), call.plain(2)}), first);
}

// 1 - erf(x); of the same cost.
void build_erfc(Call& call) {
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  call.result(0, call.node(OpKind::Erf, {x}, {{"complement", std::int64_t{1}}}), first);
}

void build_zeros_like(Call& call) {
  const bool first = call.is_first(0);
  const ValueId x = first ? call.first(0) : call.plain(0);
  const ValueId dims = call.node(OpKind::Shape, {x});
  const auto type = static_cast<std::int64_t>(call.dtype(0));
  call.result(0, call.node(OpKind::ConstantOfShape, {dims}, {{"value", std::int64_t{0}}, {"value_dtype", type}}),
              first);
}

}  // namespace forerun::tensorflow
