#include "evaluation/roofline/error_table.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

TEST(ErrorTable, CountsMeanMedianAndBias) {
  ErrorTable table({"group"});
  table.add({"a"}, 11, 10);
  table.add({"a"}, 12, 10);
  table.add({"a"}, 7, 10);
  const ReportTable made = table.table("errors");
  ASSERT_EQ(made.rows.size(), 1U);
  EXPECT_EQ(made.rows[0], (std::vector<std::string>{"a", "3", "20.0", "20.0", "28.0", "1.10"}));
}

}  // namespace
}  // namespace forerun
