// Bounded access to a FlatBuffers file. Nothing is copied; an offset that leaves the file reads as absent and marks the
// buffer as damaged, so that callers need one check at the end.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace forerun::tensorflow {

class FlatBuffer {
 public:
  explicit FlatBuffer(std::string_view bytes) : bytes_(bytes) {}

  // A number at a byte position; 0 when it does not lie inside the file.
  template <typename T>
  [[nodiscard]] T load(std::uint64_t at) {
    T value{};
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) {
      mark(at);
      return value;
    }
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  // `size` bytes at a position; empty when they do not lie inside the file.
  [[nodiscard]] std::string_view view(std::uint64_t at, std::uint64_t size) {
    if (at > bytes_.size() || bytes_.size() - at < size) {
      mark(at);
      return {};
    }
    return bytes_.substr(at, size);
  }
  void mark(std::uint64_t at) {
    if (!damaged_) damaged_at_ = at;
    damaged_ = true;
  }
  [[nodiscard]] bool damaged() const { return damaged_; }
  [[nodiscard]] std::uint64_t damaged_at() const { return damaged_at_; }

 private:
  std::string_view bytes_;
  bool damaged_ = false;
  std::uint64_t damaged_at_ = 0;
};

class FlatVector;

// A table: fields by slot, in the order of the schema.
class FlatTable {
 public:
  FlatTable() = default;
  FlatTable(FlatBuffer& buffer, std::uint64_t at) : buffer_(&buffer), at_(at) {
    const auto back = buffer.load<std::int32_t>(at);
    vtable_ = std::uint64_t(std::int64_t(at) - back);
    if (std::int64_t(at) - back < 0) {
      buffer.mark(at);
      buffer_ = nullptr;
      return;
    }
    vtable_size_ = buffer.load<std::uint16_t>(vtable_);
  }

  [[nodiscard]] bool present() const { return buffer_ != nullptr; }
  [[nodiscard]] std::uint64_t position() const { return at_; }

  template <typename T>
  [[nodiscard]] T number(unsigned slot, T fallback = {}) const {
    const std::uint64_t field = field_at(slot);
    return field == 0 ? fallback : buffer_->load<T>(field);
  }
  [[nodiscard]] FlatTable table(unsigned slot) const {
    const std::uint64_t target = target_of(slot);
    return target == 0 ? FlatTable{} : FlatTable(*buffer_, target);
  }
  [[nodiscard]] std::string_view text(unsigned slot) const {
    const std::uint64_t target = target_of(slot);
    return target == 0 ? std::string_view{} : buffer_->view(target + 4, buffer_->load<std::uint32_t>(target));
  }
  [[nodiscard]] inline FlatVector vector(unsigned slot) const;

 private:
  friend class FlatVector;
  [[nodiscard]] std::uint64_t field_at(unsigned slot) const {
    const unsigned entry = 4 + 2 * slot;
    if (buffer_ == nullptr || entry + 2 > vtable_size_) return 0;
    const auto offset = buffer_->load<std::uint16_t>(vtable_ + entry);
    return offset == 0 ? 0 : at_ + offset;
  }
  [[nodiscard]] std::uint64_t target_of(unsigned slot) const {
    const std::uint64_t field = field_at(slot);
    return field == 0 ? 0 : field + buffer_->load<std::uint32_t>(field);
  }

  FlatBuffer* buffer_ = nullptr;
  std::uint64_t at_ = 0;
  std::uint64_t vtable_ = 0;
  std::uint16_t vtable_size_ = 0;
};

class FlatVector {
 public:
  FlatVector() = default;
  FlatVector(FlatBuffer& buffer, std::uint64_t at)
      : buffer_(&buffer), first_(at + 4), size_(buffer.load<std::uint32_t>(at)) {}

  [[nodiscard]] bool present() const { return buffer_ != nullptr; }
  // Elements of `width` bytes; 0 when they do not lie inside the file.
  [[nodiscard]] std::size_t size(std::size_t width) const {
    if (buffer_ == nullptr || size_ == 0) return 0;
    return buffer_->view(first_, std::uint64_t(size_) * width).empty() ? 0 : size_;
  }
  template <typename T>
  [[nodiscard]] T at(std::size_t i) const {
    return buffer_->load<T>(first_ + i * sizeof(T));
  }
  [[nodiscard]] FlatTable table(std::size_t i) const {
    const std::uint64_t field = first_ + 4 * i;
    return FlatTable(*buffer_, field + buffer_->load<std::uint32_t>(field));
  }
  [[nodiscard]] std::string_view bytes() const {
    return buffer_ == nullptr ? std::string_view{} : buffer_->view(first_, size_);
  }

 private:
  FlatBuffer* buffer_ = nullptr;
  std::uint64_t first_ = 0;
  std::uint32_t size_ = 0;
};

inline FlatVector FlatTable::vector(unsigned slot) const {
  const std::uint64_t target = target_of(slot);
  return target == 0 ? FlatVector{} : FlatVector(*buffer_, target);
}

}  // namespace forerun::tensorflow
