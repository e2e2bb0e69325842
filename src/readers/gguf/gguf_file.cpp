#include "readers/gguf/gguf_file.hpp"

#include <algorithm>
#include <cstring>

#include "base/checked.hpp"
#include "readers/gguf/gguf_types.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

constexpr std::uint64_t kMaxTensors = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 16;
constexpr std::uint64_t kMaxKept = 4096;  // elements of an integer array, bytes of a text
constexpr int kMaxArrayDepth = 4;

class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t position() const { return at_; }
  bool narrow = false;  // version 1: 32-bit counts
  GgufKeep keep = GgufKeep::Sizes;

  template <typename T>
  T number() {
    T value{};
    if (bytes_.size() - at_ < sizeof(T)) {
      failed_ = true;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::uint64_t count() { return narrow ? number<std::uint32_t>() : number<std::uint64_t>(); }
  std::string_view text() {
    const std::uint64_t length = count();
    return view(length);
  }
  std::string_view view(std::uint64_t length) {
    if (failed_ || length > bytes_.size() - at_) {
      failed_ = true;
      return {};
    }
    const std::string_view result = bytes_.substr(at_, std::size_t(length));
    at_ += std::size_t(length);
    return result;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

// Bytes of a scalar of this type; 0 for texts, arrays and unknown types.
std::uint64_t scalar_bytes(std::uint32_t type) {
  constexpr std::array<std::uint64_t, 13> kBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < kBytes.size() ? kBytes[type] : 0;
}

std::int64_t clamp_unsigned(std::uint64_t value) {
  return value > std::uint64_t(kSizeLimit) ? kSizeLimit : static_cast<std::int64_t>(value);
}

bool read_value(Cursor& cursor, std::uint32_t type, int depth, GgufValue& value);

bool read_array(Cursor& cursor, int depth, GgufValue& value) {
  if (depth >= kMaxArrayDepth) return false;
  const auto type = cursor.number<std::uint32_t>();
  const std::uint64_t count = cursor.count();
  if (cursor.failed()) return false;
  GgufArray array;
  array.count = clamp_unsigned(count);
  const std::uint64_t each = scalar_bytes(type);
  const bool is_integer = each > 0 && type != 6 && type != 12;
  if (is_integer && (count <= kMaxKept || cursor.keep == GgufKeep::Arrays)) {
    for (std::uint64_t i = 0; i < count; ++i) {
      GgufValue element;
      if (!read_value(cursor, type, depth + 1, element)) return false;
      if (const auto* number = std::get_if<std::int64_t>(&element)) array.integers.push_back(*number);
    }
  } else if (each > 0) {
    if (count > (~std::uint64_t{0}) / each) return false;
    cursor.view(count * each);
  } else {
    for (std::uint64_t i = 0; i < count && !cursor.failed(); ++i) {
      GgufValue ignored;
      if (type == 8) {
        const std::string_view text = cursor.text();
        if (cursor.keep == GgufKeep::Arrays) array.texts.push_back(text);
      } else if (type != 9 || !read_array(cursor, depth + 1, ignored))
        return false;
    }
  }
  value = std::move(array);
  return !cursor.failed();
}

bool read_value(Cursor& cursor, std::uint32_t type, int depth, GgufValue& value) {
  switch (type) {
    case 0: value = std::int64_t{cursor.number<std::uint8_t>()}; break;
    case 1: value = std::int64_t{cursor.number<std::int8_t>()}; break;
    case 2: value = std::int64_t{cursor.number<std::uint16_t>()}; break;
    case 3: value = std::int64_t{cursor.number<std::int16_t>()}; break;
    case 4: value = std::int64_t{cursor.number<std::uint32_t>()}; break;
    case 5: value = std::int64_t{cursor.number<std::int32_t>()}; break;
    case 6: value = double{cursor.number<float>()}; break;
    case 7: value = std::int64_t{cursor.number<std::uint8_t>() != 0}; break;
    case 8: value = std::string(cursor.text().substr(0, kMaxKept)); break;
    case 9: return read_array(cursor, depth, value);
    case 10: value = clamp_unsigned(cursor.number<std::uint64_t>()); break;
    case 11: value = cursor.number<std::int64_t>(); break;
    case 12: value = cursor.number<double>(); break;
    default: return false;
  }
  return !cursor.failed();
}

Status read_tensor(Cursor& cursor, const std::string& what, GgufTensor& tensor) {
  tensor.stored.name = std::string(cursor.text().substr(0, kMaxKept));
  const auto rank = cursor.number<std::uint32_t>();
  if (cursor.failed() || rank > 8) return bad_input(what + ": the tensor list is cut off or damaged");
  Dims dims;
  for (std::uint32_t i = 0; i < rank; ++i) {
    const std::uint64_t dim = cursor.count();
    if (dim > std::uint64_t(kSizeLimit))
      return bad_input(what + ": tensor " + in_quotes(tensor.stored.name) + " is too large to count");
    dims.push_back(static_cast<std::int64_t>(dim));
  }
  const auto type_id = cursor.number<std::uint32_t>();
  tensor.offset = clamp_unsigned(cursor.number<std::uint64_t>());
  if (cursor.failed()) return bad_input(what + ": the tensor list is cut off");
  const GgufType* type = find_gguf_type(type_id);
  if (type == nullptr) {
    return bad_input(what + ": tensor " + in_quotes(tensor.stored.name) + " has type " + std::to_string(type_id) +
                     ", which is not known");
  }
  const std::int64_t elements = checked_product(dims);
  const std::int64_t row = dims.empty() ? 1 : dims.front();
  if (elements >= kSizeLimit || row % type->block_elements != 0) {
    return bad_input(what + ": tensor " + in_quotes(tensor.stored.name) + " does not consist of whole blocks of " +
                     std::string(type->name));
  }
  std::reverse(dims.begin(), dims.end());
  tensor.stored.shape = std::move(dims);
  tensor.stored.dtype = type->dtype;
  tensor.stored.bytes = checked_mul(elements / type->block_elements, type->block_bytes);
  tensor.type_name = type->name;
  return ok();
}

}  // namespace

std::int64_t GgufFile::integer(std::string_view key, std::int64_t fallback) const {
  const auto it = metadata.find(key);
  if (it == metadata.end()) return fallback;
  if (const auto* number = std::get_if<std::int64_t>(&it->second)) return *number;
  if (const auto* array = std::get_if<GgufArray>(&it->second); array != nullptr && !array->integers.empty()) {
    return *std::max_element(array->integers.begin(), array->integers.end());
  }
  return fallback;
}

double GgufFile::real(std::string_view key, double fallback) const {
  const auto it = metadata.find(key);
  if (it == metadata.end()) return fallback;
  const auto* number = std::get_if<double>(&it->second);
  return number != nullptr ? *number : fallback;
}

std::string GgufFile::text(std::string_view key) const {
  const auto it = metadata.find(key);
  if (it == metadata.end()) return {};
  const auto* value = std::get_if<std::string>(&it->second);
  return value != nullptr ? *value : std::string();
}

const GgufArray* GgufFile::array(std::string_view key) const {
  const auto it = metadata.find(key);
  return it == metadata.end() ? nullptr : std::get_if<GgufArray>(&it->second);
}

std::int64_t GgufFile::array_size(std::string_view key) const {
  const GgufArray* found = array(key);
  return found != nullptr ? found->count : 0;
}

Result<GgufFile> parse_gguf(std::string_view bytes, const std::string& what, GgufKeep keep) {
  Cursor cursor(bytes);
  cursor.keep = keep;
  if (cursor.view(4) != "GGUF") return bad_input(what + ": not a GGUF file");
  const auto version = cursor.number<std::uint32_t>();
  if (version == 0 || version > 3) {
    return bad_input(what + ": GGUF version " + std::to_string(version) + " is not known" +
                     ((version & 0xFFFF) == 0 && version != 0 ? " (a big-endian file?)" : ""));
  }
  cursor.narrow = version == 1;
  const std::uint64_t tensors = cursor.count(), entries = cursor.count();
  if (cursor.failed()) return bad_input(what + ": the GGUF header is cut off");
  if (tensors > kMaxTensors || entries > kMaxEntries)
    return Error{ErrorKind::TooLarge, what + ": more tensors or metadata than any network has"};
  GgufFile file;
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::string_view key = cursor.text();
    const auto type = cursor.number<std::uint32_t>();
    GgufValue value;
    if (cursor.failed() || !read_value(cursor, type, 0, value)) {
      return bad_input(what + ": the GGUF metadata is cut off or damaged after " + std::to_string(i) + " entries");
    }
    if (key.size() <= kMaxKept) file.metadata.insert_or_assign(std::string(key), std::move(value));
  }
  std::int64_t end = 0;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    GgufTensor tensor;
    FORERUN_CHECK(read_tensor(cursor, what, tensor));
    end = std::max(end, checked_add(tensor.offset, tensor.stored.bytes));
    file.tensors.push_back(std::move(tensor));
  }
  const std::int64_t alignment = std::clamp<std::int64_t>(file.integer("general.alignment", 32), 1, 1 << 20);
  const auto head = static_cast<std::int64_t>(cursor.position());
  file.data_offset = (head + alignment - 1) / alignment * alignment;
  file.is_truncated = static_cast<std::int64_t>(bytes.size()) - head < end;
  return file;
}

}  // namespace forerun
