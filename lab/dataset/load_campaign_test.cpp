#include "dataset/load_campaign.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace forerun {
namespace {

namespace fs = std::filesystem;

class LoadCampaign : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("forerun_campaign_" + std::to_string(::getpid())) / "h200-test";
    fs::create_directories(folder_ / "configs");
    write("configs/tiny.json",
          R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "vocab_size": 1000})");
  }
  void TearDown() override { fs::remove_all(folder_.parent_path()); }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }

  fs::path folder_;
};

constexpr const char* kHeader =
    "id,model,family,task,config,phase,batch,sequence,precision,latency_ms_median,power_w,energy_j,peak_allocated_mb,"
    "process_mb\n";

TEST_F(LoadCampaign, ReadsSettingsAndMetricsOfALanguageRow) {
  write("llm_inference.csv",
        std::string(kHeader) + "l1,tiny,gpt2,causal,tiny.json,decode,4,128,fp16,3.5,120,0.5,,900\n");
  const auto data = load_campaign(folder_.string());
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->examples.size(), 1U);
  const Example& e = data->examples[0];
  EXPECT_EQ(e.device, "h200-sxm");
  EXPECT_EQ(e.row_id, "llm_inference/l1");
  EXPECT_EQ(e.workload.binding.batch, 4);
  EXPECT_EQ(e.workload.binding.phase, Phase::Decode);
  EXPECT_EQ(e.workload.precision, Precision::Fp16);
  EXPECT_DOUBLE_EQ(e.metrics.at("latency_eager_ms"), 3.5);
  EXPECT_FALSE(e.metrics.contains("memory_mb"));
  ASSERT_NE(e.net, nullptr);
}

TEST_F(LoadCampaign, CountsRowsWithoutAGraph) {
  write("llm_inference.csv", std::string(kHeader) + "l1,tiny,gpt2,causal,,decode,4,128,fp16,3.5,120,0.5,,900\n" +
                                 "l2,gone,gpt2,causal,gone.json,decode,4,128,fp16,3.5,120,0.5,,900\n");
  const auto data = load_campaign(folder_.string());
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_TRUE(data->examples.empty());
  ASSERT_EQ(data->skipped.size(), 2U);
  EXPECT_EQ(data->skipped[0].rows, 1);
}

TEST_F(LoadCampaign, NamesTheLineOfAWrongSetting) {
  write("llm_inference.csv",
        std::string(kHeader) + "l1,tiny,gpt2,causal,tiny.json,decode,4,128,fp17,3.5,120,0.5,,900\n");
  const auto data = load_campaign(folder_.string());
  ASSERT_FALSE(data);
  EXPECT_NE(data.error().message.find("line 2: precision is 'fp17'"), std::string::npos) << data.error().message;
}

TEST_F(LoadCampaign, AReplayOfALanguageModelIsAnExampleOfItsOwnWithItsEnergy) {
  write(
      "campaign.json",
      R"({"device": "h200-sxm", "energy_counter_read": "beside the run", "host_weight": 5, "wait_power_w": 120, "host_time_relative": {"llm_inference": 0.7}})");
  write("llm_inference.csv",
        "id,model,family,task,config,phase,batch,sequence,precision,latency_ms_median,power_w,energy_j,peak_allocated_"
        "mb,process_mb,graph_replay_ms_median,graph_power_w,graph_energy_j\n"
        "l1,tiny,gpt2,causal,tiny.json,decode,4,128,fp16,3.5,120,0.5,80,900,1.5,300,0.45\n");
  const auto data = load_campaign(folder_.string());
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->examples.size(), 2U);
  const Example &replayed = data->examples[0], &eager = data->examples[1];
  EXPECT_EQ(replayed.workload.runtime, Runtime::Graph);
  EXPECT_EQ(replayed.metrics.size(), 3U);
  EXPECT_DOUBLE_EQ(replayed.metrics.at(std::string(kEnergyGraph)), 0.45);
  EXPECT_DOUBLE_EQ(eager.metrics.at(std::string(kEnergy)), 0.5);
  EXPECT_FALSE(eager.metrics.contains(kPowerGraph));
  EXPECT_TRUE(eager.counter_beside());
  EXPECT_DOUBLE_EQ(eager.host_weight, 5);
  EXPECT_DOUBLE_EQ(eager.counted.wait_w, 120);
  EXPECT_DOUBLE_EQ(eager.host_time, 0.7);
}

