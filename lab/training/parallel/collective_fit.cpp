#include "training/parallel/collective_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/csv.hpp"
#include "devices/catalogue.hpp"
#include "store/import_format.hpp"
#include "training/coordinate_search.hpp"

namespace forerun {
namespace {

constexpr double kLarge = 1e6;        // bytes
constexpr double kCardShare = 0.71;   // Vidur's H100 between nodes: 35.6 GB/s of a card's 50
constexpr std::size_t kNumbers = 4;   // of a regime
constexpr double kWorthAThird = 0.9;  // a third protocol must lower the cost to this

using Key = std::tuple<std::string, std::size_t, double, double, double>;  // device, collective, nodes, ranks, bytes

std::size_t index_of(std::string_view name) {
  if (name == "alltoall") return std::size_t(Collective::AllToAll);
  if (name == "send_recv") return std::size_t(Collective::Send);
  const auto found = std::find(kCollectiveNames.begin(), kCollectiveNames.end(), name);
  return std::size_t(found - kCollectiveNames.begin());
}

Status read_table(const std::string& path, const std::function<Status(const CsvReader&)>& take) {
  if (!std::filesystem::exists(path)) return bad_input(path + ": not there; name the folder of public tables");
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) return ok();
    FORERUN_CHECK(take(csv));
  }
}

// The regimes as coordinates: logarithms of three numbers and the growth.
class RegimeSpace {
 public:
  struct Trial {
    double gain = 0, value = 0;
  };
  RegimeSpace(std::vector<const CollectiveRow*> rows, std::vector<double> numbers)
      : rows_(std::move(rows)), numbers_(std::move(numbers)), cost_(cost_of(numbers_)) {}
  [[nodiscard]] std::size_t count() const { return numbers_.size(); }
  [[nodiscard]] Trial try_step(std::size_t c, double size, bool is_up, int) const {
    std::vector<double> changed = numbers_;
    changed[c] += is_up ? size : -size;
    return {cost_ - cost_of(changed), changed[c]};
  }
  void apply(std::size_t c, Trial trial) {
    numbers_[c] = trial.value;
    cost_ -= trial.gain;
  }
  [[nodiscard]] double cost() const { return cost_; }
  [[nodiscard]] std::vector<Regime> regimes() const { return regimes_of(numbers_); }

 private:
  static std::vector<Regime> regimes_of(const std::vector<double>& n) {
    std::vector<Regime> list;
    for (std::size_t i = 0; i + kNumbers <= n.size(); i += kNumbers)
      list.push_back({std::exp(n[i]), std::exp(n[i + 1]), std::exp(n[i + 2]), n[i + 3]});
    return list;
  }
  [[nodiscard]] double cost_of(const std::vector<double>& numbers) const {
    const std::vector<Regime> regimes = regimes_of(numbers);
    double sum = 0;
    for (const CollectiveRow* row : rows_) {
      const Collective collective =
          row->collective == kEngineAllReduce ? Collective::AllReduce : Collective(row->collective);
      const double us = regimes_us(regimes, row->ranks, volume_of(collective, row->ranks, row->bytes));
      sum += (row->bytes >= kLarge ? 2 : 1) * std::abs(std::log(us / row->us));
    }
    return sum;
  }

  std::vector<const CollectiveRow*> rows_;
  std::vector<double> numbers_;
  double cost_;
};

std::vector<Regime> fit_cell(const std::vector<const CollectiveRow*>& rows) {
  double fastest = 0;  // GB/s
  for (const CollectiveRow* row : rows) {
    const Collective collective =
        row->collective == kEngineAllReduce ? Collective::AllReduce : Collective(row->collective);
    fastest = std::max(fastest, volume_of(collective, row->ranks, row->bytes) / row->us / 1e3);
  }
  constexpr std::array kSizes = {0.5, 0.2, 0.08, 0.03, 0.01};
  std::vector<Regime> best;
  double least = 0;
  for (const std::vector<double>& shares : {std::vector{0.1, 1.1}, std::vector{0.05, 1.0}, std::vector{0.1, 0.6, 1.1},
                                            std::vector{0.05, 0.3, 1.0}, std::vector{0.02, 0.5, 1.2}}) {
    std::vector<double> start;
    for (std::size_t i = 0; i < shares.size(); ++i)
      start.insert(start.end(),
                   {std::log(4 + 12.0 * double(i)), std::log(1 + double(i)), std::log(fastest * shares[i]), 0});
    RegimeSpace space(rows, start);
    descend(space, {.sizes = kSizes, .rounds = 60, .worth_a_round = 1e-4}, [](double, int, double) {});
    const double must = shares.size() > 2 && !best.empty() && best.size() == 2 ? kWorthAThird * least : least;
    if (best.empty() || space.cost() < must) {
      best = space.regimes();
      least = space.cost();
    }
  }
  return best;
}

}  // namespace

