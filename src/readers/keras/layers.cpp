#include "readers/keras/layers.hpp"

#include <algorithm>
#include <array>

#include "base/checked.hpp"
#include "readers/keras/expander.hpp"
#include "readers/printable.hpp"

namespace forerun::keras {
namespace {

constexpr std::int64_t kMaxNumber = std::int64_t{1} << 40;

void append_ints(const Json& json, Dims& values) {
  if (values.size() > 1024) return;
  if (json.is_number_integer()) {
    values.push_back(std::clamp(json.get<std::int64_t>(), -kMaxNumber, kMaxNumber));
  } else if (json.is_number_float()) {
    const double real = json.get<double>();
    values.push_back(real > -1e12 && real < 1e12 ? std::int64_t(real) : 0);
  } else if (json.is_null()) {
    values.push_back(kUnknownDim);
  } else if (json.is_array()) {
    for (const Json& item : json) append_ints(item, values);
  }
}

struct ActivationName {
  std::string_view name;
  OpKind kind;
};
constexpr std::array kActivations = {
    ActivationName{"linear", OpKind::Identity},
    ActivationName{"relu", OpKind::Relu},
    ActivationName{"relu6", OpKind::Clip},
    ActivationName{"sigmoid", OpKind::Sigmoid},
    ActivationName{"tanh", OpKind::Tanh},
    ActivationName{"softmax", OpKind::Softmax},
    ActivationName{"log_softmax", OpKind::LogSoftmax},
    ActivationName{"gelu", OpKind::Gelu},
    ActivationName{"elu", OpKind::Elu},
    ActivationName{"selu", OpKind::Selu},
    ActivationName{"celu", OpKind::Celu},
    ActivationName{"swish", OpKind::Swish},
    ActivationName{"silu", OpKind::Swish},
    ActivationName{"mish", OpKind::Mish},
    ActivationName{"softplus", OpKind::Softplus},
    ActivationName{"softsign", OpKind::Softsign},
    ActivationName{"exponential", OpKind::Exp},
    ActivationName{"hard_sigmoid", OpKind::HardSigmoid},
    ActivationName{"hard_swish", OpKind::HardSwish},
    ActivationName{"hard_silu", OpKind::HardSwish},
    ActivationName{"hard_tanh", OpKind::Clip},
    ActivationName{"leaky_relu", OpKind::LeakyRelu},
    ActivationName{"hard_shrink", OpKind::Shrink},
    ActivationName{"soft_shrink", OpKind::Shrink},
    ActivationName{"threshold", OpKind::ThresholdedRelu},
};

}  // namespace

std::optional<OpKind> activation_kind(std::string_view name) {
  for (const ActivationName& one : kActivations) {
    if (one.name == name) return one.kind;
  }
  return std::nullopt;
}

std::int64_t times(std::int64_t a, std::int64_t b) { return a < 0 || b < 0 ? kUnknownDim : checked_mul(a, b); }

Dims iota_dims(std::int64_t from, std::int64_t to) {
  Dims values;
  for (std::int64_t i = from; i < to; ++i) values.push_back(i);
  return values;
}

Layer::Layer(Expander& expander, const LayerType& type, const Json& settings, std::vector<Argument> arguments)
    : e(expander), w(expander.w), row(type), config(settings), args(std::move(arguments)) {
  for (Argument& one : args) {
    for (Tensor& t : one.tensors) {
      if (e.is_permuted_input(t.id)) t.permuted = true;
      inputs.push_back(t);
    }
  }
}

const Json* Layer::find(std::string_view key) const { return member(config, key); }

std::int64_t Layer::integer(std::string_view key, std::int64_t fallback) const {
  const Dims listed = ints(key);
  const Json* held = find(key);
  return listed.empty() || held == nullptr || held->is_null() ? fallback : listed[0];
}

double Layer::real(std::string_view key, double fallback) const {
  const Json* held = find(key);
  return held != nullptr && held->is_number() ? held->get<double>() : fallback;
}

bool Layer::flag(std::string_view key, bool fallback) const {
  const Json* held = find(key);
  return held != nullptr && held->is_boolean() ? held->get<bool>() : fallback;
}

std::string Layer::text(std::string_view key, std::string_view fallback) const {
  const Json* held = find(key);
  return held != nullptr && held->is_string() ? text_of(held) : std::string(fallback);
}

Dims Layer::ints(std::string_view key) const {
  Dims values;
  if (const Json* held = find(key); held != nullptr && !held->is_null()) append_ints(*held, values);
  return values;
}

Dims Layer::ints(std::string_view key, std::size_t count, std::int64_t fallback) const {
  Dims values = ints(key);
  if (values.size() == 1) values.resize(count, values[0]);
  if (values.size() != count) values.assign(count, fallback);
  return values;
}

const Argument* Layer::argument(std::string_view name, std::size_t place) const {
  std::size_t positional = 0;
  for (const Argument& one : args) {
    if (one.name.empty() ? positional++ == place : one.name == name) return &one;
  }
  return nullptr;
}

const Tensor* Layer::tensor(std::string_view name, std::size_t place) const {
  const Argument* one = argument(name, place);
  return one == nullptr || one->tensors.empty() ? nullptr : &one->tensors[0];
}

const Json* Layer::value(std::string_view name, std::size_t place) const {
  const Argument* one = argument(name, place);
  return one == nullptr || !one->tensors.empty() || one->json == nullptr || one->json->is_null() ? nullptr : one->json;
}

ValueId Layer::weight(std::string_view name, Dims dims, ValueRole role) {
  DType type = dtype_of(config);
  if (!is_floating(type)) type = DType::Float32;
  return e.weight(e.path + "/" + std::string(name), type, dims, role);
}

ValueId Layer::natural(const Tensor& t) {
  if (!t.permuted) return t.id;
  const auto rank = std::int64_t(t.rank());
  Dims perm = {0};
  for (std::int64_t i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return e.transposed(t.id, perm);
}

ValueId Layer::channels_second(const Tensor& t) {
  if (t.permuted || e.permute_input(t.id)) return t.id;
  const auto rank = std::int64_t(t.rank());
  Dims perm = {0, rank - 1};
  for (std::int64_t i = 1; i + 1 < rank; ++i) perm.push_back(i);
  return e.transposed(t.id, perm);
}

std::int64_t Layer::ir_axis(const Tensor& t, std::int64_t axis) {
  const auto rank = std::int64_t(t.rank());
  if (axis < 0) axis += rank;
  if (!t.permuted || axis == 0) return axis;
  return axis == rank - 1 ? 1 : axis + 1;
}

Tensor Layer::made(ValueId id, Dims shape, bool permuted) const {
  return {.id = id, .has_shape = true, .permuted = permuted, .shape = std::move(shape)};
}

Tensor Layer::activate(const Tensor& x, const Json* activation) {
  if (activation == nullptr || activation->is_null() || x.id == kNoValue) return x;
  std::string name = text_of(activation);
  const Json* settings = nullptr;
  if (activation->is_object()) {
    settings = member(*activation, "config");
    name = class_of(*activation);
    if (settings != nullptr && settings->is_string()) {
      name = text_of(settings);
      settings = nullptr;
    }
  }
  if (name == "linear") return x;
  const std::string outer = w.op_type;
  Tensor result = x;
  if (const LayerType* layer = name.empty() || settings == nullptr ? nullptr : find_layer(name)) {
    w.op_type = name;
    Layer inner(e, *layer, *settings, {{.name = "", .tensors = {x}, .is_list = false, .json = nullptr}});
    if (layer->build(inner) && inner.outputs.size() == 1) result = inner.outputs[0];
    w.op_type = outer;
    return result;
  }
  const auto kind = activation_kind(name);
  w.op_type = printable(name);
  if (!kind) {
    w.warn("activation " + in_quotes(name) + " is unknown: it is left out");
  } else if (*kind == OpKind::Softmax || *kind == OpKind::LogSoftmax) {
    result.id = w.op(*kind, {x.id}, {{"axis", ir_axis(x, -1)}});
  } else if (*kind == OpKind::Clip) {
    const bool six = name == "relu6";
    result.id = w.op(OpKind::Clip, {x.id, w.real(six ? 0 : -1, dtype(x)), w.real(six ? 6 : 1, dtype(x))});
  } else {
    result.id = w.op(*kind, {x.id});
  }
  w.op_type = outer;
  return result;
}

Status Layer::unknown(const std::string& why) {
  std::vector<ValueId> from, to;
  for (const Tensor& t : inputs) from.push_back(t.id);
  const std::size_t count = std::max<std::size_t>(1, e.wanted_outputs);
  for (std::size_t i = 0; i < count; ++i) {
    to.push_back(w.new_value(e.path + (i == 0 ? "" : "_" + std::to_string(i)), DType::Float32));
    outputs.push_back({.id = to.back(), .has_shape = false, .permuted = false, .shape = {}});
  }
  if (!w.has_room()) return ok();
  w.unknown("keras", std::move(from), std::move(to));
  e.warn_unknown(w.op_type, why);
  return ok();
}

Status Layer::expect(bool holds, const std::string& what) {
  if (holds) return ok();
  return bad_input("layer " + in_quotes(e.path) + " (" + w.op_type + "): " + what);
}

}  // namespace forerun::keras
