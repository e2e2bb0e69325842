#include "training/gnn/published_bundle.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/conformal.hpp"
#include "dataset/splits.hpp"

namespace forerun {
namespace {

constexpr std::size_t kFewestForInterval = 9;  // with fewer, no error is exceeded by one in ten

Result<torch::Tensor> tensor_of(const PublishedRun& run, const std::string& name) {
  for (std::size_t i = 0; i < run.tensor_names.size(); ++i) {
    if (run.tensor_names[i] == name) return torch::tensor(run.tensors[i]);
  }
  return bad_input("run '" + run.name + "' has no tensor " + name);
}

Result<Scaling> scaling_of(const PublishedRun& run, const std::string& prefix) {
  Scaling scaling;
  FORERUN_TRY(scaling.node_mean, tensor_of(run, prefix + "scaler.node_mean"));
  FORERUN_TRY(scaling.global_mean, tensor_of(run, prefix + "scaler.global_mean"));
  FORERUN_TRY(const torch::Tensor node, tensor_of(run, prefix + "scaler.node_scale"));
  FORERUN_TRY(const torch::Tensor global, tensor_of(run, prefix + "scaler.global_scale"));
  scaling.node_deviation = 1 / node;
  scaling.global_deviation = 1 / global;
  return scaling;
}

Result<ProgramWriter> inference_program(const PublishedSet& set, const PublishedRun& run, Pool pool,
                                        std::int64_t width) {
  FORERUN_TRY(const Scaling scaling, scaling_of(run, ""));
  InferenceNet network({.node_width = set.graphs.front().node_width,
                        .global_width = std::int64_t(set.graphs.front().globals.size()),
                        .width = width,
                        .outputs = std::int64_t(set.outputs.size()),
                        .positive = false,
                        .pool = pool},
                       scaling);
  FORERUN_CHECK(set_tensors(network, "", run));
  return network.write(0);
}

Result<ProgramWriter> training_program(const PublishedSet& set, const PublishedRun& run, Pool pool,
                                       std::int64_t width) {
  FORERUN_TRY(const Scaling scaling, scaling_of(run, ""));
  FORERUN_TRY(const Scaling of_encoder, scaling_of(run, "encoder:"));
  FORERUN_TRY(const torch::Tensor mean, tensor_of(run, "embedding_mean"));
  FORERUN_TRY(const torch::Tensor scale, tensor_of(run, "embedding_scale"));
  GraphEncoder encoder(set.graphs.front().node_width, width, of_encoder);
  FORERUN_CHECK(set_tensors(encoder, "encoder:", run));
  encoder.eval();
  TrainingNet network({.node_width = set.graphs.front().node_width,
                       .global_width = std::int64_t(set.graphs.front().globals.size()),
                       .width = width,
                       .embedding = width,
                       .stack = std::int64_t(set.outputs.size()),
                       .pool = pool,
                       .embedding_mean = mean,
                       .embedding_deviation = 1 / scale},
                      scaling);
  FORERUN_CHECK(set_tensors(network, "", run));
  std::vector<std::int64_t> members(set.outputs.size());
  std::iota(members.begin(), members.end(), std::int64_t{0});
  return network.write(members, &encoder);
}

}  // namespace

Result<PublishedBundle> make_published_bundle(PublishedDesign design, const PublishedSet& set, const PublishedRun& run,
                                              Pool pool, std::int64_t width) {
  const bool training = design == PublishedDesign::Training;
  FORERUN_TRY(const ProgramWriter program,
              training ? training_program(set, run, pool, width) : inference_program(set, run, pool, width));
  PublishedBundle made;
  made.half_widths.assign(set.outputs.size(), 0);
  const std::size_t split = set.splits.size() - 1;
  const auto bytes_of = [&]() -> Result<std::string> {
    BundleManifest manifest{.name = training ? "trappm" : "dippm", .kind = std::string(kPublishedKind)};
    manifest.metrics = {"latency_ms", "memory_mb", "power_w", "energy_j"};
    manifest.schema = published_schema();
    manifest.parts["design"] =
        nlohmann::json{{"training", training},
                       {"log_features", !training},
                       {"outputs", set.outputs},
                       {"half_widths", made.half_widths},
                       {"devices", {"h200-sxm"}},
                       {"precisions", training ? std::vector<std::string>{"fp32", "amp_bf16"}
                                               : std::vector<std::string>{"fp32", "fp16", "bf16"}}}
            .dump();
    manifest.parts["provenance"] = nlohmann::json{
        {"recipe", run.name},
        {"epochs", run.epochs},
        {"width", width},
        {"items", set.items.size()}}.dump();
    manifest.parts.emplace(kSetAsidePart, kSetAsideRule);
    FORERUN_TRY(const BundleWriter writer, program.bundle(std::move(manifest)));
    return writer.bytes();
  };
  FORERUN_TRY(const std::string first, bytes_of());
  FORERUN_TRY(const Bundle bundle, Bundle::from_bytes(first, run.name));
  FORERUN_TRY(const auto predictor, PublishedPredictor::load(bundle));
  std::vector<std::vector<double>> errors(set.outputs.size());
  made.answers.resize(set.items.size());
  for (std::size_t i = 0; i < set.items.size(); ++i) {
    const Part part = set.items[i].parts[split];
    if (part != Part::Valid && part != Part::Test) continue;
    FORERUN_TRY(made.answers[i], predictor->run(set.graphs[i]));
    for (std::size_t o = 0; part == Part::Valid && o < set.outputs.size(); ++o) {
      const double target = set.items[i].targets[o];
      if (target > 0) errors[o].push_back(std::abs(std::log(made.answers[i][o] / target)));
    }
  }
  for (std::size_t o = 0; o < errors.size(); ++o) {
    if (errors[o].size() >= kFewestForInterval) made.half_widths[o] = conformal_half_width(errors[o]);
  }
  FORERUN_TRY(made.bytes, bytes_of());
  return made;
}

}  // namespace forerun
