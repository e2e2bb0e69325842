#include "dataset/public_networks.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>

#include "analysis/analyze.hpp"
#include "analysis/kernels.hpp"
#include "analysis/totals.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

class PublicNetworks : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("forerun_public_networks_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    gzFile file = gzopen((folder_ / name).c_str(), "wb");
    gzwrite(file, text.data(), unsigned(text.size()));
    gzclose(file);
  }
  void write_small_gpt(const std::string& architecture) {
    const std::string header = "arch_id,embed_dim,n_layer,n_head_per_layer,mlp_ratio_per_layer,bias\n";
    write("hwgpt_arch_s.csv.gz", header + architecture);
    for (const char* empty : {"hwgpt_arch_m.csv.gz", "hwgpt_arch_l.csv.gz"}) write(empty, header);
  }
  Totals totals_of(const Example& example) {
    const auto graph = analyze(*example.net, example.workload.binding);
    EXPECT_TRUE(graph) << graph.error().message;
    return sum_totals(*graph);
  }
  fs::path folder_;
};

TEST_F(PublicNetworks, GptArchitecturesCountAsTheBenchmarkCountsThem) {
  write_small_gpt("0,768,10,4 12 12 4 4 12 12 8 4 12,2 2 4 4 3 3 3 4 4 2,0\n");
  write("hwgpt_measurements.csv.gz",
        "scale,device,arch_id,latency_ms_median\ns,v100,0,40\ns,cpu_meta,0,2000\ns,a100,0,20\n");
  const auto data = load_public_networks(folder_.string(), {.architectures = 10});
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->examples.size(), 2U);  // no CPUs
  const Example& v100 = data->examples[0];
  EXPECT_EQ(v100.device, "v100-sxm-16gb");
  EXPECT_EQ(v100.workload.precision, Precision::Fp16);
  EXPECT_EQ(v100.workload.binding.batch, 8);
  EXPECT_EQ(v100.metrics.at(std::string(kLatencyGraph)), 40);
  EXPECT_EQ(data->examples[1].workload.precision, Precision::AmpBf16);
  const Totals totals = totals_of(v100);
  EXPECT_EQ(totals.parameters, 148591104);
  const double attention = 8.0 * 1024 * 1024 * 64 * 84 * 2;  // 84 heads; the benchmark leaves it out
  EXPECT_NEAR(double(totals.macs), 900823252992.0 + attention, 0.001 * 900823252992.0);
}

TEST_F(PublicNetworks, AutocastCastsEveryWeightAndEveryNormsResult) {
  write_small_gpt("0,192,2,4 4,2 2,0\n");
  write("hwgpt_measurements.csv.gz", "scale,device,arch_id,latency_ms_median\ns,v100,0,40\n");
  const auto data = load_public_networks(folder_.string());
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->examples.size(), 1U);
  Workload workload = data->examples[0].workload;
  const auto graph = analyze(*data->examples[0].net, workload.binding);
  ASSERT_TRUE(graph) << graph.error().message;
  const auto casts = [&](bool autocast) {
    workload.autocast = autocast;
    const auto kernels = list_kernels(*graph, workload);
    return std::count_if(kernels.begin(), kernels.end(),
                         [](const Kernel& k) { return std::string_view(k.label) == "autocast"; });
  };
  EXPECT_EQ(casts(false), 0);
  EXPECT_EQ(casts(true),
            2 * (5 + 2) + 1 + 1 +
                1);  // two layers of five products and two norms, the last norm, the head, rotary's frequencies
}

