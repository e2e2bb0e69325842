// x[a, b:c, ...] among a network's layers.
#include <algorithm>

#include "readers/keras/expander.hpp"

namespace forerun::keras {
namespace {

std::int64_t int_of(const Json* json, std::int64_t fallback) {
  return json != nullptr && json->is_number_integer() ? json->get<std::int64_t>() : fallback;
}

struct Selection {
  std::vector<std::int64_t> starts, ends, axes, steps, dropped, added;
  Dims shape;
};

// One part of x[a, b:c, ...]: an integer drops its axis, a slice cuts it.
bool add_part(const Json& part, const Tensor& x, std::size_t& axis, Selection& s) {
  if (axis >= x.rank()) return false;
  const std::int64_t size = x.shape[axis];
  if (part.is_number_integer()) {
    const std::int64_t at = part.get<std::int64_t>();
    s.starts.push_back(at);
    s.ends.push_back(at == -1 ? std::int64_t{1} << 40 : at + 1);
    s.axes.push_back(std::int64_t(axis));
    s.steps.push_back(1);
    s.dropped.push_back(std::int64_t(axis++));
    return true;
  }
  // Keras 3: {"class_name": "__slice__", "config": {…}}; Keras 2: {"start", "stop", "step"}.
  const Json* config = member(part, "config");
  const Json& fields = config == nullptr ? part : *config;
  if (!fields.is_object()) return false;
  const std::int64_t step = int_of(member(fields, "step"), 1);
  const Json* start = member(fields, "start");
  const Json* stop = member(fields, "stop");
  const bool whole = step == 1 && (start == nullptr || start->is_null()) && (stop == nullptr || stop->is_null());
  if (step == 0 || step > (1 << 24) || step < -(1 << 24)) return false;
  std::int64_t from = int_of(start, step > 0 ? 0 : -1),
               to = int_of(stop, step > 0 ? std::int64_t{1} << 40 : -(std::int64_t{1} << 40));
  std::int64_t length = size;
  if (!whole) {
    s.starts.push_back(from);
    s.ends.push_back(to);
    s.axes.push_back(std::int64_t(axis));
    s.steps.push_back(step);
    if (size >= 0) {
      const auto place = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
        return std::clamp(at < 0 ? at + size : at, low, high);
      };
      from = step > 0 ? place(from, 0, size) : place(from, -1, size - 1);
      to = step > 0 ? place(to, 0, size) : place(to, -1, size - 1);
      length = step > 0 ? std::max<std::int64_t>(0, (to - from + step - 1) / step)
                        : std::max<std::int64_t>(0, (from - to - step - 1) / -step);
    }
  }
  s.shape.push_back(length);
  ++axis;
  return true;
}

// Keras 3 gives it by place, Keras 2 as an argument called slice_spec.
const Json* selection_of(const Layer& c) {
  for (const std::string_view name : {"key", "slice_spec"}) {
    if (const Json* held = c.find(name); held != nullptr && !held->is_null()) return held;
    if (const Json* held = c.value(name, 99); held != nullptr) return held;
  }
  return c.value("", 1);
}

}  // namespace

Status get_item(Layer& c) {
  const Json* key = selection_of(c);
  if (c.inputs.empty() || !c.inputs[0].has_shape || key == nullptr)
    return c.unknown("what it selects is computed while it runs");
  const Tensor& x = c.inputs[0];
  Selection s;
  std::size_t axis = 0;
  const Json parts = key->is_array() ? *key : Json::array({*key});
  if (parts.size() > 64) return c.unknown("it selects in a form that Forerun does not read");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Json& part = parts[i];
    if (part.is_null()) {
      s.added.push_back(std::int64_t(s.shape.size()));
      s.shape.push_back(1);
    } else if (text_of(&part) == "..." || text_of(member(part, "class_name")) == "__ellipsis__") {
      const std::size_t behind = parts.size() - i - 1;
      while (x.rank() > behind && axis < x.rank() - behind) s.shape.push_back(x.shape[axis++]);
    } else if (!add_part(part, x, axis, s)) {
      return c.unknown("it selects in a form that Forerun does not read");
    }
  }
  while (axis < x.rank()) s.shape.push_back(x.shape[axis++]);
  ValueId y = c.natural(x);
  if (s.dropped.size() == 1 && s.axes.size() == 1) {
    y = c.w.op(OpKind::Gather, {y, c.w.scalar(s.starts[0])}, {{"axis", s.axes[0]}});
  } else {
    if (!s.axes.empty())
      y = c.w.op(OpKind::Slice,
                 {y, c.w.constant(s.starts), c.w.constant(s.ends), c.w.constant(s.axes), c.w.constant(s.steps)});
    if (!s.dropped.empty()) y = c.w.op(OpKind::Squeeze, {y, c.w.constant(s.dropped)});
  }
  if (!s.added.empty()) y = c.w.op(OpKind::Unsqueeze, {y, c.w.constant(s.added)});
  if (y == x.id) return identity(c);
  c.give(c.made(y, std::move(s.shape)));
  return ok();
}

}  // namespace forerun::keras
