// Studies of our network: kinds of layers, pre-training, transfer.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "base/on_cores.hpp"
#include "devices/catalogue.hpp"
#include "evaluation/gnn/studies.hpp"
#include "evaluation/plots.hpp"
#include "training/gnn/generate_graphs.hpp"

namespace forerun {
namespace {

constexpr const char* kShown[] = {"vision_inference latency_graph_ms", "vision_inference latency_eager_ms",
                                  "vision_inference memory_mb",        "vision_training step_ms",
                                  "vision_training memory_mb",         "llm latency_graph_ms"};

std::string header_of(const char* first) {
  std::string names = std::string("| ") + first, line = "|---";
  for (const char* metric : kShown) {
    names += fmt::format(" | {}", metric);
    line += "|---:";
  }
  return names + " |\n" + line + "|\n";
}

std::string cells_of(const Scores& scores) {
  std::string out;
  for (const char* metric : kShown) out += " | " + mape_cell(scores, metric);
  return out + " |\n";
}

// A part of a member's rows, by network: the same networks for the same share.
RowIndices share_of(const StudyInput& input, const RowIndices& rows, std::uint64_t percent) {
  RowIndices kept;
  for (const std::size_t i : rows) {
    const Example& example = input.dataset->examples[(*input.rows)[i].example];
    if (mix_seed(example.row_id, input.options.seed) % 100 < percent) kept.push_back(i);
  }
  return kept;
}

// Every generated graph run in one of the measured ways.
Result<std::vector<KernelTensors>> generate_kernels(const StudyInput& input) {
  FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
  FORERUN_TRY(const Device device, catalogue.find("h200-sxm"));
  std::vector<KernelTensors> graphs(input.options.unlabelled);
  std::mutex mutex;
  std::string problem;
  on_cores(graphs.size(), [&](std::size_t i) {
    const auto graph = generate_graph(input.options.seed, i);
    if (!graph) {
      const std::lock_guard lock(mutex);
      problem = graph.error().message;
      return;
    }
    Workload workload;
    workload.precision = std::array{Precision::Fp32, Precision::Fp16, Precision::Bf16}[i / 7 % 3];
    workload.training = i % 5 == 0;
    graphs[i] = encode_unlabelled(*graph, workload, device, input.trees);
  });
  if (!problem.empty()) return internal_error("a generated graph: " + problem);
  std::erase_if(graphs, [](const KernelTensors& tensors) { return tensors.graph.nodes == 0; });
  return graphs;
}

}  // namespace

Result<StudySection> study_layers(const StudyInput& input) {
  StudySection section;
  section.markdown = fmt::format(
                         "By architecture, {} of five folds, one network each, {} epochs. “none”: each kernel by "
                         "itself; “chain”: kernels joined in the order of execution "
                         "instead of along the data. MAPE in per cent.\n\n",
                         input.options.study_folds, input.options.study_epochs) +
                     header_of("layer");
  const std::vector<StackMember> members =
      members_of(input, SplitKind::ByArchitecture, operator_rows(*input.rows, "h200-sxm"), input.options.study_folds);
  struct Case {
    const char* name;
    LayerKind kind;
    bool chain;
  };
  std::vector<EpochCurve> curves;
  for (const Case& c : {Case{"sage", LayerKind::Sage, false}, Case{"gcn", LayerKind::Gcn, false},
                        Case{"gat", LayerKind::Gat, false}, Case{"gin", LayerKind::Gin, false},
                        Case{"sage, chain", LayerKind::Sage, true}, Case{"none", LayerKind::None, false}}) {
    const std::vector<std::string>& kinds = input.options.kinds;
    if (!kinds.empty() && std::find(kinds.begin(), kinds.end(), c.name) == kinds.end()) continue;
    KernelTrainingOptions training = study_training(input);
    training.kind = c.kind;
    training.chain = c.chain;
    FORERUN_TRY(const TrainedStack trained,
                train_stack(*input.rows, members, training, reporter(input, std::string("layers ") + c.name)));
    FORERUN_TRY(const Scores scores, score_stack(input, trained, members));
    section.markdown += std::string("| ") + c.name + cells_of(scores);
    curves.push_back({c.name, trained.watched});
  }
  section.files["gnn-layers.svg"] =
      plot_epochs("Loss on held-out rows by kind of layer, every second epoch", "loss", curves);
  section.markdown += "\n![loss on held-out rows by layer](graph-networks/gnn-layers.svg)\n";
  return section;
}

Result<StudySection> study_pretraining(const StudyInput& input) {
  const auto start = std::chrono::steady_clock::now();
  FORERUN_TRY(const std::vector<KernelTensors> graphs, generate_kernels(input));
  const double generating = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::int64_t kernels = 0;
  for (const KernelTensors& tensors : graphs) kernels += tensors.graph.nodes;
  KernelTrainingOptions training = study_training(input);
  training.fit.epochs = input.options.pretrain_epochs;
  FORERUN_TRY(const TrainedStack unlabelled, pretrain_stack(graphs, training, reporter(input, "unlabelled graphs")));
  const RowIndices operators = operator_rows(*input.rows, "h200-sxm");
  training.fit.epochs = input.options.study_epochs;
  const auto on_operators = [&](const char* note, KernelNet* from) {
    return train_stack(*input.rows, {{"operators", operators, {}}}, training, reporter(input, note), nullptr, from);
  };
  FORERUN_TRY(const TrainedStack swept, on_operators("operators", nullptr));
  FORERUN_TRY(const TrainedStack both, on_operators("operators after unlabelled graphs", unlabelled.network.get()));

  const std::vector<StackMember> folds = members_of(input, SplitKind::ByArchitecture, {}, input.options.study_folds);
  constexpr std::uint64_t kShares[] = {10, 25, 50, 100};
  std::vector<StackMember> members;
  for (const std::uint64_t share : kShares) {
    for (const StackMember& fold : folds) members.push_back({fold.name, share_of(input, fold.train, share), fold.test});
  }
  StudySection section;
  section.markdown =
      fmt::format(
          "By architecture, {} of five folds, {} epochs on a share of the labelled rows. Unlabelled: {} generated "
          "graphs ({} kernels, made in {:.0f} s), on which the network "
          "learns to distinguish edges from other pairs of kernels ({} epochs, loss {:.3f} → {:.3f}). Operators: {} "
          "operators "
          "timed alone. “Jointly”: operators are learned together with the networks instead of before them, as in the "
          "shipped bundle. MAPE in per cent.\n\n",
          input.options.study_folds, input.options.study_epochs, graphs.size(), kernels, generating,
          input.options.pretrain_epochs, unlabelled.fit.train_loss.front(), unlabelled.fit.train_loss.back(),
          operators.size()) +
      header_of("pre-trained on | labels %");
  section.markdown.replace(section.markdown.find("|---|"), 5, "|---|---:|");
  struct Arm {
    const char* name;
    KernelNet* from;
    bool jointly;
  };
  std::vector<EpochCurve> curves;
  for (const Arm& arm : {Arm{"nothing", nullptr, false}, Arm{"unlabelled graphs", unlabelled.network.get(), false},
                         Arm{"operators", swept.network.get(), false},
                         Arm{"unlabelled graphs, then operators", both.network.get(), false},
                         Arm{"nothing, operators jointly", nullptr, true}}) {
    std::vector<StackMember> mine = members;
    if (arm.jointly) {
      for (StackMember& member : mine) member.train = joined(std::move(member.train), operators);
    }
    KernelTrainingOptions options = training;
    if (arm.from != nullptr) options.fit.learning_rate /= 2;
    FORERUN_TRY(
        const TrainedStack trained,
        train_stack(*input.rows, mine, options, reporter(input, std::string("from ") + arm.name), nullptr, arm.from));
    for (std::size_t s = 0; s < std::size(kShares); ++s) {
      Scores scores;
      for (std::size_t f = 0; f < folds.size(); ++f) {
        const std::size_t k = s * folds.size() + f;
        FORERUN_TRY(const Scores one,
                    score_members(*trained.network, {static_cast<std::int64_t>(k)}, *input.rows, mine[k].test));
        add_scores(scores, one);
      }
      section.markdown += fmt::format("| {} | {}", arm.name, kShares[s]) + cells_of(scores);
    }
    curves.push_back({arm.name, trained.watched});
  }
  section.files["gnn-pretraining.svg"] =
      plot_epochs("Loss on held-out rows, mean over the shares of labels, every second epoch", "loss", curves);
  section.markdown += "\n![loss on held-out rows by pre-training](graph-networks/gnn-pretraining.svg)\n";
  return section;
}

Result<StudySection> study_transfer(const StudyInput& input) {
  const std::vector<GnnRow>& rows = *input.rows;
  struct Case {
    std::string name, metric;
    RowIndices from, to;
  };
  std::vector<Case> cases;
  const auto pick = [&](auto wanted) {
    RowIndices out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (wanted(rows[i])) out.push_back(i);
    }
    return out;
  };
  const auto vision = [](const GnnRow& row) { return !row.alone && row.domain == RunKind::VisionInference; };
  cases.push_back({"fp32 → fp16", "vision_inference latency_graph_ms",
                   pick([&](const GnnRow& row) { return vision(row) && row.workload.precision == Precision::Fp32; }),
                   pick([&](const GnnRow& row) { return vision(row) && row.workload.precision == Precision::Fp16; })});
  cases.push_back({"inference → training", "vision_training step_ms", pick(vision),
                   pick([](const GnnRow& row) { return !row.alone && row.domain == RunKind::VisionTraining; })});
  const RowIndices measured = pick([](const GnnRow& row) { return row.device == "h200-sxm"; });
  std::map<std::string, std::size_t> others;
  for (const GnnRow& row : rows) others[row.device] += row.alone && row.device != "h200-sxm" ? 1 : 0;
  for (const auto& [device, count] : others) {
    if (count >= 200) cases.push_back({"H200 → " + device + " (operators)", "", measured, operator_rows(rows, device)});
  }
  std::vector<StackMember> source, tuned;
  for (const Case& c : cases) {
    RowIndices few, rest;
    for (const std::size_t i : c.to) {
      const std::string unit = rows[i].alone ? input.operators[rows[i].example].row_id + rows[i].device
                                             : input.dataset->examples[rows[i].example].network;
      (mix_seed(unit, input.options.seed) % 10 == 0 ? few : rest).push_back(i);
    }
    source.push_back({c.name, c.from, rest});
    tuned.push_back({c.name, few, rest});
  }
  const KernelTrainingOptions training = study_training(input);
  FORERUN_TRY(const TrainedStack before, train_stack(rows, source, training, reporter(input, "transfer, source")));
  KernelTrainingOptions gentle = training;
  gentle.fit.learning_rate /= 3;
  gentle.operator_weight = 1;
  FORERUN_TRY(const TrainedStack after,
              train_stack(rows, tuned, gentle, reporter(input, "transfer, tuned"), nullptr, before.network.get()));
  KernelTrainingOptions alone = training;
  alone.operator_weight = 1;
  FORERUN_TRY(const TrainedStack scratch, train_stack(rows, tuned, alone, reporter(input, "transfer, from scratch")));
  StudySection section;
  section.markdown = fmt::format(
      "Trained on one kind of rows, asked about another: as it is, after training on with a tenth of the new kind, and "
      "a network from that tenth alone; {} epochs each. "
      "Networks (operators) used for tuning are not scored. Other devices: public operator times of NeuSight (MIT "
      "licence), float32. MAPE in per cent.\n\n"
      "| from → to | metric | rows to tune with | rows scored | roofline | as trained | tuned | from those rows alone "
      "|\n|---|---|---:|---:|---:|---:|---:|---:|\n",
      input.options.study_epochs);
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const auto member = std::vector<std::int64_t>{static_cast<std::int64_t>(k)};
    FORERUN_TRY(const Scores first, score_members(*before.network, member, rows, source[k].test));
    FORERUN_TRY(const Scores second, score_members(*after.network, member, rows, source[k].test));
    FORERUN_TRY(const Scores third, score_members(*scratch.network, member, rows, source[k].test));
    const Scores base = score_roofline(rows, source[k].test);
    for (const auto& [metric, scored] : base) {
      if (cases[k].metric.empty() ? metric.starts_with("operators") : metric == cases[k].metric) {
        section.markdown += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", cases[k].name, metric,
                                        tuned[k].train.size(), scored.measured.size(), mape_cell(base, metric),
                                        mape_cell(first, metric), mape_cell(second, metric), mape_cell(third, metric));
      }
    }
  }
  return section;
}

}  // namespace forerun
