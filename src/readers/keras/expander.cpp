#include "readers/keras/expander.hpp"

#include <algorithm>
#include <queue>

#include "readers/keras/references.hpp"
#include "readers/printable.hpp"

namespace forerun::keras {
namespace {

// Names a free dimension by its place in an image, a video or a sequence.
std::string dimension_name(const std::string& input, std::size_t place, std::size_t rank) {
  if (place == 0) return "batch";
  if (rank >= 4 && place + 1 < rank) {
    const std::size_t from_end = rank - 1 - place;  // 1: width
    return from_end == 1 ? "width" : from_end == 2 ? "height" : "depth";
  }
  if (rank <= 3 && place == 1) return "sequence";
  return input + "_" + std::to_string(place);
}

Dims shape_of(const Json* json) {
  Dims dims;
  if (json == nullptr || !json->is_array() || json->size() > 16) return dims;
  for (const Json& one : *json) {
    const std::int64_t size = one.is_number_integer() ? one.get<std::int64_t>() : kUnknownDim;
    dims.push_back(size < 0 || size > (std::int64_t{1} << 40) ? kUnknownDim : size);
  }
  return dims;
}

bool mentions_channels_first(const Json& json) {
  if (json.is_object()) {
    if (text_of(member(json, "data_format")) == "channels_first") return true;
  } else if (!json.is_array()) {
    return false;
  }
  return std::any_of(json.begin(), json.end(), mentions_channels_first);
}

// HDF5 files do not say where a class is from. A layer's configuration says whether it is trainable; a function's says
// little, and its operands come one by one.
bool looks_like_function(const Json& config, const std::vector<Argument>& arguments) {
  return member(config, "trainable") == nullptr && member(config, "dtype") == nullptr && !arguments.empty() &&
         !arguments[0].is_list;
}

std::vector<Tensor> tensors_of(const std::vector<Argument>& arguments) {
  std::vector<Tensor> all;
  for (const Argument& one : arguments) all.insert(all.end(), one.tensors.begin(), one.tensors.end());
  return all;
}

}  // namespace

ValueId Expander::transposed(ValueId id, const Dims& perm) {
  if (const auto known = transposed_.find({id, perm}); known != transposed_.end()) return known->second;
  const ValueId made = w.op(OpKind::Transpose, {id}, {{"perm", perm}});
  transposed_.emplace(std::pair(id, perm), made);
  return made;
}

bool Expander::permute_input(ValueId id) {
  Value& value = w.value(id);
  if (value.role != ValueRole::Input || w.is_read(id) || permuted_inputs_.contains(id) || value.dims.size() < 3)
    return false;
  std::rotate(value.dims.begin() + 1, value.dims.end() - 1, value.dims.end());
  std::rotate(value.dim_names.begin() + 1, value.dim_names.end() - 1, value.dim_names.end());
  permuted_inputs_.insert(id);
  return true;
}

ValueId Expander::weight(const std::string& name, DType dtype, const Dims& dims, ValueRole role) {
  const auto [known, is_new] = weights_.try_emplace(name, kNoValue);
  if (!is_new) return known->second;
  known->second = w.shaped(name, dtype, dims, role);
  return known->second;
}

Tensor Expander::add_input(const std::string& name, const Json& config) {
  const Json* given = member(config, "batch_shape");
  if (given == nullptr) given = member(config, "batch_input_shape");
  Dims shape = shape_of(given);
  if (given == nullptr) {
    if (const Json* inner = member(config, "shape"); inner != nullptr && inner->is_array()) {
      shape = shape_of(inner);
      shape.insert(shape.begin(), kUnknownDim);
    }
  }
  const ValueId id = w.shaped(name, dtype_of(config), shape, ValueRole::Input);
  Value& value = w.value(id);
  for (std::size_t i = 0; i < shape.size(); ++i)
    value.dim_names.push_back(shape[i] < 0 ? dimension_name(value.name, i, shape.size()) : "");
  w.graph.main().inputs.push_back(id);
  Tensor t{.id = id, .has_shape = !shape.empty(), .permuted = false, .shape = std::move(shape)};
  if (t.rank() >= 4 && !has_channels_first_ && is_floating(value.dtype)) t.permuted = permute_input(id);
  return t;
}

void Expander::warn_unknown(const std::string& class_name, const std::string& why) {
  ++unknown_.try_emplace({class_name, why}, path, 0).first->second.second;
}

Status Expander::run(const Json& model) {
  w.graph.format = "keras";
  w.graph.origin.framework = Framework::TensorFlow;
  has_channels_first_ = mentions_channels_first(model);
  FORERUN_TRY(const std::vector<Tensor> results, call(model, {}, ""));
  for (const Tensor& t : results) {
    if (t.id != kNoValue) w.graph.main().outputs.push_back(t.id);
  }
  for (const auto& [what, where] : unknown_) {
    const std::string others = where.second > 1 ? " and " + std::to_string(where.second - 1) + " more" : "";
    w.warn("layer " + in_quotes(where.first) + " (" + what.first + ")" + others + ": " + what.second +
           "; its cost and its weights are not counted");
  }
  return ok();
}

Result<std::vector<Tensor>> Expander::call(const Json& layer, std::vector<Argument> arguments,
                                           const std::string& name) {
  if (depth_ >= kMaxDepth) return bad_input("layers are nested more than " + std::to_string(kMaxDepth) + " deep");
  if (++calls_ > kMaxCalls)
    return Error{ErrorKind::TooLarge, "the network calls more than " + std::to_string(kMaxCalls) + " layers"};
  if (!w.has_room()) return w.finish().error();
  const Json* config = member(layer, "config");
  const std::string class_name = class_of(layer);
  if (config == nullptr || (!config->is_object() && !config->is_array()))
    return bad_input("layer " + in_quotes(name) + " has no configuration");
  const std::string outer = path;
  if (!name.empty()) path += (path.empty() ? "" : "/") + printable(name.substr(0, 256));
  if (path.size() > 4096) return bad_input("the names of nested layers are longer than 4096 bytes");
  ++depth_;
  const auto result = [&]() -> Result<std::vector<Tensor>> {
    if (!is_network(layer)) return call_layer(layer, class_name, std::move(arguments));
    const bool sequential = config->is_array() || class_name == "Sequential";
    if (sequential) return call_sequential(*config, std::move(arguments));
    return call_functional(*config, arguments);
  }();
  --depth_;
  path = outer;
  return result;
}

Result<std::vector<Tensor>> Expander::call_layer(const Json& layer, const std::string& class_name,
                                                 std::vector<Argument> arguments) {
  const Json& config = *member(layer, "config");
  const LayerType* row = nullptr;
  const std::string module = text_of(member(layer, "module"));
  std::string function;
  if (class_name == "TFOpLambda" || class_name == "SlicingOpLambda") {
    function = text_of(member(config, "function"));
    row = find_function(function);
  } else if (class_name == "TensorFlowOpLayer") {
    const Json* definition = member(config, "node_def");
    if (definition != nullptr) function = text_of(member(*definition, "op"));
    row = find_function(function);
  } else if (module.find(".ops.") != std::string::npos || module == "keras.ops" ||
             (module.empty() && looks_like_function(config, arguments))) {
    row = find_function(class_name);
  }
  if (row == nullptr && function.empty()) row = find_layer(class_name);
  const std::size_t slash = path.rfind('/');
  w.op_type = function.empty() ? printable(class_name) : printable(function);
  w.name = path;
  w.module = slash == std::string::npos ? "" : path.substr(0, slash);
  if (class_name == "InputLayer") {
    if (!arguments.empty()) return tensors_of(arguments);
    return std::vector<Tensor>{add_input(slash == std::string::npos ? path : path.substr(slash + 1), config)};
  }
  static const LayerType kUnknownLayer{.name = "", .build = nullptr};
  Layer call(*this, row == nullptr ? kUnknownLayer : *row, config, std::move(arguments));
  if (row == nullptr) {
    FORERUN_CHECK(call.unknown("Forerun does not know it"));
  } else {
    const std::size_t first = w.node_count();
    const std::string op_type = w.op_type;
    FORERUN_CHECK(row->build(call));
    w.op_type = op_type;
    w.settle_names(first);
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const ValueId id = call.outputs[i].id;
      if (id != kNoValue && w.value(id).name.empty() && w.value(id).role == ValueRole::Computed)
        w.value(id).name = i == 0 ? path : path + "_" + std::to_string(i);
    }
  }
  return std::move(call.outputs);
}

