#include "parallel/collectives.hpp"

#include <gtest/gtest.h>

#include "devices/catalogue.hpp"

namespace forerun {
namespace {

Device device(const char* id) { return *Catalogue::load()->find(id); }
Cluster cluster_of(const char* system, std::int64_t nodes) {
  Cluster cluster;
  cluster.system = *find_system(system);
  cluster.nodes = nodes;
  cluster.fabric = *find_fabric(cluster.system.fabric);
  return cluster;
}

TEST(Collectives, VolumesAreThoseOfTheRingAlgorithms) {
  EXPECT_DOUBLE_EQ(volume_of(Collective::AllReduce, 8, 800), 1400);
  EXPECT_DOUBLE_EQ(volume_of(Collective::AllGather, 8, 800), 700);
  EXPECT_DOUBLE_EQ(volume_of(Collective::ReduceScatter, 8, 800), 700);
  EXPECT_DOUBLE_EQ(volume_of(Collective::AllToAll, 4, 800), 600);
  EXPECT_DOUBLE_EQ(volume_of(Collective::Send, 2, 800), 800);
}
TEST(Collectives, AnAllReduceSendsWhatItsTwoHalvesSend) {
  for (const double ranks : {2.0, 8.0, 512.0}) {
    EXPECT_DOUBLE_EQ(volume_of(Collective::AllReduce, ranks, 1e6),
                     volume_of(Collective::ReduceScatter, ranks, 1e6) + volume_of(Collective::AllGather, ranks, 1e6));
  }
}
TEST(Collectives, TimeGrowsWithBytesAndIsNothingForOneRank) {
  const CollectiveModel model(device("h100-sxm"), cluster_of("dgx-h100", 2));
  for (int c = 0; c < int(Collective::Count); ++c) {
    EXPECT_EQ(model.time_us(Collective(c), 1e6, {1, 1}), 0);
    double before = 0;
    for (const double bytes : {1e3, 1e5, 1e7, 1e9}) {
      const double us = model.time_us(Collective(c), bytes, {8, 8});
      EXPECT_GT(us, before) << c;
      before = us;
    }
  }
}
TEST(Collectives, TheNetworkIsSlowerThanTheLinksOfANode) {
  const CollectiveModel model(device("h100-sxm"), cluster_of("dgx-h100", 16));
  EXPECT_LT(model.time_us(Collective::AllReduce, 1e9, {8, 8}), model.time_us(Collective::AllReduce, 1e9, {16, 8}));
  EXPECT_LT(model.time_us(Collective::AllReduce, 1e9, {16, 8}), model.time_us(Collective::AllReduce, 1e9, {16, 1}));
}
TEST(Collectives, GroupsLieInsideNodesWhileTheirRanksAreNear) {
  const CollectiveModel model(device("h100-sxm"), cluster_of("dgx-h100", 4));
  EXPECT_EQ(model.group_of(8, 1).domains(), 1);
  EXPECT_EQ(model.group_of(16, 1).domains(), 2);
  EXPECT_EQ(model.group_of(4, 8).domains(), 4);
  EXPECT_EQ(model.group_of(8, 4).inside, 2);
}
TEST(Collectives, SayWhenTheyGoBeyondTheMeasurements) {
  const CollectiveModel measured(device("h100-sxm"), cluster_of("dgx-h100", 64));
  EXPECT_EQ(measured.beyond_data({8, 8}), "");
  EXPECT_NE(measured.beyond_data({512, 8}), "");
  const CollectiveModel scaled(device("v100-sxm-16gb"), cluster_of("p3.16xlarge", 1));
  EXPECT_NE(scaled.beyond_data({8, 8}), "");
}
TEST(Collectives, EnginesReduceShortMessagesFaster) {
  const Device h100 = device("h100-sxm");
  EXPECT_LT(all_reduce_us(h100, 8, 16384, Exchange::Engine), all_reduce_us(h100, 8, 16384));
  EXPECT_EQ(all_reduce_us(h100, 1, 1e6), 0);
  EXPECT_LT(send_us(h100, 1e6), send_us(h100, 1e8));
}

TEST(Systems, NameKnownDevicesAndFabrics) {
  const auto catalogue = Catalogue::load();
  ASSERT_TRUE(catalogue);
  EXPECT_GE(all_systems().size(), 20U);
  for (const System& system : all_systems()) {
    EXPECT_TRUE(catalogue->find(system.device)) << system.id;
    EXPECT_TRUE(find_fabric(system.fabric)) << system.id;
    EXPECT_GT(system.gpus_per_node, 0) << system.id;
    EXPECT_GE(system.link_domain, system.gpus_per_node) << system.id;
    EXPECT_GT(system.most_nodes, 0) << system.id;
  }
  for (const Fabric& fabric : all_fabrics()) {
    EXPECT_GT(fabric.gb_per_s, 0) << fabric.id;
    EXPECT_GT(fabric.latency_us, 0) << fabric.id;
  }
}
TEST(Systems, UnknownNamesAreRefusedWithTheKnownOnes) {
  const auto found = find_system("dgx-9000");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("dgx-h100"), std::string::npos);
}

}  // namespace
}  // namespace forerun
