#include "readers/paddle/program.hpp"

#include <array>
#include <utility>

namespace forerun::paddle {
namespace {

struct TypeName {
  std::string_view name, short_name;
  std::int64_t number;  // of VarType.Type
  DType dtype;
};
constexpr std::array kTypes = {
    TypeName{"bool", "bool", 0, DType::Bool},
    TypeName{"int16", "i16", 1, DType::Int16},
    TypeName{"int32", "i32", 2, DType::Int32},
    TypeName{"int64", "i64", 3, DType::Int64},
    TypeName{"float16", "f16", 4, DType::Float16},
    TypeName{"float32", "f32", 5, DType::Float32},
    TypeName{"float64", "f64", 6, DType::Float64},
    TypeName{"size_t", "index", 19, DType::UInt64},
    TypeName{"uint8", "ui8", 20, DType::UInt8},
    TypeName{"int8", "i8", 21, DType::Int8},
    TypeName{"bfloat16", "bf16", 22, DType::BFloat16},
    TypeName{"complex64", "c64", 23, DType::Complex64},
    TypeName{"complex128", "c128", 24, DType::Complex128},
    TypeName{"float8_e4m3fn", "f8e4m3fn", 32, DType::Float8E4M3FN},
    TypeName{"float8_e5m2", "f8e5m2", 33, DType::Float8E5M2},
};

}  // namespace

DType dtype_of_name(std::string_view name) {
  for (const TypeName& type : kTypes) {
    if (name == type.name || name == type.short_name) return type.dtype;
  }
  return DType::Undefined;
}

DType dtype_of_number(std::int64_t var_type) {
  for (const TypeName& type : kTypes) {
    if (var_type == type.number) return type.dtype;
  }
  return DType::Undefined;
}

Status check_size(const Program& program) {
  std::size_t ops = 0, operands = 0;
  for (const NativeBlock& block : program.blocks) {
    ops += block.ops.size();
    for (const NativeOp& op : block.ops) {
      for (const Slot& slot : op.inputs) operands += slot.values.size();
      for (const Slot& slot : op.outputs) operands += slot.values.size();
    }
  }
  if (ops > kMaxOps || operands > kMaxOperands || program.values.size() > kMaxValues)
    return Error{ErrorKind::TooLarge, "the program has more operators or values than Forerun reads (" +
                                          std::to_string(kMaxOps) + " and " + std::to_string(kMaxValues) + ")"};
  return ok();
}

}  // namespace forerun::paddle
