// What every part of one ONNX read shares: the file, its warnings, its external data and the limits.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancel_token.hpp"
#include "base/result.hpp"
#include "readers/onnx/external_data.hpp"
#include "readers/onnx/limits.hpp"

namespace forerun::onnx {

inline constexpr int kMaxDepth = 64;      // graphs inside graphs and calls inside calls, together
inline constexpr int kMaxTypeDepth = 16;  // sequences of optionals of …
inline constexpr std::int64_t kMaxValues = 5'000'000;
inline constexpr std::int64_t kMaxNameBytes = 4096;
inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 40;
inline constexpr std::int64_t kMaxGraphBytes = std::int64_t{1} << 30;  // memory of the graph, roughly
inline constexpr std::int64_t kMaxRealLiteralElements = 64;

class ReadContext {
 public:
  ReadContext(std::string_view bytes, Folder folder, OnnxLimits node_limits = {}, const CancelToken& cancel = {})
      : external(std::move(folder)), limits(node_limits), bytes_(bytes), cancel_(cancel), stop_(cancel_) {}
  ReadContext(const ReadContext&) = delete;
  ReadContext& operator=(const ReadContext&) = delete;

  // Remembers where the walk is, for the message of a damaged file.
  void enter(std::string_view message) { position_ = message.data(); }
  [[nodiscard]] std::int64_t position() const { return offset_of(position_); }
  // " (byte N)" of a message of the file.
  [[nodiscard]] std::string at(std::string_view message) const;

  void warn(std::string text);
  // "WHAT 'name' PROBLEM", reported once with the number of other names that have the same problem.
  void warn_of(const std::string& what, std::string_view name, const std::string& problem);
  [[nodiscard]] std::vector<std::string> warnings() const;

  // Counts memory the graph will take; fails beyond kMaxGraphBytes, so that a small file cannot expand without end, and
  // when the reading was cancelled.
  Status charge(std::int64_t bytes);
  Status check_name(std::string_view name) const;

  ExternalData external;
  const OnnxLimits limits;

 private:
  [[nodiscard]] std::int64_t offset_of(const char* pointer) const;

  std::string_view bytes_;
  const char* position_ = nullptr;
  struct Warning {
    std::string start, end;
    std::int64_t others = 0;
  };
  std::vector<Warning> warnings_;
  std::map<std::string, std::size_t> seen_warnings_;  // by what and problem: index into warnings_
  std::int64_t charged_bytes_ = 0;
  CancelToken cancel_;
  PacedStop stop_;
};

}  // namespace forerun::onnx
