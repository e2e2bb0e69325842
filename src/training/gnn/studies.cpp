#include "training/gnn/studies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "dataset/splits.hpp"
#include "training/gnn/svg.hpp"

namespace forerun {
namespace {

constexpr const char* kMetricOrder[] = {"latency_graph_ms", "latency_eager_ms", "memory_mb", "power_w", "energy_j",
                                        "step_ms", "training memory_mb", "training power_w", "training energy_j"};

std::string cell(const Scores& scores, const std::string& metric) {
  const auto found = scores.find(metric);
  return found == scores.end() ? "–" : fmt::format("{:.2f}", found->second.mape());
}

std::string count_cell(const Scores& scores, const std::string& metric) {
  const auto found = scores.find(metric);
  return found == scores.end() ? "0" : std::to_string(found->second.measured.size());
}

std::vector<std::size_t> all_rows(const std::vector<GnnRow>& rows) {
  std::vector<std::size_t> all(rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::string family_table(const StudyInput& input, const Scores& scores) {
  std::string out = "\n| family | metric | rows | MAPE % | RMSE | RMS relative error % |\n|---|---|---|---|---|---|\n";
  std::map<std::pair<std::string, std::string>, Scored> parts;
  for (const auto& [metric, scored] : scores) {
    if (metric != "latency_graph_ms" && metric != "step_ms" && metric != "latency_eager_ms") continue;
    for (std::size_t i = 0; i < scored.rows.size(); ++i) {
      const Example& example = input.dataset->examples[(*input.rows)[scored.rows[i]].example];
      Scored& part = parts[{example.family, metric}];
      part.predicted.push_back(scored.predicted[i]);
      part.measured.push_back(scored.measured[i]);
    }
  }
  for (const auto& [key, part] : parts) {
    out += fmt::format("| {} | {} | {} | {:.2f} | {:.3f} ms | {:.2f} |\n", key.first, key.second, part.measured.size(), part.mape(), part.rmse(), part.rmspe());
  }
  return out;
}

std::string embedding_picture(const StudyInput& input, KernelNet& network, const RowIndices& chosen) {
  const torch::NoGradGuard guard;
  std::vector<torch::Tensor> states;
  for (const std::size_t i : chosen) {
    const BatchItem item{&(*input.rows)[i].kernels.graph, (*input.rows)[i].kernels.device_ms};
    const GraphBatch batch = make_batch({&item, 1});
    states.push_back(weighted_mean_pool(network.embed(batch), batch));
  }
  torch::Tensor all = torch::cat(states);
  all = all - all.mean(0, true);
  const torch::Tensor plane = torch::matmul(all, std::get<2>(torch::svd(all)).narrow(1, 0, 2));
  std::map<std::string, SvgPoints> groups;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const std::string& family = input.dataset->examples[(*input.rows)[chosen[k]].example].family;
    groups[family].name = family;
    groups[family].points.emplace_back(plane[static_cast<std::int64_t>(k)][0].item<double>(), plane[static_cast<std::int64_t>(k)][1].item<double>());
  }
  std::vector<SvgPoints> list;
  for (auto& [name, group] : groups) list.push_back(std::move(group));
  return draw_points("Embeddings of held-out networks, first two principal components", list);
}

Result<StudySection> study_protocols(const StudyInput& input) {
  StudySection section;
  section.markdown = "One of five folds of each protocol is held out; the same fold for the network and the roofline. MAPE in per cent.\n\n"
                     "| protocol | metric | rows | roofline | graph network |\n|---|---|---|---|---|\n";
  const std::vector<SplitKey> keys = split_keys(input.dataset->examples);
  std::vector<SvgCurve> curves;
  std::string families;
  for (const SplitKind kind : {SplitKind::AsPublished, SplitKind::ByArchitecture}) {
    const Fold fold = split(keys, kind, input.options.seed).front();
    const RowIndices train = rows_of_examples(*input.rows, fold.train), test = rows_of_examples(*input.rows, fold.test);
    FORERUN_TRY(const KernelRun run, run_kernel_net(input, train, test, std::string(name_of(kind))));
    const Scores base = score_roofline(*input.rows, test);
    for (const char* metric : kMetricOrder) {
      section.markdown += fmt::format("| {} | {} | {} | {} | {} |\n", name_of(kind), metric, count_cell(run.scores, metric), cell(base, metric), cell(run.scores, metric));
    }
    curves.push_back({std::string(name_of(kind)) + ", train", run.trained.fit.train_loss});
    curves.push_back({std::string(name_of(kind)) + ", valid", run.trained.fit.valid_loss});
    if (kind == SplitKind::ByArchitecture) {
      families = "\nBy family, by architecture:\n" + family_table(input, run.scores);
      section.pictures["gnn-embeddings.svg"] = embedding_picture(input, *run.trained.network, test);
    }
  }
  section.pictures["gnn-loss.svg"] = draw_curves("Loss of our graph network", "loss", curves);
  section.markdown += families + "\n![loss](accuracy-gnn/gnn-loss.svg)\n\n![embeddings](accuracy-gnn/gnn-embeddings.svg)\n";
  return section;
}

Result<StudySection> study_families(const StudyInput& input) {
  StudySection section;
  section.markdown = fmt::format("Each family in turn is never seen in training; the {} largest families. MAPE in per cent.\n\n"
                                 "| family left out | metric | rows | roofline | graph network |\n|---|---|---|---|---|\n", input.options.most_families);
  std::vector<Fold> folds = split(split_keys(input.dataset->examples), SplitKind::LeaveOneFamilyOut, input.options.seed);
  std::stable_sort(folds.begin(), folds.end(), [](const Fold& a, const Fold& b) { return a.test.size() > b.test.size(); });
  folds.resize(std::min(folds.size(), input.options.most_families));
  double sum = 0;
  for (const Fold& fold : folds) {
    const RowIndices test = rows_of_examples(*input.rows, fold.test);
    FORERUN_TRY(const KernelRun run, run_kernel_net(input, rows_of_examples(*input.rows, fold.train), test, "without " + fold.held_out));
    const Scores base = score_roofline(*input.rows, test);
    for (const char* metric : {"latency_graph_ms", "latency_eager_ms", "step_ms", "memory_mb"}) {
      if (run.scores.contains(metric)) {
        section.markdown += fmt::format("| {} | {} | {} | {} | {} |\n", fold.held_out, metric, count_cell(run.scores, metric), cell(base, metric), cell(run.scores, metric));
      }
    }
    const auto latency = run.scores.find("latency_graph_ms");
    sum += (latency != run.scores.end() ? latency : run.scores.find("latency_eager_ms"))->second.mape();
  }
  section.markdown += fmt::format("\nMean over these families of the latency's MAPE (graph replay where measured, else eager): {:.2f} %.\n", sum / static_cast<double>(folds.size()));
  return section;
}

Result<StudySection> study_layers(const StudyInput& input) {
  StudySection section;
  section.markdown = "Our network with each kind of graph layer, by architecture, the same fold; half the epochs of the other tables. MAPE in per cent.\n\n"
                     "| layer | latency_graph_ms | latency_eager_ms | step_ms | memory_mb |\n|---|---|---|---|---|\n";
  const Fold fold = split(split_keys(input.dataset->examples), SplitKind::ByArchitecture, input.options.seed).front();
  const RowIndices train = rows_of_examples(*input.rows, fold.train), test = rows_of_examples(*input.rows, fold.test);
  std::vector<SvgCurve> curves;
  for (const LayerKind kind : {LayerKind::Sage, LayerKind::Gcn, LayerKind::Gat, LayerKind::Gin}) {
    FORERUN_TRY(const KernelRun run, run_kernel_net(input, train, test, "layers " + std::string(name_of(kind)), kind, nullptr, input.options.epochs / 2));
    section.markdown += fmt::format("| {} | {} | {} | {} | {} |\n", name_of(kind), cell(run.scores, "latency_graph_ms"), cell(run.scores, "latency_eager_ms"),
                                    cell(run.scores, "step_ms"), cell(run.scores, "memory_mb"));
    curves.push_back({std::string(name_of(kind)), run.trained.fit.valid_loss});
  }
  section.pictures["gnn-layers.svg"] = draw_curves("Validation loss by kind of layer", "loss", curves);
  section.markdown += "\n![validation loss by layer](accuracy-gnn/gnn-layers.svg)\n";
  return section;
}

// Train on rows of one kind, then answer rows of another: as it is, after a few of them, and from those few alone.
Result<std::string> transfer_row(const StudyInput& input, const std::string& name, const RowIndices& from, const RowIndices& to, const std::string& metric) {
  RowIndices few, rest;
  for (const std::size_t i : to) {
    (mix_seed(input.dataset->examples[(*input.rows)[i].example].network, input.options.seed) % 10 == 0 ? few : rest).push_back(i);
  }
  if (few.empty() || rest.empty()) return std::string();
  FORERUN_TRY(const KernelRun source, run_kernel_net(input, from, rest, name));
  FORERUN_TRY(const KernelRun tuned, run_kernel_net(input, few, rest, name + ", tuned", LayerKind::Sage, source.trained.network.get(), input.options.epochs / 2));
  FORERUN_TRY(const KernelRun scratch, run_kernel_net(input, few, rest, name + ", from scratch", LayerKind::Sage, nullptr, input.options.epochs / 2));
  const Scores base = score_roofline(*input.rows, rest);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", name, metric, few.size(), count_cell(source.scores, metric), cell(base, metric),
                     cell(source.scores, metric), cell(tuned.scores, metric), cell(scratch.scores, metric));
}

Result<StudySection> study_transfer(const StudyInput& input) {
  StudySection section;
  section.markdown = "Networks held out of the tuning are scored. MAPE in per cent.\n\n"
                     "| from → to | metric | rows to tune with | rows scored | roofline | as trained | tuned | from those rows alone |\n|---|---|---|---|---|---|---|---|\n";
  RowIndices fp32, fp16, inference, training;
  for (const std::size_t i : all_rows(*input.rows)) {
    const GnnRow& row = (*input.rows)[i];
    const Domain domain = input.dataset->examples[row.example].domain;
    if (domain == Domain::VisionInference && row.workload.precision == Precision::Fp32) fp32.push_back(i);
    if (domain == Domain::VisionInference && row.workload.precision == Precision::Fp16) fp16.push_back(i);
    if (domain == Domain::VisionInference && row.workload.runtime == Runtime::Eager) inference.push_back(i);
    if (domain == Domain::VisionTraining) training.push_back(i);
  }
  FORERUN_TRY(const std::string precision, transfer_row(input, "fp32 → fp16", fp32, fp16, "latency_graph_ms"));
  FORERUN_TRY(const std::string phase, transfer_row(input, "inference → training", inference, training, "step_ms"));
  section.markdown += precision + phase + "\nFrom one device to another: only the H200 has been measured, so there is no such row.\n";
  return section;
}

}  // namespace

RowIndices rows_of_examples(const std::vector<GnnRow>& rows, const std::vector<std::size_t>& examples) {
  RowIndices out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::binary_search(examples.begin(), examples.end(), rows[i].example)) out.push_back(i);
  }
  return out;
}

