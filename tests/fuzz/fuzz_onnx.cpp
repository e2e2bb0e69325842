// Any bytes as an ONNX file: read, bind with the defaults, infer, count, sum. It must return, without a sanitizer
// report.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "readers/onnx/onnx_reader.hpp"

// Small ones, so that a slow input is a finding.
constexpr forerun::OnnxLimits kLimits{.nodes = 20'000, .inlined_nodes = 2'000};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto network = forerun::read_onnx(bytes, "fuzz.onnx", {}, kLimits);
  if (!network) {
    if (network.error().kind == forerun::ErrorKind::Internal) std::abort();  // our own fault is a finding
    return 0;
  }
  const auto graph = forerun::analyze(**network, forerun::Binding{});
  if (!graph && graph.error().kind == forerun::ErrorKind::Internal) std::abort();
  if (graph) (void)forerun::sum_totals(*graph);
  return 0;
}
