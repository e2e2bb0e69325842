// Where a layer's inputs come from, as Keras 2 and 3 write it down.
#pragma once

#include <string>
#include <vector>

#include "readers/keras/layers.hpp"

namespace forerun::keras {

// Output `tensor` of call `call` of a layer.
struct Reference {
  std::string layer;
  std::int64_t call = 0, tensor = 0;
  const Json* shape = nullptr;  // as the file says, where it does
  [[nodiscard]] std::string key() const { return layer + '\0' + std::to_string(call); }
};

struct ArgumentPlan {
  std::string name;
  std::vector<Reference> references;
  bool is_list = false;
  const Json* json = nullptr;
};

// The arguments of each call of a layer.
std::vector<std::vector<ArgumentPlan>> read_inbound_nodes(const Json& layer);
// Of "input_layers" and "output_layers": one reference, a list or a dictionary of them.
std::vector<Reference> read_references(const Json* json);

}  // namespace forerun::keras
