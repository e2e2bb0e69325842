// TensorFlow.js graph models: model.json holds a GraphDef as JSON; constants lie in weight files beside it.
#pragma once

#include <string>
#include <string_view>

#include "base/folder.hpp"
#include "base/result.hpp"
#include "readers/tensorflow/budget.hpp"
#include "readers/tensorflow/program.hpp"

namespace forerun::tensorflow {

[[nodiscard]] bool looks_like_tfjs_graph(std::string_view bytes);
// `folder`: where the weight files lie; none: nothing beside the file may be looked at.
Result<Program> read_tfjs_program(std::string_view bytes, const Folder& folder, Budget& budget);

}  // namespace forerun::tensorflow
