// ValueInfoProto and TypeProto: the declared type and shape of a value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "readers/onnx/read_context.hpp"

namespace forerun::onnx {

struct TypeInfo {
  std::string_view name;
  DType dtype = DType::Undefined;      // of the innermost tensor
  ValueForm form = ValueForm::Tensor;  // the outermost
  bool has_shape = false;
  Dims dims;
  std::vector<std::string> dim_names;
};

Result<TypeInfo> read_value_info(std::string_view message, ReadContext& context);

// Fills what a value does not know yet.
void add_type(Value& value, TypeInfo type);

}  // namespace forerun::onnx
