// A Hugging Face configuration as architectures read it: typed fields with the architecture's defaults. The first field
// of a wrong type or out of range is remembered as the error; reading goes on with the default.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace forerun {

using Json = nlohmann::json;

// A size in a configuration lies in 1 … kMaxConfigSize; more layers than kMaxLayers are refused.
inline constexpr std::int64_t kMaxConfigSize = std::int64_t{1} << 24;
inline constexpr std::int64_t kMaxLayers = 2048;

class Config {
 public:
  // The first of the names that is present wins: new name first, then its older spellings.
  using Names = std::initializer_list<std::string_view>;

  Config(const Json& object, std::string& error) : object_(&object), error_(&error) {}

  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }  // present and not null
  [[nodiscard]] bool states(std::string_view name) const;                                // present, even as null
  [[nodiscard]] bool is_list(std::string_view name) const;
  [[nodiscard]] std::int64_t size(Names names, std::int64_t fallback) const;  // >= 1
  [[nodiscard]] std::int64_t size(std::string_view name, std::int64_t fallback) const { return size({name}, fallback); }
  [[nodiscard]] std::int64_t count(Names names, std::int64_t fallback) const;  // >= 0; negative or false counts as 0
  [[nodiscard]] std::int64_t count(std::string_view name, std::int64_t fallback) const {
    return count({name}, fallback);
  }
  [[nodiscard]] std::int64_t layers(Names names, std::int64_t fallback) const;
  [[nodiscard]] std::int64_t layers(std::string_view name, std::int64_t fallback) const {
    return layers({name}, fallback);
  }
  [[nodiscard]] double real(std::string_view name, double fallback) const;
  [[nodiscard]] bool flag(std::string_view name, bool fallback) const;
  [[nodiscard]] std::string text(Names names, std::string_view fallback) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view fallback) const {
    return text({name}, fallback);
  }
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;      // empty when absent
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name) const;  // empty when absent
  // The object under `name`; an empty object when there is none.
  [[nodiscard]] Config sub(std::string_view name) const;
  // partial_rotary_factor, whether at the top or inside rope_parameters; old_name is an architecture's former spelling.
  [[nodiscard]] double rotary_share(double fallback, std::string_view old_name = {}) const;

  void fail(std::string message) const;
  [[nodiscard]] const Json& json() const { return *object_; }

 private:
  [[nodiscard]] const Json* find(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(Names names, std::int64_t fallback, std::int64_t low, std::int64_t high) const;
  const Json* object_;
  std::string* error_;  // of the whole configuration, sub-objects included
};

}  // namespace forerun
