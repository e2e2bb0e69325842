// Any bytes as the program of a graph network in a bundle: parsed, checked, loaded with tensors of the sizes it names,
// and run on a graph of three nodes. It must return, without a sanitizer report.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/bundle.hpp"
#include "fuzz/json_mutator.hpp"
#include "predictors/gnn/engine.hpp"

namespace {

constexpr std::string_view kKeys[] = {"node_width", "global_width", "tensors", "steps", "outputs",
                                      "op",         "in",           "name",    "shape", "type"};
constexpr std::int64_t kMostNumbers = 4096;  // of a tensor

std::vector<std::string_view> words() {
  std::vector<std::string_view> names;
  for (std::size_t k = 0; k < std::size_t(forerun::StepKind::Count); ++k)
    names.push_back(forerun::name_of(forerun::StepKind(k)));
  return names;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  static const std::vector<std::string_view> kWords = words();
  return forerun::JsonMutator(kKeys, kWords).mutate(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto program = forerun::program_from_json(text);
  if (!program || !forerun::check_program(*program)) return 0;
  forerun::BundleManifest manifest;
  manifest.name = manifest.kind = "gnn";
  manifest.parts["program"] = text;
  forerun::BundleWriter writer(std::move(manifest));
  for (const forerun::ProgramTensor& tensor : program->tensors) {
    const std::int64_t numbers = std::int64_t(tensor.rows) * tensor.columns;
    if (numbers < 0 || numbers > kMostNumbers) return 0;
    const std::vector<float> values(std::size_t(numbers), 0.25F);
    if (!writer.add_section(tensor.name, tensor.half ? forerun::pack_half(values) : forerun::pack_float(values)))
      return 0;
  }
  const auto bytes = writer.bytes();
  if (!bytes) return 0;
  const auto bundle = forerun::Bundle::from_bytes(*bytes, "fuzz");
  if (!bundle || program->node_width > 64 || program->global_width > 64) return 0;
  const auto engine = forerun::GnnEngine::load(*bundle);
  if (!engine) return 0;
  forerun::GraphTensors graph;
  graph.nodes = 3;
  graph.node_width = program->node_width;
  graph.sources = forerun::make_sparse_rows(3, {{0, 1}, {1, 2}, {0, 2}});
  graph.node_features.assign(std::size_t(3 * program->node_width), 0.5F);
  graph.globals.assign(std::size_t(program->global_width), 0.5F);
  const std::vector<float> weights(3, 1.0F);
  (void)engine->run(graph, weights);
  return 0;
}
