// TensorFlow's files: TensorFlow Lite, SavedModel (folder or its saved_model.pb), frozen GraphDef, TensorFlow.js
// graphs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "readers/format.hpp"
#include "readers/tensorflow/program.hpp"

namespace forerun {

bool is_tflite(const Source& source);
Result<std::unique_ptr<Network>> read_tflite_source(const Source& source);

// From memory; `name` opens every message.
Result<std::unique_ptr<Network>> read_tflite(std::string_view bytes, const std::string& name,
                                             tensorflow::Limits limits = {});

}  // namespace forerun
