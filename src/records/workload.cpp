#include "records/workload.hpp"

#include <array>

namespace forerun {
namespace {

constexpr std::array<std::string_view, std::size_t(Precision::Count)> kPrecisions = {
    "ieee_fp32", "fp32", "tf32", "fp16", "bf16", "amp_bf16", "fp8", "int8", "int4", "fp4", "amp_fp16"};
constexpr std::array<std::string_view, std::size_t(Runtime::Count)> kRuntimes = {"eager", "graph", "compiled",
                                                                                 "engine"};
constexpr std::array<std::string_view, std::size_t(Phase::Count)> kPhases = {"forward", "prefill", "decode"};
constexpr std::array<std::string_view, std::size_t(Optimizer::Count)> kOptimizers = {"none", "sgd", "adam", "adamw"};

template <typename E, std::size_t N>
std::optional<E> parse(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return E(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Precision precision) { return kPrecisions[std::size_t(precision)]; }
std::string_view name_of(Runtime runtime) { return kRuntimes[std::size_t(runtime)]; }
std::string_view name_of(Phase phase) { return kPhases[std::size_t(phase)]; }
std::string_view name_of(Optimizer optimizer) { return kOptimizers[std::size_t(optimizer)]; }
std::optional<Precision> parse_precision(std::string_view name) { return parse<Precision>(kPrecisions, name); }
std::optional<Runtime> parse_runtime(std::string_view name) { return parse<Runtime>(kRuntimes, name); }
std::optional<Phase> parse_phase(std::string_view name) { return parse<Phase>(kPhases, name); }
std::optional<Optimizer> parse_optimizer(std::string_view name) { return parse<Optimizer>(kOptimizers, name); }

}  // namespace forerun
