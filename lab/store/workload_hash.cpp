#include "store/workload_hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace forerun {
namespace {

// FNV-1a, 128 bits. Every item is preceded by its size or a tag, so that neighbours cannot run into each other.
class Hash {
 public:
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
  }
  void add(std::int64_t number) {
    for (unsigned shift = 0; shift < 64; shift += 8)
      add_byte(static_cast<unsigned char>(std::uint64_t(number) >> shift));
  }
  void add(double number) { add(fmt::format("{:.9g}", number)); }
  template <typename T>
  void add(const std::vector<T>& items) {
    add(static_cast<std::int64_t>(items.size()));
    for (const T& item : items) add(item);
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(state_ >> 64U), static_cast<std::uint64_t>(state_));
  }

 private:
  using Wide = unsigned __int128;
  void add_byte(unsigned char byte) {
    constexpr Wide kPrime = (Wide{1} << 88U) + 0x13b;
    state_ = (state_ ^ byte) * kPrime;
  }
  Wide state_ = (Wide{0x6c62272e07bb0142} << 64U) + 0x62b821756295c58d;
};

// Numbers values by first use, so that the hash does not depend on how a reader laid out its value table.
class ValueNumbers {
 public:
  explicit ValueNumbers(const Graph& graph) : graph_(graph), numbers_(graph.values.size(), -1) {}

  void add(Hash& hash, ValueId id) {
    if (id == kNoValue) return hash.add(std::int64_t{-1});
    std::int64_t& number = numbers_[std::size_t(id)];
    if (number >= 0) return hash.add(number);
    number = next_++;
    hash.add(number);
    const Value& value = graph_.values[std::size_t(id)];
    hash.add(static_cast<std::int64_t>(value.dtype));
    hash.add(static_cast<std::int64_t>(is_stored(value)));
    hash.add(static_cast<std::int64_t>(value.has_shape));
    if (value.has_shape) hash.add(value.dims);
  }

 private:
  const Graph& graph_;
  std::vector<std::int64_t> numbers_;
  std::int64_t next_ = 0;
};

}  // namespace

std::string workload_hash(const Graph& graph, const Workload& workload) {
  Hash hash;
  ValueNumbers numbers(graph);
  for (const Block& block : graph.blocks) {
    hash.add(static_cast<std::int64_t>(block.nodes.size()));
    for (const ValueId input : block.inputs) numbers.add(hash, input);
    for (const Node& node : block.nodes) {
      hash.add(node.domain);
      hash.add(node.op_type);
      std::vector<const Attribute*> attributes;
      for (const Attribute& attribute : node.attributes) attributes.push_back(&attribute);
      std::ranges::sort(attributes, {}, &Attribute::name);
      for (const Attribute* attribute : attributes) {
        hash.add(attribute->name);
        hash.add(static_cast<std::int64_t>(attribute->value.index()));
        std::visit([&](const auto& value) { hash.add(value); }, attribute->value);
      }
      for (const auto& [name, index] : node.blocks) hash.add(std::int64_t{index});
      for (const ValueId input : node.inputs) numbers.add(hash, input);
      for (const ValueId output : node.outputs) numbers.add(hash, output);
    }
    for (const ValueId output : block.outputs) numbers.add(hash, output);
  }
  hash.add(name_of(workload.precision));
  hash.add(static_cast<std::int64_t>(workload.training));
  hash.add(workload.training ? name_of(workload.optimizer) : std::string_view{});
  return hash.text();
}

}  // namespace forerun