Result<std::vector<Tensor>> Expander::call_sequential(const Json& config, std::vector<Argument> arguments) {
  const Json& layers = config.is_array() ? config : *member(config, "layers");
  std::vector<Tensor> now = tensors_of(arguments);
  for (const Json& layer : layers) {
    const Json* own = member(layer, "config");
    const std::string name = own == nullptr ? "" : text_of(member(*own, "name"));
    if (now.empty() && own != nullptr && class_of(layer) != "InputLayer" && !is_network(layer)) {
      // Keras 2: the first layer says what the input is.
      const Json* wrapped = member(*own, "layer");
      const Json* inner = wrapped == nullptr ? nullptr : member(*wrapped, "config");
      const Json* holder = member(*own, "batch_input_shape") != nullptr ? own : inner;
      Json made = Json::object();
      if (holder != nullptr && member(*holder, "batch_input_shape") != nullptr) {
        made = {{"batch_shape", (*holder)["batch_input_shape"]}, {"dtype", own->value("dtype", Json("float32"))}};
        if (class_of(layer) == "Embedding") made["dtype"] = "int32";
      } else if (const Json* built = member(config, "build_input_shape"); built != nullptr) {
        made = {{"batch_shape", *built}, {"dtype", "float32"}};
      } else {
        return bad_input("the first layer of " + in_quotes(path) +
                         " does not say its input's shape; build the network before saving it");
      }
      now = {add_input(name + "_input", made)};
    }
    std::vector<Argument> given;
    if (now.size() == 1) {
      given.push_back({.name = "", .tensors = now, .is_list = false, .json = nullptr});
    } else if (!now.empty()) {
      given.push_back({.name = "", .tensors = now, .is_list = true, .json = nullptr});
    }
    FORERUN_TRY(now, call(layer, std::move(given), name));
  }
  return now;
}

