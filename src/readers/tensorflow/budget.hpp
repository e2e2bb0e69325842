// Limits on what one file may cost, and the names it may use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "readers/printable.hpp"
#include "readers/tensorflow/program.hpp"

namespace forerun::tensorflow {

inline constexpr std::int64_t kMaxDim = std::int64_t{1} << 40;
inline constexpr std::size_t kMaxRank = 32;
inline constexpr std::size_t kMaxNameBytes = 4096;
inline constexpr std::int64_t kMaxRealLiteralElements = 64;

class Budget {
 public:
  explicit Budget(Limits limits) : limits_(limits) {}

  [[nodiscard]] const Limits& limits() const { return limits_; }
  Status charge(std::int64_t bytes) {
    used_ += bytes;
    if (used_ <= limits_.bytes) return ok();
    return Error{ErrorKind::TooLarge, "the graph without its weights takes more than " +
                                          std::to_string(limits_.bytes >> 20) + " MiB of memory"};
  }
  Status add_operation() {
    if (++operations_ <= limits_.operations) return charge(sizeof(Operation));
    return Error{ErrorKind::TooLarge, "the file has more than " + std::to_string(limits_.operations) + " operators"};
  }
  Status add_node() {
    if (++nodes_ <= limits_.nodes) return charge(256);
    return Error{ErrorKind::TooLarge, "the graph expands to more than " + std::to_string(limits_.nodes) + " nodes"};
  }
  static Status check_name(std::string_view name) {
    if (name.size() <= kMaxNameBytes) return ok();
    return bad_input("the name " + in_quotes(name) + " is longer than " + std::to_string(kMaxNameBytes) + " bytes");
  }

 private:
  Limits limits_;
  std::int64_t used_ = 0;
  std::int64_t operations_ = 0;
  std::int64_t nodes_ = 0;
};

// Contents of a small constant from its little-endian bytes; nullopt when it is not small or has no such contents.
[[nodiscard]] std::optional<Literal> read_literal(DType type, const Dims& dims, std::string_view bytes);

// A dimension is a size or kUnknownDim, and the tensor's size is representable.
Status check_dims(const Dims& dims, DType type, std::string_view name);

}  // namespace forerun::tensorflow
