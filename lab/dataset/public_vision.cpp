// HELP's image networks: NAS-Bench-201 (32 x 32), FBNet's space for CIFAR-100 (32 x 32) and Once-for-All's MobileNetV3
// (width 1.2). Eager PyTorch in fp32, timed from the host: small batches wait for it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/csv.hpp"
#include "dataset/public_networks.hpp"
#include "dataset/splits.hpp"
#include "readers/spaces/spaces_reader.hpp"
#include "store/import_format.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;
using Ints = std::vector<std::int64_t>;

// The description of one row's network.
using Describe = Json (*)(const std::vector<std::string>& fields);

Json nasbench201(const std::vector<std::string>& fields) {
  return {{"model_type", "nasbench201"}, {"cell", fields[0]}};
}

Json fbnet(const std::vector<std::string>& fields) {
  Ints::size_type from = 0;
  Json blocks = Json::array();
  while (from <= fields[0].size()) {
    const std::size_t end = std::min(fields[0].find(' ', from), fields[0].size());
    blocks.push_back(fields[0].substr(from, end - from));
    from = end + 1;
  }
  return {{"model_type", "fbnet"}, {"blocks", std::move(blocks)}};
}

Json once_for_all(const std::vector<std::string>& fields) {
  return {{"model_type", "once-for-all"},
          {"kernel_sizes", parse_numbers(fields[0])},
          {"expand", parse_numbers(fields[1])},
          {"depth", parse_numbers(fields[2])},
          {"resolution", parse_numbers(fields[3]).at(0)}};
}

struct Space {
  std::string_view file, family;
  std::array<std::string_view, 4> fields;  // columns that describe the architecture
  Describe describe;
};
constexpr std::array<Space, 3> kSpaces = {
    {{"help_nasbench201.csv.gz", "nasbench201", {"arch_str", "", "", ""}, nasbench201},
     {"help_fbnet.csv.gz", "fbnet", {"arch_str", "", "", ""}, fbnet},
     {"help_ofa.csv.gz", "once-for-all", {"kernel_sizes", "expand", "depth", "resolution"}, once_for_all}}};

// Columns of GPUs without their batch. Those of phones, accelerators and processors have none.
constexpr std::array<std::string_view, 7> kGpus = {"1080ti",  "2080ti",   "titan_rtx", "titanx",
                                                   "titanxp", "titan_xp", "v100"};

std::string_view gpu_of(std::string_view column) {
  const std::string_view device = column.substr(0, column.rfind('_'));
  return std::find(kGpus.begin(), kGpus.end(), device) != kGpus.end() ? device : std::string_view();
}

}  // namespace

std::int64_t batch_of_column(std::string_view column) {
  return gpu_of(column).empty() ? 1 : parse_numbers(column.substr(column.rfind('_') + 1)).at(0);
}

Status visit_search_spaces(const std::string& folder, std::size_t architectures,
                           const std::vector<std::string>& columns,
                           const std::function<Status(const SpaceRow&)>& visit) {
  for (const Space& space : kSpaces) {
    const std::string path = (fs::path(folder) / space.file).string();
    if (!fs::exists(path)) continue;
    std::size_t rows = 0;
    for (const bool counting : {true, false}) {
      FORERUN_TRY(CsvReader csv, CsvReader::open(path));
      while (true) {
        FORERUN_TRY(const bool more, csv.next());
        if (!more) break;
        if (counting) {
          ++rows;
          continue;
        }
        SpaceRow row;
        row.name = fmt::format("{}-{}", space.family, csv.field("idx"));
        row.family = std::string(space.family);
        if (!is_chosen(row.name, architectures, rows)) continue;
        std::vector<std::string> fields;
        for (const std::string_view column : space.fields) {
          if (!column.empty()) fields.emplace_back(csv.field(column));
        }
        FORERUN_TRY(row.network, make_candidate(space.describe(fields), row.name));
        for (const std::string& column : columns.empty() ? csv.columns() : columns) {
          const auto latency = csv.column(column) ? csv.number(column) : std::nullopt;
          if (latency && *latency > 0) row.latency_ms.emplace_back(column, *latency);
        }
        FORERUN_CHECK(visit(row));
      }
    }
  }
  return ok();
}

Status load_vision_networks(const std::string& folder, const PublicNetworkOptions& options, std::vector<Example>& out) {
  return visit_search_spaces(folder, options.architectures, {}, [&](const SpaceRow& row) -> Status {
    for (const auto& [column, latency_ms] : row.latency_ms) {
      const std::string_view gpu = gpu_of(column);
      if (gpu.empty()) continue;
      Example example;
      example.domain = RunKind::VisionInference;
      example.device = device_id_of(gpu);
      example.network = row.name;
      example.family = row.family;
      example.campaign = "help-" + row.family;
      const std::int64_t batch = batch_of_column(column);
      example.row_id = fmt::format("{}/{}/{}", example.device, row.name, batch);
      example.net = row.network;
      example.workload.binding.batch = batch;
      example.metrics.emplace(kLatencyEager, latency_ms);
      out.push_back(std::move(example));
    }
    return ok();
  });
}

}  // namespace forerun
