// A GGUF file's metadata and tensor list. Grammar (little-endian):
//   file    = "GGUF" version:u32 tensors:u64 entries:u64 entry* tensor* padding data
//   entry   = key:string type:u32 value          string = length:u64 bytes
//   tensor  = name:string rank:u32 dims:u64* type:u32 offset:u64
// Version 1 has 32-bit counts and lengths. parse_gguf never touches the data section, which starts at a multiple of the
// metadata's general.alignment (32).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "readers/safetensors/safetensors_reader.hpp"

namespace forerun {

// Long arrays (vocabularies) are counted, and kept only where asked for.
struct GgufArray {
  std::int64_t count = 0;
  std::vector<std::int64_t> integers;   // of short integer arrays
  std::vector<std::string_view> texts;  // views into the file's bytes; kept with GgufKeep::Arrays
};
enum class GgufKeep { Sizes, Arrays };
using GgufValue = std::variant<std::int64_t, double, std::string, GgufArray>;

struct GgufTensor {
  StoredTensor stored;  // dims as ONNX and PyTorch order them: slowest first
  std::string_view type_name;
  std::int64_t offset = 0;  // from data_offset
};

struct GgufFile {
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;
  std::int64_t data_offset = 0;  // of the data section
  bool is_truncated = false;     // shorter than its tensors

  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const;  // arrays: their largest
  [[nodiscard]] double real(std::string_view key, double fallback) const;
  [[nodiscard]] std::string text(std::string_view key) const;
  [[nodiscard]] std::int64_t array_size(std::string_view key) const;
  [[nodiscard]] const GgufArray* array(std::string_view key) const;  // null where there is none
};

Result<GgufFile> parse_gguf(std::string_view bytes, const std::string& what, GgufKeep keep = GgufKeep::Sizes);

}  // namespace forerun
