// Shape rules of quantised operators and of gradients in training graphs (com.microsoft).
#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {

// A, A_scale, A_zero_point, B, …
Status qlinear_broadcast_shape(RuleContext& c) {
  const Dims* a = c.shape(0);
  const Dims* b = c.shape(3);
  if (a == nullptr || b == nullptr) return ok();
  auto dims = broadcast(*a, *b);
  if (!dims) return c.fail("shapes do not broadcast");
  c.set(0, c.dtype(0), std::move(*dims));
  return ok();
}

// condition, X, X_scale, X_zero_point, Y, …
Status qlinear_where_shape(RuleContext& c) {
  const Dims* condition = c.shape(0);
  const Dims* x = c.shape(1);
  const Dims* y = c.shape(4);
  if (condition == nullptr || x == nullptr || y == nullptr) return ok();
  const auto joined = broadcast(*condition, *x);
  auto dims = joined ? broadcast(*joined, *y) : std::nullopt;
  if (!dims) return c.fail("shapes do not broadcast");
  c.set(0, c.dtype(1), std::move(*dims));
  return ok();
}

// Y_scale, Y_zero_point, then (tensor, scale, zero point) each.
Status qlinear_concat_shape(RuleContext& c) {
  Dims result;
  for (std::size_t i = 2; i < c.input_count(); i += 3) {
    const Dims* dims = c.shape(i);
    if (dims == nullptr) return ok();
    const auto axis = normalize_axis(c.int_of("axis", 0), dims->size());
    if (!axis) return c.fail("axis out of range");
    if (i == 2) {
      result = *dims;
    } else if (dims->size() == result.size()) {
      result[std::size_t(*axis)] = checked_add(result[std::size_t(*axis)], (*dims)[std::size_t(*axis)]);
    } else {
      return c.fail("inputs have different ranks");
    }
  }
  c.set(0, c.dtype(1), std::move(result));
  return ok();
}

// dY, X, scale, … -> dX, dScale, dBias
Status norm_grad_shape(RuleContext& c) {
  if (const Dims* dy = c.shape(0)) c.set(0, c.dtype(0), *dy);
  if (const Dims* scale = c.shape(2)) {
    c.set(1, c.dtype(2), *scale);
    c.set(2, c.dtype(2), *scale);
  }
  return ok();
}

// dY, shape of X, starts, … -> dX
Status slice_grad_shape(RuleContext& c) {
  if (const auto* shape = c.ints(1)) c.set(0, c.dtype(0), *shape);
  return ok();
}

// dY, log probabilities, labels -> dX like the probabilities
Status loss_grad_shape(RuleContext& c) {
  if (const Dims* scores = c.shape(1)) c.set(0, c.dtype(1), *scores);
  return ok();
}

// Outputs are the gradients of the inputs, in their order.
Status yield_shape(RuleContext& c) {
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    if (const Dims* dims = c.shape(i)) c.set(i, c.dtype(i), *dims);
  }
  return ok();
}

}  // namespace forerun
