// What one rank holds of the parts networks are made of, when a configuration is written out for it
// (records/workload.hpp: Shard): heads, widths, experts and vocabularies divided, and the messages this needs.
#pragma once

#include <cstdint>
#include <string_view>

#include "readers/huggingface/attention.hpp"
#include "readers/huggingface/feed_forward.hpp"
#include "readers/huggingface/graph_builder.hpp"

namespace forerun {

// whole / degree. Where that leaves a remainder the network is refused, with the degrees that divide `what`.
std::int64_t share_of(GraphBuilder& b, std::int64_t whole, std::int64_t degree, std::string_view option,
                      std::string_view what);

// Columns of the first and rows of the last product of a block. Fewer key heads than ranks: each rank has a whole one.
AttentionSpec share_of(GraphBuilder& b, const AttentionSpec& spec);
MlpSpec share_of(GraphBuilder& b, const MlpSpec& spec);
std::int64_t heads_of_rank(GraphBuilder& b, std::int64_t heads);
std::int64_t width_of_rank(GraphBuilder& b, std::int64_t width);
// Rows of an embedding or columns of a head; padded where they do not divide evenly.
std::int64_t vocabulary_of_rank(GraphBuilder& b, std::int64_t vocabulary);

// Counts the weights made while it lives as divided between the tensor-parallel ranks.
class Divided {
 public:
  explicit Divided(GraphBuilder& b) : b_(b) { ++b_.divided_depth; }
  ~Divided() { --b_.divided_depth; }
  Divided(const Divided&) = delete;
  Divided& operator=(const Divided&) = delete;

 private:
  GraphBuilder& b_;
};

// x is a partial sum on every tensor-parallel rank: notes the all-reduce that completes it.
void note_partial_sum(GraphBuilder& b, ValueId x);
// x's last dimension is divided between the tensor-parallel ranks: notes the all-gather of it.
void note_divided_result(GraphBuilder& b, ValueId x);
// Keys and values of every context-parallel rank, for the queries of this one.
Heads gather_context(GraphBuilder& b, Heads heads);
// Parts that cannot take their part of a sequence or of a cache.
void refuse_context(GraphBuilder& b, std::string_view what);
// Says how much of the rank's weights the tensor-parallel ranks all hold; refuses what the architecture cannot do.
void finish_shard(GraphBuilder& b);

}  // namespace forerun
