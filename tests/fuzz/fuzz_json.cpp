// Any bytes as a config.json: parse, expand for every phase, analyse. It must return, without a sanitizer report.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "readers/huggingface/huggingface_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto network = forerun::read_huggingface_source({.path = "config.json", .bytes = bytes});
  if (!network) return 0;
  for (const forerun::Phase phase : {forerun::Phase::Forward, forerun::Phase::Prefill, forerun::Phase::Decode}) {
    forerun::Binding binding;
    binding.phase = phase;
    binding.precision = phase == forerun::Phase::Decode ? forerun::Precision::Int4 : forerun::Precision::Bf16;
    const auto graph = forerun::analyze(**network, binding);
    if (graph) (void)forerun::sum_totals(*graph);
  }
  return 0;
}
