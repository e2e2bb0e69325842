// forerun-lab fit-steps: fits what training on several devices adds to a rank's kernels to MosaicML's tables.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands/command.hpp"
#include "evaluation/parallel/mpt_runs.hpp"

namespace forerun {

LabAction declare_fit_steps(CLI::App& app) {
  struct Options {
    std::string public_data, out = "data/parallel/steps.json";
  };
  auto options = std::make_shared<Options>();
  app.add_option("--public", options->public_data, "folder of the public tables (llm-foundry)")->required();
  app.add_option("--out", options->out, "where the factors go")->capture_default_str();
  return [options]() -> Status {
    FORERUN_TRY(const std::unique_ptr<Service> service, Service::create());
    std::map<std::string, std::size_t> skipped;
    FORERUN_TRY(const std::vector<MptRun> runs,
                ask_mpt_runs(*service, options->public_data, StepFactors{1, 1}, false, skipped));
    if (runs.empty()) return bad_input(options->public_data + ": no mpt_training_mfu.csv.gz there");
    nlohmann::ordered_json json;
    json["about"] =
        "What training of language models on several devices adds to the sum of a rank's kernels, as factors by "
        "architecture; fitted by `forerun-lab fit-steps`. attention_of_2023 is that of the Triton kernels of the "
        "measured "
        "runs.";
    json["source"] =
        "MosaicML llm-foundry, throughput tables (Apache-2.0): the runs of 125m, 760m, 3b and 13b; the others judge";
    json["interference"] = 0.15;
    const auto rounded = [](double value) { return std::round(value * 100) / 100; };
    for (const auto& [architecture, factors] : fit_step_factors(runs)) {
      json["architectures"][architecture] = {{"kernels", rounded(factors.kernels)},
                                             {"attention_of_2023", rounded(factors.attention)}};
      fmt::print(stderr, "{}: kernels {:.2f}, attention {:.2f}\n", architecture, factors.kernels, factors.attention);
    }
    std::ofstream file(options->out);
    file << json.dump(1) << "\n";
    return file.flush() ? ok() : Status(Error{ErrorKind::Io, options->out + ": cannot write"});
  };
}

}  // namespace forerun
