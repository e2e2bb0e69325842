#include "evaluation/advice/case_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/csv.hpp"
#include "base/svg.hpp"
#include "base/text_file.hpp"
#include "devices/ceilings.hpp"
#include "evaluation/advice/published_unet.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// Mixed precision with 16-bit floats, as published; pure fp16 in a program without autocast to it.
const char* mixed_precision() { return parse_precision("amp_fp16") ? "amp_fp16" : "fp16"; }
constexpr const char* kNetwork = "downscaling-unet";

struct MeasuredRow {
  double eager_ms = 0, graph_ms = 0, memory_mb = 0, power_w = 0, gpu_use = 0, memory_rate = 0, tensor_time = 0;
};
// By mode, batch and precision, of the H200.
using Measured = std::map<std::string, MeasuredRow>;

Result<Measured> read_measured(const fs::path& data) {
  Measured rows;
  FORERUN_TRY(CsvReader csv, CsvReader::open((data / "h200-2026-11-downscaling-unet" / "rows.csv").string()));
  while (true) {
    FORERUN_TRY(const bool has_row, csv.next());
    if (!has_row) return rows;
    const auto get = [&](const char* column) { return csv.number(column).value_or(0); };
    rows[fmt::format("{}.{}.{}", csv.field("mode"), csv.field("batch"), csv.field("precision"))] = {
        get("eager_ms"), get("graph_ms"),    get("memory_mb"),  get("power_w"),
        get("gpu_use"),  get("memory_rate"), get("tensor_time")};
  }
}

double best_bandwidth(const Device& device, std::string_view level) {
  for (const BandwidthCeiling& c : bandwidth_ceilings(device)) {
    if (c.level == level) return c.gb_per_s;
  }
  return 0;
}

Result<ReportSection> ceilings_section(const Questions& questions) {
  ReportSection section{.id = "ceilings", .heading = "Ceilings"};
  section.text =
      "Forerun takes bandwidths that others measured where they are published, and these are; the arithmetic ceilings "
      "are the data sheets' times the constants of the analytic model (0.85 where nobody measured). *ours* is what a "
      "roofline of the device draws; on the H200 it is measured (`forerun-lab characterize`, 2026-11-15).\n";
  ReportTable table{.columns = {"device", "unit", "data sheet", "published", "ours", "ours / published"}};
  for (const published::CeilingRow& row : published::kCeilings) {
    const Device* device = questions.device(row.device);
    if (device == nullptr) return not_found(std::string("no device ") + row.device);
    double sheet = row.data_sheet, ours = 0;
    if (*row.key == '\0') {
      ours = best_bandwidth(*device, row.unit);
      sheet = row.unit == std::string_view("memory") ? device->memory_bandwidth_gb_per_s : 0;
    } else {
      const auto found = device->peak_tflops.find(row.key);
      ours = found == device->peak_tflops.end() ? 0 : found->second;
    }
    table.rows.push_back({row.device, fmt::format("{}, {}", row.unit, *row.key == '\0' ? "GB/s" : "TFLOP/s"),
                          number_cell(sheet, 4), number_cell(row.measured, 4), number_cell(ours, 4),
                          ratio_cell(ours, row.measured)});
  }
  if (const Device* h200 = questions.device("h200-sxm"); h200 != nullptr && h200->measured) {
    for (const char* key : {"fp32", "fp16", "fp16_tensor"}) {
      const auto found = h200->measured->peak_tflops.find(key);
      if (found == h200->measured->peak_tflops.end()) continue;
      table.rows.push_back({"h200-sxm", fmt::format("{}, TFLOP/s", key), number_cell(h200->peak_tflops.at(key), 4), "-",
                            number_cell(found->second, 4), "-"});
    }
    for (const char* level : {"memory", "L2", "L1"})
      table.rows.push_back(
          {"h200-sxm", fmt::format("{}, GB/s", level), "-", "-", number_cell(best_bandwidth(*h200, level), 4), "-"});
  }
  section.tables.push_back(std::move(table));
  return section;
}

