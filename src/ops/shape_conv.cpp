// Convolutions and pooling in any number of spatial dimensions.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {
namespace {

struct Window {
  Dims kernel, strides, dilations, pads;  // pads: begins, then ends
};

Dims attribute_or(const RuleContext& c, std::string_view name, std::size_t count, std::int64_t fallback) {
  const auto given = c.ints_of(name);
  return given.size() == count ? Dims(given.begin(), given.end()) : Dims(count, fallback);
}

Result<Window> read_window(const RuleContext& c, std::span<const std::int64_t> spatial, Dims kernel) {
  const std::size_t rank = spatial.size();
  if (kernel.size() != rank) return c.fail("the kernel has another rank than the input");
  Window window{std::move(kernel), attribute_or(c, "strides", rank, 1), attribute_or(c, "dilations", rank, 1),
                attribute_or(c, "pads", 2 * rank, 0)};
  for (std::size_t i = 0; i < rank; ++i) {
    if (window.kernel[i] <= 0 || window.strides[i] <= 0 || window.dilations[i] <= 0) {
      return c.fail("kernel, stride and dilation must be positive");
    }
    if (window.kernel[i] > (1 << 24) || window.dilations[i] > (1 << 24) || window.strides[i] > (1 << 24) ||
        std::abs(window.pads[i]) > (1 << 24) || std::abs(window.pads[i + rank]) > (1 << 24)) {
      return c.fail("kernel, stride, dilation or padding is above 2^24");
    }
  }
  const std::string_view mode = text_attribute(c.node(), "auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
      const std::int64_t output = ceil_div(spatial[i], window.strides[i]);
      const std::int64_t total = std::max<std::int64_t>(0, (output - 1) * window.strides[i] + reach - spatial[i]);
      const std::int64_t small = total / 2;
      window.pads[i] = mode == "SAME_UPPER" ? small : total - small;
      window.pads[i + rank] = total - window.pads[i];
    }
  } else if (mode == "VALID") {
    window.pads.assign(2 * rank, 0);
  }
  return window;
}

std::int64_t output_size(const Window& window, std::size_t i, std::int64_t input, bool ceil_mode) {
  const std::size_t rank = window.kernel.size();
  const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
  const std::int64_t span = input + window.pads[i] + window.pads[i + rank] - reach;
  if (span < 0) return 0;
  std::int64_t steps = ceil_mode ? ceil_div(span, window.strides[i]) : span / window.strides[i];
  // A window that would start in the end padding is dropped.
  if (ceil_mode && steps * window.strides[i] >= input + window.pads[i]) --steps;
  return steps + 1;
}

Status convolve(RuleContext& c, std::size_t data, std::size_t weight, DType type, bool channels_last = false) {
  const Dims* x = c.shape(data);
  const Dims* w = c.shape(weight);
  if (x == nullptr || w == nullptr) return ok();
  if (x->size() < 3 || w->size() != x->size()) return c.fail("input and weight must have the same rank, 3 or more");
  const std::size_t rank = x->size() - 2;
  const std::size_t first = channels_last ? 1 : 2;
  const std::span<const std::int64_t> spatial(x->data() + first, rank);
  const std::int64_t channels = channels_last ? x->back() : (*x)[1];
  const std::int64_t groups = std::max<std::int64_t>(1, c.int_of("group", 1));
  const std::int64_t expected = channels_last ? w->back() : (*w)[1];
  if (channels / groups != expected || channels % groups != 0) {
    return c.fail("weight expects " + std::to_string(expected) + " channels a group, input has " +
                  std::to_string(channels) + " in " + std::to_string(groups) + " groups");
  }
  Dims kernel = attribute_or(c, "kernel_shape", rank, 0);
  if (std::count(kernel.begin(), kernel.end(), 0) != 0) {
    kernel.assign(w->begin() + std::ptrdiff_t(first), w->begin() + std::ptrdiff_t(first + rank));
  }
  FORERUN_TRY(const Window window, read_window(c, spatial, std::move(kernel)));
  Dims result = *x;
  (channels_last ? result.back() : result[1]) = w->front();
  for (std::size_t i = 0; i < rank; ++i) {
    result[first + i] = output_size(window, i, spatial[i], false);
    if (result[first + i] <= 0) return c.fail("the kernel is larger than the padded input");
  }
  c.set(0, type, std::move(result));
  return ok();
}

Status pool(RuleContext& c, bool channels_last) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  if (x->size() < 3) return c.fail("input has no spatial dimension");
  const std::size_t rank = x->size() - 2;
  const std::size_t first = channels_last ? 1 : 2;
  const auto given = c.ints_of("kernel_shape");
  FORERUN_TRY(const Window window,
              read_window(c, std::span(x->data() + first, rank), Dims(given.begin(), given.end())));
  Dims result = *x;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool same = text_attribute(c.node(), "auto_pad", "NOTSET").starts_with("SAME");
    result[first + i] = output_size(window, i, (*x)[first + i], !same && c.int_of("ceil_mode", 0) != 0);
    if (result[first + i] <= 0) return c.fail("the window is larger than the padded input");
  }
  c.set(0, c.dtype(0), result);
  c.set(1, DType::Int64, std::move(result));
  return ok();
}

}  // namespace

