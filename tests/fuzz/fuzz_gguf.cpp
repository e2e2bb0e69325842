// Any bytes as a GGUF file, and any bytes behind a valid start. It must return, without a sanitizer report.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "readers/gguf/gguf_reader.hpp"

namespace {

void read(std::string_view bytes) {
  const auto network = forerun::read_gguf_source({.path = "fuzz.gguf", .bytes = bytes});
  if (!network) return;
  const auto graph = forerun::analyze(**network, {});
  if (graph) (void)forerun::sum_totals(*graph);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  read(std::string("GGUF\3\0\0\0", 8).append(bytes));
  return 0;
}
