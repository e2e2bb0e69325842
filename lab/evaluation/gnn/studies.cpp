#include "evaluation/gnn/studies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "evaluation/plots.hpp"

namespace forerun {
namespace {

std::string embedding_picture(const StudyInput& input, KernelNet& network, const RowIndices& chosen) {
  const torch::NoGradGuard guard;
  network.eval();
  std::vector<torch::Tensor> states;
  for (const std::size_t i : chosen) {
    const BatchItem item{&(*input.rows)[i].kernels.graph, (*input.rows)[i].kernels.device_ms};
    const GraphBatch batch = make_batch({&item, 1});
    states.push_back(weighted_mean_pool(network.embed(batch), batch)[0]);
  }
  torch::Tensor all = torch::cat(states);
  all = all - all.mean(0, true);
  const torch::Tensor plane = torch::matmul(all, std::get<2>(torch::svd(all)).narrow(1, 0, 2));
  std::map<std::string, PointGroup> groups;
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    const std::string& family = input.dataset->examples[(*input.rows)[chosen[k]].example].family;
    groups[family].name = family;
    groups[family].points.emplace_back(plane[static_cast<std::int64_t>(k)][0].item<double>(),
                                       plane[static_cast<std::int64_t>(k)][1].item<double>());
  }
  std::vector<PointGroup> list;
  for (auto& [name, group] : groups) list.push_back(std::move(group));
  std::stable_sort(list.begin(), list.end(),
                   [](const PointGroup& a, const PointGroup& b) { return a.points.size() > b.points.size(); });
  return plot_groups("Embeddings of held-out networks, first two principal components", list);
}

// Held-out answers, a line each: what the page compares with the trees.
std::string csv_of(const StudyInput& input, const std::map<std::string, Scores>& by_protocol) {
  std::string out = "protocol,run,metric,row,network,family,measured,roofline,predicted\n";
  for (const auto& [protocol, scores] : by_protocol) {
    for (const auto& [name, scored] : scores) {
      const std::size_t space = name.find(' ');
      const Scores base = score_roofline(*input.rows, scored.rows);
      const Scored& roofline = base.at(name);
      for (std::size_t i = 0; i < scored.rows.size(); ++i) {
        const Example& e = input.dataset->examples[(*input.rows)[scored.rows[i]].example];
        out += fmt::format("{},{},{},{},{},{},{:.6g},{:.6g},{:.6g}\n", protocol, name.substr(0, space),
                           name.substr(space + 1), split_key(e).id, e.network, e.family, scored.measured[i],
                           roofline.predicted[i], scored.predicted[i]);
      }
    }
  }
  return out;
}

// Families left out: a large one by a separate network, small ones together (each network misses more than its
// family, so that its task is harder, not easier).
std::vector<StackMember> family_members(const StudyInput& input, const RowIndices& also) {
  std::vector<Fold> folds = split(split_keys(input.dataset->examples), SplitKind::LeaveOneFamilyOut, 1);
  std::stable_sort(folds.begin(), folds.end(),
                   [](const Fold& a, const Fold& b) { return a.test.size() > b.test.size(); });
  const std::size_t most =
      std::max<std::size_t>(folds.empty() ? 0 : folds.front().test.size(), input.dataset->examples.size() / 16);
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (const Fold& fold : folds) {  // into the first group with room
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.second.size() + fold.test.size() <= most; });
    if (group == groups.end()) group = groups.insert(groups.end(), {"", {}});
    group->first += (group->first.empty() ? "" : ", ") + fold.held_out;
    group->second.insert(group->second.end(), fold.test.begin(), fold.test.end());
  }
  std::vector<StackMember> members;
  for (auto& [names, held_out] : groups) {
    std::sort(held_out.begin(), held_out.end());
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < input.dataset->examples.size(); ++i) {
      if (!std::binary_search(held_out.begin(), held_out.end(), i)) rest.push_back(i);
    }
    input.say("left out together: " + names);
    members.push_back(
        {names, joined(rows_of_examples(*input.rows, rest), also), rows_of_examples(*input.rows, held_out)});
  }
  return members;
}

