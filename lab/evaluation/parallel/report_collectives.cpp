// Errors of messages between devices by collective, number of ranks and size.
#include <fmt/format.h>

#include "devices/catalogue.hpp"
#include "evaluation/parallel/parallel_report.hpp"
#include "evaluation/roofline/error_table.hpp"
#include "training/parallel/collective_fit.hpp"

namespace forerun {
namespace {

std::string size_class(double bytes) {
  return bytes <= 65536      ? "up to 64 KB"
         : bytes <= 1048576  ? "64 KB – 1 MB"
         : bytes <= 16777216 ? "1 – 16 MB"
                             : "above 16 MB";
}

}  // namespace

Result<ReportSection> report_collectives(const std::string& public_data) {
  FORERUN_TRY(const std::vector<CollectiveRow> rows, load_collectives(public_data));
  FORERUN_TRY(const Catalogue catalogue, Catalogue::load());
  ErrorTable summary({"where", "size"}), by_device({"device", "collective", "ranks", "size"}),
      by_node({"device", "collective", "nodes x ranks of each", "size"});
  for (const CollectiveRow& row : rows) {
    const auto device = catalogue.find(row.device);
    if (!device) continue;
    const bool engine = row.collective == kEngineAllReduce;
    const Collective collective = engine ? Collective::AllReduce : Collective(row.collective);
    Cluster cluster;
    const auto inside = std::int64_t(row.ranks / row.nodes);
    cluster.system.gpus_per_node = cluster.system.link_domain = inside;
    cluster.system.link = device->interconnect.gb_per_s ? "nvlink" : "pcie";
    cluster.nodes = std::int64_t(row.nodes);
    // Vidur's clusters: cards of 400 Gbit/s for the H100, one for each device; for the A100 one card a node, which its
    // all-reduce of 2 x 8 takes, at the rate that its sends reach at card_share.
    cluster.system.nics_per_node = row.device == "h100-sxm" ? inside : 1;
    cluster.fabric = Fabric{"", "", "", row.device == "h100-sxm" ? 50.0 : 11.3, 15};
    const CollectiveModel model(*device, cluster);
    const Group group{std::int64_t(row.ranks), inside};
    const double us = model.time_us(collective, row.bytes, group, engine ? Exchange::Engine : Exchange::Nccl);
    const std::string name(kCollectiveNames[row.collective]);
    const std::string size = size_class(row.bytes);
    const std::string where = row.nodes > 1 ? "between two nodes" : engine ? "engines, inside a node" : "inside a node";
    summary.add({where, row.bytes > 1048576 ? "above 1 MB" : "up to 1 MB"}, us, row.us);
    if (row.nodes > 1)
      by_node.add({row.device, name, fmt::format("{} x {}", cluster.nodes, inside), size}, us, row.us);
    else
      by_device.add({row.device, name, std::to_string(group.ranks), size}, us, row.us);
  }
  ReportSection section;
  section.id = "collectives";
  section.heading = "Several devices: messages";
  section.text =
      "NCCL's collectives and serving engines' all-reduce inside one machine (AIConfigurator, Apache-2.0; two, four "
      "and "
      "eight devices) and Vidur's all-reduce and sends (MIT). The constants of data/collectives were fitted by "
      "`forerun-lab fit-collectives` on the rows inside a node, so these are errors of the fit, two or three protocols "
      "of "
      "four numbers for each device and collective; between nodes one number was fitted, the share of a card's rate, "
      "on "
      "the H100's sends; the A100 cluster's unknown cards are taken as one a node, as its all-reduce of 2 x 8 shows, "
      "at "
      "the rate of its sends. Its all-reduce between nodes jumps between two levels from one size to the next, which "
      "no smooth formula follows.";
  section.tables.push_back(summary.table("All of them"));
  section.tables.push_back(by_device.table("Inside a node"));
  section.tables.push_back(by_node.table("Between two nodes"));
  return section;
}

}  // namespace forerun
