// JSON text written piece by piece, without a tree in between: reports are large and made often.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace forerun {

// REQUIRES of all calls: the sequence is valid JSON, e.g. a key before each value of an object. Commas are added.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  // Bytes that are not UTF-8 become U+FFFD.
  JsonWriter& text(std::string_view value);
  // Six significant digits, which is more than any estimate's accuracy. Infinities and NaN become 0.
  JsonWriter& number(double value);
  JsonWriter& whole(std::int64_t value);
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  // A value that is JSON already.
  JsonWriter& raw(std::string_view json);

  JsonWriter& field(std::string_view name, std::string_view value) { return key(name).text(value); }
  JsonWriter& field(std::string_view name, const char* value) { return key(name).text(value); }
  JsonWriter& field(std::string_view name, double value) { return key(name).number(value); }
  JsonWriter& field(std::string_view name, std::int64_t value) { return key(name).whole(value); }
  JsonWriter& field(std::string_view name, int value) { return key(name).whole(value); }
  JsonWriter& field(std::string_view name, bool value) { return key(name).boolean(value); }
  template <typename Range>
  JsonWriter& texts(std::string_view name, const Range& values) {
    key(name).begin_array();
    for (const auto& value : values) text(value);
    return end_array();
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();
  void quote(std::string_view value);

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace forerun
