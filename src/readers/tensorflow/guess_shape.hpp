// The shape of an operand that the file does not state, from the first convolution that takes it.
#pragma once

#include <string>
#include <vector>

#include "readers/tensorflow/operator_table.hpp"
#include "readers/tensorflow/program.hpp"

namespace forerun::tensorflow {

struct GuessedShape {
  Dims dims;
  std::vector<std::string> names;  // of the free dimensions, in order
};

[[nodiscard]] bool states_channels_first(const Operation& operation);
[[nodiscard]] GuessedShape guess_shape(OperatorSet operators, const Function& function, TensorId tensor);

}  // namespace forerun::tensorflow
