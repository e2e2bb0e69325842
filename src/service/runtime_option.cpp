#include "service/runtime_option.hpp"

#include <array>

#include "service/option_values.hpp"

namespace forerun {
namespace {

// A runtime with kernels of its own, which are not modelled.
struct Unmodelled {
  std::string_view name, maker, nearest;
};
constexpr std::array kUnmodelled = {
    Unmodelled{"tensorrt", "TensorRT", "compiled"}, Unmodelled{"onnxruntime", "ONNX Runtime", "graph"},
    Unmodelled{"openvino", "OpenVINO", "compiled"}, Unmodelled{"tflite", "TensorFlow Lite", "graph"}};

}  // namespace

Status set_runtime(Request& request, std::string_view text) {
  for (const Unmodelled& other : kUnmodelled) {
    if (text == other.name)
      return bad_input("--runtime: " + std::string(other.maker) +
                       " has kernels of its own, which are not modelled; the nearest is " + std::string(other.nearest));
  }
  Runtime runtime{};
  FORERUN_CHECK(choose("runtime", text, parse_runtime(text), kRuntimeChoices, runtime));
  request.runtime = runtime;
  return ok();
}

}  // namespace forerun
