// Tensors stored beside the model. Files are only looked at (existence, size); small constants are read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/folder.hpp"
#include "base/result.hpp"

namespace forerun::onnx {

struct ExternalRange {
  std::string location;  // relative to the model's folder, with '/'
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
};

class ExternalData {
 public:
  // Without a folder no file can be looked at.
  explicit ExternalData(Folder folder) : folder_(std::move(folder)) {}

  [[nodiscard]] bool available() const { return folder_.available(); }
  // Refuses locations that are absolute or leave the folder, symbolic links included, missing files and ranges of
  // `bytes` bytes that do not lie in the file. Only the first check applies when no folder is available.
  Status check(const ExternalRange& range, std::int64_t bytes);
  // REQUIRES: available() and check(range, bytes) passed
  Result<std::string> read(const ExternalRange& range, std::int64_t bytes);

 private:
  Result<std::int64_t> size_of(const std::string& location);

  Folder folder_;
  std::map<std::string, std::int64_t> sizes_;  // of the files looked at
  std::map<std::string, FileBytes> opened_;    // files that constants were read from
};

}  // namespace forerun::onnx
