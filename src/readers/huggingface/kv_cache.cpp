#include "readers/huggingface/kv_cache.hpp"

#include "base/checked.hpp"

namespace forerun {

std::int64_t kv_cache_bytes(const Graph& graph) {
  const auto sum = [&graph](const std::vector<ValueId>& values, std::string_view prefix) {
    std::int64_t bytes = 0;
    for (const ValueId id : values) {
      if (id == kNoValue) continue;
      const Value& value = graph.values[std::size_t(id)];
      if (value.name.starts_with(prefix)) bytes = checked_add(bytes, bytes_of(value));
    }
    return bytes;
  };
  const std::int64_t read = sum(graph.main().inputs, "past_");
  return read > 0 ? read : sum(graph.main().outputs, "present_") + sum(graph.main().outputs, "cross_");
}

}  // namespace forerun
