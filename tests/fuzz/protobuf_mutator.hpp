// Mutates protobuf messages field by field, so that lengths stay right: fields are copied, erased, swapped, and numbers
// and texts changed. The schema is not known; bytes that parse as a message are taken as one.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace forerun {

class ProtobufMutator {
 public:
  static std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
    std::minstd_rand random(seed);
    Fields fields;
    if (random() % 16 == 0 || !split({reinterpret_cast<const char*>(data), size}, fields) || fields.empty())
      return LLVMFuzzerMutate(data, size, max_size);
    edit(fields, random, 0);
    const std::string bytes = join(fields);
    if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
    std::memcpy(data, bytes.data(), bytes.size());
    return bytes.size();
  }

 private:
  struct Field {
    std::uint64_t tag = 0;
    std::uint64_t number = 0;  // of a varint
    std::string bytes;         // of a message, text or fixed number
  };
  using Fields = std::vector<Field>;
  using Random = std::minstd_rand;
  static constexpr std::size_t kMostFields = 4096;

  static bool varint(std::string_view& bytes, std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= std::uint64_t(byte & 127U) << shift;
      if (byte < 128) return true;
    }
    return false;
  }
  static void put(std::string& bytes, std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128U);
    bytes += static_cast<char>(value);
  }

  static bool split(std::string_view bytes, Fields& fields) {
    while (!bytes.empty()) {
      Field field;
      if (fields.size() >= kMostFields || !varint(bytes, field.tag) || field.tag >> 3 == 0 || field.tag >> 3 > 4096)
        return false;
      const std::uint64_t wire = field.tag & 7U;
      std::uint64_t length = wire == 1 ? 8 : 4;
      if (wire == 0) {
        if (!varint(bytes, field.number)) return false;
        fields.push_back(std::move(field));
        continue;
      }
      if (wire == 2 && !varint(bytes, length)) return false;
      if ((wire != 1 && wire != 2 && wire != 5) || length > bytes.size()) return false;
      field.bytes = bytes.substr(0, length);
      bytes.remove_prefix(length);
      fields.push_back(std::move(field));
    }
    return true;
  }
  static std::string join(const Fields& fields) {
    std::string bytes;
    for (const Field& field : fields) {
      put(bytes, field.tag);
      const std::uint64_t wire = field.tag & 7U;
      if (wire == 0) put(bytes, field.number);
      if (wire == 2) put(bytes, field.bytes.size());
      bytes += field.bytes;
    }
    return bytes;
  }

  static void edit(Fields& fields, Random& random, int depth) {
    const std::size_t at = random() % fields.size();
    Field& field = fields[at];
    Fields inner;
    if (depth < 8 && random() % 4 != 0 && (field.tag & 7U) == 2 && split(field.bytes, inner) && !inner.empty()) {
      edit(inner, random, depth + 1);
      field.bytes = join(inner);
      return;
    }
    switch (random() % 6) {
      case 0: fields.insert(fields.begin() + std::ptrdiff_t(random() % fields.size()), Field(field)); return;
      case 1: fields.erase(fields.begin() + std::ptrdiff_t(at)); return;
      case 2: std::swap(field, fields[random() % fields.size()]); return;
      case 3: field.bytes = std::string(fields[random() % fields.size()].bytes); break;
      default: change(field, random);
    }
    const std::uint64_t wire = field.tag & 7U;  // a fixed number keeps its size
    if (wire == 1 || wire == 5) field.bytes.resize(wire == 1 ? 8 : 4);
    if (wire == 0) field.bytes.clear();
  }

  static void change(Field& field, Random& random) {
    constexpr std::uint64_t kNumbers[] = {0, 1, 2, 3, 4, 7, 8, 16, 64, 1000, ~0ULL, 1ULL << 31, 1ULL << 62, 1ULL << 63};
    if ((field.tag & 7U) == 0) {
      field.number = random() % 2 == 0 ? kNumbers[random() % std::size(kNumbers)] : field.number + random() % 5 - 2;
      return;
    }
    const std::size_t size = field.bytes.size();
    field.bytes.resize(size + 16);
    field.bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(field.bytes.data()), size, size + 16));
  }
};

}  // namespace forerun
