// A toy format: a first line "layers 1", then "input WIDTH", "linear WIDTH" and "relu", one a line.
#pragma once

#include "readers/format.hpp"

namespace forerun {

[[nodiscard]] bool is_layer_list(const Source& source);
Result<std::unique_ptr<Network>> read_layer_list_source(const Source& source);

}  // namespace forerun
