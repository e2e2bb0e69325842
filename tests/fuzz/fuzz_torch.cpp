// Any bytes as one of PyTorch's archives, and, by their first byte, as what such archives hold: an exported program's
// JSON, a pickle, TorchScript code. It must return, without a sanitizer report.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "base/zip.hpp"
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

void append(std::string& bytes, std::uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
}

std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members) {
  std::string bytes, directory;
  for (const auto& [name, text] : members) {
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
    std::string common;
    append(common, 20, 2);
    append(common, 0, 8);
    append(common, crc, 4);
    append(common, text.size(), 4);
    append(common, text.size(), 4);
    append(common, name.size(), 2);
    append(common, 0, 2);
    append(directory, 0x02014b50, 4);
    append(directory, 20, 2);
    directory += common + std::string(10, '\0');
    append(directory, bytes.size(), 4);
    directory += name;
    append(bytes, 0x04034b50, 4);
    bytes += common + name + text;
  }
  const std::size_t start = bytes.size();
  bytes += directory;
  append(bytes, 0x06054b50, 4);
  append(bytes, 0, 4);
  append(bytes, members.size(), 2);
  append(bytes, members.size(), 2);
  append(bytes, directory.size(), 4);
  append(bytes, start, 4);
  append(bytes, 0, 2);
  return bytes;
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
    const std::string archive = zip_of({{"m/data.pkl", module_pickle()}, {"m/code/__torch__.py", std::string(bytes)}});
    analyze(forerun::read_torch_script_source({.path = "fuzz.pt", .bytes = archive}));
  }
  return 0;
}
