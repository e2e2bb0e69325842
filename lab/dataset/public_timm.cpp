// timm's image networks by name, their graphs exported anew (measuring/networks/export_timm.py). Eager PyTorch at the
// largest batch that fitted, so that kernels decide. Precision is called "amp" there; times show norms in 16 bits, too.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "base/archive.hpp"
#include "base/csv.hpp"
#include "dataset/public_networks.hpp"
#include "readers/onnx/onnx_reader.hpp"
#include "store/import_format.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

constexpr double kSameMacs = 0.06,
                 kSameParameters = 0.03;  // as the table counts them; some rows are of networks folded for inference
constexpr double kRoundedGmacs = 0.006, kRoundedMillions = 0.006;

struct Known {
  std::shared_ptr<const Network> network;
  double gmacs = 0, parameters_m = 0;
};

bool is_same(const Known& known, const CsvReader& csv) {
  const double gmacs = csv.number("gmacs").value_or(0), parameters_m = csv.number("params_m").value_or(0);
  return std::abs(known.gmacs - gmacs) <= kRoundedGmacs + kSameMacs * gmacs &&
         std::abs(known.parameters_m - parameters_m) <= kRoundedMillions + kSameParameters * parameters_m;
}

}  // namespace

Status load_timm_networks(const std::string& folder, const PublicNetworkOptions& options, std::vector<Example>& out) {
  const std::string path = (fs::path(folder) / "timm_throughput.csv.gz").string();
  if (!fs::exists(path) || !fs::exists(options.timm_graphs)) return ok();
  std::map<std::string, Known> graphs;  // by "name_size"
  Binding one;
  one.batch = 1;
  FORERUN_CHECK(visit_tar(options.timm_graphs, [&](TarMember member) -> Status {
    const fs::path file(member.name);
    if (file.extension() != ".onnx") return ok();
    Known known;
    FORERUN_TRY(known.network, read_onnx(member.bytes, file.filename().string(), {}));
    FORERUN_TRY(const Graph graph, analyze(*known.network, one));
    const Totals totals = sum_totals(graph);
    known.gmacs = double(totals.macs) / 1e9;
    known.parameters_m = double(totals.parameters) / 1e6;
    graphs.emplace(file.stem().string(), std::move(known));
    return ok();
  }));
  std::map<std::string, std::pair<std::string, Example>> newest;  // with its version of PyTorch, by device and network
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) break;
    const std::string device = device_id_of(csv.field("device")), torch(csv.field("torch"));
    if (csv.field("mode") != "infer" || csv.field("precision") != "amp" || csv.field("layout") != "nchw" ||
        csv.field("compiled") != (options.compiled ? "1" : "0") || !device.starts_with("rtx"))
      continue;
    const std::string_view model = csv.field("model");
    const std::string name(model.substr(0, model.find('.')));
    const auto found = graphs.find(fmt::format("{}_{}", name, csv.field("img_size")));
    const auto step_ms = csv.number("step_time_ms"), batch = csv.number("batch_size");
    if (found == graphs.end() || !step_ms || *step_ms <= 0 || !batch || *batch < 1 || !is_same(found->second, csv))
      continue;
    Example example;
    example.domain = RunKind::VisionInference;
    example.device = device;
    example.network = found->first;
    example.family = example.campaign = "timm";
    example.row_id = fmt::format("{}/{}/{}", device, found->first, *batch);
    example.net = found->second.network;
    example.workload.binding.batch = std::int64_t(*batch);
    example.workload.precision = Precision::Fp16;
    example.metrics.emplace(options.compiled ? kLatencyCompiled : kLatencyEager, *step_ms);
    auto& kept = newest[device + "/" + found->first];
    if (kept.first < torch) kept = {torch, std::move(example)};
  }
  for (auto& [key, kept] : newest) out.push_back(std::move(kept.second));
  return ok();
}

}  // namespace forerun
