// Any bytes as a TensorFlow Lite file: read, bind with the defaults, infer, count, sum, list the kernels. It must
// return, without a sanitizer report.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/analyze.hpp"
#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "readers/tensorflow/tensorflow_reader.hpp"

// Small ones, so that a slow input is a finding.
constexpr forerun::tensorflow::Limits kLimits{
    .operations = 20'000, .nodes = 20'000, .bytes = std::int64_t{64} << 20, .depth = 32};

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto network = forerun::read_tflite(bytes, "fuzz.tflite", kLimits);
  if (!network) {
    if (network.error().kind == forerun::ErrorKind::Internal) std::abort();  // our own fault is a finding
    return 0;
  }
  const auto graph = forerun::analyze(**network, forerun::Binding{});
  if (!graph && graph.error().kind == forerun::ErrorKind::Internal) std::abort();
  if (!graph) return 0;
  (void)forerun::sum_totals(*graph);
  (void)forerun::list_kernels(*graph, forerun::Workload{});
  return 0;
}