TEST_F(PublicNetworks, ImageNetworksOfThreeSpacesAreBuilt) {
  write("help_nasbench201.csv.gz",
        "idx,arch_str,1080ti_1,1080ti_256,pixel2\n"
        "0,|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|+|skip_connect~0|nor_conv_3x3~1|skip_connect~2|,12.9,24.9,"
        "17\n");
  write("help_fbnet.csv.gz",
        "idx,op_idx,arch_str,titan_rtx_64\n0,0,k3_e1 skip k3_e1_g2 k5_e6 k5_e1 skip k3_e3 skip k5_e6 k5_e1 k3_e1_g2 "
        "k5_e1 k5_e6 k3_e6 k3_e3 k5_e6 k3_e6 k3_e3 k5_e1 k3_e3 k5_e1 k5_e1_g2,9.6\n");
  write("help_ofa.csv.gz",
        "idx,kernel_sizes,expand,depth,resolution,v100_32\n0,3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3 3,6 6 6 6 6 6 6 6 6 "
        "6 6 6 6 6 6 6 6 6 6 6,4 4 4 4 4,224,30\n");
  const auto data = load_public_networks(folder_.string());
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->examples.size(), 4U);
  EXPECT_EQ(data->examples[0].device, "gtx-1080-ti");
  EXPECT_EQ(data->examples[1].workload.binding.batch, 256);
  for (const Example& example : data->examples) EXPECT_GT(totals_of(example).macs, 0) << example.row_id;
  // Three 3 x 3 convolutions a cell at 16, 32 and 64 channels: as many multiplications at every stage.
  const double stage = 5 * 3 * 9.0 * 16 * 16 * 32 * 32;
  EXPECT_NEAR(double(totals_of(data->examples[0]).macs), 3 * stage, 0.1 * 3 * stage);
}

TEST_F(PublicNetworks, ABrokenArchitectureIsNamedByItsLine) {
  write("hwgpt_arch_s.csv.gz",
        "arch_id,embed_dim,n_layer,n_head_per_layer,mlp_ratio_per_layer,bias\n0,768,2,4 12,2,0\n");
  write("hwgpt_measurements.csv.gz", "scale,device,arch_id,latency_ms_median\n");
  const auto data = load_public_networks(folder_.string());
  ASSERT_FALSE(data);
  EXPECT_NE(data.error().message.find("line 2"), std::string::npos) << data.error().message;
}

TEST_F(PublicNetworks, NoFilesAddNothing) {
  const auto data = load_public_networks(folder_.string());
  ASSERT_TRUE(data);
  EXPECT_TRUE(data->examples.empty());
}

TEST_F(PublicNetworks, TimmsNetworksHaveTheirGraphsAndTheirNewestEagerRow) {
  write("timm_throughput.csv.gz",
        "device,mode,precision,layout,torch,cuda,compiled,model,img_size,batch_size,samples_per_sec,step_time_ms,gmacs,"
        "macts_m,params_m\n"
        "rtx3090,infer,amp,nchw,pt113,cu117,0,lcnet_075,224,1024,24000,43,0.1,2,2.36\n"
        "rtx3090,infer,amp,nchw,pt240,cu124,0,lcnet_075.ra2_in1k,224,1024,24821,41.25,0.1,2,2.36\n"
        "rtx3090,infer,amp,nchw,pt291,cu124,1,lcnet_075,224,1024,50000,20,0.1,2,2.36\n"  // compiled
        "rtx3090,infer,amp,nhwc,pt291,cu124,0,lcnet_075,224,1024,50000,20,0.1,2,2.36\n"  // another layout
        "rtx4090,infer,amp,nchw,pt291,cu124,0,lcnet_075,224,1024,50000,20,0.1,2,2.06\n"  // folded: other parameters
        "rtx4090,infer,amp,nchw,pt291,cu124,0,lcnet_075,160,1024,50000,20,0.1,2,2.36\n"  // no graph of this size
        "i9_10940x,infer,amp,nchw,pt291,cpu,0,lcnet_075,224,1024,50000,20,0.1,2,2.36\n");
  ASSERT_TRUE(load_public_networks(folder_.string())->examples.empty());  // graphs not given
  const auto data = load_public_networks(folder_.string(),
                                         {.timm_graphs = std::string(FORERUN_SOURCE_DIR) + "/data/graphs/timm.tar.xz"});
  ASSERT_TRUE(data) << data.error().message;
  ASSERT_EQ(data->examples.size(), 1U);
  const Example& row = data->examples[0];
  EXPECT_EQ(row.device, "rtx-3090");
  EXPECT_EQ(row.network, "lcnet_075_224");
  EXPECT_EQ(row.workload.precision, Precision::Fp16);
  EXPECT_EQ(row.metrics.at(std::string(kLatencyEager)), 41.25);
  EXPECT_NEAR(double(totals_of(row).macs), 1024 * 0.1e9, 1024 * 0.01e9);
}

}  // namespace
}  // namespace forerun
