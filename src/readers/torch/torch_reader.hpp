// PyTorch's files: archives of torch.export (.pt2), TorchScript (.pt), and weights alone, which are refused.
#pragma once

#include "readers/format.hpp"

namespace forerun {

[[nodiscard]] bool is_exported_program(const Source& source);
Result<std::unique_ptr<Network>> read_exported_program_source(const Source& source);

[[nodiscard]] bool is_torch_script(const Source& source);
Result<std::unique_ptr<Network>> read_torch_script_source(const Source& source);

// Weights or a pickled module without a graph: the error says what to save instead.
[[nodiscard]] bool is_torch_pickle(const Source& source);
Result<std::unique_ptr<Network>> read_torch_pickle_source(const Source& source);

}  // namespace forerun
