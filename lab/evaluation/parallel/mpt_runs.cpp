#include "evaluation/parallel/mpt_runs.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/csv.hpp"
#include "service/options.hpp"
#include "store/import_format.hpp"

namespace forerun {
namespace {

struct MptSize {
  std::string_view name;
  int layers, width, heads;
  bool fits_factors;
};
// Sizes of llm-foundry's mpt-*.yaml; every second network is left to judge.
constexpr std::array<MptSize, 9> kSizes = {{{"125m", 12, 768, 12, true},
                                            {"350m", 24, 1024, 16, false},
                                            {"760m", 24, 1536, 12, true},
                                            {"1b", 24, 2048, 16, false},
                                            {"3b", 32, 2560, 20, true},
                                            {"7b", 32, 4096, 32, false},
                                            {"13b", 40, 5120, 40, true},
                                            {"30b", 48, 7168, 56, false},
                                            {"70b", 80, 8192, 64, false}}};

std::string_view system_of(std::string_view device) {
  return device == "a100_40gb" ? "a100-40gb-roce-1600" : device == "a100_80gb" ? "a100-80gb-roce-1600" : "dgx-h100";
}

// FSDP casts weights and activations to bf16 in both of the tables' precisions.
std::string question(const CsvReader& csv, const MptSize& size) {
  const auto whole = [&](std::string_view name) { return std::int64_t(csv.number(name).value_or(1)); };
  const std::int64_t devices = whole("# GPUs");
  return fmt::format(
      R"({{"config": {{"model_type": "mpt", "d_model": {}, "n_heads": {}, "n_layers": {}, "expansion_ratio": 4, )"
      R"("max_seq_len": {}, "vocab_size": 50368, "attn_implementation": "flash_attention_2", )"
      R"("attn_config": {{"alibi": false}}}}, "system": "{}", "gpus": {}, "nodes": {}, "data_parallel": {}, "zero": "{}", )"
      R"("train": true, "optimizer": "adamw", "precision": "bf16", "seq": {}, "global_batch": {}, "micro_batch": {}, )"
      R"("checkpointing": "{}"}})",
      size.width, size.heads, size.layers, whole("SeqLen (T)"), system_of(csv.field("GPU")), devices,
      std::max<std::int64_t>(1, devices / 8), devices, csv.field("Sharding Strategy") == "FULL_SHARD" ? 3 : 2,
      whole("SeqLen (T)"), whole("GlobalBatchSize"), whole("MicroBatchSize"),
      csv.field("Activation Checkpointing") == "True" ? "full" : "none");
}

}  // namespace

Result<std::vector<MptRun>> ask_mpt_runs(const Service& service, const std::string& public_data,
                                         std::optional<StepFactors> factors, bool with_shipped_attention,
                                         std::map<std::string, std::size_t>& skipped) {
  std::vector<MptRun> runs;
  const std::filesystem::path path = std::filesystem::path(public_data) / "mpt_training_mfu.csv.gz";
  if (!std::filesystem::exists(path)) return runs;
  FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) return runs;
    const auto size =
        std::find_if(kSizes.begin(), kSizes.end(), [&](const MptSize& s) { return s.name == csv.field("Model"); });
    const double rate = csv.number("Throughput (T/s)").value_or(0);
    if (csv.field("Precision") == "amp_fp8") {
      ++skipped["training in fp8"];
      continue;
    }
    if (size == kSizes.end() || rate <= 0) {
      ++skipped["a network or rate that is not stated"];
      continue;
    }
    FORERUN_TRY(Request request, parse_request(question(csv, *size)));
    FORERUN_TRY(const Device device, service.catalogue().find(device_id_of(csv.field("GPU"))));
    request.parallel.factors = factors                  ? *factors
                               : with_shipped_attention ? step_factors(device)
                                                        : measured_step_factors(device);
    const auto report = service.predict(request);
    if (!report) {
      ++skipped[report.error().message];
      continue;
    }
    const DeviceResult& result = report->results.front();
    const StepBreakdown& times = result.parallel->times;
    MptRun run;
    run.network = size->name;
    run.device = device.id;
    run.architecture = device.architecture;
    run.precision = csv.field("Precision");
    run.devices = std::int64_t(csv.number("# GPUs").value_or(8));
    run.sequence = std::int64_t(csv.number("SeqLen (T)").value_or(2048));
    run.is_checkpointed = csv.field("Activation Checkpointing") == "True";
    run.fits_factors = size->fits_factors;
    run.measured_ms = csv.number("GlobalBatchSize").value_or(1) * double(run.sequence) / rate * 1e3;
    run.estimated_ms = result.estimates.at(Metric::Latency).value;
    run.memory_mb = result.estimates.at(Metric::DeviceMemory).value;
    run.capacity_mb = device.memory_gib * 1024;
    run.fits = result.advice.fits;
    run.attention_ms = times.attention_ms;
    run.others_ms = times.compute_ms - times.attention_ms;
    run.fixed_ms = times.total_ms - times.compute_ms;
    runs.push_back(std::move(run));
  }
}

std::map<std::string, StepFactors> fit_step_factors(const std::vector<MptRun>& runs) {
  std::map<std::string, StepFactors> best;
  std::map<std::string, double> least;
  for (double kernels = 0.9; kernels < 2.5; kernels += 0.01) {
    for (double attention = 0.6; attention < 5; attention += 0.02) {
      std::map<std::string, double> cost;
      for (const MptRun& run : runs) {
        if (!run.fits_factors) continue;
        const double ms = kernels * run.others_ms + attention * run.attention_ms + run.fixed_ms;
        cost[run.architecture] += std::abs(ms / run.measured_ms - 1);
      }
      for (const auto& [architecture, sum] : cost) {
        if (least.contains(architecture) && sum >= least[architecture]) continue;
        least[architecture] = sum;
        best[architecture] = {kernels, attention};
      }
    }
  }
  return best;
}

}  // namespace forerun