std::string provenance_of(const StudyInput& input, std::size_t rows) {
  std::map<std::string, std::size_t> campaigns;
  for (const Example& example : input.dataset->examples) ++campaigns[example.campaign];
  for (const OperatorExample& one : input.operators) ++campaigns[one.source];
  const KernelTrainingOptions& t = input.options.training;
  return nlohmann::json{{"measurements", campaigns},
                        {"rows", rows},
                        {"networks", input.options.seeds},
                        {"without_times", input.options.without_times},
                        {"epochs", t.fit.epochs},
                        {"width", t.width},
                        {"layers", t.layers},
                        {"learning_rate", t.fit.learning_rate},
                        {"dropout", t.dropout},
                        {"global_dropout", t.global_dropout},
                        {"weight_decay", t.fit.weight_decay},
                        {"operator_weight", t.operator_weight},
                        {"eager_weight", t.eager_weight},
                        {"bend", t.bend},
                        {"correction_penalty", t.correction_penalty},
                        {"seed", t.fit.seed}}
      .dump();
}

}  // namespace

Result<StudySection> study_protocols(const StudyInput& input) {
  const std::vector<GnnRow>& rows = *input.rows;
  const RowIndices operators = operator_rows(rows, "");
  // All networks of all folds are one stack: the same batches, each member blind to its own fold.
  std::vector<StackMember> members;
  struct Group {
    std::string protocol;
    std::vector<std::int64_t> members;
  };
  std::vector<Group> groups;
  const auto add = [&](const std::string& protocol, const StackMember& member, int copies) {
    Group group{protocol, {}};
    for (int s = 0; s < copies; ++s) {
      group.members.push_back(static_cast<std::int64_t>(members.size()));
      members.push_back(member);
      members.back().without_times = s < copies * input.options.without_times / input.options.seeds;
    }
    groups.push_back(std::move(group));
  };
  for (const SplitKind kind : {SplitKind::AsPublished, SplitKind::ByArchitecture}) {
    for (const StackMember& member : members_of(input, kind, operators, input.options.folds))
      add(std::string(name_of(kind)), member, input.options.seeds);
  }
  std::vector<StackMember> families = family_members(input, operators);
  families.resize(std::min(families.size(), input.options.families));
  for (const StackMember& member : families)
    add(std::string(name_of(SplitKind::LeaveOneFamilyOut)), member, input.options.family_seeds);
  RowIndices all(rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  add("shipped", {"shipped", all, {}}, input.options.seeds);
  KernelTrainingOptions training = input.options.training;
  training.watch_every = std::max(1, training.fit.epochs / 40);
  FORERUN_TRY(
      const TrainedStack trained,
      train_stack(rows, members, training, reporter(input, fmt::format("{} networks at once", members.size()))));

  StudySection section;
  std::map<std::string, Scores> by_protocol;
  for (const Group& group : groups) {
    const RowIndices& test = members[static_cast<std::size_t>(group.members.front())].test;
    if (test.empty()) continue;
    FORERUN_TRY(const Scores scores, score_members(*trained.network, group.members, rows, test));
    add_scores(by_protocol[group.protocol], scores);
  }
  section.files["held-out.csv"] = csv_of(input, by_protocol);
  BundleManifest manifest{.name = "gnn-kernels"};
  manifest.parts["provenance"] = provenance_of(input, rows.size());
  std::map<std::string, bool> devices;
  for (const GnnRow& row : rows) devices[row.device] = devices[row.device] || !row.alone;
  nlohmann::json measured = nlohmann::json::array();
  for (const auto& [device, with_networks] : devices) {
    if (with_networks) measured.push_back(device);
  }
  manifest.parts["devices"] = measured.dump();
  manifest.parts["kernels"] = nlohmann::json(input.trees->kernels_id()).dump();
  FORERUN_TRY(const BundleWriter writer, write_kernel_bundle(*trained.network, groups.back().members,
                                                             half_widths_of(by_protocol["by_architecture"]), manifest));
  FORERUN_TRY(section.files["gnn-kernels.bundle"], writer.bytes());
  const std::int64_t shown = groups[input.options.folds].members.front();  // first fold by architecture
  section.files["gnn-embeddings.svg"] =
      embedding_picture(input, *trained.network->member(shown), members[static_cast<std::size_t>(shown)].test);
  EpochCurve watched{"held-out rows", {}};
  for (std::size_t e = 0; e < trained.fit.train_loss.size(); ++e) {
    const std::size_t at = std::min(e / static_cast<std::size_t>(training.watch_every),
                                    trained.watched.empty() ? 0 : trained.watched.size() - 1);
    if (!trained.watched.empty()) watched.values.push_back(trained.watched[at]);
  }
  section.files["gnn-loss.svg"] = plot_epochs("Loss of our graph network, mean of all folds", "loss",
                                              {{"training rows", trained.fit.train_loss}, watched});
  section.markdown = fmt::format(
      "{} networks of width {} with {} {} layers trained at once for {} epochs; {} are averaged in every fold and in "
      "the bundle, {} for a family left out; of {}, {} do not see the trees' kernel times. Large families are "
      "left out alone, small ones in groups.\n",
      members.size(), training.width, training.layers, name_of(training.kind), training.fit.epochs, input.options.seeds,
      input.options.family_seeds, input.options.seeds, input.options.without_times);
  return section;
}

RowIndices rows_of_examples(const std::vector<GnnRow>& rows, const std::vector<std::size_t>& examples) {
  RowIndices out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].alone && std::binary_search(examples.begin(), examples.end(), rows[i].example)) out.push_back(i);
  }
  return out;
}

