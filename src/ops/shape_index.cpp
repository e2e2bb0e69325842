// Shape rules of gathers, reductions, sorting and the rarer operators.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {

Status gather_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const Dims* indices = c.shape(1);
  if (x == nullptr || indices == nullptr) return ok();
  const auto axis =
      normalize_axis(c.int_of(c.node().kind == OpKind::GatherBlockQuantized ? "gather_axis" : "axis", 0), x->size());
  if (!axis) return c.fail("axis out of range");
  Dims result(x->begin(), x->begin() + *axis);
  result.insert(result.end(), indices->begin(), indices->end());
  result.insert(result.end(), x->begin() + *axis + 1, x->end());
  c.set(0, c.node().kind == OpKind::GatherBlockQuantized ? c.dtype(2) : c.dtype(0), std::move(result));
  return ok();
}

Status gather_elements_shape(RuleContext& c) {
  if (const Dims* indices = c.shape(1)) c.set(0, c.dtype(0), *indices);
  return ok();
}

Status gather_nd_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const Dims* indices = c.shape(1);
  if (x == nullptr || indices == nullptr) return ok();
  const std::int64_t batch = c.int_of("batch_dims", 0);
  if (indices->empty()) return c.fail("indices are a scalar");
  const std::int64_t depth = indices->back();
  if (batch < 0 || depth < 0 || batch + depth > std::int64_t(x->size()))
    return c.fail("indices are deeper than the data");
  Dims result(indices->begin(), indices->end() - 1);
  result.insert(result.end(), x->begin() + batch + depth, x->end());
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status one_hot_shape(RuleContext& c) {
  const Dims* indices = c.shape(0);
  const Literal* depth = c.literal(1);
  if (indices == nullptr || depth == nullptr) return ok();
  const double classes = !depth->ints.empty() ? double(depth->ints[0]) : !depth->reals.empty() ? depth->reals[0] : -1;
  if (classes < 0 || classes > 1e12) return c.fail("absurd depth");
  Dims result = *indices;
  const auto axis = normalize_axis(c.int_of("axis", -1), result.size() + 1);
  if (!axis) return c.fail("axis out of range");
  result.insert(result.begin() + *axis, std::int64_t(classes));
  c.set(0, c.dtype(2), std::move(result));
  return ok();
}

Status top_k_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const auto k = c.ints_of("k", 1);
  if (x == nullptr || !k || k->empty()) return ok();
  const auto axis = normalize_axis(c.int_of("axis", -1), x->size());
  if (!axis) return c.fail("axis out of range");
  if (k->front() < 0) return c.fail("negative k");
  Dims result = *x;
  result[std::size_t(*axis)] = std::min(k->front(), result[std::size_t(*axis)]);
  c.set(0, c.dtype(0), result);
  c.set(1, DType::Int64, std::move(result));
  return ok();
}

// Results of NonZero, NonMaxSuppression, Unique and Compress depend on data; the largest possible size is assumed.
Status non_zero_shape(RuleContext& c) {
  if (const Dims* x = c.shape(0)) c.set(0, DType::Int64, {std::int64_t(x->size()), checked_product(*x)});
  return ok();
}

Status nms_shape(RuleContext& c) {
  const Dims* boxes = c.shape(0);
  const Dims* scores = c.shape(1);
  if (boxes == nullptr || scores == nullptr || boxes->size() != 3 || scores->size() != 3) return ok();
  std::int64_t each = (*boxes)[1];
  if (const auto* limit = c.ints(2); limit != nullptr && !limit->empty() && (*limit)[0] >= 0) {
    each = std::min(each, (*limit)[0]);
  }
  c.set(0, DType::Int64, {checked_mul(checked_mul((*scores)[0], (*scores)[1]), each), 3});
  return ok();
}

Status unique_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  const Attribute* axis = find_attribute(c.node(), "axis");
  const std::int64_t count = axis == nullptr
                                 ? checked_product(*x)
                                 : (*x)[std::size_t(normalize_axis(c.int_of("axis", 0), x->size()).value_or(0))];
  c.set(0, c.dtype(0), axis == nullptr ? Dims{count} : *x);
  for (std::size_t i = 1; i < c.output_count(); ++i) c.set(i, DType::Int64, {count});
  return ok();
}

