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
  if (!seen_warnings_.try_emplace(text, warnings_.size()).second) return;
  warnings_.push_back({.start = std::move(text), .end = {}, .others = 0});
}

void ReadContext::warn_of(const std::string& what, std::string_view name, const std::string& problem) {
  const auto [seen, is_new] = seen_warnings_.try_emplace(what + '\0' + problem, warnings_.size());
  if (is_new) {
    warnings_.push_back({.start = what + " " + in_quotes(name), .end = " " + problem, .others = 0});
  } else {
    ++warnings_[seen->second].others;
  }
}

std::vector<std::string> ReadContext::warnings() const {
  std::vector<std::string> texts;
  for (const Warning& warning : warnings_) {
    const std::string others = warning.others > 0 ? " (and " + std::to_string(warning.others) + " more)" : "";
    texts.push_back(warning.start + others + warning.end);
  }
  return texts;
}

Status ReadContext::charge(std::int64_t bytes) {
  charged_bytes_ += bytes;
  if (stop_()) return cancel_.check();
  if (charged_bytes_ <= kMaxGraphBytes) return ok();
  return Error{ErrorKind::TooLarge, "the graph without its weights takes more than 1 GiB of memory"};
}

Status ReadContext::check_name(std::string_view name) const {
  if (std::int64_t(name.size()) <= kMaxNameBytes) return ok();
  return bad_input("the name " + in_quotes(name) + at(name) + " is longer than " + std::to_string(kMaxNameBytes) +
                   " bytes");
}

}  // namespace forerun::onnx
