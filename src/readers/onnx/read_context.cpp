#include "readers/onnx/read_context.hpp"

#include <functional>

#include "readers/printable.hpp"

namespace forerun::onnx {

std::int64_t ReadContext::offset_of(const char* pointer) const {
  const std::less<const char*> before;
  if (pointer == nullptr || before(pointer, bytes_.data()) || before(bytes_.data() + bytes_.size(), pointer)) return 0;
  return pointer - bytes_.data();
}

std::string ReadContext::at(std::string_view message) const {
  return " (byte " + std::to_string(offset_of(message.data())) + ")";
}

void ReadContext::warn(std::string text) {
  constexpr std::size_t kMostWarnings = 100;
  if (seen_warnings_.contains(text)) return;
  if (warnings_.size() >= kMostWarnings) {
    ++dropped_warnings_;
    return;
  }
  seen_warnings_.insert(text);
  warnings_.push_back(std::move(text));
}

std::vector<std::string> ReadContext::take_warnings() {
  if (dropped_warnings_ > 0) warnings_.push_back("and " + std::to_string(dropped_warnings_) + " more");
  return std::move(warnings_);
}

Status ReadContext::charge(std::int64_t bytes) {
  charged_bytes_ += bytes;
  if (charged_bytes_ <= kMaxGraphBytes) return ok();
  return Error{ErrorKind::TooLarge, "the graph without its weights takes more than 1 GiB of memory"};
}

Status ReadContext::check_name(std::string_view name) const {
  if (std::int64_t(name.size()) <= kMaxNameBytes) return ok();
  return bad_input("the name " + in_quotes(name) + at(name) + " is longer than " + std::to_string(kMaxNameBytes) +
                   " bytes");
}

}  // namespace forerun::onnx
