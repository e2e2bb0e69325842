// forerun-lab characterize: sweeps of this machine's GPU, or the record of one, into a device file, CSV and pictures.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/text_file.hpp"
#include "commands/ceilings.hpp"
#include "commands/characterization_files.hpp"
#include "commands/command.hpp"
#include "commands/plots.hpp"
#include "devices/catalogue.hpp"
#include "profiler/characterize.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string from;
  std::string out = "characterization";
  std::string device;
  CharacterizeOptions sweep;
  bool no_power = false;
};

void print(const char* label, const std::optional<double>& value, const char* unit) {
  if (value) fmt::print("{:<22} {:>10.4g} {}\n", label, *value, unit);
}

Status run(Options& options) {
  options.sweep.power = !options.no_power;
  FORERUN_TRY(const Characterization result,
              options.from.empty() ? characterize(options.sweep) : read_characterization(options.from));
  for (const std::string& note : result.notes) fmt::print(stderr, "forerun-lab: {}\n", note);
  // Told before anything is written: the sweep cost minutes, and a full disk must not lose it.
  const MeasuredCeilings ceilings = ceilings_of(result);
  fmt::print("{}, measured {}\n", result.device_name, ceilings.date);
  for (const auto& [precision, rate] : ceilings.peak_tflops) print(precision.c_str(), rate, "TFLOP/s");
  print("memory", ceilings.memory_bandwidth_gb_per_s, "GB/s");
  print("L2", ceilings.l2_bandwidth_gb_per_s, "GB/s");
  print("L1", ceilings.l1_bandwidth_gb_per_s, "GB/s");
  print("kernel launch", ceilings.kernel_launch_us, "us");
  print("kernel in a graph", ceilings.graph_kernel_us, "us");
  print("idle power", ceilings.idle_power_w, "W");
  print("loaded power", ceilings.loaded_power_w, "W");
  std::fflush(stdout);

  std::error_code failure;
  fs::create_directories(options.out, failure);
  if (failure) return Error{ErrorKind::Io, options.out + ": cannot make the folder: " + failure.message()};
  if (options.from.empty()) FORERUN_CHECK(write_characterization(result, options.out));

  FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
  const auto found = catalogue.find(options.device.empty() ? result.device_name : options.device);
  if (!found && options.device.empty()) {
    return bad_input(fmt::format("{}: not in the catalogue: give the id it shall have: --device ID --from {}",
                                 result.device_name, options.from.empty() ? options.out : options.from));
  }
  const std::string id = found ? found->id : options.device;
  const std::string_view* shipped = shipped_device_json(id);
  FORERUN_TRY(const std::string device_file,
              device_file_with(result, shipped != nullptr ? std::string(*shipped) : "", id));
  const std::optional<Device> data_sheet = found ? std::optional(*found) : std::nullopt;
  FORERUN_CHECK(write_text_file(options.out + "/" + id + ".json", device_file));
  FORERUN_CHECK(write_text_file(options.out + "/bandwidth.svg", bandwidth_svg(result)));
  FORERUN_CHECK(write_text_file(options.out + "/roofline.svg", roofline_svg(result, data_sheet)));
  fmt::print("written to {}: {}.json, bandwidth.svg, roofline.svg and the sweeps as CSV\n", options.out, id);
  return ok();
}

}  // namespace

LabAction declare_characterize(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--out", options->out, "Folder for the device file, the sweeps (CSV) and the pictures (SVG)");
  app.add_option("--from", options->from,
                 "Folder of an earlier characterisation: draw and state it again, measure nothing");
  app.add_option("--device", options->device, "Catalogue id (default: found from the GPU's name)");
  app.add_option("--gpu", options->sweep.device_index, "Index of the GPU")->check(CLI::NonNegativeNumber);
  app.add_option("--largest-gemm", options->sweep.largest_gemm, "Largest M = N = K")->check(CLI::Range(256, 65536));
  app.add_flag("--no-power", options->no_power, "Leave the power readings out");
  return [=]() -> Status { return run(*options); };
}

}  // namespace forerun
