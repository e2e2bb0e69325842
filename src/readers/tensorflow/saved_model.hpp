// SavedModel (saved_model.pb) and frozen GraphDef files.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "readers/tensorflow/budget.hpp"
#include "readers/tensorflow/program.hpp"

namespace forerun::tensorflow {

// These look at the top-level fields and the first node only.
[[nodiscard]] bool looks_like_saved_model(std::string_view bytes);
[[nodiscard]] bool looks_like_graph_def(std::string_view bytes);

Result<Program> read_saved_model_program(std::string_view bytes, Budget& budget);
Result<Program> read_graph_def_program(std::string_view bytes, Budget& budget);

}  // namespace forerun::tensorflow
