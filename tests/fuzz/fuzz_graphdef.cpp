// Any bytes as a SavedModel, a frozen GraphDef and a TensorFlow.js graph: read, bind with the defaults, infer, count,
// sum, list the kernels. It must return, without a sanitizer report.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/analyze.hpp"
#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "fuzz/protobuf_mutator.hpp"
#include "readers/tensorflow/tensorflow_reader.hpp"

// Small ones, so that a slow input is a finding.
constexpr forerun::tensorflow::Limits kLimits{
    .operations = 20'000, .nodes = 20'000, .bytes = std::int64_t{64} << 20, .depth = 32};

static void check(const forerun::Result<std::unique_ptr<forerun::Network>>& network) {
  if (!network) {
    if (network.error().kind == forerun::ErrorKind::Internal) std::abort();  // our own fault is a finding
    return;
  }
  const auto graph = forerun::analyze(**network, forerun::Binding{});
  if (!graph && graph.error().kind == forerun::ErrorKind::Internal) std::abort();
  if (!graph) return;
  (void)forerun::sum_totals(*graph);
  (void)forerun::list_kernels(*graph, forerun::Workload{});
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return forerun::ProtobufMutator::mutate(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!bytes.empty() && bytes.front() == '{') {
    check(forerun::read_tfjs_graph(bytes, "fuzz.json", {}, kLimits));
    return 0;
  }
  check(forerun::read_saved_model(bytes, "fuzz.pb", kLimits));
  check(forerun::read_graph_def(bytes, "fuzz.pb", kLimits));
  return 0;
}