Result<std::vector<CollectiveRow>> load_collectives(const std::string& public_data) {
  std::map<Key, std::vector<double>> cells;
  const auto path = [&](const char* name) { return (std::filesystem::path(public_data) / name).string(); };
  const auto add = [&](std::string device, std::size_t collective, double nodes, std::optional<double> ranks,
                       std::optional<double> bytes, std::optional<double> ms) {
    if (!device.empty() && collective < kFittedCollectives && ranks && bytes && ms && *ms > 0 && *bytes > 0)
      cells[{std::move(device), collective, nodes, *ranks, *bytes}].push_back(*ms * 1e3);
  };
  FORERUN_CHECK(read_table(path("aic_nccl.csv.gz"), [&](const CsvReader& csv) {
    add(device_id_of(csv.field("system")), index_of(csv.field("op_name")), 1, csv.number("num_gpus"),
        csv.number("message_size"), csv.number("latency_ms"));
    return ok();
  }));
  FORERUN_CHECK(read_table(path("aic_custom_allreduce.csv.gz"), [&](const CsvReader& csv) {
    add(device_id_of(csv.field("system")), kEngineAllReduce, 1, csv.number("num_gpus"), csv.number("message_size"),
        csv.number("latency_ms"));
    return ok();
  }));
  FORERUN_CHECK(read_table(path("vidur_collectives.csv.gz"), [&](const CsvReader& csv) {
    if (csv.field("cluster").find("dgx") == std::string_view::npos) return ok();
    const auto ranks = csv.number("num_workers"), inside = csv.number("devices_per_node");
    const std::size_t collective = index_of(csv.field("collective"));
    const double nodes = ranks && inside && *inside > 0 ? *ranks / *inside : 1;
    if (nodes > 1 || collective == std::size_t(Collective::Send))
      add(device_id_of(csv.field("cluster")), collective, nodes, ranks, csv.number("size_bytes"),
          csv.number("median_ms"));
    return ok();
  }));
  std::vector<CollectiveRow> rows;
  for (auto& [key, times] : cells) {
    std::sort(times.begin(), times.end());
    const auto& [device, collective, nodes, ranks, bytes] = key;
    rows.push_back({device, collective, ranks, bytes,
                    collective == kEngineAllReduce ? times.front() : times[times.size() / 2], nodes});
  }
  return rows;
}

CollectiveConstants fit_collectives(const std::vector<CollectiveRow>& rows,
                                    const std::function<void(const std::string&)>& say) {
  CollectiveConstants constants;
  constants.card_share = kCardShare;
  const auto catalogue = Catalogue::load();
  std::map<std::string, std::map<std::size_t, std::vector<const CollectiveRow*>>> cells;
  for (const CollectiveRow& row : rows) {
    if (row.nodes <= 1) cells[row.device][row.collective].push_back(&row);
  }
  for (const auto& [id, collectives] : cells) {
    if (!catalogue || !collectives.contains(std::size_t(Collective::AllReduce))) continue;
    const auto device = catalogue->find(id);
    if (!device) continue;
    LinkFamily family;
    family.device = id;
    // RTX and L40S cards have no links; the catalogue's figure for them is PCIe's.
    const bool linked = device->interconnect.gb_per_s && device->interconnect.kind.starts_with("nvlink");
    family.link = linked ? "nvlink" : "pcie";
    family.link_gb_per_s =
        linked ? *device->interconnect.gb_per_s / 2 : device->interconnect.pcie_gb_per_s.value_or(32);
    family.most_ranks = 1;
    for (const auto& [collective, members] : collectives) {
      family.collectives[collective] = fit_cell(members);
      for (const CollectiveRow* row : members) {
        if (collective != std::size_t(Collective::Send))
          family.most_ranks = std::max(family.most_ranks, std::int64_t(row->ranks));
      }
      say(fmt::format("{} {}: {} rows, {} protocols", id, kCollectiveNames[collective], members.size(),
                      family.collectives[collective].size()));
    }
    constants.families.push_back(std::move(family));
  }
  return constants;
}

std::string to_json(const CollectiveConstants& constants) {
  nlohmann::ordered_json json;
  json["about"] =
      "Times of messages inside a node: per protocol a fixed time and one for each further rank in µs, the ring "
      "volume's "
      "rate in GB/s at four ranks and its growth with the ranks; fitted by `forerun-lab fit-collectives`.";
  json["source"] =
      "NCCL and engines' all-reduce: AIConfigurator (Apache-2.0); sends, and card_share from sends between two nodes: "
      "Vidur (MIT)";
  json["card_share"] = constants.card_share;
  for (const LinkFamily& family : constants.families) {
    nlohmann::ordered_json row;
    row["device"] = family.device;
    row["link"] = family.link;
    row["link_gb_per_s"] = family.link_gb_per_s;
    row["most_ranks"] = family.most_ranks;
    for (std::size_t c = 0; c < kFittedCollectives; ++c) {
      for (const Regime& r : family.collectives[c]) {
        const auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; };
        row[std::string(kCollectiveNames[c])].push_back(
            {rounded(r.fixed_us), rounded(r.hop_us), rounded(r.gb_per_s), rounded(r.growth)});
      }
    }
    json["families"].push_back(std::move(row));
  }
  return json.dump(1) + "\n";
}

}  // namespace forerun