TrainValid set_aside(const Dataset& dataset, const std::vector<GnnRow>& rows, const RowIndices& chosen, std::uint64_t share) {
  TrainValid out;
  for (const std::size_t i : chosen) (mix_seed(dataset.examples[rows[i].example].network, 77) % share == 0 ? out.valid : out.train).push_back(i);
  if (out.train.empty()) std::swap(out.train, out.valid);
  return out;
}

Result<KernelRun> run_kernel_net(const StudyInput& input, const RowIndices& train, const RowIndices& test, const std::string& note, LayerKind kind,
                                 KernelNet* start, int epochs) {
  KernelTrainingOptions options;
  options.kind = kind;
  options.width = input.options.width;
  options.fit = {.epochs = epochs > 0 ? epochs : input.options.epochs, .batch = 16, .learning_rate = start != nullptr ? 1e-3 : 3e-3, .clip_norm = 5, .seed = input.options.seed};
  const TrainValid parts = set_aside(*input.dataset, *input.rows, train);
  const ReportEpoch report = [&](const EpochReport& epoch) { input.say(note + "  " + progress_line(epoch)); };
  FORERUN_TRY(TrainedKernelNet trained, train_kernel_net(*input.rows, parts.train, parts.valid, options, report, nullptr, start));
  FORERUN_TRY(const BundleWriter writer, write_kernel_bundle(*trained.network, *input.rows, parts.valid, {.name = "gnn-kernels"}));
  FORERUN_TRY(const std::string bytes, writer.bytes());
  FORERUN_TRY(const Bundle bundle, Bundle::from_bytes(bytes, "gnn-kernels"));
  FORERUN_TRY(Scores scores, score_bundle(bundle, *input.rows, test));
  return KernelRun{std::move(trained), std::move(scores)};
}

const std::vector<Study>& gnn_studies() {
  static const std::vector<Study> studies = {
      {"protocols", "Our graph network, as published and by architecture", study_protocols},
      {"families", "Our graph network, one family left out", study_families},
      {"layers", "Kinds of graph layers", study_layers},
      {"transfer", "Transfer", study_transfer},
      {"inference-network", "The published inference predictor on our data", study_inference_network},
      {"training-network", "The published training predictor on our data", study_training_network},
  };
  return studies;
}

}  // namespace forerun
