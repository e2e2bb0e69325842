#include "commands/characterization_files.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "base/csv.hpp"
#include "base/text_file.hpp"

namespace forerun {
namespace {

struct Scalar {
  const char* name;
  double Characterization::*member;
};
constexpr std::array<Scalar, 15> kScalars = {{
    {"l2_bytes", &Characterization::l2_bytes},
    {"memory_bytes", &Characterization::memory_bytes},
    {"copy_gb_per_s", &Characterization::copy_gb_per_s},
    {"write_gb_per_s", &Characterization::write_gb_per_s},
    {"kernel_launch_us", &Characterization::kernel_launch_us},
    {"launch_and_wait_us", &Characterization::launch_and_wait_us},
    {"graph_kernel_us", &Characterization::graph_kernel_us},
    {"graph_launch_us", &Characterization::graph_launch_us},
    {"host_to_device_gb_per_s", &Characterization::host_to_device_gb_per_s},
    {"device_to_host_gb_per_s", &Characterization::device_to_host_gb_per_s},
    {"pageable_to_device_gb_per_s", &Characterization::pageable_to_device_gb_per_s},
    {"idle_power_w", &Characterization::idle_power_w},
    {"idle_context_power_w", &Characterization::idle_context_power_w},
    {"loaded_power_w", &Characterization::loaded_power_w},
    {"memory_loaded_power_w", &Characterization::memory_loaded_power_w},
}};

Error not_a_number(const CsvReader& csv) {
  return bad_input(fmt::format("{}: line {}: a number was expected", csv.name(), csv.line()));
}

Result<std::vector<BandwidthPoint>> read_sweep(const std::string& path) {
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  std::vector<BandwidthPoint> sweep;
  while (true) {
    FORERUN_TRY(const bool found, csv.next());
    if (!found) return sweep;
    const auto bytes = csv.number("working_set_bytes");
    const auto rate = csv.number("gb_per_s");
    if (!bytes || !rate || *bytes <= 0 || *rate <= 0) return not_a_number(csv);
    sweep.push_back({*bytes, *rate});
  }
}

Status read_scalars(const std::string& path, Characterization& result) {
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  while (true) {
    FORERUN_TRY(const bool found, csv.next());
    if (!found) return ok();
    const std::string name(csv.field("quantity"));
    const std::string text(csv.field("value"));
    if (name == "device") result.device_name = text;
    if (name == "driver") result.driver = text;
    if (name == "date") result.date = text;
    if (name == "device" || name == "driver" || name == "date") continue;
    const auto value = parse_number(text);
    if (!value) return not_a_number(csv);
    if (name == "multiprocessors") result.multiprocessors = static_cast<int>(*value);
    if (name.starts_with("plain_") && name.ends_with("_tflops"))
      result.plain_tflops[name.substr(6, name.size() - 13)] = *value;
    for (const Scalar& scalar : kScalars) {
      if (name == scalar.name) result.*scalar.member = *value;
    }
  }
}

std::string sweep_csv(const std::vector<BandwidthPoint>& sweep) {
  std::string text = "working_set_bytes,gb_per_s\n";
  for (const BandwidthPoint& point : sweep)
    text += fmt::format("{:.0f},{:.2f}\n", point.working_set_bytes, point.gb_per_s);
  return text;
}

}  // namespace

Result<Characterization> read_characterization(const std::string& folder) {
  Characterization result;
  FORERUN_CHECK(read_scalars(folder + "/scalars.csv", result));
  FORERUN_TRY(result.shared_sweep, read_sweep(folder + "/shared_sweep.csv"));
  FORERUN_TRY(result.private_sweep, read_sweep(folder + "/private_sweep.csv"));
  FORERUN_TRY(CsvReader csv, CsvReader::open(folder + "/gemm.csv"));
  while (true) {
    FORERUN_TRY(const bool found, csv.next());
    if (!found) break;
    const auto size = csv.number("size");
    const auto rate = csv.number("tflops");
    if (!size || !rate) return not_a_number(csv);
    result.gemms.push_back({std::string(csv.field("precision")), static_cast<int>(*size), *rate});
  }
  if (result.device_name.empty()) return bad_input(folder + "/scalars.csv: the device is missing");
  return result;
}

Status write_characterization(const Characterization& result, const std::string& folder) {
  std::string scalars = "quantity,value\n" + csv_line({"device", result.device_name}) +
                        csv_line({"driver", result.driver}) + csv_line({"date", result.date}) +
                        fmt::format("multiprocessors,{}\n", result.multiprocessors);
  for (const auto& [name, rate] : result.plain_tflops) scalars += fmt::format("plain_{}_tflops,{:.3f}\n", name, rate);
  for (const Scalar& scalar : kScalars) scalars += fmt::format("{},{:.12g}\n", scalar.name, result.*scalar.member);
  std::string gemms = "precision,size,tflops\n";
  for (const GemmPoint& point : result.gemms)
    gemms += fmt::format("{},{},{:.2f}\n", point.precision, point.size, point.tflops);
  FORERUN_CHECK(write_text_file(folder + "/scalars.csv", scalars));
  FORERUN_CHECK(write_text_file(folder + "/shared_sweep.csv", sweep_csv(result.shared_sweep)));
  FORERUN_CHECK(write_text_file(folder + "/private_sweep.csv", sweep_csv(result.private_sweep)));
  return write_text_file(folder + "/gemm.csv", gemms);
}

}  // namespace forerun