Status compress_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  c.set(0, c.dtype(0), find_attribute(c.node(), "axis") == nullptr ? Dims{checked_product(*x)} : *x);
  return ok();
}

Status reduce_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  const auto axes = c.ints_of("axes", 1);
  if (!axes && c.input(1) != nullptr) return ok();
  const bool keep = c.int_of("keepdims", 1) != 0;
  const bool all = !axes || axes->empty();
  if (all && c.int_of("noop_with_empty_axes", 0) != 0) {
    c.set(0, c.dtype(0), *x);
    return ok();
  }
  std::vector<bool> reduced(x->size(), all);
  if (!all) {
    for (const std::int64_t axis : *axes) {
      const auto index = normalize_axis(axis, x->size());
      if (!index) return c.fail("axis out of range");
      reduced[std::size_t(*index)] = true;
    }
  }
  Dims result;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!reduced[i]) {
      result.push_back((*x)[i]);
    } else if (keep) {
      result.push_back(1);
    }
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status arg_reduce_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr) return ok();
  const auto axis = normalize_axis(c.int_of("axis", 0), x->size());
  if (!axis) return c.fail("axis out of range");
  Dims result = *x;
  if (c.int_of("keepdims", 1) != 0) {
    result[std::size_t(*axis)] = 1;
  } else {
    result.erase(result.begin() + *axis);
  }
  c.set(0, DType::Int64, std::move(result));
  return ok();
}

Status grid_sample_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const Dims* grid = c.shape(1);
  if (x == nullptr || grid == nullptr || grid->size() != x->size() || x->size() < 3) return ok();
  Dims result = {(*x)[0], (*x)[1]};
  result.insert(result.end(), grid->begin() + 1, grid->end() - 1);
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status center_crop_pad_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const auto* wanted = c.ints(1);
  if (x == nullptr || wanted == nullptr) return ok();
  Dims result = *x;
  const auto axes = c.ints_of("axes");
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const auto axis = normalize_axis(i < axes.size() ? axes[i] : std::int64_t(i), x->size());
    if (!axis || (*wanted)[i] < 0) return c.fail("axis or size out of range");
    result[std::size_t(*axis)] = (*wanted)[i];
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status col2im_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  const auto* image = c.ints(1);
  const auto* block = c.ints(2);
  if (x == nullptr || image == nullptr || block == nullptr || x->size() != 3) return ok();
  const std::int64_t area = checked_product(*block);
  if (area <= 0) return c.fail("the block is empty");
  Dims result = {(*x)[0], (*x)[1] / area};
  for (const std::int64_t size : *image) {
    if (size < 0) return c.fail("negative image size");
    result.push_back(size);
  }
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status eye_like_shape(RuleContext& c) {
  const DType own = c.dtype(0) == DType::Undefined ? DType::Float32 : c.dtype(0);
  const auto type = DType(std::clamp<std::int64_t>(c.int_of("dtype", std::int64_t(own)), 1, 26));
  if (const Dims* x = c.shape(0)) c.set(0, type, *x);
  return ok();
}

Status random_shape(RuleContext& c) {
  const auto dims = c.ints_of("shape");
  if (std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 0; })) return c.fail("negative dimension");
  c.set(0, DType(std::clamp<std::int64_t>(c.int_of("dtype", 1), 1, 26)), Dims(dims.begin(), dims.end()));
  return ok();
}

Status random_like_shape(RuleContext& c) {
  const std::int64_t type = c.int_of("dtype", std::int64_t(c.dtype(0)));
  if (const Dims* x = c.shape(0)) c.set(0, DType(std::clamp<std::int64_t>(type, 1, 26)), *x);
  return ok();
}

Status window_shape(RuleContext& c) {
  const auto* size = c.ints(0);
  if (size == nullptr || size->size() != 1 || (*size)[0] < 0) return ok();
  c.set(0, DType(std::clamp<std::int64_t>(c.int_of("output_datatype", 1), 1, 26)), {(*size)[0]});
  return ok();
}

