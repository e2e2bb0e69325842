// Any bytes as a safetensors file, and any bytes as its header. It must return, without a sanitizer report.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/totals.hpp"
#include "fuzz/json_mutator.hpp"
#include "readers/safetensors/safetensors_reader.hpp"

namespace {

// Header and graph: the reader itself also looks for a config.json, on the disk.
void read(std::string_view bytes) {
  std::vector<std::string> warnings;
  const auto tensors = forerun::read_safetensors_header(bytes, "fuzz.safetensors", warnings);
  if (!tensors) return;
  const forerun::Graph graph = forerun::graph_of_weights(*tensors, "fuzz", "safetensors");
  (void)forerun::sum_totals(graph);
}

constexpr std::string_view kKeys[] = {"__metadata__", "dtype", "shape", "data_offsets", "a.weight", "a.bias"};
constexpr std::string_view kWords[] = {"F32", "F16", "BF16", "I64", "U8", "BOOL", "F8_E4M3", "F4", "C64"};

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return forerun::JsonMutator(kKeys, kWords).mutate(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  std::string framed;
  for (int i = 0; i < 8; ++i) framed += static_cast<char>(size >> (8 * i) & 0xFF);
  read(framed.append(bytes));
  return 0;
}
