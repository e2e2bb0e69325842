#include "evaluation/advice/counters.hpp"

#include <gtest/gtest.h>

#include "base/text_file.hpp"
#include "evaluation/advice/gains.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

TEST(Counters, AreSummedOverTheKernelsOfTheRangeThatNamesTheOperator) {
  const fs::path folder = fs::path(testing::TempDir());
  const fs::path list = folder / "ops.jsonl", csv = folder / "ncu.csv";
  ASSERT_TRUE(write_text_file(
      list.string(),
      R"({"id":"conv000","source":"published","op":"conv","x":[32,112,96,128],"filters":56,"kernel":[3,3],"stride":[3,3],"padding":[1,1],"groups":1,"precision":"fp16","direction":"backward"}
{"id":"rest000","source":"large","op":"gemm","m":8,"n":16,"k":32,"precision":"fp16"}
)"));
  ASSERT_TRUE(write_text_file(csv.string(),
                              R"(==PROF== Connected to process 1
"ID","Kernel Name","thread Domain:Push/Pop_Range","gpu__time_duration.sum","dram__bytes_read.sum","dram__bytes_write.sum","lts__t_bytes.sum","l1tex__t_bytes.sum","smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
"","","","ns","byte","byte","byte","byte","inst"
"0","a<tensorop::b>","""<default domain>:op:conv000:none""","1,000","100","50","400","300","7"
"1","c","""<default domain>:op:conv000:none""","2,000","1","2","3","4","0"
"2","d","","5","5","5","5","5","5"
)"));
  const auto rows = import_counters(list, csv, folder / "none.json");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_DOUBLE_EQ(rows->front().l2_bytes, 302);
  const CounterRow& row = rows->front();
  EXPECT_EQ(row.text, "conv:batch=32,c=112,h=96,w=128,kernel=3,stride=3,filters=56,groups=1");
  EXPECT_EQ(row.kernels, 2);
  EXPECT_DOUBLE_EQ(row.us, 3);
  EXPECT_DOUBLE_EQ(row.memory_bytes, 153);
  EXPECT_DOUBLE_EQ(row.l1_bytes, 304);
  EXPECT_DOUBLE_EQ(row.plain_flops, 14);
  const fs::path saved = folder / "counters.csv";
  ASSERT_TRUE(write_text_file(saved.string(), to_csv(*rows)));
  const auto again = read_counters(saved);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->front().text, row.text);
  EXPECT_DOUBLE_EQ(again->front().l2_bytes, row.l2_bytes);
}

TEST(Gains, ASignIsRightWhenBothSaveOrNeitherDoes) {
  Gain gain;
  gain.before = 10;
  gain.after = 5;
  gain.predicted_before = 4;
  gain.predicted_after = 3;
  EXPECT_TRUE(gain.is_sign_right());
  gain.predicted_after = 3.99;
  EXPECT_FALSE(gain.is_sign_right());
  gain.after = 10.1;
  EXPECT_TRUE(gain.is_sign_right());
}

}  // namespace
}  // namespace forerun
