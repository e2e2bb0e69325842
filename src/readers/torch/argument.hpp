// What PyTorch's operators are called with, in both of its file formats: tensors, numbers, texts, lists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/graph.hpp"

namespace forerun::pytorch {

struct Argument;
struct ScriptObject;

struct Tensor {
  ValueId id = kNoValue;
};
struct ElementType {
  DType type = DType::Undefined;
};
struct AtRunTime {};  // a number that only a run can tell
struct Named {        // of an exported graph: what an earlier node gave, by its name
  std::string name;
};
struct Stored {  // of a pickle: a tensor, by its place in Pickle::tensors
  std::int32_t index = 0;
};
struct SubGraph {  // of an exported graph: the body of a control flow operator, by its place
  std::int32_t index = 0;
};
using List = std::shared_ptr<std::vector<Argument>>;  // lists and tuples; shared, as in Python

struct Argument {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Tensor, ElementType, AtRunTime, Named, SubGraph,
               Stored, List, std::shared_ptr<ScriptObject>>
      value;

  template <typename T>
  [[nodiscard]] const T* as() const {
    return std::get_if<T>(&value);
  }
  [[nodiscard]] bool is_none() const { return std::holds_alternative<std::monostate>(value); }
};

inline Argument make_list(std::vector<Argument> items = {}) {
  return {std::make_shared<std::vector<Argument>>(std::move(items))};
}

// The types by PyTorch's own numbers (c10::ScalarType); Undefined for those that networks do not use.
[[nodiscard]] DType dtype_of_number(std::int64_t number);

}  // namespace forerun::pytorch