Status dft_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr || x->size() < 2) return ok();
  Dims result = *x;
  std::int64_t axis = c.int_of("axis", c.graph().opset >= 20 ? -2 : 1);
  if (const auto* given = c.ints(2); given != nullptr && !given->empty()) {
    axis = (*given)[0];
  } else if (c.input(2) != nullptr) {
    return ok();
  }
  const auto index = normalize_axis(axis, x->size());
  if (!index) return c.fail("axis out of range");
  std::int64_t& size = result[std::size_t(*index)];
  const bool onesided = c.int_of("onesided", 0) != 0;
  const bool to_real = onesided && c.int_of("inverse", 0) != 0;  // half a spectrum becomes a real signal
  if (to_real) size = std::max<std::int64_t>(1, checked_mul(2, size - 1));
  if (const auto* length = c.ints(1); length != nullptr && !length->empty() && (*length)[0] >= 0) {
    size = (*length)[0];
  } else if (c.input(1) != nullptr) {
    return ok();
  }
  if (onesided && !to_real) size = size / 2 + 1;
  result.back() = to_real ? 1 : 2;
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status stft_shape(RuleContext& c) {
  const Dims* signal = c.shape(0);
  const auto* step = c.ints(1);
  const auto* length = c.ints(3);
  if (signal == nullptr || step == nullptr || step->empty() || (*step)[0] <= 0 || signal->size() < 2) return ok();
  std::int64_t frame = 0;
  if (length != nullptr && !length->empty()) frame = (*length)[0];
  if (const Dims* window = c.shape(2); frame == 0 && window != nullptr && !window->empty()) frame = window->front();
  if (frame <= 0 || frame > (*signal)[1]) return c.fail("the frame is longer than the signal");
  const std::int64_t bins = c.int_of("onesided", 1) != 0 ? frame / 2 + 1 : frame;
  c.set(0, c.dtype(0), {(*signal)[0], ((*signal)[1] - frame) / (*step)[0] + 1, bins, 2});
  return ok();
}

Status loss_shape(RuleContext& c) {
  const Dims* labels = c.shape(1);
  if (text_attribute(c.node(), "reduction", "mean") != "none") {
    c.set(0, c.dtype(0), {});
  } else if (labels != nullptr) {
    c.set(0, c.dtype(0), *labels);
  }
  if (const Dims* scores = c.shape(0)) c.set(1, c.dtype(0), *scores);
  return ok();
}

Status multinomial_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr || x->size() != 2) return ok();
  c.set(0, DType(std::clamp<std::int64_t>(c.int_of("dtype", 6), 1, 26)),
        {(*x)[0], std::max<std::int64_t>(0, c.int_of("sample_size", 1))});
  return ok();
}

Status det_shape(RuleContext& c) {
  const Dims* x = c.shape(0);
  if (x == nullptr || x->size() < 2) return ok();
  c.set(0, c.dtype(0), Dims(x->begin(), x->end() - 2));
  return ok();
}

Status affine_grid_shape(RuleContext& c) {
  const auto* size = c.ints(1);
  if (size == nullptr || size->size() < 3) return ok();
  Dims result = {(*size)[0]};
  result.insert(result.end(), size->begin() + 2, size->end());
  result.push_back(std::int64_t(size->size()) - 2);
  if (std::any_of(result.begin(), result.end(), [](std::int64_t d) { return d < 0; })) return c.fail("negative size");
  c.set(0, c.dtype(0), std::move(result));
  return ok();
}

Status mel_weight_shape(RuleContext& c) {
  const auto* bins = c.ints(0);
  const auto* length = c.ints(1);
  if (bins == nullptr || length == nullptr || bins->empty() || length->empty()) return ok();
  if ((*bins)[0] < 0 || (*length)[0] < 0) return c.fail("negative size");
  c.set(0, DType(std::clamp<std::int64_t>(c.int_of("output_datatype", 1), 1, 26)), {(*length)[0] / 2 + 1, (*bins)[0]});
  return ok();
}

}  // namespace forerun
