#include "training/roofline/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace forerun {
namespace {

// Element-wise operators that run at `share` of the memory rate after `launch_us`.
MeasuredRows copies(const Catalogue& catalogue, double share, double launch_us) {
  MeasuredRows rows;
  for (const char* id : {"h100-sxm", "v100-pcie-32gb"}) {
    const Device* device = &rows.devices.emplace(id, catalogue.find(id).value()).first->second;
    for (double elements = 1 << 14; elements < 1 << 30; elements *= 4) {
      Kernel k;
      k.kernel_class = KernelClass::Elementwise;
      k.output_elements = elements;
      k.read_bytes = k.write_bytes = elements * 4;
      const double us = launch_us * 1900 / device->clock_boost_mhz.value_or(1900) +
                        8 * elements / (share * device->memory_bandwidth_gb_per_s * 1e3);
      rows.operators.push_back({{k}, device, us, 0, 1, "copy", "test", Precision::Fp32});
    }
  }
  return rows;
}

double mean_error(const MeasuredRows& rows, const RooflineConstants& constants) {
  double sum = 0;
  for (const OperatorRow& row : rows.operators) sum += std::abs(std::log(time_of(row, constants) / row.latency_us));
  return sum / double(rows.operators.size());
}

TEST(RooflineFit, FindsTheRatesBehindMeasurements) {
  const Catalogue catalogue = Catalogue::load().value();
  const MeasuredRows rows = copies(catalogue, 0.5, 6);
  const RooflineConstants fitted = RooflineFit(rows, "").run(4, [](const std::string&) {});
  RooflineConstants start;
  start.classes.resize(std::size_t(KernelClass::Count));
  EXPECT_LT(mean_error(rows, fitted), 0.12);
  EXPECT_LT(mean_error(rows, fitted), mean_error(rows, start) / 2);
}

TEST(RooflineFit, DoesNotLookAtTheDeviceLeftOut) {
  const Catalogue catalogue = Catalogue::load().value();
  MeasuredRows rows = copies(catalogue, 0.5, 6);
  const RooflineConstants before = RooflineFit(rows, "v100-pcie-32gb").run(1, [](const std::string&) {});
  for (OperatorRow& row : rows.operators) {
    if (row.device->id == "v100-pcie-32gb") row.latency_us *= 10;
  }
  const RooflineConstants after = RooflineFit(rows, "v100-pcie-32gb").run(1, [](const std::string&) {});
  EXPECT_EQ(mean_error(rows, before), mean_error(rows, after));
}

}  // namespace
}  // namespace forerun
