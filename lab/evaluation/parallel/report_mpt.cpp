// Training steps of language models on 8 to 512 devices against MosaicML's tables.
#include <fmt/format.h>

#include <map>

#include "evaluation/parallel/mpt_runs.hpp"
#include "evaluation/parallel/parallel_report.hpp"
#include "evaluation/roofline/error_table.hpp"

namespace forerun {

Result<ReportSection> report_mpt(const std::string& public_data) {
  FORERUN_TRY(const std::unique_ptr<Service> service, Service::create());
  std::map<std::string, std::size_t> skipped, ignored;
  FORERUN_TRY(const std::vector<MptRun> runs, ask_mpt_runs(*service, public_data, std::nullopt, false, skipped));
  FORERUN_TRY(const std::vector<MptRun> shipped, ask_mpt_runs(*service, public_data, std::nullopt, true, ignored));
  ErrorTable summary({"networks", "attention"}), by_network({"device", "network", "recomputes layers"}),
      by_sequence({"device", "sequence"}), by_devices({"device", "devices"});
  std::size_t refused = 0;
  const auto side = [](const MptRun& run) { return run.fits_factors ? "fitted on" : "judged"; };
  for (const MptRun& run : runs) {
    summary.add({side(run), "of the runs (Triton, 2023)"}, run.estimated_ms, run.measured_ms);
    by_network.add({run.device, run.network, run.is_checkpointed ? "yes" : "no"}, run.estimated_ms, run.measured_ms);
    by_sequence.add({run.device, std::to_string(run.sequence)}, run.estimated_ms, run.measured_ms);
    by_devices.add({run.device, std::to_string(run.devices)}, run.estimated_ms, run.measured_ms);
    refused += run.fits ? 0 : 1;
  }
  for (const MptRun& run : shipped)
    summary.add({side(run), "as forerun predict answers"}, run.estimated_ms, run.measured_ms);
  ReportSection section;
  section.id = "mpt";
  section.heading = "Several devices: training of language models";
  section.text = fmt::format(
      "MPT networks of 125 million to 70 billion parameters on 8 to 512 A100 and H100 (MosaicML llm-foundry, "
      "Apache-2.0), "
      "trained with FSDP and asked as `forerun predict CONFIG --system … --data-parallel N --zero 3 --train …`. Two "
      "factors for each architecture, on kernels and on attention (data/parallel/steps.json), were fitted by "
      "`forerun-lab "
      "fit-steps` on the runs of 125m, 760m, 3b and 13b; the other networks judge. The runs' attention were Triton "
      "kernels of "
      "2023, slower than those the predictors know; *as forerun predict answers* is without that factor. {} of {} runs "
      "are said not to fit, all of which ran.",
      refused, runs.size());
  if (!skipped.empty()) {
    section.text += " Not compared:";
    for (const auto& [why, count] : skipped) section.text += fmt::format(" {} ({} rows);", why, count);
    section.text.back() = '.';
  }
  section.tables.push_back(summary.table("Step time"));
  section.tables.push_back(by_network.table("By device and network"));
  section.tables.push_back(by_sequence.table("By sequence"));
  section.tables.push_back(by_devices.table("By number of devices"));
  return section;
}

}  // namespace forerun
