// TensorProto and SparseTensorProto: type, dimensions and, when small, contents.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/graph.hpp"
#include "readers/onnx/read_context.hpp"

namespace forerun::onnx {

struct TensorInfo {
  std::string_view name;
  DType dtype = DType::Undefined;
  Dims dims;
  std::optional<Literal> literal;
  std::int64_t stored_bytes = -1;  // of a sparse tensor: its values, without their places
};

// The element type numbered `number` in the file; Undefined, with a warning, when there is none.
DType read_dtype(std::int64_t number, ReadContext& context);

Result<TensorInfo> read_tensor(std::string_view message, ReadContext& context);
Result<TensorInfo> read_sparse_tensor(std::string_view message, ReadContext& context);

// Copies what is known of a tensor to a value.
void set_contents(Value& value, TensorInfo tensor);

}  // namespace forerun::onnx
