// Names that PyTorch's pickles give to element types.
#pragma once

#include <string_view>

#include "graph/dtype.hpp"

namespace forerun::pytorch {

// Of a storage's class ("torch.FloatStorage") or a type ("torch.float16"); Undefined for other names.
DType element_type_of(std::string_view name);

}  // namespace forerun::pytorch
