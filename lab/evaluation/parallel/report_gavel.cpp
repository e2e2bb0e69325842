// Data-parallel training of vision networks: Gavel's V100 and P100 (1 to 8), and the published U-Net.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/csv.hpp"
#include "dataset/published_networks.hpp"
#include "evaluation/parallel/parallel_report.hpp"
#include "evaluation/roofline/error_table.hpp"
#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

struct GavelRow {
  std::string device, network;
  std::int64_t batch = 1, devices = 1;
  bool is_spread = false;  // every device in a machine of its own
  double measured_ms = 0;
};

Result<std::vector<GavelRow>> load_gavel(const std::string& path, std::set<std::string>& left_out) {
  std::vector<GavelRow> rows;
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) return rows;
    const std::string_view device = csv.field("device"), network = csv.field("model");
    const double rate = csv.number("steps_per_sec").value_or(0);
    if (network != "ResNet-50" && network != "ResNet-18") {
      left_out.insert(std::string(network));
      continue;
    }
    if (rate <= 0 || !csv.number("batch_size") || device.starts_with("k80")) continue;
    GavelRow row;
    row.device = device.starts_with("v100") ? "v100-sxm-16gb" : "p100";
    row.network = std::string(network);
    row.batch = std::int64_t(*csv.number("batch_size"));
    row.devices = std::int64_t(csv.number("num_gpus").value_or(1));
    row.is_spread = device.ends_with("unconsolidated");
    row.measured_ms = double(row.devices) / rate * 1e3;  // rates are summed over the devices
    if (row.is_spread && row.devices == 1) continue;     // the same row as the other one
    rows.push_back(row);
  }
}

Result<double> ask(const Service& service, const GavelRow& row) {
  std::string question = fmt::format(
      R"({{"model": "resnet50", "device": "{}", "batch": {}, "precision": "fp32", "train": true, "optimizer": "sgd")",
      row.device, row.batch * row.devices);
  if (row.devices > 1) {
    question += fmt::format(R"(, "gpus": {}, "nodes": {}, "data_parallel": {}, "fabric": "ethernet-10")", row.devices,
                            row.is_spread ? row.devices : 1, row.devices);
  }
  FORERUN_TRY(Request request, parse_request(question + "}"));
  if (row.network == "ResNet-18") request.network = small_image_resnet18();
  FORERUN_TRY(const PredictReport report, service.predict(request));
  return report.results.front().estimates.at(Metric::Latency).value;
}

// The published distributed trainings: seconds an epoch of 20,496 samples, mixed precision.
struct PublishedEpoch {
  const char* device;
  std::int64_t devices;
  double one_device_s, measured_s;
};
constexpr double kEpochSamples = 20496;
constexpr PublishedEpoch kPublished[] = {
    {"v100-sxm-16gb", 4, 24.78, 22.3}, {"a100-sxm-40gb", 2, 16.98, 19.3}, {"a100-sxm-40gb", 4, 16.98, 18.94}};

Result<ReportTable> published_table(const Service& service) {
  ReportTable table{"The published U-Net, seconds an epoch",
                    {"device", "devices", "measured", "estimated", "error, %", "limited by"}};
  for (const PublishedEpoch& row : kPublished) {
    FORERUN_TRY(Request request,
                parse_request(fmt::format(
                    R"({{"model": "unet", "device": "{}", "gpus": {}, "data_parallel": {}, "global_batch": {}, )"
                    R"("precision": "amp_bf16", "train": true, "optimizer": "adam", "samples_per_s_input": {:.1f}}})",
                    row.device, row.devices, row.devices, 64 * row.devices, kEpochSamples / row.one_device_s)));
    request.network = published_unet();
    const auto report = service.predict(request);
    if (!report) return report.error();
    const ParallelReport& parallel = *report->results.front().parallel;
    const double seconds = kEpochSamples / parallel.samples_per_s;
    table.rows.push_back({row.device, std::to_string(row.devices), fmt::format("{:.2f}", row.measured_s),
                          fmt::format("{:.2f}", seconds), fmt::format("{:+.1f}", 100 * (seconds / row.measured_s - 1)),
                          parallel.times.waits_for_input ? "input" : "devices"});
  }
  return table;
}

}  // namespace

Result<ReportSection> report_gavel(const std::string& public_data) {
  FORERUN_TRY(const std::unique_ptr<Service> service, Service::create());
  std::set<std::string> left_out;
  const std::filesystem::path path = std::filesystem::path(public_data) / "gavel_training_throughput.csv.gz";
  FORERUN_TRY(const std::vector<GavelRow> rows, load_gavel(path.string(), left_out));
  ErrorTable plain({"network", "device", "where", "devices"}), scaled({"network", "device", "where", "devices"}),
      all({"network", "what"});
  std::map<std::tuple<std::string, std::string, std::int64_t>, double> single;  // estimate / measurement on one device
  for (const GavelRow& row : rows) {
    FORERUN_TRY(const double ms, ask(*service, row));
    const std::string where = row.is_spread ? "a machine each" : "one machine", devices = std::to_string(row.devices);
    if (row.devices == 1) single[{row.device, row.network, row.batch}] = ms / row.measured_ms;
    plain.add({row.network, row.device, where, devices}, ms, row.measured_ms);
    all.add({row.network, "from the file alone"}, ms, row.measured_ms);
    const auto one = single.find({row.device, row.network, row.batch});
    if (row.devices == 1 || one == single.end()) continue;
    scaled.add({row.network, row.device, where, devices}, ms / one->second, row.measured_ms);
    all.add({row.network, "given the time on one device"}, ms / one->second, row.measured_ms);
  }
  std::string others;
  for (const std::string& name : left_out) others += (others.empty() ? "" : ", ") + name;
  ReportSection section;
  section.id = "copies";
  section.heading = "Several devices: training of vision networks";
  section.text =
      "ResNet-50 and ResNet-18 (32 x 32 images) on V100 and P100 (Gavel, MIT), data parallel: `forerun predict "
      "resnet50 --train --gpus N --nodes …`. "
      "No "
      "constant was fitted on these rows; machines are joined by 10 Gbit/s Ethernet, which is assumed. *Given the time "
      "on "
      "one device*: the row of one device with the same batch sets the work of a device, and messages alone are "
      "estimated. Left out, because their networks cannot be rebuilt from the tables: " +
      others +
      ". The published U-Net (K. Panner Selvam, PhD-FSTM-2025-034): the input pipeline's rate is that of the training "
      "on "
      "one device (batch 64, mixed precision), and the epochs on two and four are estimated.";
  section.tables.push_back(all.table("All of them"));
  section.tables.push_back(plain.table("From the file alone"));
  section.tables.push_back(scaled.table("Given the time on one device"));
  FORERUN_TRY(ReportTable published, published_table(*service));
  section.tables.push_back(std::move(published));
  return section;
}

}  // namespace forerun