// Bandwidth against the buffer that all multiprocessors read, and that each reads for itself.
Status draw_bandwidth(const CaseStudyFiles& files, ReportSection& section) {
  SvgChart chart("Bandwidth of an H200 by buffer size", {"buffer, MB", 0.01, 100000}, {"GB/s", 1000, 100000});
  chart.x_decades();
  chart.y_decades();
  std::size_t series = 0;
  for (const auto& [file, label] : {std::pair("shared_sweep.csv", "all read one buffer: L2, memory"),
                                    std::pair("private_sweep.csv", "each reads its own: L1, L2")}) {
    FORERUN_TRY(CsvReader csv, CsvReader::open((files.data / "h200-characterization" / file).string()));
    std::vector<std::pair<double, double>> points;
    while (true) {
      FORERUN_TRY(const bool has_row, csv.next());
      if (!has_row) break;
      points.emplace_back(csv.number("working_set_bytes").value_or(1) / 1048576.0, csv.number("gb_per_s").value_or(1));
    }
    const SvgLine line{.color = svg_color(series++), .width = 2};
    chart.curve(points, line);
    chart.legend_line(line, label);
  }
  const fs::path image = files.page.parent_path() / "images" / "unet-bandwidth.svg";
  FORERUN_CHECK(write_text_file(image.string(), chart.svg()));
  section.images.emplace_back("images/unet-bandwidth.svg");
  return ok();
}

// GFLOP/s of the published convolution's forward pass and of its gradients.
struct OperatorRates {
  double forward = 0, backward = 0;
};
Result<OperatorRates> rates_of(const Questions& questions, const std::string& device, const char* precision,
                               const std::string& change) {
  const std::string text =
      "conv:h=128,w=96,c=112" + std::string(change.find("filters") == std::string::npos ? ",filters=56" : "") +
      (change.find("stride") == std::string::npos ? ",stride=3" : "") +
      (change.find("batch") == std::string::npos ? ",batch=32" : "") + (change.empty() ? "" : "," + change);
  FORERUN_TRY(
      const RooflineReport report,
      questions.roofline(
          {{"operator", text}, {"device", device}, {"precision", precision}, {"train", true}, {"optimizer", "none"}}));
  double flops[2] = {0, 0}, ms[2] = {0, 0};
  for (const RooflinePoint& point : report.points) {
    const bool is_backward = point.stage == Stage::Backward;
    flops[is_backward] += point.flops;
    ms[is_backward] += point.time_ms;
  }
  return OperatorRates{ms[0] > 0 ? flops[0] / ms[0] / 1e6 : 0, ms[1] > 0 ? flops[1] / ms[1] / 1e6 : 0};
}

struct Finding {
  const char *text, *device, *precision;
  bool is_backward;
  std::vector<std::string> slower, faster;  // changes of the base
};

