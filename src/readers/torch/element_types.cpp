#include "readers/torch/element_types.hpp"

#include <utility>

namespace forerun::pytorch {
namespace {

// Storages by the type of their elements.
constexpr std::pair<std::string_view, DType> kStorages[] = {
    {"FloatStorage", DType::Float32},
    {"HalfStorage", DType::Float16},
    {"BFloat16Storage", DType::BFloat16},
    {"DoubleStorage", DType::Float64},
    {"LongStorage", DType::Int64},
    {"IntStorage", DType::Int32},
    {"ShortStorage", DType::Int16},
    {"CharStorage", DType::Int8},
    {"ByteStorage", DType::UInt8},
    {"BoolStorage", DType::Bool},
    {"QInt8Storage", DType::Int8},
    {"QUInt8Storage", DType::UInt8},
    {"QInt32Storage", DType::Int32},
    {"ComplexFloatStorage", DType::Complex64},
    {"ComplexDoubleStorage", DType::Complex128},
};

// Element types that are named: torch.float16.
constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"torch.float32", DType::Float32},
    {"torch.float16", DType::Float16},
    {"torch.bfloat16", DType::BFloat16},
    {"torch.float64", DType::Float64},
    {"torch.int64", DType::Int64},
    {"torch.int32", DType::Int32},
    {"torch.int16", DType::Int16},
    {"torch.int8", DType::Int8},
    {"torch.uint8", DType::UInt8},
    {"torch.bool", DType::Bool},
    {"torch.uint16", DType::UInt16},
    {"torch.uint32", DType::UInt32},
    {"torch.uint64", DType::UInt64},
    {"torch.float8_e4m3fn", DType::Float8E4M3FN},
    {"torch.float8_e5m2", DType::Float8E5M2},
};

}  // namespace

DType element_type_of(std::string_view name) {
  for (const auto& [storage, type] : kStorages) {
    if (name.ends_with(storage) && (name.size() == storage.size() || name[name.size() - storage.size() - 1] == '.'))
      return type;
  }
  for (const auto& [known, type] : kTypes) {
    if (name == known) return type;
  }
  return DType::Undefined;
}

}  // namespace forerun::pytorch
