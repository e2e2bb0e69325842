// HDF5 File Format Specification 3.0: superblocks 0 to 3, object headers 1 and 2, attribute messages 1 to 3, global
// heap. Dense attribute storage (more than eight attributes, or one beyond 64 KiB) is refused by name.
#include "readers/keras/hdf5_attribute.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "readers/printable.hpp"

namespace forerun {
namespace {

constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
constexpr std::size_t kMaxMessages = 10'000;
constexpr std::size_t kMaxChunks = 1'000;
constexpr std::uint64_t kMaxText = std::uint64_t{64} << 20;

// Where the superblock starts: at 0, 512, 1024, 2048, …
std::optional<std::uint64_t> find_signature(std::string_view bytes) {
  for (std::uint64_t at = 0; at + 64 <= bytes.size() && at <= (std::uint64_t{1} << 24); at = at == 0 ? 512 : at * 2) {
    if (bytes.substr(at, kSignature.size()) == kSignature) return at;
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  Result<std::optional<std::string>> root_text(std::string_view name) {
    FORERUN_TRY(const std::uint64_t root, find_root());
    FORERUN_CHECK(collect_messages(root));
    for (const Message& message : messages_) {
      if (message.type != kAttribute) continue;
      FORERUN_TRY(const std::optional<std::string> text, read_attribute(message, name));
      if (text) return text;
    }
    if (has_dense_attributes_)
      return bad_input(
          "the HDF5 file keeps its attributes in a form Forerun does not read (dense storage); save the "
          "network as .keras instead");
    return std::optional<std::string>();
  }

 private:
  static constexpr std::uint32_t kAttribute = 0x0C, kContinuation = 0x10, kAttributeInfo = 0x15;
  struct Message {
    std::uint32_t type;
    std::uint64_t at, size;
  };

  static Error damaged(const std::string& what) { return bad_input("not a valid HDF5 file: " + what); }

  [[nodiscard]] bool has(std::uint64_t at, std::uint64_t size) const {
    return at <= bytes_.size() && size <= bytes_.size() - at;
  }
  // REQUIRES: has(at, width), width <= 8
  [[nodiscard]] std::uint64_t number(std::uint64_t at, unsigned width) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < width; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes_[at + i])} << (8 * i);
    return value;
  }
  // Addresses in the file are relative to its base.
  [[nodiscard]] std::uint64_t address(std::uint64_t at) const {
    const std::uint64_t value = number(at, offset_size_);
    return value > bytes_.size() ? ~std::uint64_t{0} : value + base_;
  }

  Result<std::uint64_t> find_root() {
    const auto start = find_signature(bytes_);
    if (!start) return damaged("no signature");
    base_ = *start;
    const std::uint64_t version = number(*start + 8, 1);
    const bool old = version <= 1;
    const std::uint64_t sizes = *start + (old ? 13 : 9);
    offset_size_ = unsigned(number(sizes, 1));
    length_size_ = unsigned(number(sizes + 1, 1));
    const auto valid = [](unsigned size) { return size == 2 || size == 4 || size == 8; };
    if (version > 3 || !valid(offset_size_) || !valid(length_size_))
      return damaged("its superblock is not one of version 0 to 3");
    // Four addresses, then the root group's entry, whose second field is its object header's address; since version 2,
    // three addresses and the object header's.
    const std::uint64_t at = old ? *start + (version == 0 ? 24 : 28) + 5 * std::uint64_t{offset_size_}
                                 : *start + 12 + 3 * std::uint64_t{offset_size_};
    if (!has(at, offset_size_)) return damaged("cut short in its superblock");
    return address(at);
  }