Result<ReportSection> operators_section(const Questions& questions) {
  ReportSection section{.id = "operators", .heading = "Operators"};
  section.text =
      "The published operator: a convolution of 32 images of 128 × 96 × 112 with 56 filters of 3 × 3 and stride 3, one "
      "size "
      "changed at a time. Predicted GFLOP/s, forward / backward (both gradients), as PyTorch runs it; the published "
      "study "
      "ran TensorFlow and prints charts, whose findings are below. Counters of the same operators on an H200 are on "
      "the "
      "[counters page](accuracy/counters.md).\n";
  const std::vector<std::string> changes = {"",         "batch=16", "batch=64", "stride=2",    "stride=4",
                                            "stride=5", "kernel=5", "kernel=7", "filters=112", "filters=224"};
  ReportTable table{
      .columns = {"change", "V100 fp32", "V100 fp16", "A100 fp32", "A100 fp16", "H200 fp32", "H200 fp16"}};
  std::map<std::string, OperatorRates> all;
  for (const std::string& change : changes) {
    std::vector<std::string> cells = {change.empty() ? "none" : change};
    for (const char* device : {published::kV100, published::kA100, "h200-sxm"}) {
      for (const char* precision : {"fp32", "fp16"}) {
        FORERUN_TRY(const OperatorRates rates, rates_of(questions, device, precision, change));
        all[fmt::format("{} {} {}", device, precision, change)] = rates;
        cells.push_back(fmt::format("{:.0f} / {:.0f}", rates.forward, rates.backward));
      }
    }
    table.rows.push_back(std::move(cells));
  }
  section.tables.push_back(std::move(table));
  using S = std::vector<std::string>;
  const Finding findings[] = {
      {"batch 64 well above 32 (A100, fp16)", published::kA100, "fp16", false, S{""}, S{"batch=64"}},
      {"batch 64 well above 32 (V100, fp16)", published::kV100, "fp16", false, S{""}, S{"batch=64"}},
      {"A100 backward fp16: strides 4, 5 above 2, 3", published::kA100, "fp16", true, S{"stride=2", ""},
       S{"stride=4", "stride=5"}},
      {"5 x 5 above 7 x 7 (A100, fp16, backward)", published::kA100, "fp16", true, S{"kernel=7"}, S{"kernel=5"}},
      {"fp32: 112 filters above 224 (A100)", published::kA100, "fp32", true, S{"filters=224"}, S{"filters=112"}},
      {"V100 backward: stride 2 best", published::kV100, "fp16", true, S{"", "stride=4", "stride=5"}, S{"stride=2"}},
      {"V100 backward rises with the kernel", published::kV100, "fp16", true, S{""}, S{"kernel=5", "kernel=7"}},
      {"V100 backward rises with the filters", published::kV100, "fp16", true, S{""}, S{"filters=112", "filters=224"}},
  };
  ReportTable verdicts{.columns = {"published finding", "predicted: slower", "faster", "agrees"}};
  for (const Finding& finding : findings) {
    const auto list = [&](const S& changes_of, double& extreme, bool take_least) {
      std::string text;
      for (const std::string& change : changes_of) {
        const OperatorRates& rates = all.at(fmt::format("{} {} {}", finding.device, finding.precision, change));
        const double rate = finding.is_backward ? rates.backward : rates.forward;
        text += fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ", change.empty() ? "base" : change, rate);
        extreme = take_least ? std::min(extreme, rate) : std::max(extreme, rate);
      }
      return text;
    };
    double most = 0, least = 1e300;
    const std::string slower = list(finding.slower, most, false), faster = list(finding.faster, least, true);
    verdicts.rows.push_back({finding.text, slower, faster, least > most ? "yes" : "no"});
  }
  std::size_t halves = 0;
  for (const std::string& change : changes) {
    for (const char* device : {published::kV100, published::kA100}) {
      const auto single = all.at(fmt::format("{} fp32 {}", device, change));
      const auto half = all.at(fmt::format("{} fp16 {}", device, change));
      halves += (half.forward > single.forward) + (half.backward > single.backward);
    }
  }
  verdicts.rows.push_back({"half precision above single everywhere", fmt::format("{} of 40 points", halves), "",
                           halves == 40 ? "yes" : "no"});
  section.tables.push_back(std::move(verdicts));
  return section;
}

Json training_question(const char* device, int batch, bool mixed) {
  return {{"model", kNetwork},
          {"device", device},
          {"batch", batch},
          {"precision", mixed ? mixed_precision() : "fp32"},
          {"train", true},
          {"optimizer", "adam"},
          {"dataset_samples", std::int64_t(published::kSamples)},
          {"epochs", 70}};
}

