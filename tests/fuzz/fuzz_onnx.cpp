// Any bytes as an ONNX file: read, bind with the defaults, infer, count, sum, list the kernels of a pass and of a
// training step, time them and tell them to the graph network. It must return, without a sanitizer report.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "devices/catalogue.hpp"
#include "features/kernel_encoding.hpp"
#include "fuzz/protobuf_mutator.hpp"
#include "predictors/roofline/roofline.hpp"
#include "readers/onnx/onnx_reader.hpp"

// Small ones, so that a slow input is a finding.
constexpr forerun::OnnxLimits kLimits{.nodes = 20'000, .inlined_nodes = 2'000};

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return forerun::ProtobufMutator::mutate(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto network = forerun::read_onnx(bytes, "fuzz.onnx", {}, kLimits);
  if (!network) {
    if (network.error().kind == forerun::ErrorKind::Internal) std::abort();  // our own fault is a finding
    return 0;
  }
  const auto graph = forerun::analyze(**network, forerun::Binding{});
  if (!graph && graph.error().kind == forerun::ErrorKind::Internal) std::abort();
  if (!graph) return 0;
  const forerun::Totals totals = forerun::sum_totals(*graph);
  static const forerun::Device kDevice = forerun::Catalogue::load()->find("h200-sxm").value();
  for (const bool training : {false, true}) {
    forerun::Workload workload;
    workload.training = training;
    workload.precision = training ? forerun::Precision::AmpBf16 : forerun::Precision::Fp16;
    if (training) workload.optimizer = forerun::Optimizer::AdamW;
    const std::vector<forerun::Kernel> kernels = forerun::list_kernels(*graph, workload);
    const forerun::RooflineEstimate roofline = forerun::estimate_roofline(*graph, kernels, workload, kDevice);
    (void)forerun::encode_kernels(*graph, totals, kernels, roofline, kDevice, workload);
  }
  return 0;
}
