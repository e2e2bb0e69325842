#include "profiler/sweep.hpp"

#include <gtest/gtest.h>

#include <fstream>

namespace forerun {
namespace {

constexpr double kMib = 1 << 20;

// The sweeps that were recorded on an H200 (data/measurements/h200-characterization).
std::vector<BandwidthPoint> recorded(const std::string& name) {
  std::ifstream file(std::string(FORERUN_SOURCE_DIR) + "/data/measurements/h200-characterization/" + name);
  std::vector<BandwidthPoint> points;
  std::string header;
  std::getline(file, header);
  BandwidthPoint point;
  for (char comma = 0; file >> point.working_set_bytes >> comma >> point.gb_per_s;) points.push_back(point);
  return points;
}

Characterization recorded_h200() {
  Characterization result;
  result.l2_bytes = 60 * kMib;
  result.shared_sweep = recorded("shared_sweep.csv");
  result.private_sweep = recorded("private_sweep.csv");
  result.copy_gb_per_s = 4283.6;
  return result;
}

TEST(Plateau, IsTheWidestLevelStretch) {
  const auto plateau = find_plateau({{1, 100}, {2, 50}, {4, 51}, {8, 49}, {16, 50}, {32, 10}}, 0, 100, 0.1);
  ASSERT_TRUE(plateau);
  EXPECT_EQ(plateau->from_bytes, 2);
  EXPECT_EQ(plateau->to_bytes, 16);
  EXPECT_EQ(plateau->points, 4);
  EXPECT_DOUBLE_EQ(plateau->gb_per_s, 50);
}

TEST(Plateau, DoesNotNeedSortedPointsAndLeavesOutWhatWasNotMeasured) {
  const auto plateau = find_plateau({{8, 49}, {2, 50}, {4, 0}, {16, 50}}, 0, 100, 0.1);
  ASSERT_TRUE(plateau);
  EXPECT_EQ(plateau->points, 3);
}

TEST(Plateau, OfNothingIsNothing) {
  EXPECT_FALSE(find_plateau({}, 0, 1e12));
  EXPECT_FALSE(find_plateau({{1, 5}}, 10, 20)) << "no point lies in the range";
  EXPECT_FALSE(memory_bandwidth_gb_per_s({}));
  EXPECT_FALSE(l2_bandwidth_gb_per_s({}));
  EXPECT_FALSE(l1_bandwidth_gb_per_s({}));
}

TEST(RecordedSweep, MemoryIsTheLevelFarBeyondL2) {
  const auto bandwidth = memory_bandwidth_gb_per_s(recorded_h200());
  ASSERT_TRUE(bandwidth);
  EXPECT_GT(*bandwidth, 4600);
  EXPECT_LT(*bandwidth, 4800) << "the data sheet's rate is a ceiling of the ceiling";
}

TEST(RecordedSweep, L2LeavesOutMergedRequestsOfSmallSets) {
  const auto bandwidth = l2_bandwidth_gb_per_s(recorded_h200());
  ASSERT_TRUE(bandwidth);
  EXPECT_GT(*bandwidth, 8000);
  EXPECT_LT(*bandwidth, 9600) << "half a megabyte reads at 14577 GB/s, which no L2 slice delivers";
}

TEST(RecordedSweep, L1IsTheFastestStretchOfPrivateBuffers) {
  const auto bandwidth = l1_bandwidth_gb_per_s(recorded_h200());
  ASSERT_TRUE(bandwidth);
  EXPECT_NEAR(*bandwidth, 30250, 400) << "132 multiprocessors, 128 bytes a cycle at 1.98 GHz would be 33450";
}

}  // namespace
}  // namespace forerun
