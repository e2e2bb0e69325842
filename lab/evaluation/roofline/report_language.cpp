// Operators of serving engines (AIConfigurator), of decoder layers (Vidur), and exchanges between devices, by device.
#include <filesystem>

#include "base/csv.hpp"
#include "evaluation/roofline/error_table.hpp"
#include "evaluation/roofline/roofline_report.hpp"
#include "parallel/collectives.hpp"
#include "parallel/layout.hpp"
#include "store/import_format.hpp"
#include "training/roofline/fit.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRowsPerTable = 400;  // of one table and device

Status judge_nccl(const RooflineStudy& study, const char* file, Exchange how, ErrorTable& table) {
  const fs::path path = fs::path(study.options.public_data) / file;
  if (!fs::exists(path)) return ok();
  FORERUN_TRY(CsvReader csv, CsvReader::open(path.string()));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) return ok();
    if (csv.column("op_name") && (csv.field("op_name") != "all_reduce" || csv.field("nccl_dtype") != "half")) continue;
    const auto device = study.catalogue.find(device_id_of(csv.field("system")));
    const auto latency = csv.number("latency_ms"), elements = csv.number("message_size"), gpus = csv.number("num_gpus");
    if (!device || !latency || *latency <= 0 || !elements || !gpus) continue;
    const std::string engine = csv.column("op_name") ? "NCCL" : std::string(csv.field("backend"));
    const double bytes = *elements * 2;
    const char* size = bytes < 1 << 18 ? "below 256 KiB" : bytes < 1 << 24 ? "below 16 MiB" : "more";
    table.add({device->id, engine, size}, all_reduce_us(*device, std::int64_t(*gpus), bytes, how), *latency * 1e3);
  }
}

}  // namespace

Result<std::vector<ReportSection>> report_language(const RooflineStudy& study) {
  ReportSection operators;
  operators.id = "language-operators";
  operators.heading = "Language models: operators of serving engines";
  operators.text =
      "The roofline against kernels of vLLM and TensorRT-LLM (AIConfigurator, Apache-2.0: GEMMs, attention of prompts, "
      "decode steps and encoders, latent attention, experts) and against operators of decoder layers in fp16 (Vidur, "
      "MIT); up to 400 rows per table and device. Only vLLM's 16-bit rows were part of the fit. Left out: nvfp4 and "
      "weight-only int8 kernels, sliding windows and fp8 caches in attention (not supported here), and vLLM's latent "
      "attention (timed with its whole module). Experts are assumed evenly loaded; the measured loads include skewed "
      "ones. Measured fp8 rows are slower because they include the quantisation of activations, which is a separate "
      "kernel here and fused with the preceding norm in engines, and because vLLM's block-scaled GEMMs on Blackwell "
      "take at least 150 µs of host time when timed alone.";
  const OperatorOptions options{.rows_per_device = kRowsPerTable, .engines = true};
  MeasuredRows rows;
  if (fs::is_directory(study.options.public_data)) {
    FORERUN_TRY(std::vector<OperatorExample> engines, load_public_operators(study.options.public_data, options));
    std::erase_if(engines, [](const OperatorExample& e) { return e.engine.empty(); });
    for (OperatorExample& e : engines) e.source += "/" + e.engine;
    FORERUN_CHECK(add_operators(rows, std::move(engines), study.catalogue));
    FORERUN_TRY(std::vector<OperatorExample> layers, load_layer_operators(study.options.public_data, options));
    FORERUN_CHECK(add_operators(rows, std::move(layers), study.catalogue));
  }
  const RooflineConstants& constants = shipped_constants();
  ErrorTable engines({"table", "engine", "device", "number format"}), layers({"device", "operator"}),
      layers_all({"device"});
  for (const OperatorRow& row : rows.operators) {
    if (row.precision == Precision::Fp8 && !row.device->peak_tflops.contains("fp8_tensor"))
      continue;  // emulated: not estimated here either
    if (row.precision == Precision::Int8 && peak_tflops(*row.device, Math::Int8Tensor) == 0) continue;
    const double estimate = time_of(row, constants);
    if (row.source == "vidur_llm_layer_ops") {
      layers.add({row.device->id, row.op}, estimate, row.latency_us);
      layers_all.add({row.device->id}, estimate, row.latency_us);
      continue;
    }
    const std::size_t slash = row.source.find('/');
    engines.add({row.source.substr(0, slash), row.source.substr(slash + 1), row.device->id, row.op}, estimate,
                row.latency_us);
  }
  operators.tables.push_back(engines.table("Kernels inside engines"));
  operators.tables.push_back(layers_all.table("Decoder layers: all operators by device"));
  operators.tables.push_back(layers.table("Decoder layers: by operator"));

  ReportSection exchange;
  exchange.id = "exchange";
  exchange.heading = "Exchange between devices";
  exchange.text =
      "All-reduce inside one machine: NCCL, and the engines' own all-reduce inside CUDA graphs (AIConfigurator, "
      "Apache-2.0). vLLM and SGLang have most messages twice: inside a graph (4 to 8 µs for small ones) and launched "
      "from the host (20 to 70 µs); the estimate is for the former. The L40S of these rows exchange over PCIe through "
      "host memory, far below the rate of their links.";
  ErrorTable all_reduce({"device", "by", "message"});
  FORERUN_CHECK(judge_nccl(study, "aic_nccl.csv.gz", Exchange::Nccl, all_reduce));
  FORERUN_CHECK(judge_nccl(study, "aic_custom_allreduce.csv.gz", Exchange::Engine, all_reduce));
  exchange.tables.push_back(all_reduce.table(""));
  return std::vector<ReportSection>{std::move(operators), std::move(exchange)};
}

}  // namespace forerun
