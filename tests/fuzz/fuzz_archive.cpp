// Any bytes as a zip or tar archive, or a compressed file, of a network of any format. It must return, without a
// sanitizer report.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "readers/collection.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forerun::Source source;
  source.path = "fuzz.zip";
  source.bytes = std::string_view(reinterpret_cast<const char*>(data), size);
  if (!forerun::is_packed(source)) return 0;
  const auto network = forerun::read_packed_source(source);
  if (!network) {
    if (network.error().kind == forerun::ErrorKind::Internal) std::abort();  // our own fault is a finding
    return 0;
  }
  const auto graph = forerun::analyze(**network, forerun::Binding{});
  if (!graph && graph.error().kind == forerun::ErrorKind::Internal) std::abort();
  if (graph) (void)forerun::sum_totals(*graph);
  return 0;
}