struct Expander::Call {
  std::size_t layer = 0;
  std::vector<ArgumentPlan> arguments;
  std::vector<std::size_t> consumers;  // calls that wait for this one
  std::size_t waits = 0;               // for how many calls
  std::size_t wanted = 1;              // outputs that others take
  std::vector<Tensor> results;
  bool done = false;
};

struct Expander::Plan {
  std::vector<const Json*> layers;
  std::vector<std::string> names;
  std::vector<Call> calls;
  std::unordered_map<std::string, std::size_t> by_key;  // Reference::key() -> call
};

Result<Expander::Plan> Expander::plan_calls(const Json& layers) {
  Plan plan;
  std::size_t references = 0;
  for (const Json& layer : layers) {
    const std::size_t index = plan.layers.size();
    std::string name = text_of(member(layer, "name"));
    if (const Json* config = member(layer, "config"); name.empty() && config != nullptr && config->is_object())
      name = text_of(member(*config, "name"));
    plan.layers.push_back(&layer);
    plan.names.push_back(name);
    auto inbound = read_inbound_nodes(layer);
    if (inbound.empty() && class_of(layer) == "InputLayer") inbound.emplace_back();
    for (std::size_t i = 0; i < inbound.size(); ++i) {
      for (const ArgumentPlan& one : inbound[i]) references += one.references.size();
      const Reference key{name, std::int64_t(i), 0, nullptr};
      if (!plan.by_key.emplace(key.key(), plan.calls.size()).second)
        return bad_input("two layers are named " + in_quotes(name));
      Call& call = plan.calls.emplace_back();
      call.layer = index;
      call.arguments = std::move(inbound[i]);
    }
    if (plan.calls.size() > std::size_t(kMaxCalls) || references > 4 * std::size_t(kMaxCalls))
      return Error{ErrorKind::TooLarge, "the network calls more than " + std::to_string(kMaxCalls) + " layers"};
  }
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    for (const ArgumentPlan& argument : plan.calls[i].arguments) {
      for (const Reference& from : argument.references) {
        const auto found = plan.by_key.find(from.key());
        if (found == plan.by_key.end())
          return bad_input("layer " + in_quotes(plan.names[plan.calls[i].layer]) + " takes call " +
                           std::to_string(from.call) + " of " + in_quotes(from.layer) + ", which is not there");
        plan.calls[found->second].consumers.push_back(i);
        ++plan.calls[i].waits;
        if (from.tensor > 0 && from.tensor < 1000)
          plan.calls[found->second].wanted = std::max(plan.calls[found->second].wanted, std::size_t(from.tensor) + 1);
      }
    }
  }
  return plan;
}

