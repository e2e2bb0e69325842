// Any bytes as a PaddlePaddle program, ProgramDesc or PIR: read, bind with the defaults, infer, count, sum, list the
// kernels of a pass. It must return, without a sanitizer report.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/analyze.hpp"
#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "readers/paddle/paddle_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto network = forerun::read_paddle(bytes, "fuzz.pdmodel", !bytes.empty() && bytes[0] == '{');
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
