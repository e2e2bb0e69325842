// Names and option fields of TensorFlow Lite's builtin operators.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace forerun::tensorflow {

enum class FieldType : std::uint8_t {
  Byte,     // an enumeration or int8, default 0
  Int,      // int32, default 0
  One,      // int32, default 1
  Real,     // float32
  Boolean,  // default false
  True,     // boolean, default true
  Ints,     // a vector of int32
  Text,
  Function,  // int32: index of a subgraph
};

struct OptionField {
  std::int32_t code;  // BuiltinOperator
  std::string_view name;
  unsigned slot;  // in the operator's options table
  FieldType type;
};

// Empty when the code is not known.
[[nodiscard]] std::string_view tflite_operator_name(std::int64_t code);
// All fields, ordered by operator code.
[[nodiscard]] std::span<const OptionField> tflite_option_fields();

}  // namespace forerun::tensorflow