Status conv_shape(RuleContext& c) { return convolve(c, 0, 1, c.dtype(0)); }
Status nhwc_conv_shape(RuleContext& c) { return convolve(c, 0, 1, c.dtype(0), true); }
Status qlinear_conv_shape(RuleContext& c) { return convolve(c, 0, 3, c.dtype(7), c.int_of("channels_last", 0) != 0); }
Status conv_integer_shape(RuleContext& c) { return convolve(c, 0, 1, DType::Int32); }

Status conv_transpose_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const Dims* w = c.shape(1);
  if (x == nullptr || w == nullptr) return ok();
  if (x->size() < 3 || w->size() != x->size()) return c.fail("input and weight must have the same rank, 3 or more");
  const std::size_t rank = x->size() - 2;
  if ((*x)[1] != (*w)[0]) return c.fail("input and weight channels differ");
  const std::span<const std::int64_t> spatial(x->data() + 2, rank);
  FORERUN_TRY(const Window window, read_window(c, spatial, Dims(w->begin() + 2, w->end())));
  const Dims extra = attribute_or(c, "output_padding", rank, 0);
  const auto wanted = c.ints_of("output_shape");
  const std::string_view mode = text_attribute(c.node(), "auto_pad", "NOTSET");
  Dims result = *x;
  result[1] = checked_mul((*w)[1], std::max<std::int64_t>(1, c.int_of("group", 1)));
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (spatial[i] == 0) return c.fail("the input is empty");
    if (wanted.size() == rank) {
      result[2 + i] = wanted[i];
    } else if (wanted.size() == rank + 2) {
      result[2 + i] = wanted[2 + i];
    } else if (mode.starts_with("SAME")) {
      result[2 + i] = checked_mul(spatial[i], window.strides[i]);
    } else {
      result[2 + i] =
          checked_mul(window.strides[i], spatial[i] - 1) + extra[i] + reach - window.pads[i] - window.pads[i + rank];
    }
    if (result[2 + i] <= 0) return c.fail("the output is empty");
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status pool_shape(RuleContext& c) { return pool(c, false); }
Status nhwc_pool_shape(RuleContext& c) { return pool(c, true); }

Status global_pool_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  if (x->size() < 2) return c.fail("input has no channels");
  Dims result = *x;
  std::fill(result.begin() + 2, result.end(), 1);
  if (c.int_of("channels_last", 0) != 0) {
    result = *x;
    std::fill(result.begin() + 1, result.end() - 1, 1);
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status roi_pool_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const Dims* rois = c.shape(1);
  if (x == nullptr || rois == nullptr || x->size() != 4 || rois->empty()) return ok();
  const auto pooled = c.ints_of("pooled_shape");
  const std::int64_t height = pooled.size() == 2 ? pooled[0] : c.int_of("output_height", 1);
  const std::int64_t width = pooled.size() == 2 ? pooled[1] : c.int_of("output_width", 1);
  if (height <= 0 || width <= 0) return c.fail("the pooled size must be positive");
  c.set(0, c.dtype(0), {rois->front(), (*x)[1], height, width});
  return ok();
}

Status max_unpool_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr || x->size() < 3) return ok();
  if (const auto* wanted = c.ints(2); wanted != nullptr && wanted->size() == x->size()) {
    c.set(0, c.dtype(0), *wanted);
    return ok();
  }
  if (c.input(2) != nullptr) return ok();  // the size is given at run time
  const std::size_t rank = x->size() - 2;
  const auto given = c.ints_of("kernel_shape");
  FORERUN_TRY(const Window window, read_window(c, std::span(x->data() + 2, rank), Dims(given.begin(), given.end())));
  Dims result = *x;
  for (std::size_t i = 0; i < rank; ++i) {
    if ((*x)[2 + i] == 0) return c.fail("the input is empty");
    result[2 + i] =
        checked_mul((*x)[2 + i] - 1, window.strides[i]) + window.kernel[i] - window.pads[i] - window.pads[i + rank];
    if (result[2 + i] <= 0) return c.fail("the output is empty");
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

void conv_cost(RuleContext& c, OpCost& cost) {
  const Value* output = c.output(0);
  const Dims* w = c.shape(c.node().kind == OpKind::QLinearConv ? 3 : 1);
  if (output == nullptr || w == nullptr || w->empty()) return;
  set_macs(cost, checked_mul(elements_of(*output), checked_product(std::span(*w).subspan(1))));
}

void conv_transpose_cost(RuleContext& c, OpCost& cost) {
  const Value* x = c.input(0);
  const Dims* w = c.shape(1);
  if (x == nullptr || w == nullptr || w->empty()) return;
  set_macs(cost, checked_mul(elements_of(*x), checked_product(std::span(*w).subspan(1))));
}

}  // namespace forerun
