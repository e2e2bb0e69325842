// Expands the configuration of a Keras network into a graph: calls of layers in the order their inputs allow, nested
// networks in place, layers that are called twice with one set of weights.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "readers/keras/layers.hpp"

namespace forerun::keras {

inline constexpr int kMaxDepth = 24;                // networks inside networks and layers inside wrappers
inline constexpr std::int64_t kMaxCalls = 200'000;  // of layers, nested ones included

class Expander {
 public:
  GraphWriter w;

  // Layers that stay unknown are warned about by class, with how many there are.
  void warn_unknown(const std::string& class_name, const std::string& why);

  // `model`: {"class_name", "config", …} of a network.
  Status run(const Json& model);

  // Calls a layer, a network or a function; `layer` is its serialised form. Used by wrappers for what they wrap.
  Result<std::vector<Tensor>> call(const Json& layer, std::vector<Argument> arguments, const std::string& name);

  ValueId transposed(ValueId id, const Dims& perm);  // made once
  // An input that nothing has used yet: its dimensions are given in the other order, and no node is needed.
  bool permute_input(ValueId id);
  [[nodiscard]] bool is_permuted_input(ValueId id) const { return permuted_inputs_.contains(id); }
  ValueId weight(const std::string& name, DType dtype, const Dims& dims, ValueRole role);

  std::string path;                // of the layer being called: names of networks and layers, with '/' between
  std::size_t wanted_outputs = 1;  // of the layer being called, as far as others take them

 private:
  struct Call;
  struct Plan;
  Result<std::vector<Tensor>> call_sequential(const Json& config, std::vector<Argument> arguments);
  Result<std::vector<Tensor>> call_functional(const Json& config, const std::vector<Argument>& arguments);
  Result<std::vector<Tensor>> call_layer(const Json& layer, const std::string& class_name,
                                         std::vector<Argument> arguments);
  Result<Plan> plan_calls(const Json& layers);
  Status run_calls(Plan& plan);
  Tensor add_input(const std::string& name, const Json& config);

  int depth_ = 0;
  std::int64_t calls_ = 0;
  bool has_channels_first_ = false;  // a layer's data_format
  std::unordered_map<std::string, ValueId> weights_;
  std::map<std::pair<ValueId, Dims>, ValueId> transposed_;
  std::unordered_set<ValueId> permuted_inputs_;
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::int64_t>>
      unknown_;  // class and reason: first, count
};

// Helpers on serialised layers.
[[nodiscard]] const Json* member(const Json& object, std::string_view key);
[[nodiscard]] std::string text_of(const Json* json);
[[nodiscard]] std::string class_of(const Json& layer);
[[nodiscard]] bool is_network(const Json& layer);
[[nodiscard]] DType dtype_of(const Json& config);

}  // namespace forerun::keras
