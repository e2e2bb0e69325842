#include "readers/huggingface/shard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"

namespace forerun {
namespace {

constexpr double kWorthSaying = 0.02;  // of a rank's weights

std::string divisors_of(std::int64_t number) {
  std::string text;
  for (std::int64_t d = 1; d <= std::min<std::int64_t>(number, 512); ++d) {
    if (number % d == 0) text += (text.empty() ? "" : ", ") + std::to_string(d);
  }
  return text;
}

}  // namespace

std::int64_t share_of(GraphBuilder& b, std::int64_t whole, std::int64_t degree, std::string_view option,
                      std::string_view what) {
  if (degree <= 1) return whole;
  if (whole % degree == 0) return whole / degree;
  b.refuse(
      fmt::format("--{} {}: does not divide the {} {}; it may be {}", option, degree, whole, what, divisors_of(whole)));
  return std::max<std::int64_t>(1, whole / degree);
}

std::int64_t heads_of_rank(GraphBuilder& b, std::int64_t heads) {
  return share_of(b, heads, b.run.shard.tensor, "tensor-parallel", "attention heads");
}

std::int64_t width_of_rank(GraphBuilder& b, std::int64_t width) {
  return share_of(b, width, b.run.shard.tensor, "tensor-parallel", "columns of a feed-forward layer");
}

std::int64_t vocabulary_of_rank(GraphBuilder& b, std::int64_t vocabulary) {
  const std::int64_t ranks = b.run.shard.tensor;
  if (vocabulary % ranks != 0) {
    b.warn(fmt::format("the vocabulary of {} is padded to {} to divide it between {} ranks", vocabulary,
                       ceil_div(vocabulary, ranks) * ranks, ranks));
  }
  return ceil_div(vocabulary, ranks);
}

AttentionSpec share_of(GraphBuilder& b, const AttentionSpec& spec) {
  const std::int64_t ranks = b.run.shard.tensor;
  if (ranks <= 1) return spec;
  AttentionSpec share = spec;
  share.heads = heads_of_rank(b, spec.heads);
  if (spec.kv_heads % ranks == 0) {
    share.kv_heads = spec.kv_heads / ranks;
  } else if (spec.kv_heads < ranks && ranks % spec.kv_heads == 0) {
    share.kv_heads = 1;
    b.warn(fmt::format("{} key-value heads on {} tensor-parallel ranks: each is held by {} ranks", spec.kv_heads, ranks,
                       ranks / spec.kv_heads));
  } else {
    share.kv_heads = share_of(b, spec.kv_heads, ranks, "tensor-parallel", "key-value heads");
  }
  return share;
}

MlpSpec share_of(GraphBuilder& b, const MlpSpec& spec) {
  MlpSpec share = spec;
  share.intermediate = width_of_rank(b, spec.intermediate);
  return share;
}

void note_partial_sum(GraphBuilder& b, ValueId x) {
  if (b.run.shard.tensor > 1)
    b.note_message(Collective::AllReduce, ShardAxis::Tensor, double(bytes_of(b.graph.values[std::size_t(x)])));
}

void note_divided_result(GraphBuilder& b, ValueId x) {
  const double ranks = double(b.run.shard.tensor);
  if (ranks > 1)
    b.note_message(Collective::AllGather, ShardAxis::Tensor, ranks * double(bytes_of(b.graph.values[std::size_t(x)])));
}

Heads gather_context(GraphBuilder& b, Heads heads) {
  const std::int64_t ranks = b.run.shard.context;
  if (ranks <= 1) return heads;
  for (ValueId* part : {&heads.k, &heads.v}) {
    *part = b.concat(std::vector<ValueId>(std::size_t(ranks), *part), 2);
    b.note_message(Collective::AllGather, ShardAxis::Context, double(bytes_of(b.graph.values[std::size_t(*part)])));
  }
  b.gathers_context = true;
  return heads;
}

void refuse_context(GraphBuilder& b, std::string_view what) {
  if (b.run.shard.context > 1)
    b.refuse(fmt::format("--context-parallel {}: {} cannot be divided along the sequence", b.run.shard.context, what));
}

void finish_shard(GraphBuilder& b) {
  const Shard& shard = b.run.shard;
  if (shard.layers > 0 && !b.takes_stage)
    b.refuse("--pipeline-parallel: this architecture's layers cannot be divided into stages");
  if (shard.context > 1 && !b.gathers_context)
    b.refuse(fmt::format("--context-parallel {}: nothing of this network's attention can be divided along the sequence",
                         shard.context));
  if (shard.expert > 1 && !b.has_experts)
    b.refuse(fmt::format("--expert-parallel {}: the network has no experts", shard.expert));
  if (shard.tensor <= 1) return;
  double all = 0;
  for (const Value& value : b.graph.values) {
    if (is_weight(value)) all += double(elements_of(value));
  }
  const double whole = all - b.divided_elements;
  if (all > 0 && b.divided_elements <= 0) {
    b.refuse(fmt::format("--tensor-parallel {}: nothing of this architecture can be divided", shard.tensor));
  } else if (whole > kWorthSaying * all) {
    b.warn(fmt::format("{:.0f} % of each rank's weights cannot be divided and lie on every tensor-parallel rank",
                       100 * whole / all));
  }
}

}  // namespace forerun
