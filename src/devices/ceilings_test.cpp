#include "devices/ceilings.hpp"

#include <gtest/gtest.h>

#include "devices/architecture.hpp"
#include "devices/catalogue.hpp"

namespace forerun {
namespace {

const Catalogue& catalogue() {
  static const Catalogue kCatalogue = Catalogue::load().value();
  return kCatalogue;
}

TEST(Ceilings, EveryDeviceHasThoseOfItsMemoryAndL2EachFasterThanTheOneBelow) {
  for (const Device& device : catalogue().devices()) {
    const auto ceilings = bandwidth_ceilings(device);
    ASSERT_GE(ceilings.size(), 2U) << device.id;
    EXPECT_EQ(ceilings[0].level, "memory");
    EXPECT_EQ(ceilings[1].level, "L2");
    for (std::size_t i = 1; i < ceilings.size(); ++i)
      EXPECT_GT(ceilings[i].gb_per_s, ceilings[i - 1].gb_per_s) << device.id << " " << ceilings[i].level;
    const bool is_described = device.maker == "NVIDIA" || device.maker == "AMD";
    EXPECT_GE(ceilings.size(), is_described ? 3U : 2U) << device.id;
  }
}

TEST(Ceilings, AreThoseThatWereMeasuredWhereSomebodyDid) {
  struct Row {
    const char* id;
    double l2, l1;
    CeilingBasis basis;
  };
  for (const Row& row : {Row{"h200-sxm", 8483, 30253, CeilingBasis::Measured},
                         Row{"v100-sxm-16gb", 2142.8, 13230.4, CeilingBasis::Reported},
                         Row{"a100-sxm-40gb", 3877.6, 19287.3, CeilingBasis::Reported}}) {
    const auto ceilings = bandwidth_ceilings(catalogue().find(row.id).value());
    EXPECT_EQ(ceilings[1].gb_per_s, row.l2) << row.id;
    EXPECT_EQ(ceilings[2].gb_per_s, row.l1) << row.id;
    EXPECT_EQ(ceilings[1].basis, row.basis) << row.id;
  }
  // The same chip in another form, by its generation: within a tenth.
  const auto a100 = bandwidth_ceilings(catalogue().find("a100-pcie-80gb").value());
  EXPECT_NEAR(a100[1].gb_per_s, 3877.6, 388);
  EXPECT_EQ(a100[1].basis, CeilingBasis::Architecture);
}

TEST(Ceilings, OfASliceAreItsShare) {
  const auto card = bandwidth_ceilings(catalogue().find("a100-sxm-40gb").value());
  const auto slice = bandwidth_ceilings(catalogue().find("a100-sxm-40gb:3g.20gb").value());
  EXPECT_NEAR(slice[1].gb_per_s, card[1].gb_per_s / 2, 1);
  EXPECT_NEAR(slice[2].gb_per_s, card[2].gb_per_s * 42 / 108, 1);
}

TEST(Architectures, AreFoundByNameThenByComputeCapability) {
  Device device;
  device.architecture = "blackwell";
  device.compute_capability = 10.3;
  EXPECT_EQ(architecture_of(device).exponentials_per_clock, 32);
  device.compute_capability = 12.7;  // of no file: the generation's own
  EXPECT_EQ(architecture_of(device).tensor_operands, TensorOperands::Registers);
  device.architecture = "mine";
  device.compute_capability = 8.0;
  EXPECT_EQ(architecture_of(device).l2_partitions, 2);
  device.compute_capability.reset();
  EXPECT_EQ(architecture_of(device).process_nm, 0);
}

TEST(Architectures, RefuseMisspeltKeysAndFiguresNoChipHas) {
  const auto problem = [](const char* json) {
    const auto parsed = parse_architecture(json, "x.json");
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_EQ(problem(R"({"architecture": "x", "proces_nm": 5})"), "x.json: unknown key 'proces_nm'");
  EXPECT_NE(problem(R"({"architecture": "x", "process_nm": 5000})").find("process_nm"), std::string::npos);
  EXPECT_NE(problem(R"({"architecture": "x", "tensor_operands": "paper"})").find("paper"), std::string::npos);
  EXPECT_NE(problem(R"({"architecture": "x", "compute_capabilities": {"9,0": {}}})").find("9,0"), std::string::npos);
  EXPECT_NE(problem(R"({"architecture": "x", "compute_capabilities": {"9.0": {"lanes": 5}}})").find("lanes"),
            std::string::npos);
  EXPECT_NE(problem("[]"), "");
}

}  // namespace
}  // namespace forerun
