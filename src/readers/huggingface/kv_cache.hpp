// The key-value cache of an expanded language model: its inputs in decode, its outputs in prefill. States of recurrent
// layers count too.
#pragma once

#include <cstdint>

#include "graph/graph.hpp"

namespace forerun {

// Bytes of the cache this run reads ("past_…", decode) or, when it reads none, leaves behind ("present_…", prefill).
[[nodiscard]] std::int64_t kv_cache_bytes(const Graph& graph);

}  // namespace forerun
