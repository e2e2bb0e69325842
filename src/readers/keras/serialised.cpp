// What serialised layers of Keras 2 and 3 have in common.
#include "readers/keras/expander.hpp"

namespace forerun::keras {

const Json* member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const Json* json) {
  return json != nullptr && json->is_string() ? json->get_ref<const std::string&>().substr(0, 1024) : std::string();
}

// "Custom>Conv2D" -> "Conv2D"
std::string class_of(const Json& layer) {
  std::string name = text_of(member(layer, "class_name"));
  const std::size_t mark = name.rfind('>');
  return mark == std::string::npos ? name : name.substr(mark + 1);
}

bool is_network(const Json& layer) {
  const Json* config = member(layer, "config");
  const Json* layers = config == nullptr ? nullptr : config->is_array() ? config : member(*config, "layers");
  return layers != nullptr && layers->is_array();
}

DType dtype_of(const Json& config) {
  const Json* given = member(config, "dtype");
  std::string name = text_of(given);
  if (given != nullptr && given->is_object()) {
    const Json* inner = member(*given, "config");
    if (inner != nullptr) name = text_of(member(*inner, "name"));
  }
  if (name == "mixed_float16" || name == "mixed_bfloat16") return DType::Float32;  // the weights' type
  for (const DType type : {DType::Float32, DType::Float16, DType::BFloat16, DType::Float64, DType::Int32, DType::Int64,
                           DType::Int8, DType::UInt8, DType::Int16, DType::Bool}) {
    if (name == name_of(type)) return type;
  }
  return name == "string" ? DType::String : DType::Float32;
}

}  // namespace forerun::keras
