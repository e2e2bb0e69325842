// forerun-lab fit-roofline: fits the roofline's constants to measurements by coordinate descent on the mean absolute
// logarithmic error, every network weighing the same. Repeatable: no randomness.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/analyze.hpp"
#include "dataset/load_campaign.hpp"
#include "dataset/operators.hpp"
#include "devices/catalogue.hpp"
#include "lab/command.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

struct Row {
  std::shared_ptr<const Graph> graph;
  std::vector<Kernel> kernels;
  Workload workload;
  const Device* device = nullptr;
  Domain domain{};
  std::string family, id;
  double graph_ms = 0, eager_ms = 0, step_ms = 0, power_w = 0, memory_mb = 0;
  double weight = 1;
};

Result<std::vector<Row>> load_rows(const std::string& folder, const Catalogue& catalogue,
                                   std::map<std::string, Device>& devices) {
  FORERUN_TRY(const Dataset data, load_measurements(folder));
  std::map<std::string, double> rows_of_network;
  for (const Example& example : data.examples) ++rows_of_network[example.campaign + example.network];
  std::vector<Row> rows;
  for (const Example& example : data.examples) {
    if (!devices.contains(example.device)) {
      FORERUN_TRY(Device device, catalogue.find(example.device));
      devices[example.device] = std::move(device);
    }
    Binding binding = example.workload.binding;
    binding.precision = example.workload.precision;
    auto graph = analyze(*example.net, binding);
    if (!graph) continue;
    Row row;
    row.graph = std::make_shared<Graph>(std::move(*graph));
    row.workload = example.workload;
    row.kernels = list_kernels(*row.graph, row.workload);
    row.device = &devices[example.device];
    row.domain = example.domain;
    row.family = example.family;
    row.id = example.campaign + "/" + example.row_id;
    row.weight = 1 / rows_of_network[example.campaign + example.network];
    const auto metric = [&](std::string_view name) {
      const auto found = example.metrics.find(name);
      return found == example.metrics.end() ? 0.0 : found->second;
    };
    row.graph_ms = metric(kLatencyGraph);
    row.eager_ms = metric(kLatencyEager);
    row.step_ms = metric(kStep);
    row.power_w = metric(kPower);
    row.memory_mb = metric(kMemory);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Operators timed alone pin the constants of their class; every class of every device weighs the same.
struct OperatorRow {
  std::vector<Kernel> kernels;
  const Device* device = nullptr;
  double latency_us = 0;
  double weight = 1;
};

Result<std::vector<OperatorRow>> load_operator_rows(const std::string& campaigns, const std::string& public_folder, const std::string& left_out,
                                                    const Catalogue& catalogue, std::map<std::string, Device>& devices) {
  FORERUN_TRY(std::vector<OperatorExample> examples, load_operator_campaigns(campaigns));
  if (!public_folder.empty()) {
    FORERUN_TRY(std::vector<OperatorExample> more, load_public_operators(public_folder, {.rows_per_device = 400}));
    examples.insert(examples.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  // NeuSight timed launches from the host: rows near the shortest one of their device say nothing of the kernel.
  std::map<std::string, double> shortest;
  const auto host_timed = [](const OperatorExample& e) { return e.source.starts_with("neusight"); };
  for (const OperatorExample& e : examples) {
    if (!host_timed(e)) continue;
    double& least = shortest.try_emplace(e.device, e.latency_ms).first->second;
    least = std::min(least, e.latency_ms);
  }
  std::erase_if(examples, [&](const OperatorExample& e) { return e.kernels.empty() || (host_timed(e) && e.latency_ms < 3 * shortest[e.device]); });
  std::map<std::pair<std::string, KernelClass>, double> counts;
  for (const OperatorExample& e : examples) ++counts[{e.device, e.kernels.front().kernel_class}];
  std::vector<OperatorRow> rows;
  for (OperatorExample& e : examples) {
    if (e.device == left_out) continue;
    if (!devices.contains(e.device)) {
      FORERUN_TRY(Device device, catalogue.find(e.device));
      devices[e.device] = std::move(device);
    }
    rows.push_back({std::move(e.kernels), &devices[e.device], e.latency_ms * 1e3, 1.0});
    rows.back().weight = 1 / counts[{e.device, rows.back().kernels.front().kernel_class}];
  }
  return rows;
}

double time_of(const OperatorRow& row, const RooflineConstants& constants) {
  double time_us = 0;
  for (const Kernel& kernel : row.kernels) time_us += time_kernel(kernel, *row.device, constants).time_us;
  return time_us;
}

struct Loss {
  double sum = 0, weight = 0;
  void add(double estimate, double measured, double w) {
    if (measured <= 0 || estimate <= 0) return;
    sum += w * std::min(2.0, std::abs(std::log(estimate / measured)));
    weight += w;
  }
  [[nodiscard]] double mean() const { return weight > 0 ? sum / weight : 0; }
};

struct Data {
  std::vector<Row> networks;
  std::vector<OperatorRow> operators;
};

double total_loss(const Data& data, const RooflineConstants& constants) {
  Loss graph, eager, step, watts, operators;
  for (const OperatorRow& row : data.operators) operators.add(time_of(row, constants), row.latency_us, row.weight);
  for (const Row& row : data.networks) {
    const RooflineEstimate estimate = estimate_roofline(row.kernels, MemoryFacts{}, row.workload, *row.device, constants);
    graph.add(estimate.latency_graph_ms, row.graph_ms, row.weight);
    eager.add(estimate.latency_eager_ms, row.eager_ms, row.weight);
    step.add(estimate.latency_eager_ms, row.step_ms, row.weight);
    watts.add(estimate.power_eager_w, row.power_w, row.weight);
  }
  return graph.mean() + 0.6 * eager.mean() + 0.6 * step.mean() + watts.mean() + 2 * operators.mean();
}

void fit(RooflineConstants& constants, const Data& rows, int rounds) {
  auto names = name_constants(constants);
  std::set<std::string> fixed = {"overlap_power", "latency_width",
                                 "memory_width",       "power_width",       "energy_width"};
  for (double factor : {1.6, 1.25, 1.1, 1.04}) {
    for (int round = 0; round < rounds; ++round) {
      const double before = total_loss(rows, constants);
      double best = before;
      for (const NamedConstant& constant : names) {
        if (fixed.contains(constant.name)) continue;
        const bool share = constant.name.ends_with(".compute") || constant.name.ends_with(".memory");
        for (const double step : {factor, 1 / factor}) {
          const double old = *constant.value;
          const bool factor_above_one = constant.name == "l2_speedup" || constant.name == "misaligned" || constant.name == "block_speedup";
          const double next = std::clamp(old * step, factor_above_one ? 1.0 : 0.005, share || constant.name.starts_with("unmeasured") ? 1.2 : 400.0);
          *constant.value = next;
          const double loss = total_loss(rows, constants);
          if (loss < best - 1e-6) {
            best = loss;
            break;
          }
          *constant.value = old;
        }
      }
      fmt::print(stderr, "factor {:.2f} round {}: loss {:.4f} -> {:.4f}\n", factor, round + 1, before, best);
      if (before - best < 5e-4) break;
    }
  }
}

void write_rows(const std::vector<Row>& rows, const RooflineConstants& constants, const std::string& path) {
  std::ofstream file(path);
  file << "row,domain,family,batch,precision,phase,optimizer,kernels,host_ops,graph_ms,graph_estimate,eager_ms,eager_estimate,memory_mb,memory_estimate,"
          "weights_mb,activations_mb,saved_mb,workspace_mb,optimizer_mb,power_w,power_estimate,device_estimate_ms,host_estimate_ms\n";
  for (const Row& row : rows) {
    const RooflineEstimate e = estimate_roofline(*row.graph, row.kernels, row.workload, *row.device, constants);
    double host_ops = 0;
    for (const Kernel& kernel : row.kernels) host_ops += kernel.host_ops * kernel.runs;
    file << fmt::format("{},{},{},{},{},{},{},{},{:.1f},{},{:.5g},{},{:.5g},{},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{},{:.5g},{:.5g},{:.5g}\n", row.id, name_of(row.domain), row.family,
                        row.workload.binding.batch.value_or(1), name_of(row.workload.precision), name_of(row.workload.binding.phase.value_or(Phase::Forward)),
                        row.workload.training ? name_of(row.workload.optimizer) : "", row.kernels.size(), host_ops, row.graph_ms, e.latency_graph_ms,
                        row.step_ms > 0 ? row.step_ms : row.eager_ms, e.latency_eager_ms, row.memory_mb, e.memory.total_mb, e.memory.weights_mb, e.memory.activations_mb,
                        e.memory.saved_mb, e.memory.workspace_mb, e.memory.optimizer_mb, row.power_w, e.power_eager_w, e.device_ms, e.host_ms);
  }
}

void report(const std::vector<Row>& rows, const RooflineConstants& constants) {
  std::map<std::string, std::vector<double>> errors;
  for (const Row& row : rows) {
    const RooflineEstimate e = estimate_roofline(*row.graph, row.kernels, row.workload, *row.device, constants);
    const auto add = [&](const std::string& what, double estimate, double measured) {
      if (measured > 0) errors[what].push_back(std::abs(estimate / measured - 1) * 100);
    };
    const std::string domain(name_of(row.domain));
    add(domain + " graph latency", e.latency_graph_ms, row.graph_ms);
    add(domain + " eager latency", e.latency_eager_ms, row.eager_ms);
    add(domain + " step", e.latency_eager_ms, row.step_ms);
    add(domain + " memory", e.memory.total_mb, row.memory_mb);
    add(domain + " power", e.power_eager_w, row.power_w);
    add("family " + row.family + " graph latency", e.latency_graph_ms, row.graph_ms);
    add("family " + row.family + " memory", e.memory.total_mb, row.memory_mb);
    add("family " + row.family + " step", e.latency_eager_ms, row.step_ms);
    if (row.domain == Domain::Llm) add("family " + row.family + " eager", e.latency_eager_ms, row.eager_ms);
  }
  for (auto& [what, list] : errors) {
    std::sort(list.begin(), list.end());
    double sum = 0;
    for (const double error : list) sum += error;
    fmt::print("{:<44} rows {:>5}  MAPE {:>6.1f} %  median {:>6.1f} %  p90 {:>6.1f} %\n", what, list.size(),
               sum / double(list.size()), list[list.size() / 2], list[list.size() * 9 / 10]);
  }
}

void report_operators(const std::vector<OperatorRow>& rows, const RooflineConstants& constants) {
  std::map<std::string, std::vector<double>> errors;
  for (const OperatorRow& row : rows) {
    const double error = std::abs(time_of(row, constants) / row.latency_us - 1) * 100;
    errors[row.device->id + " " + std::string(name_of(row.kernels.front().kernel_class))].push_back(error);
    errors[row.device->id + " all operators"].push_back(error);
  }
  for (auto& [what, list] : errors) {
    std::sort(list.begin(), list.end());
    double sum = 0;
    for (const double error : list) sum += error;
    fmt::print("operators {:<34} rows {:>5}  MAPE {:>6.1f} %  median {:>6.1f} %\n", what, list.size(), sum / double(list.size()), list[list.size() / 2]);
  }
}

}  // namespace

LabAction declare_fit_roofline(CLI::App& app) {
  struct Options {
    std::string data = "data/measurements", out = "data/roofline/constants.json";
    int rounds = 4;
    bool only_report = false;
    std::string rows, public_data, left_out;
  };
  auto options = std::make_shared<Options>();
  app.add_option("--data", options->data, "folder of campaigns")->capture_default_str();
  app.add_option("--out", options->out, "where the constants go")->capture_default_str();
  app.add_option("--rounds", options->rounds, "passes over the constants per step size")->capture_default_str();
  app.add_flag("--report", options->only_report, "only print the shipped constants' errors");
  app.add_option("--public", options->public_data, "folder of the public operator tables (NeuSight, AIConfigurator)");
  app.add_option("--leave-out", options->left_out, "device whose operators are not used");
  app.add_option("--rows", options->rows, "write every row's estimates and measurements to this CSV file");
  return [options]() -> Status {
    FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
    std::map<std::string, Device> devices;
    Data data;
    FORERUN_TRY(data.networks, load_rows(options->data, catalogue, devices));
    FORERUN_TRY(data.operators, load_operator_rows(options->data, options->public_data, options->left_out, catalogue, devices));
    const std::vector<Row>& rows = data.networks;
    RooflineConstants constants = shipped_constants();
    if (options->only_report) {
      report(rows, constants);
      report_operators(data.operators, constants);
      if (!options->rows.empty()) write_rows(rows, constants, options->rows);
      return ok();
    }
    constants = RooflineConstants{};  // always from the same start
    constants.classes.resize(std::size_t(KernelClass::Count));
    fit(constants, data, options->rounds);
    report(rows, constants);
    report_operators(data.operators, constants);
    nlohmann::ordered_json json;
    json["about"] =
        "Constants of the roofline predictor, fitted by `forerun-lab fit-roofline`; docs/roofline.md explains them.";
    json["data"] = options->data;
    json["rows"] = rows.size();
    for (const NamedConstant& constant : name_constants(constants))
      json["constants"][constant.name] = std::round(*constant.value * 1e4) / 1e4;
    std::ofstream file(options->out);
    file << json.dump(1) << "\n";
    if (!file.flush()) return Error{ErrorKind::Io, options->out + ": cannot write"};
    return ok();
  };
}

}  // namespace forerun