// In the file's order where inputs allow it.
Status Expander::run_calls(Plan& plan) {
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < plan.calls.size(); ++i) {
    if (plan.calls[i].waits == 0) ready.push(i);
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    Call& one = plan.calls[ready.top()];
    ready.pop();
    ++done;
    if (!one.done) {
      std::vector<Argument> arguments;
      for (const ArgumentPlan& from : one.arguments) {
        Argument& to = arguments.emplace_back();
        to.name = from.name;
        to.is_list = from.is_list;
        to.json = from.json;
        for (const Reference& reference : from.references) {
          const std::vector<Tensor>& results = plan.calls[plan.by_key.at(reference.key())].results;
          if (reference.tensor < 0 || reference.tensor >= std::int64_t(results.size()))
            return bad_input("layer " + in_quotes(plan.names[one.layer]) + " takes output " +
                             std::to_string(reference.tensor) + " of " + in_quotes(reference.layer) +
                             ", which is not there");
          Tensor t = results[std::size_t(reference.tensor)];
          // What an unknown layer gives is said by those who take it (Keras 3).
          if (!t.has_shape && reference.shape != nullptr && t.id != kNoValue) {
            t.shape = shape_of(reference.shape);
            t.has_shape = true;
            Value& value = w.value(t.id);
            if (!value.has_shape) {
              value.has_shape = true;
              value.dims = t.shape;
              value.dim_names.assign(t.shape.size(), "");
              if (!t.shape.empty() && t.shape[0] < 0) value.dim_names[0] = "batch";
            }
          }
          to.tensors.push_back(std::move(t));
        }
      }
      wanted_outputs = one.wanted;
      FORERUN_TRY(one.results, call(*plan.layers[one.layer], std::move(arguments), plan.names[one.layer]));
      one.done = true;
    }
    for (const std::size_t next : one.consumers) {
      if (--plan.calls[next].waits == 0) ready.push(next);
    }
  }
  if (done != plan.calls.size())
    return bad_input("the layers of " + in_quotes(path) + " wait for each other in a circle");
  return ok();
}

Result<std::vector<Tensor>> Expander::call_functional(const Json& config, const std::vector<Argument>& arguments) {
  FORERUN_TRY(Plan plan, plan_calls(*member(config, "layers")));
  const std::vector<Reference> inputs = read_references(member(config, "input_layers"));
  const std::vector<Reference> outputs = read_references(member(config, "output_layers"));
  if (outputs.empty()) return bad_input("network " + in_quotes(path) + " has no outputs");
  const std::vector<Tensor> given = tensors_of(arguments);
  if (depth_ > 1 || !given.empty()) {
    if (given.size() != inputs.size())
      return bad_input("network " + in_quotes(path) + " has " + std::to_string(inputs.size()) +
                       " inputs and is given " + std::to_string(given.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto found = plan.by_key.find(inputs[i].key());
      if (found == plan.by_key.end())
        return bad_input("network " + in_quotes(path) + " has no layer " + in_quotes(inputs[i].layer));
      plan.calls[found->second].results = {given[i]};
      plan.calls[found->second].done = true;
    }
  }
  FORERUN_CHECK(run_calls(plan));
  std::vector<Tensor> results;
  for (const Reference& from : outputs) {
    const auto found = plan.by_key.find(from.key());
    if (found == plan.by_key.end() || from.tensor < 0 ||
        from.tensor >= std::int64_t(plan.calls[found->second].results.size()))
      return bad_input("network " + in_quotes(path) + " has no output " + in_quotes(from.layer));
    results.push_back(plan.calls[found->second].results[std::size_t(from.tensor)]);
  }
  return results;
}

}  // namespace forerun::keras
