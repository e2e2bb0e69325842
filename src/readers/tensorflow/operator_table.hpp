// The tables of native operators: which builder makes our nodes from each. TensorFlow and TensorFlow Lite share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op_kind.hpp"
#include "readers/tensorflow/program.hpp"

namespace forerun::tensorflow {

class Call;
using Builder = void (*)(Call&);

// In which order an operator wants the dimensions of its first input.
enum class Wants : std::uint8_t {
  AsIs,           // as TensorFlow states them
  Either,         // the order that the consumers of its results want
  ChannelsFirst,  // batch, channels, then space: convolutions, pooling, …
  Callee,         // what the called function wants
};

struct OperatorRow {
  std::string_view name;
  Builder build;
  OpKind kind = OpKind::Unknown;  // for builders that serve several operators
  Wants wants = Wants::AsIs;
  std::uint8_t image = 0;  // the input that is wanted channels first
};

[[nodiscard]] constexpr bool is_sorted(std::span<const OperatorRow> rows) {
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (!(rows[i - 1].name < rows[i].name)) return false;
  }
  return true;
}

[[nodiscard]] std::span<const OperatorRow> tensorflow_operators();  // tensorflow_table.cpp
[[nodiscard]] std::span<const OperatorRow> tflite_operators();      // tflite_table.cpp
// nullptr when the operator is not known.
[[nodiscard]] const OperatorRow* find_operator(OperatorSet set, std::string_view name);

}  // namespace forerun::tensorflow
