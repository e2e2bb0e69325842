// Pickles as PyTorch writes them, read as data: nothing in them is ever run. Classes become instances with attributes,
// the few functions that PyTorch calls are known by name, and any other function is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "readers/torch/script_object.hpp"

namespace forerun::pytorch {

// A tensor by its description; its bytes are elsewhere in the archive.
struct StoredTensor {
  DType type = DType::Undefined;
  Dims dims;
  std::string storage;  // the archive's entry; tensors with one storage share it
  std::int64_t offset = 0;
};

struct Pickle {
  Argument root;
  std::vector<StoredTensor> tensors;
};

// Tensors are appended to `tensors` of the result. `what` names the pickle in errors.
Result<Pickle> read_pickle(std::string_view bytes, const std::string& what);

}  // namespace forerun::pytorch
