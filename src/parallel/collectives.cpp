#include "parallel/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/embedded.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_collectives();  // data/collectives

namespace {

using Json = nlohmann::json;

// gb_per_s is that of four ranks; measurements end at eight.
constexpr double kReferenceRanks = 4, kMostGrowth = 8;

CollectiveConstants read_constants() {
  CollectiveConstants constants;
  if (embedded_collectives().empty()) return constants;
  const Json json = Json::parse(embedded_collectives().front().bytes, nullptr, false);
  if (!json.is_object()) return constants;
  constants.card_share = json.value("card_share", constants.card_share);
  for (const Json& row : json.at("families")) {
    LinkFamily family;
    family.device = row.value("device", "");
    family.link = row.value("link", "");
    family.link_gb_per_s = row.value("link_gb_per_s", 1.0);
    family.most_ranks = row.value("most_ranks", std::int64_t{8});
    for (std::size_t c = 0; c < kFittedCollectives; ++c) {
      const auto regimes = row.find(std::string(kCollectiveNames[c]));
      if (regimes == row.end()) continue;
      for (const Json& r : *regimes)
        family.collectives[c].push_back(
            {r.at(0).get<double>(), r.at(1).get<double>(), r.at(2).get<double>(), r.at(3).get<double>()});
    }
    constants.families.push_back(std::move(family));
  }
  return constants;
}

double one_way_gb_per_s(const Device& device) {
  constexpr double kPcie4 = 32;
  return device.interconnect.gb_per_s ? *device.interconnect.gb_per_s / 2
                                      : device.interconnect.pcie_gb_per_s.value_or(kPcie4);
}

// Whether messages of these devices all pass one bottleneck (host memory): the rate falls with the ranks. That is their
// machine's, and says nothing about other devices.
bool shares_one_path(const LinkFamily& family) {
  constexpr double kLeastGrowth = -0.8;
  const auto& regimes = family.collectives[std::size_t(Collective::AllReduce)];
  const auto fastest = std::max_element(regimes.begin(), regimes.end(),
                                        [](const Regime& a, const Regime& b) { return a.gb_per_s < b.gb_per_s; });
  return fastest != regimes.end() && fastest->growth < kLeastGrowth;
}

// The device's own family, else the one of its kind of links whose rate is nearest.
const LinkFamily* nearest_family(const Device& device, bool linked, const CollectiveConstants& constants) {
  const LinkFamily* best = nullptr;
  double distance = 0;
  for (const LinkFamily& family : constants.families) {
    if (family.device == device.id) return &family;
    if ((family.link != "pcie") != linked || shares_one_path(family)) continue;
    const double d = std::abs(std::log(family.link_gb_per_s / one_way_gb_per_s(device)));
    if (best == nullptr || d < distance) {
      best = &family;
      distance = d;
    }
  }
  return best;
}

}  // namespace

const CollectiveConstants& shipped_collectives() {
  static const CollectiveConstants kConstants = read_constants();
  return kConstants;
}

double volume_of(Collective collective, double ranks, double bytes) {
  if (collective == Collective::Send) return bytes;
  const double share = (ranks - 1) / ranks;
  return collective == Collective::AllReduce ? 2 * share * bytes : share * bytes;
}

double regimes_us(std::span<const Regime> regimes, double ranks, double volume) {
  double least = 0;
  const double growing = std::min(ranks, kMostGrowth) / kReferenceRanks;
  for (const Regime& r : regimes) {
    const double us = r.fixed_us + r.hop_us * (ranks - 1) + volume / (r.gb_per_s * 1e3 * std::pow(growing, r.growth));
    if (least == 0 || us < least) least = us;
  }
  return least;
}

CollectiveModel::CollectiveModel(const Device& device, const Cluster& cluster, const CollectiveConstants& constants)
    : cluster_(cluster), card_share_(constants.card_share) {
  const bool linked = cluster.system.link != "pcie" && device.interconnect.gb_per_s.has_value();
  family_ = nearest_family(device, linked, constants);
  is_own_family_ = family_ != nullptr && family_->device == device.id;
  if (family_ != nullptr && !is_own_family_) scale_ = one_way_gb_per_s(device) / family_->link_gb_per_s;
}

