// Any bytes as one of PyTorch's archives, and, by their first byte, as what such archives hold: an exported program's
// JSON, a pickle, TorchScript code. It must return, without a sanitizer report.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "base/zip.hpp"
#include "base/zip_writer.hpp"
#include "readers/torch/exported_network.hpp"
#include "readers/torch/pickle.hpp"
#include "readers/torch/torch_reader.hpp"

namespace {

void analyze(const forerun::Result<std::unique_ptr<forerun::Network>>& network) {
  if (!network) return;
  forerun::Binding binding;
  binding.batch = 2;
  if (const forerun::Graph* inputs = (*network)->open_inputs()) {
    for (const forerun::Value& value : inputs->values) {
      if (!value.has_shape) binding.inputs[value.name] = {2, 3, 8, 8};
    }
  }
  const auto graph = forerun::analyze(**network, binding);
  if (graph) (void)forerun::sum_totals(*graph);
}

// A module of class __torch__.M with a weight of 4 x 3 x 3 x 3.
std::string module_pickle() {
  using namespace std::string_literals;
  return "\x80\x02"s + "c__torch__\nM\n)\x81}(X\x06\0\0\0weight"s + "ctorch._utils\n_rebuild_tensor_v2\n("s +
         "(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"s + "0X\x03\0\0\0cpuKltQK\0(K\x04K\x03K\x03K\x03t"s +
         "(K\x1bK\x09K\x03K\x01t\x89)tRub."s;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.starts_with('{')) {
    auto program = forerun::pytorch::read_exported_program(bytes, {}, {}, "fuzz");
    if (program) analyze(forerun::pytorch::make_exported_network(std::move(*program), "fuzz", "fuzz"));
  } else if (bytes.starts_with('\x80')) {
    (void)forerun::pytorch::read_pickle(bytes, "fuzz");
  } else if (bytes.starts_with("PK")) {
    const forerun::Source source{.path = "fuzz.pt", .bytes = bytes};
    if (forerun::is_exported_program(source)) analyze(forerun::read_exported_program_source(source));
    if (forerun::is_torch_script(source)) analyze(forerun::read_torch_script_source(source));
    (void)forerun::is_torch_pickle(source);
  } else {
    const std::string archive =
        forerun::zip_of({{"m/data.pkl", module_pickle()}, {"m/code/__torch__.py", std::string(bytes)}});
    analyze(forerun::read_torch_script_source({.path = "fuzz.pt", .bytes = archive}));
  }
  return 0;
}
