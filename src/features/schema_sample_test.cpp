// The hashes of feature schemas: the same wherever they are computed, others once an encoder computes anything else.
#include "features/schema_sample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "features/kernel_encoding.hpp"
#include "features/kernel_facts.hpp"
#include "features/transfer_facts.hpp"
#include "features/value_hash.hpp"

namespace forerun {
namespace {

std::uint64_t hash_of(double value) {
  ValueHash hash;
  hash.add(value);
  return hash.value();
}

TEST(ValueHash, IgnoresTheLastDigitsOfFractions) {
  for (int below = 1; below <= 10; ++below) {
    for (int above = 1; above <= 4 * below; ++above) {
      const auto exact = float(above) / float(below);
      EXPECT_EQ(hash_of(exact), hash_of(std::nextafter(exact, 100.0F))) << above << "/" << below;
      EXPECT_EQ(hash_of(exact), hash_of(std::nextafter(exact, 0.0F))) << above << "/" << below;
      EXPECT_EQ(hash_of(-exact), hash_of(std::nextafter(-exact, 0.0F))) << above << "/" << below;
    }
  }
  EXPECT_EQ(hash_of(0.0), hash_of(-1e-9));
}

TEST(ValueHash, SeesAThousandthAndTheSign) {
  for (const double value : {1e-5, 0.5, 1.0, 3.14, 1e4, 1e12}) {
    EXPECT_NE(hash_of(value), hash_of(1.001 * value)) << value;
    EXPECT_NE(hash_of(value), hash_of(-value)) << value;
  }
  EXPECT_NE(hash_of(0), hash_of(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_NE(hash_of(1e300), hash_of(-1e300));  // infinite as floats
}

TEST(SchemaSample, ItsGraphsAreUnderstoodToTheLastOperator) {
  for (const SampleRun& run : schema_sample().runs) {
    EXPECT_TRUE(run.graph->warnings.empty()) << run.name << ": " << run.graph->warnings.front();
    EXPECT_EQ(run.totals.coverage, 1) << run.name;
    EXPECT_GT(run.kernels.size(), 20U) << run.name;
  }
}

TEST(SchemaSample, HasEveryDeviceAndEveryClassStageAndArithmetic) {
  const SchemaSample& sample = schema_sample();
  std::set<std::size_t> devices;
  std::set<KernelClass> classes;
  std::set<Stage> stages;
  std::set<Math> maths;
  const auto add = [&](const Kernel& kernel) {
    classes.insert(kernel.kernel_class);
    stages.insert(kernel.stage);
    maths.insert(kernel.math);
  };
  for (const SampleCase& one : sample.cases) {
    devices.insert(one.device);
    for (const Kernel& kernel : sample.runs[one.run].kernels) add(kernel);
  }
  EXPECT_EQ(devices.size(), sample.devices.size());
  EXPECT_EQ(classes.size() + 1, std::size_t(KernelClass::Count));  // no operator of the graphs is of class Other
  EXPECT_EQ(stages.size(), 3U);
  for (const Kernel& kernel : sample.kernels) add(kernel);
  EXPECT_EQ(classes.size(), std::size_t(KernelClass::Count));
  EXPECT_EQ(maths.size(), std::size_t(Math::Count));
}

TEST(FeatureSchemas, AreTheSameWhenTheSampleIsMadeAgain) {
  const SchemaSample again = make_schema_sample();
  EXPECT_EQ(kernel_facts_schema(again), kernel_facts_schema());
  EXPECT_EQ(transfer_facts_schema(again), transfer_facts_schema());
  EXPECT_EQ(kernel_schema(again), kernel_schema());
}

// A figure that an encoder reads and takes otherwise is, to the hash, a formula that changed.
TEST(FeatureSchemas, SeeEveryFigureOfADevice) {
  struct Change {
    const char* what;
    std::function<void(Device&)> apply;
    bool facts, transfer, network;  // which schema reads the figure
  };
  const std::vector<Change> changes = {
      {"bandwidth", [](Device& d) { d.memory_bandwidth_gb_per_s *= 1.01; }, true, true, true},
      {"fp32", [](Device& d) { d.peak_tflops["fp32"] *= 1.01; }, true, true, true},
      {"multiprocessors", [](Device& d) { d.sm_count += 1; }, true, true, true},
      {"L2", [](Device& d) { *d.l2_mib *= 1.01; }, true, true, true},
      {"clock", [](Device& d) { *d.clock_boost_mhz *= 1.01; }, true, true, true},
      {"shared memory", [](Device& d) { *d.shared_memory_kib_per_sm *= 1.01; }, true, false, true},
      {"power limit", [](Device& d) { d.power_limit_w *= 0.5; }, false, true, true},
      {"memory", [](Device& d) { d.memory_gib *= 1.01; }, false, false, true}};
  for (const Change& change : changes) {
    SchemaSample sample = make_schema_sample();
    for (Device& device : sample.devices) change.apply(device);
    EXPECT_EQ(kernel_facts_schema(sample) != kernel_facts_schema(), change.facts) << change.what;
    EXPECT_EQ(transfer_facts_schema(sample) != transfer_facts_schema(), change.transfer) << change.what;
    EXPECT_EQ(kernel_schema(sample) != kernel_schema(), change.network) << change.what;
  }
}

TEST(FeatureSchemas, SeeOneKernelOfOneRun) {
  SchemaSample sample = make_schema_sample();
  sample.runs[4].kernels[7].read_bytes *= 1.01;
  EXPECT_NE(kernel_facts_schema(sample), kernel_facts_schema());
  EXPECT_NE(transfer_facts_schema(sample), transfer_facts_schema());
  EXPECT_NE(kernel_schema(sample), kernel_schema());
}

TEST(FeatureSchemas, SeeTheConstantsOfPhysicalTimes) {
  // All but those of short measuring loops and of how libraries tile, which no network's facts depend on.
  // clang-format off
  using Constant = double ProductConstants::*;
  using P = ProductConstants;
  const std::vector<std::pair<const char*, Constant>> constants = {
      {"tensor_share", &P::tensor_share}, {"plain_share", &P::plain_share}, {"memory_share", &P::memory_share},
      {"better_memory_share", &P::better_memory_share}, {"graphics_clock", &P::graphics_clock},
      {"l2_bytes_per_clock", &P::l2_bytes_per_clock}, {"split_l2", &P::split_l2}, {"sharpness", &P::sharpness},
      {"launch_us", &P::launch_us}, {"intel_launch_us", &P::intel_launch_us},
      {"step_gap_us", &P::step_gap_us}, {"tensor_fill", &P::tensor_fill}, {"tile_us", &P::tile_us},
      {"tile_of_16384_us", &P::tile_of_16384_us}, {"stage_us", &P::stage_us}, {"tf32_start_us", &P::tf32_start_us},
      {"unaligned_per_clock", &P::unaligned_per_clock}, {"serial_cycles", &P::serial_cycles},
      {"idle_in_last", &P::idle_in_last}, {"split_us", &P::split_us}, {"plain_fill", &P::plain_fill},
      {"plain_round_us", &P::plain_round_us}, {"last_wave", &P::last_wave}, {"exposed_cycles", &P::exposed_cycles},
      {"exposed_small", &P::exposed_small}, {"cycles_of_4_rows", &P::cycles_of_4_rows},
      {"cycles_of_16_rows", &P::cycles_of_16_rows}, {"wide_round_us", &P::wide_round_us}, {"read_again", &P::read_again},
      {"deep_row", &P::deep_row}, {"plain_watts", &P::plain_watts}, {"tensor_watts", &P::tensor_watts}};
  // clang-format on
  for (const auto& [name, constant] : constants) {
    ProductConstants changed = kProducts;
    changed.*constant *= 1.05;
    EXPECT_NE(transfer_facts_schema(schema_sample(), changed).hash, transfer_facts_schema().hash) << name;
  }
}

}  // namespace
}  // namespace forerun
