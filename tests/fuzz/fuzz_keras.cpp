// Any bytes as a Keras network: a configuration in JSON, an HDF5 file or an archive. Read, bind with the defaults,
// infer, count, sum, list the kernels of a pass. It must return, without a sanitizer report.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analysis/analyze.hpp"
#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"
#include "readers/keras/keras_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forerun::Source source;
  source.path = "fuzz.keras";
  source.bytes = std::string_view(reinterpret_cast<const char*>(data), size);
  if (source.bytes.empty()) return 0;
  const auto network = forerun::is_keras_archive(source) ? forerun::read_keras_archive_source(source)
                       : source.bytes[0] == '{'          ? forerun::read_keras_json_source(source)
                                                         : forerun::read_keras_hdf5_source(source);
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
