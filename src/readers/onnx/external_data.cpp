#include "readers/onnx/external_data.hpp"

#include <algorithm>
#include <filesystem>

#include "readers/printable.hpp"

namespace forerun::onnx {
namespace {

namespace fs = std::filesystem;

Error outside(const std::string& location) {
  return bad_input("external data " + in_quotes(location) + " lies outside the model's folder, which is refused");
}

bool stays_below(const fs::path& path) {
  return !path.empty() && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

}  // namespace

Result<std::int64_t> ExternalData::size_of(const std::string& location) {
  if (const auto known = sizes_.find(location); known != sizes_.end()) return known->second;
  if (!folder_.holds(location)) return outside(location);
  const auto size = folder_.size_of(location);
  if (!size) return bad_input("external data " + in_quotes(location) + ": no such file in the model's folder");
  sizes_.emplace(location, std::int64_t(*size));
  return std::int64_t(*size);
}

Status ExternalData::check(const ExternalRange& range, std::int64_t bytes) {
  if (range.location.find('\0') != std::string::npos || range.location.find('\\') != std::string::npos ||
      !stays_below(range.location)) {
    return outside(range.location);
  }
  const std::int64_t length = range.length.value_or(bytes);
  if (range.offset < 0 || length < 0) {
    return bad_input("external data " + in_quotes(range.location) + ": negative offset or length");
  }
  if (length < bytes) {
    return bad_input("external data " + in_quotes(range.location) + ": its length " + std::to_string(length) +
                     " is less than the " + std::to_string(bytes) + " bytes its dimensions need");
  }
  if (!available()) return ok();
  FORERUN_TRY(const std::int64_t size, size_of(range.location));
  if (range.offset > size || length > size - range.offset) {
    return bad_input("external data " + in_quotes(range.location) + ": bytes " + std::to_string(range.offset) +
                     " to +" + std::to_string(length) + " do not lie in the file of " + std::to_string(size) +
                     " bytes");
  }
  return ok();
}

Result<std::string> ExternalData::read(const ExternalRange& range, std::int64_t bytes) {
  if (!opened_.contains(range.location)) {
    FORERUN_TRY(opened_[range.location], folder_.open(range.location));
  }
  const std::string_view file = opened_[range.location].view();
  if (file.size() < std::size_t(range.offset) || file.size() - std::size_t(range.offset) < std::size_t(bytes))
    return Error{ErrorKind::Io, "external data " + in_quotes(range.location) + ": cannot read"};
  return std::string(file.substr(std::size_t(range.offset), std::size_t(bytes)));
}

}  // namespace forerun::onnx