  Status collect_messages(std::uint64_t at) {
    if (!has(at, 16)) return damaged("its root group lies outside the file");
    if (bytes_.substr(at, 4) == "OHDR") return collect_new(at);
    if (number(at, 1) != 1) return damaged("its root group has an object header of an unknown version");
    chunks_ = {{at + 16, number(at + 8, 4)}};
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const auto [from, size] = chunks_[i];
      if (!has(from, size)) return damaged("an object header lies outside the file");
      FORERUN_CHECK(walk(from, from + size, 8, false));
    }
    return ok();
  }

  Status collect_new(std::uint64_t at) {
    const std::uint64_t flags = number(at + 5, 1);
    if (number(at + 4, 1) != 2) return damaged("its root group has an object header of an unknown version");
    std::uint64_t from = at + 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
    const unsigned width = 1U << (flags & 3);
    if (!has(from, width)) return damaged("cut short in an object header");
    const std::uint64_t size = number(from, width);
    from += width;
    if (!has(from, size)) return damaged("an object header lies outside the file");
    const bool ordered = (flags & 4) != 0;
    chunks_.clear();
    FORERUN_CHECK(walk(from, from + size, ordered ? 6 : 4, true));
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const auto [start, length] = chunks_[i];
      if (!has(start, length) || length < 8 || bytes_.substr(start, 4) != "OCHK")
        return damaged("a continuation of an object header is not one");
      FORERUN_CHECK(walk(start + 4, start + length - 4, ordered ? 6 : 4, true));
    }
    return ok();
  }

  // Messages in [at, end), each with a head of `head` bytes; continuations become chunks.
  Status walk(std::uint64_t at, std::uint64_t end, std::uint64_t head, bool is_new) {
    while (at + head <= end) {
      const auto type = std::uint32_t(number(at, is_new ? 1 : 2));
      const std::uint64_t size = number(at + (is_new ? 1 : 2), 2);
      const std::uint64_t data = at + head;
      if (size > end - data) return damaged("a message is longer than its object header");
      if (type == kContinuation) {
        if (size < offset_size_ + length_size_) return damaged("a continuation message is cut short");
        if (chunks_.size() >= kMaxChunks) return damaged("an object header has too many continuations");
        chunks_.emplace_back(address(data), number(data + offset_size_, length_size_));
      } else if (type == kAttributeInfo) {
        has_dense_attributes_ = has_dense_attributes_ || is_dense(data, size);
      } else if (type == kAttribute) {
        if (messages_.size() >= kMaxMessages) return damaged("an object has too many attributes");
        messages_.push_back({type, data, size});
      }
      at = data + size;
    }
    return ok();
  }

  [[nodiscard]] bool is_dense(std::uint64_t data, std::uint64_t size) const {
    if (size < 2) return false;
    const std::uint64_t flags = number(data + 1, 1);
    const std::uint64_t at = 2 + ((flags & 1) != 0 ? 2 : 0);
    if (size < at + offset_size_) return false;
    return number(data + at, offset_size_) != (~std::uint64_t{0} >> (64 - 8 * offset_size_));
  }

  // The attribute's text when it is the one called `name`.
  Result<std::optional<std::string>> read_attribute(const Message& message, std::string_view name) {
    const std::uint64_t end = message.at + message.size;
    if (message.size < 8) return damaged("an attribute is cut short");
    const std::uint64_t version = number(message.at, 1);
    if (version < 1 || version > 3) return damaged("an attribute is of an unknown version");
    const std::uint64_t flags = version == 1 ? 0 : number(message.at + 1, 1);
    const std::uint64_t name_size = number(message.at + 2, 2);
    const std::uint64_t type_size = number(message.at + 4, 2);
    const std::uint64_t space_size = number(message.at + 6, 2);
    const auto padded = [&](std::uint64_t size) { return version == 1 ? (size + 7) / 8 * 8 : size; };
    const std::uint64_t name_at = message.at + (version == 3 ? 9 : 8);
    const std::uint64_t type_at = name_at + padded(name_size);
    const std::uint64_t space_at = type_at + padded(type_size);
    const std::uint64_t data_at = space_at + padded(space_size);
    if (data_at > end || name_at + name_size > end) return damaged("an attribute is cut short");
    std::string_view own = bytes_.substr(name_at, name_size);
    own = own.substr(0, own.find('\0'));
    if (own != name) return std::optional<std::string>();
    if (flags != 0 || type_size < 8)
      return bad_input("the HDF5 attribute " + in_quotes(name) +
                       " has a type that is stored elsewhere; save the network as .keras instead");
    return read_text(name, type_at, data_at, end);
  }

  Result<std::optional<std::string>> read_text(std::string_view name, std::uint64_t type_at, std::uint64_t data_at,
                                               std::uint64_t end) {
    const std::uint64_t type_class = number(type_at, 1) & 0x0F;
    const std::uint64_t element = number(type_at + 4, 4);
    constexpr std::uint64_t kString = 3, kVariable = 9;
    if (type_class == kString) {
      if (element > end - data_at) return damaged("an attribute is cut short");
      const std::string_view text = bytes_.substr(data_at, element);
      return std::optional<std::string>(std::string(text.substr(0, text.find('\0'))));
    }
    const bool is_text = type_class == kVariable && (number(type_at + 1, 1) & 0x0F) == 1;
    if (!is_text) return bad_input("the HDF5 attribute " + in_quotes(name) + " is not text");
    if (8 + std::uint64_t{offset_size_} > end - data_at) return damaged("an attribute is cut short");
    const std::uint64_t length = number(data_at, 4);
    const std::uint64_t heap = address(data_at + 4);
    const std::uint64_t index = number(data_at + 4 + offset_size_, 4);
    if (length > kMaxText)
      return Error{ErrorKind::TooLarge, "the HDF5 attribute " + in_quotes(name) + " is longer than 64 MiB"};
    return read_heap_object(heap, index, length);
  }

  Result<std::optional<std::string>> read_heap_object(std::uint64_t heap, std::uint64_t index, std::uint64_t length) {
    const std::uint64_t head = 8 + std::uint64_t{length_size_};
    if (!has(heap, head) || bytes_.substr(heap, 4) != "GCOL") return damaged("a global heap is not where it should be");
    const std::uint64_t size = number(heap + 8, length_size_);
    if (!has(heap, size)) return damaged("a global heap lies outside the file");
    const std::uint64_t end = heap + size;
    for (std::uint64_t at = heap + head; at + head <= end;) {
      const std::uint64_t own = number(at, 2);
      const std::uint64_t bytes = number(at + 8, length_size_);
      if (own == 0 || bytes > end - at - head) break;
      if (own == index) {
        const std::string_view text = bytes_.substr(at + head, std::min(bytes, length));
        return std::optional<std::string>(std::string(text.substr(0, text.find('\0'))));
      }
      at += head + (bytes + 7) / 8 * 8;
    }
    return damaged("a global heap does not hold an attribute's text");
  }

  std::string_view bytes_;
  std::uint64_t base_ = 0;
  unsigned offset_size_ = 8, length_size_ = 8;
  bool has_dense_attributes_ = false;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> chunks_;  // address and size of an object header's parts
  std::vector<Message> messages_;
};

}  // namespace

bool is_hdf5(std::string_view bytes) { return find_signature(bytes).has_value(); }

Result<std::optional<std::string>> read_hdf5_root_text(std::string_view bytes, std::string_view name) {
  return Reader(bytes).root_text(name);
}

}  // namespace forerun
