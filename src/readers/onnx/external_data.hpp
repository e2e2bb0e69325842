// Tensors stored beside the model. Files are only looked at (existence, size); small constants are read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace forerun::onnx {

struct ExternalRange {
  std::string location;  // relative to the model's folder, with '/'
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
};

class ExternalData {
 public:
  // An empty folder: there is none, no file can be looked at.
  explicit ExternalData(std::filesystem::path folder) : folder_(std::move(folder)) {}

  [[nodiscard]] bool available() const { return !folder_.empty(); }
  // Refuses locations that are absolute or leave the folder, symbolic links included, missing files and ranges of
  // `bytes` bytes that do not lie in the file. Only the first check applies when no folder is available.
  Status check(const ExternalRange& range, std::int64_t bytes);
  // REQUIRES: available() and check(range, bytes) passed
  Result<std::string> read(const ExternalRange& range, std::int64_t bytes) const;

 private:
  Result<std::int64_t> size_of(const std::string& location);

  std::filesystem::path folder_;
  std::map<std::string, std::int64_t> sizes_;  // of the files looked at
};

}  // namespace forerun::onnx