Result<ReportSection> training_section(const Questions& questions, const Measured& measured) {
  ReportSection section{.id = "training", .heading = "Training on one device"};
  section.text = fmt::format(
      "20,496 samples, Adam, 70 epochs. Predicted: a step as PyTorch launches it (`forerun predict {} --train "
      "--optimizer "
      "adam --dataset-samples 20496 --epochs 70`), times the steps of an epoch; mixed = `{}`. Published / ours "
      "(ratio).\n",
      kNetwork, mixed_precision());
  ReportTable table{
      .columns = {"device, batch, precision", "epoch, s", "run, s", "GPU use, %", "memory rate, %", "power, W"}};
  const auto cell = [](double published, double ours) {
    return fmt::format("{} / {} ({})", number_cell(published, 4), number_cell(ours), ratio_cell(ours, published));
  };
  for (const published::TrainingRow& row : published::kTraining) {
    FORERUN_TRY(const DeviceResult r, questions.predict(training_question(row.device, row.batch, row.mixed)));
    const Utilisation use = r.utilisation.value_or(Utilisation{});
    table.rows.push_back({fmt::format("{}, {}, {}", row.device, row.batch, row.mixed ? "mixed" : "single"),
                          cell(row.epoch_s, r.advice.epoch_s.value_or(0)),
                          cell(row.run_s, r.advice.hours_total.value_or(0) * 3600),
                          cell(row.gpu_use, use.gpu_busy * 100), cell(row.memory_rate, use.memory_bandwidth * 100),
                          cell(row.power_w, r.estimates.at(Metric::Power).value)});
  }
  section.tables.push_back(std::move(table));
  ReportTable tensor{.caption = "Time of kernels on tensor cores, mixed, batch 64, %",
                     .columns = {"device", "GPUs", "published", "ours", "ours / published"}};
  for (const published::TensorRow& row : published::kTensorUse) {
    Json question = training_question(row.device, 64, true);
    if (row.gpus > 1) {
      question["gpus"] = row.gpus;
      question["data_parallel"] = row.gpus;
      question["batch"] = 64 * row.gpus;
    }
    FORERUN_TRY(const DeviceResult r, questions.predict(question));
    const double ours = r.utilisation.value_or(Utilisation{}).tensor_core_time * 100;
    tensor.rows.push_back({row.device, std::to_string(row.gpus), number_cell(row.percent), number_cell(ours),
                           ratio_cell(ours, row.percent)});
  }
  section.tables.push_back(std::move(tensor));
  ReportTable h200{.caption = "The same steps measured on an H200 (PyTorch 2.11, 2026-11-19)",
                   .columns = {"batch, precision", "step measured, ms", "predicted", "ratio", "memory measured, MB",
                               "predicted", "power measured, W", "predicted", "GPU use by NVML, %", "tensor time, %"}};
  for (const int batch : {32, 64}) {
    for (const char* precision : {"fp32", "amp_fp16", "amp_bf16"}) {
      const auto found = measured.find(fmt::format("training.{}.{}", batch, precision));
      if (found == measured.end()) continue;
      Json question = training_question("h200-sxm", batch, false);
      question["precision"] = parse_precision(precision) ? precision : "amp_bf16";
      FORERUN_TRY(const DeviceResult r, questions.predict(question));
      const MeasuredRow& m = found->second;
      const double ms = r.estimates.at(Metric::Latency).value, mb = r.estimates.at(Metric::Memory).value;
      h200.rows.push_back({fmt::format("{}, {}", batch, precision), number_cell(m.eager_ms), number_cell(ms),
                           ratio_cell(ms, m.eager_ms), number_cell(m.memory_mb), number_cell(mb),
                           number_cell(m.power_w), number_cell(r.estimates.at(Metric::Power).value),
                           number_cell(m.gpu_use), number_cell(m.tensor_time * 100)});
    }
  }
  section.tables.push_back(std::move(h200));
  return section;
}