Group CollectiveModel::group_of(std::int64_t ranks, std::int64_t stride) const {
  const std::int64_t domain = std::max(cluster_.system.gpus_per_node, cluster_.system.link_domain);
  const std::int64_t inside = std::clamp<std::int64_t>(domain / std::max<std::int64_t>(1, stride), 1, ranks);
  return {ranks, inside};
}

double CollectiveModel::inside_us(std::size_t fitted, double ranks, double volume) const {
  if (family_ == nullptr) return 0;
  const std::vector<Regime>& own = family_->collectives[fitted];
  if (!own.empty()) return regimes_us(own, ranks, volume / scale_);
  // A device whose sends were not measured: as fast as its all-gather of two.
  return regimes_us(family_->collectives[std::size_t(Collective::AllGather)], 2, volume / scale_);
}

double CollectiveModel::time_us(Collective collective, double bytes, const Group& group, Exchange how) const {
  if (group.ranks <= 1 || bytes <= 0) return 0;
  const double ranks = double(group.ranks), inside = double(group.inside), domains = double(group.domains());
  const auto fitted = std::size_t(collective);
  if (group.domains() <= 1) {
    const double library = inside_us(fitted, ranks, volume_of(collective, ranks, bytes));
    if (how != Exchange::Engine || collective != Collective::AllReduce || family_ == nullptr ||
        family_->collectives[kEngineAllReduce].empty())
      return library;
    return std::min(library, inside_us(kEngineAllReduce, ranks, volume_of(collective, ranks, bytes)));
  }
  // Across domains the inner part and the network work at the same time; the slower one decides.
  const Fabric fabric = cluster_.fabric.value_or(Fabric{"", "", "", 12.5, 5});
  const double cards = fabric.gb_per_s * double(std::max<std::int64_t>(1, cluster_.system.nics_per_node)) * card_share_;
  const double share = std::min(1.0, inside / double(cluster_.system.gpus_per_node));  // of the node's cards
  const double cards_bytes_per_us = cards * share * 1e3;
  double within = 0, between = 0, steps = 1;
  switch (collective) {
    case Collective::Send: between = bytes; break;
    case Collective::AllToAll:
      if (inside > 1) within = inside_us(fitted, inside, volume_of(collective, inside, bytes * inside / ranks));
      between = inside * bytes * (ranks - inside) / ranks;
      steps = std::log2(domains) + 1;
      break;
    case Collective::AllReduce:
      if (inside > 1) within = inside_us(fitted, inside, volume_of(collective, inside, bytes));
      between = volume_of(collective, domains, bytes);
      steps = 2 * std::min(domains - 1, std::log2(domains) + 1);
      break;
    default:
      if (inside > 1) within = inside_us(fitted, inside, volume_of(collective, inside, bytes));
      between = volume_of(collective, domains, bytes);
      steps = domains - 1;
      break;
  }
  return std::max(within, between / cards_bytes_per_us) + steps * fabric.latency_us;
}

std::string CollectiveModel::beyond_data(const Group& group) const {
  if (group.ranks <= 1) return "";
  if (group.domains() > 2)
    return fmt::format(
        "messages between {} nodes are computed from the cards' rate: two nodes are the most that were "
        "measured",
        group.domains());
  if (family_ != nullptr && group.inside > family_->most_ranks)
    return fmt::format("messages between {} devices of one link domain are extrapolated from {}", group.inside,
                       family_->most_ranks);
  if (!is_own_family_)
    return fmt::format("messages between devices are scaled from those of {} by the rate of the links",
                       family_ == nullptr ? "none" : family_->device);
  return "";
}

namespace {

double inside_machine_us(const Device& device, std::int64_t devices, Collective collective, double bytes,
                         Exchange how) {
  if (devices <= 1) return 0;
  Cluster cluster;
  cluster.system.gpus_per_node = cluster.system.link_domain = devices;
  return CollectiveModel(device, cluster).time_us(collective, bytes, {devices, devices}, how);
}

}  // namespace

double all_reduce_us(const Device& device, std::int64_t devices, double bytes, Exchange how) {
  return inside_machine_us(device, devices, Collective::AllReduce, bytes, how);
}

double send_us(const Device& device, double bytes) {
  return inside_machine_us(device, 2, Collective::Send, bytes, Exchange::Nccl);
}

}  // namespace forerun
