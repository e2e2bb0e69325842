#include "predictors/reference_host.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

TEST(ReferenceHost, IsStated) {
  EXPECT_GT(reference_host().probe_us, 0);
  for (const double time : reference_host().time) {
    EXPECT_GT(time, 0.3);
    EXPECT_LT(time, 1);
  }
  EXPECT_EQ(reference_counted(false).counter_ms, 0);
}

TEST(ReferenceHost, IsFoundBehindAPassThatWaitsForIt) {
  for (const double host_ms : {4.0, 2.0, 1.0})
    EXPECT_NEAR(host_ms_behind(eager_ms(1, host_ms), 1, 3), host_ms, 1e-9) << host_ms;
}

TEST(ReferenceHost, IsTheAnalyticOneWhereTheDeviceDecides) {
  EXPECT_NEAR(host_ms_behind(100, 100, 2), 2, 1e-9);
  EXPECT_NEAR(host_ms_behind(98, 100, 2), 2, 1e-9) << "a pass shorter than its kernels";
  EXPECT_LT(host_ms_behind(105, 100, 2), 10) << "5 % of the kernels' error are no host";
  EXPECT_LE(host_ms_behind(100, 100, 90), 50) << "the pass shows that it is no longer";
}

TEST(ReferenceHost, ChangesSmoothlyWithThePass) {
  double before = host_ms_behind(100, 100, 5);
  for (double eager = 100.1; eager < 140; eager += 0.1) {
    const double host_ms = host_ms_behind(eager, 100, 5);
    EXPECT_GE(host_ms, before - 1e-9) << eager;
    EXPECT_LT(eager_ms(100, host_ms) / eager_ms(100, before), 1.02) << eager;
    before = host_ms;
  }
}

}  // namespace
}  // namespace forerun
