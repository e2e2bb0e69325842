// TensorFlow Lite files (.tflite): a bounded walk over the FlatBuffers tables. Weights are never touched.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "readers/tensorflow/budget.hpp"
#include "readers/tensorflow/program.hpp"

namespace forerun::tensorflow {

[[nodiscard]] bool has_tflite_identifier(std::string_view bytes);
Result<Program> read_tflite_program(std::string_view bytes, Budget& budget);

}  // namespace forerun::tensorflow
