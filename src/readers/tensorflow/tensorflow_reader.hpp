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

bool is_saved_model(const Source& source);  // the folder or its saved_model.pb
Result<std::unique_ptr<Network>> read_saved_model_source(const Source& source);
bool is_graph_def(const Source& source);
Result<std::unique_ptr<Network>> read_graph_def_source(const Source& source);

bool is_tfjs_graph(const Source& source);
Result<std::unique_ptr<Network>> read_tfjs_graph_source(const Source& source);

// From memory; `name` opens every message.
Result<std::unique_ptr<Network>> read_saved_model(std::string_view bytes, const std::string& name,
                                                  tensorflow::Limits limits = {});
Result<std::unique_ptr<Network>> read_graph_def(std::string_view bytes, const std::string& name,
                                                tensorflow::Limits limits = {});
Result<std::unique_ptr<Network>> read_tflite(std::string_view bytes, const std::string& name,
                                             tensorflow::Limits limits = {});

// `folder` holds the weight files; none: nothing beside the file may be looked at.
Result<std::unique_ptr<Network>> read_tfjs_graph(std::string_view bytes, const std::string& name, const Folder& folder,
                                                 tensorflow::Limits limits = {});

}  // namespace forerun