Result<ReportSection> distributed_section(const Questions& questions) {
  ReportSection section{.id = "distributed", .heading = "Training on several devices"};
  section.text =
      "Mirrored (data parallel), mixed precision, the batch grows with the devices (64 on each here: the published "
      "batch is "
      "not printed). *gain*: epoch on one device over epoch on several.\n";
  ReportTable table{
      .columns = {"device", "GPUs", "published epoch, s", "ours, s", "ratio", "published gain", "our gain"}};
  std::map<std::string, std::pair<double, double>> on_one;
  for (const published::DistributedRow& row : published::kDistributed) {
    Json question = training_question(row.device, 64 * row.gpus, true);
    if (row.gpus > 1) {
      question["gpus"] = row.gpus;
      question["data_parallel"] = row.gpus;
    }
    FORERUN_TRY(const DeviceResult r, questions.predict(question));
    const double ours = r.advice.epoch_s.value_or(0);
    if (row.gpus == 1) on_one[row.device] = {row.epoch_s, ours};
    const auto& [published_one, ours_one] = on_one[row.device];
    table.rows.push_back({row.device, std::to_string(row.gpus), number_cell(row.epoch_s, 4), number_cell(ours),
                          ratio_cell(ours, row.epoch_s), ratio_cell(published_one, row.epoch_s),
                          ratio_cell(ours_one, ours)});
  }
  section.tables.push_back(std::move(table));
  return section;
}

Result<ReportSection> inference_section(const Questions& questions, const Measured& measured) {
  ReportSection section{.id = "inference", .heading = "Inference"};
  section.text =
      "Published for networks trained with batch 64; ours are passes of 64 images. Published latencies include "
      "TensorFlow's call from Python; the devices worked 1 to 8 % of the time.\n";
  ReportTable table{.columns = {"device, precision", "published, ms", "ours eager, ms", "ratio", "ours CUDA graph, ms",
                                "published GPU use × ms", "tensor time published, %", "ours, %"}};
  const auto ask = [&](const char* device, const char* precision, const char* runtime) {
    return questions.predict(
        {{"model", kNetwork}, {"device", device}, {"batch", 64}, {"precision", precision}, {"runtime", runtime}});
  };
  for (const published::InferenceRow& row : published::kInference) {
    const char* precision = row.mixed ? "fp16" : "fp32";
    FORERUN_TRY(const DeviceResult eager, ask(row.device, precision, "eager"));
    FORERUN_TRY(const DeviceResult graph, ask(row.device, precision, "graph"));
    const double ms = eager.estimates.at(Metric::Latency).value;
    table.rows.push_back({fmt::format("{}, {}", row.device, row.mixed ? "mixed" : "single"), number_cell(row.ms),
                          number_cell(ms), ratio_cell(ms, row.ms),
                          number_cell(graph.estimates.at(Metric::Latency).value),
                          number_cell(row.ms * row.gpu_use / 100), number_cell(row.tensor_use),
                          number_cell(graph.utilisation.value_or(Utilisation{}).tensor_core_time * 100)});
  }
  section.tables.push_back(std::move(table));
  ReportTable h200{.caption = "The same measured on an H200 (PyTorch 2.11, 2026-11-19)",
                   .columns = {"batch, precision", "eager measured, ms", "predicted", "ratio",
                               "CUDA graph measured, ms", "predicted", "ratio"}};
  for (const int batch : {1, 32, 64}) {
    for (const char* precision : {"fp32", "amp_fp16", "fp16"}) {
      const auto found = measured.find(fmt::format("inference.{}.{}", batch, precision));
      if (found == measured.end() || !parse_precision(precision)) continue;
      std::vector<std::string> cells = {fmt::format("{}, {}", batch, precision)};
      for (const char* runtime : {"eager", "graph"}) {
        FORERUN_TRY(const DeviceResult r, questions.predict({{"model", kNetwork},
                                                             {"device", "h200-sxm"},
                                                             {"batch", batch},
                                                             {"precision", precision},
                                                             {"runtime", runtime}}));
        const double ms = r.estimates.at(Metric::Latency).value;
        const double seen = runtime[0] == 'e' ? found->second.eager_ms : found->second.graph_ms;
        cells.insert(cells.end(), {number_cell(seen), number_cell(ms), ratio_cell(ms, seen)});
      }
      h200.rows.push_back(std::move(cells));
    }
  }
  section.tables.push_back(std::move(h200));
  return section;
}

