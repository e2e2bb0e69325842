// forerun-lab fit-roofline: fits the roofline's constants to measurements and prints their errors. Repeatable.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands/command.hpp"
#include "evaluation/report.hpp"
#include "evaluation/roofline/roofline_report.hpp"
#include "training/roofline/fit.hpp"

namespace forerun {
namespace {

void write_rows(const std::vector<NetworkRow>& rows, const RooflineConstants& constants, const std::string& path) {
  std::ofstream file(path);
  file << "row,domain,family,batch,precision,phase,optimizer,kernels,host_ops,graph_ms,graph_estimate,eager_ms,eager_"
          "estimate,memory_mb,memory_estimate,"
          "weights_mb,activations_mb,saved_mb,workspace_mb,optimizer_mb,power_w,power_estimate,device_estimate_ms,host_"
          "estimate_ms\n";
  for (const NetworkRow& row : rows) {
    const RooflineEstimate e = estimate_roofline(*row.graph, row.kernels, row.workload, *row.device, constants);
    double host_ops = 0;
    for (const Kernel& kernel : row.kernels) host_ops += kernel.host_ops * kernel.runs;
    file << fmt::format(
        "{},{},{},{},{},{},{},{},{:.1f},{},{:.5g},{},{:.5g},{},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{},{:.5g},{:."
        "5g},{:.5g}\n",
        row.id, name_of(row.domain), row.family, row.workload.binding.batch.value_or(1),
        name_of(row.workload.precision), name_of(row.workload.binding.phase.value_or(Phase::Forward)),
        row.workload.training ? name_of(row.workload.optimizer) : "", row.kernels.size(), host_ops, row.graph_ms,
        e.latency_graph_ms, row.step_ms > 0 ? row.step_ms : row.eager_ms, e.latency_eager_ms, row.memory_mb,
        e.memory.total_mb, e.memory.weights_mb, e.memory.activations_mb, e.memory.saved_mb, e.memory.workspace_mb,
        e.memory.optimizer_mb, row.power_w, e.power_eager_w, e.device_ms, e.host_ms);
  }
}

Status write_constants(RooflineConstants constants, const MeasuredOptions& data, std::size_t rows,
                       const std::string& path) {
  nlohmann::ordered_json json;
  json["about"] =
      "Constants of the roofline predictor, fitted by `forerun-lab fit-roofline`; docs/method/analytic.md explains "
      "them.";
  json["data"] = data.campaigns + (data.public_data.empty() ? "" : " and the public operator tables");
  json["rows"] = rows;
  for (const NamedConstant& constant : name_constants(constants))
    json["constants"][constant.name] = std::round(*constant.value * 1e4) / 1e4;
  std::ofstream file(path);
  file << json.dump(1) << "\n";
  return file.flush() ? ok() : Status(Error{ErrorKind::Io, path + ": cannot write"});
}

}  // namespace

LabAction declare_fit_roofline(CLI::App& app) {
  struct Options {
    MeasuredOptions data;
    std::string out = "data/roofline/constants.json";
    int rounds = 4;
    bool only_report = false;
    std::string rows, left_out;
  };
  auto options = std::make_shared<Options>();
  app.add_option("--data", options->data.campaigns, "folder of campaigns")->capture_default_str();
  app.add_option("--out", options->out, "where the constants go")->capture_default_str();
  app.add_option("--rounds", options->rounds, "passes over the constants per step size")->capture_default_str();
  app.add_flag("--report", options->only_report, "only print the shipped constants' errors");
  app.add_option("--public", options->data.public_data,
                 "folder of the public operator tables (NeuSight, AIConfigurator)");
  app.add_option("--leave-out", options->left_out, "device whose rows are not used");
  app.add_option("--rows", options->rows, "write every row's estimates and measurements to this CSV file");
  return [options]() -> Status {
    FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
    FORERUN_TRY(const MeasuredRows rows, load_measured_rows(options->data, catalogue));
    RooflineConstants constants = shipped_constants();
    if (!options->only_report) {
      constants = RooflineFit(rows, options->left_out).run(options->rounds, [](const std::string& line) {
        fmt::print(stderr, "{}\n", line);
      });
    }
    ReportPage page{.title = "The roofline against measurements",
                    .introduction = "",
                    .sections = {report_roofline_networks(rows.networks, constants),
                                 report_roofline_operators(rows.operators, constants)}};
    fmt::print("{}", to_markdown(page));
    if (!options->rows.empty()) write_rows(rows.networks, constants, options->rows);
    return options->only_report ? ok() : write_constants(constants, options->data, rows.networks.size(), options->out);
  };
}

}  // namespace forerun
