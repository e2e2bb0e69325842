#include "serving/launch.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

Engine engine_named(const char* name) {
  std::vector<std::string> warnings;
  Device device;
  device.maker = "NVIDIA";
  device.memory_gib = 80;
  return *find_engine(name, "", device, warnings);
}

TEST(Launch, VllmServesAShardedNetworkInItsFormat) {
  const std::string line = launch_command(
      engine_named("vllm"), {.network = "meta-llama/Llama-3.1-70B", .precision = Precision::Fp8, .tensor = 4});
  EXPECT_EQ(line,
            "vllm serve meta-llama/Llama-3.1-70B --dtype auto --quantization fp8 --tensor-parallel-size 4 "
            "--gpu-memory-utilization 0.9 --max-num-seqs 1024 --max-num-batched-tokens 8192");
}

TEST(Launch, RolesOfADisaggregatedDeploymentSayWhichTheyAre) {
  for (const InstanceRole role : {InstanceRole::Prefill, InstanceRole::Decode}) {
    const LaunchOptions options{.network = "n", .precision = Precision::Bf16, .role = role};
    EXPECT_NE(
        launch_command(engine_named("sglang"), options).find("--disaggregation-mode " + std::string(name_of(role))),
        std::string::npos);
    EXPECT_NE(launch_command(engine_named("vllm"), options).find("NixlConnector"), std::string::npos);
    EXPECT_NE(launch_command(engine_named("trtllm"), options).find("cache_transceiver_config"), std::string::npos);
  }
}

TEST(Launch, SpreadExpertsCountAllDevicesInTheEnginesWords) {
  const LaunchOptions options{.network = "n", .attention_data = 8};
  EXPECT_NE(launch_command(engine_named("sglang"), options).find("--tp-size 8 --dp-size 8 --enable-dp-attention"),
            std::string::npos);
  EXPECT_NE(launch_command(engine_named("trtllm"), options).find("--tp_size 8 --ep_size 8"), std::string::npos);
  EXPECT_NE(launch_command(engine_named("vllm"), options).find("--data-parallel-size 8 --enable-expert-parallel"),
            std::string::npos);
}

TEST(Launch, PathsOfAUserCannotBeReadAsOptionsOrCommands) {
  const std::string line = launch_command(engine_named("vllm"), {.network = "my model'; rm -rf x"});
  EXPECT_NE(line.find(R"('my model'\''; rm -rf x')"), std::string::npos);
  EXPECT_NE(launch_command(engine_named("vllm"), {.network = "--help"}).find("'--help'"), std::string::npos);
}

}  // namespace
}  // namespace forerun