TEST_F(LoadCampaign, RefusesAFactThatIsNoNumber) {
  write("llm_inference.csv",
        std::string(kHeader) + "l1,tiny,gpt2,causal,tiny.json,decode,4,128,fp16,3.5,120,0.5,,900\n");
  write("campaign.json", R"({"device": "h200-sxm", "wait_power_w": "much"})");
  const auto data = load_campaign(folder_.string());
  ASSERT_FALSE(data);
  EXPECT_NE(data.error().message.find("wait_power_w is not a positive number"), std::string::npos)
      << data.error().message;
}

TEST_F(LoadCampaign, AFolderOfCampaignsIsAllOfThem) {
  write("llm_inference.csv",
        std::string(kHeader) + "l1,tiny,gpt2,causal,tiny.json,decode,4,128,fp16,3.5,120,0.5,,900\n");
  const auto data = load_measurements(folder_.parent_path().string());
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->examples.size(), 1U);
  EXPECT_FALSE(load_measurements((folder_ / "configs").string()));
}

TEST_F(LoadCampaign, ARunMeasuredAgainCountsWithItsSecondMeasurement) {
  write("llm_inference.csv", std::string(kHeader) +
                                 "l1,tiny,gpt2,causal,tiny.json,decode,4,128,fp16,3.5,120,0.5,80,900\n" +
                                 "l2,tiny,gpt2,causal,tiny.json,decode,8,128,fp16,3.6,120,0.5,80,900\n" +
                                 "l3,tiny,gpt2,causal,tiny.json,decode,16,128,fp16,3.7,,,80,900\n");
  const fs::path again = folder_.parent_path() / "h200-again";
  fs::create_directories(again);
  std::ofstream(again / "campaign.json")
      << R"({"device": "h200-sxm", "energy_counter_read": "beside the run", "host_weight": 3, "host_time_relative": {"llm_inference": 0.9}})";
  std::ofstream(again / "again.csv")
      << "campaign,table,id,latency_ms_median,latency_ms_p10,latency_ms_p90,power_w,energy_j,host_factor\n"
         "h200-test,llm_inference,l1,2.5,2.4,2.65,200,0.5,0.8\n"
         "h200-test,llm_inference,l2,2.5,2.4,2.6,,,1\n"
         "h200-test,llm_inference,l3,2.5,2.4,2.6,210,0.6,1\n"
         "h200-test,llm_inference,l9,2.5,2.4,2.6,,,1\n";
  const auto data = load_measurements(folder_.parent_path().string());
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->examples.size(), 3U);
  const Example &replaced = data->examples[0], &kept = data->examples[1];
  EXPECT_DOUBLE_EQ(replaced.metrics.at("latency_eager_ms"), 2.5);
  EXPECT_DOUBLE_EQ(replaced.metrics.at("power_w"), 200);
  EXPECT_DOUBLE_EQ(replaced.metrics.at("memory_mb"), 80) << "of the first measurement";
  EXPECT_EQ(replaced.measured_in(kPower), "h200-again");
  EXPECT_EQ(replaced.measured_in(kMemory), "h200-test");
  EXPECT_DOUBLE_EQ(replaced.host_time, 0.9 * 0.8);
  EXPECT_TRUE(replaced.counter_beside());
  EXPECT_NEAR(replaced.spread, 0.1, 1e-9);
  EXPECT_DOUBLE_EQ(kept.metrics.at("latency_eager_ms"), 3.6) << "its energy was not measured again";
  EXPECT_EQ(kept.measured_in(kLatencyEager), "h200-test");
  EXPECT_DOUBLE_EQ(data->examples[2].metrics.at("power_w"), 210) << "measured the second time only";
  ASSERT_EQ(data->skipped.size(), 2U);
}

}  // namespace
}  // namespace forerun