RowIndices operator_rows(const std::vector<GnnRow>& rows, std::string_view device) {
  RowIndices out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].alone && (device.empty() || rows[i].device == device)) out.push_back(i);
  }
  return out;
}

RowIndices joined(RowIndices a, const RowIndices& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<StackMember> members_of(const StudyInput& input, SplitKind kind, const RowIndices& also, std::size_t most) {
  std::vector<StackMember> members;
  for (const Fold& fold : split(split_keys(input.dataset->examples), kind, 1)) {
    if (members.size() == most) break;
    members.push_back({std::string(name_of(kind)) + " " + fold.held_out,
                       joined(rows_of_examples(*input.rows, fold.train), also),
                       rows_of_examples(*input.rows, fold.test)});
  }
  return members;
}

KernelTrainingOptions study_training(const StudyInput& input) {
  KernelTrainingOptions training = input.options.training;
  training.fit.epochs = input.options.study_epochs;
  training.watch_every = 2;
  training.partitions = 3;
  return training;
}

ReportEpoch reporter(const StudyInput& input, const std::string& note) {
  return [say = input.say, note](const EpochReport& epoch) {
    if (epoch.epoch % 10 == 0 || epoch.epoch <= 2 || epoch.epoch == epoch.epochs)
      say(note + "  " + progress_line(epoch));
  };
}

Result<Scores> score_stack(const StudyInput& input, const TrainedStack& trained,
                           const std::vector<StackMember>& members) {
  Scores all;
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (members[k].test.empty()) continue;
    FORERUN_TRY(const Scores scores,
                score_members(*trained.network, {static_cast<std::int64_t>(k)}, *input.rows, members[k].test));
    add_scores(all, scores);
  }
  return all;
}

std::string mape_cell(const Scores& scores, const std::string& metric) {
  const auto found = scores.find(metric);
  return found == scores.end() ? "–" : fmt::format("{:.1f}", found->second.mape());
}

std::string count_cell(const Scores& scores, const std::string& metric) {
  const auto found = scores.find(metric);
  return found == scores.end() ? "0" : std::to_string(found->second.measured.size());
}

const std::vector<Study>& gnn_studies() {
  static const std::vector<Study> studies = {
      {"protocols", "Graph network and trees", study_protocols},
      {"layers", "Kinds of graph layers, and chain against true edges", study_layers},
      {"pretraining", "Pre-training, by share of the labels", study_pretraining},
      {"transfer", "Transfer", study_transfer},
  };
  return studies;
}

}  // namespace forerun
