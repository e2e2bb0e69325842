// Any bytes as a safetensors file, and any bytes as its header. It must return, without a sanitizer report.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "readers/safetensors/safetensors_reader.hpp"

namespace {

void read(std::string_view bytes) {
  const auto network = forerun::read_safetensors_source({.path = "fuzz.safetensors", .bytes = bytes});
  if (!network) return;
  const auto graph = forerun::analyze(**network, {});
  if (graph) (void)forerun::sum_totals(*graph);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  std::string framed;
  for (int i = 0; i < 8; ++i) framed += static_cast<char>(size >> (8 * i) & 0xFF);
  read(framed.append(bytes));
  return 0;
}
