// Values of TorchScript that are not numbers, texts, lists or tensors.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "readers/torch/argument.hpp"

namespace forerun::pytorch {

struct ScriptObject {
  enum class Form : std::uint8_t { Instance, Dictionary, Name };
  Form form = Form::Instance;
  std::string name;  // an instance's class, or the dotted name of a class, function or module that is only named
  std::string path;  // of a module inside the network: "features/0"
  std::map<std::string, Argument> attributes;
  std::vector<std::pair<Argument, Argument>> entries;  // of a dictionary, in order
};

using Object = std::shared_ptr<ScriptObject>;

inline Argument make_named(std::string name) {
  auto object = std::make_shared<ScriptObject>();
  object->form = ScriptObject::Form::Name;
  object->name = std::move(name);
  return {std::move(object)};
}

}  // namespace forerun::pytorch