Result<ReportSection> cost_section(const Questions& questions) {
  ReportSection section{.id = "cost", .heading = "Cost"};
  section.text =
      "Ten trainings of 70 epochs, mixed precision. The published total is hours × price of the instance; ours takes "
      "the same "
      "prices (`data/clouds/instances.json`) and the hours predicted. Published hours: 6.38 on one V100, 4.34 on four, "
      "4.45 "
      "on one A100, 3.69 on four.\n";
  ReportTable table{
      .columns = {"instance", "published $/h", "published total, $", "our hours", "our total, $", "ratio"}};
  std::map<std::string, double> hours;
  for (const published::CostRow& row : published::kCosts) {
    const std::string key = fmt::format("{} {}", row.device, row.gpus);
    if (!hours.contains(key)) {
      Json question = training_question(row.device, 64 * row.gpus, true);
      if (row.gpus > 1) {
        question["gpus"] = row.gpus;
        question["data_parallel"] = row.gpus;
      }
      FORERUN_TRY(const DeviceResult r, questions.predict(question));
      hours[key] = 10 * r.advice.hours_total.value_or(0);
    }
    const double total = hours[key] * row.usd_per_hour;
    table.rows.push_back({fmt::format("{} {}", row.cloud, row.instance), number_cell(row.usd_per_hour, 4),
                          number_cell(row.usd_total, 4), number_cell(hours[key]), number_cell(total),
                          ratio_cell(total, row.usd_total)});
  }
  section.tables.push_back(std::move(table));
  FORERUN_TRY(const DeviceResult a100, questions.predict({{"model", kNetwork},
                                                          {"device", published::kA100},
                                                          {"batch", 64},
                                                          {"precision", "fp16"},
                                                          {"runtime", "eager"}}));
  const double usd = 1e4 * a100.estimates.at(Metric::Latency).value / 3.6e6 * published::kA100UsdPerHour;
  section.tables.push_back({.caption = "Ten thousand inferences of batch 64",
                            .columns = {"machine", "published, $", "ours, $", "ratio"},
                            .rows = {{"GCP A100", number_cell(published::kTenThousandA100Usd), number_cell(usd),
                                      ratio_cell(usd, published::kTenThousandA100Usd)},
                                     {"AWS c5.4xlarge (16 cores, Xeon Platinum 8275CL), 5.15 s each",
                                      number_cell(published::kTenThousandCpuUsd), "-", "-"}}});
  return section;
}

}  // namespace

Result<ReportPage> make_case_study(const Questions& questions, const CaseStudyFiles& files) {
  FORERUN_TRY(const Measured measured, read_measured(files.data));
  ReportPage page{
      .title = "A case study: benchmarking a U-Net",
      .introduction =
          "For people who plan or read a benchmarking study: the published one of a temperature-downscaling U-Net "
          "(3,525,650 trainable parameters, input 96 × 128 × 3), level by level beside what Forerun predicts from "
          "the network's file, and beside an H200. Published figures: K. Panner Selvam, *Performance Prediction "
          "Models for Deep Learning*, PhD thesis, University of Luxembourg, 2025, chapter 3. Generated by "
          "`forerun-lab case-study --write docs/case-study-unet.md`; do not edit.\n"};
  FORERUN_TRY(ReportSection ceilings, ceilings_section(questions));
  FORERUN_CHECK(draw_bandwidth(files, ceilings));
  page.sections.push_back(std::move(ceilings));
  FORERUN_TRY(page.sections.emplace_back(), operators_section(questions));
  FORERUN_TRY(page.sections.emplace_back(), training_section(questions, measured));
  FORERUN_TRY(page.sections.emplace_back(), distributed_section(questions));
  FORERUN_TRY(page.sections.emplace_back(), inference_section(questions, measured));
  FORERUN_TRY(page.sections.emplace_back(), cost_section(questions));
  FORERUN_TRY(const std::string reasons,
              read_text_file((files.data / "h200-2026-11-downscaling-unet" / "reasons.md").string()));
  page.sections.push_back({.id = "reasons", .heading = "Why they differ", .text = reasons});
  return page;
}

}  // namespace forerun
