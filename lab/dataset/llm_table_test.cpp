#include "dataset/llm_table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "analysis/analyze.hpp"
#include "readers/networks.hpp"

namespace forerun {
namespace {

float value_of(const std::vector<float>& row, std::string_view name) {
  const auto& columns = llm_table_schema().columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return row[i];
  }
  ADD_FAILURE() << "no column " << name;
  return 0;
}

TEST(LlmTable, HasFourteenNetworkAndTwentyDeviceColumnsWithUnits) {
  const TableSchema& schema = llm_table_schema();
  EXPECT_EQ(schema.columns.size(), kLlmNetworkColumns + kLlmDeviceColumns);
  std::set<std::string> names;
  for (const FeatureColumn& column : schema.columns) {
    EXPECT_FALSE(column.unit.empty()) << column.name;
    EXPECT_TRUE(names.insert(column.name).second) << column.name << " twice";
  }
}

TEST(LlmTable, StatesTheNetworkAndTheDevice) {
  const auto network = find_network("bert-base-uncased");
  ASSERT_TRUE(network.has_value()) << network.error().message;
  Binding binding;
  binding.batch = 4;
  binding.seq = 128;
  binding.precision = Precision::Fp16;
  const auto graph = analyze(**network, binding);
  ASSERT_TRUE(graph.has_value()) << graph.error().message;
  Device device;
  device.sm_count = 132;
  device.peak_tflops["fp32"] = 66.9;
  const std::vector<float> row = extract_llm_table(*graph, sum_totals(*graph), binding, device);
  EXPECT_EQ(value_of(row, "batch"), 4);
  EXPECT_EQ(value_of(row, "sequence"), 128);
  EXPECT_EQ(value_of(row, "quantisation"), 16);
  EXPECT_EQ(value_of(row, "parameters"), 109482240.0F);
  EXPECT_EQ(value_of(row, "layers"), 12);
  EXPECT_EQ(value_of(row, "heads"), 12);
  EXPECT_EQ(value_of(row, "hidden_size"), 768);
  EXPECT_EQ(value_of(row, "vocabulary"), 30522);
  EXPECT_EQ(value_of(row, "type_vocabulary"), 2);
  EXPECT_EQ(value_of(row, "max_positions"), 512);
  EXPECT_EQ(value_of(row, "device_sm_count"), 132);
  EXPECT_TRUE(std::isnan(value_of(row, "host_ram"))) << "an unknown figure is missing, not 0";
  EXPECT_GT(value_of(row, "memory"), 109482240.0F * 2 / 1048576);
}

}  // namespace
}  // namespace forerun
