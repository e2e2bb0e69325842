// A GGUF file's metadata and tensor list. Grammar (little-endian):
//   file    = "GGUF" version:u32 tensors:u64 entries:u64 entry* tensor* padding data
//   entry   = key:string type:u32 value          string = length:u64 bytes
//   tensor  = name:string rank:u32 dims:u64* type:u32 offset:u64
// Version 1 has 32-bit counts and lengths. The data section is never touched.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "readers/safetensors/safetensors_reader.hpp"

namespace forerun {

// Long arrays (vocabularies) are counted, not kept.
struct GgufArray {
  std::int64_t count = 0;
  std::vector<std::int64_t> integers;  // of short integer arrays
};
using GgufValue = std::variant<std::int64_t, double, std::string, GgufArray>;

struct GgufTensor {
  StoredTensor stored;  // dims as ONNX and PyTorch order them: slowest first
  std::string_view type_name;
};

struct GgufFile {
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;
  bool is_truncated = false;  // shorter than its tensors

  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const;  // arrays: their largest
  [[nodiscard]] double real(std::string_view key, double fallback) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::int64_t array_size(std::string_view key) const;
};

Result<GgufFile> parse_gguf(std::string_view bytes, const std::string& what);

}  // namespace forerun
