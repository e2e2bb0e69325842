// `forerun-lab ship` with small bundles that are trained here on a campaign of the repository.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/text_file.hpp"
#include "commands/command.hpp"
#include "dataset/load_campaign.hpp"
#include "dataset/operators.hpp"
#include "evaluation/trees/cross_validate.hpp"
#include "training/trees/tree_bundle.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kMeasurements = FORERUN_SOURCE_DIR "/data/measurements/";
const std::string kCampaign = kMeasurements + "h200-2026-11-second";

class Ship : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = ::testing::TempDir() + "ship_test_" + std::to_string(::getpid());  // tests run side by side
    fs::remove_all(folder_);
    fs::create_directories(folder_ + "/operators");
    fs::create_directory_symlink(kMeasurements + "h200-2026-11-operators",
                                 folder_ + "/operators/h200-2026-11-operators");
    const Catalogue catalogue = Catalogue::load().value();
    auto examples = load_measurements(kCampaign).value().examples;
    std::erase_if(examples, [](const Example& e) {
      return e.domain != RunKind::VisionInference || set_aside(e.network) == SetAside::Judged;
    });
    rows_ = make_tree_rows(std::move(examples), catalogue).value();
    const auto operators = make_operator_rows(load_operator_campaigns(folder_ + "/operators").value(), catalogue);
    KernelTraining training;
    training.parameters.rounds = 20;
    kernels_ = train_kernels(operators, training).value();
    sum_kernels(rows_.inputs, Forest(kernels_));
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  struct Recipe {
    int rounds = 150;
    double longer = 1;      // learns from times that are this much longer than measured
    double interval = 1;    // width of its interval, relative to that of cross-validation
    bool set_aside = true;  // states that it left out the networks that judge it
  };
  // Trees that know the latency of graph replay of vision networks, and nothing else.
  static std::string train(const std::string& name, const Recipe& recipe) {
    MetricTraining training = shipped_training(RunKind::VisionInference, RunMetric::LatencyGraph);
    training.bags = 1;
    training.parameters.rounds = recipe.rounds;
    MetricRows rows = metric_rows(rows_, RunKind::VisionInference, RunMetric::LatencyGraph);
    for (float& ratio : rows.log_ratio) ratio += float(std::log(recipe.longer));
    for (double& measured : rows.measured) measured *= recipe.longer;
    std::vector<std::size_t> all(rows.measured.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const HeldOut held = cross_validate(rows_, rows, SplitKind::ByArchitecture, 1, training).value();
    TrainedMetric metric;
    metric.trees = train_metric(rows, all, training).value();
    metric.interval.known = metric.interval.unfamiliar = recipe.interval * conformal_half_width(rows, held);
    metric.lowest.assign(rows.features.width, -INFINITY);
    metric.highest.assign(rows.features.width, INFINITY);
    TrainedTrees trained;
    trained.kernels = kernels_;
    trained.metrics[{RunKind::VisionInference, RunMetric::LatencyGraph}] = std::move(metric);
    trained.familiarity[RunKind::VisionInference] = familiarity_of(rows_, rows.example);
    trained.devices = {"h200-sxm"};
    trained.precisions = {"fp32", "fp16", "bf16"};
    trained.set_aside = recipe.set_aside;
    std::string path = folder_ + "/" + name + ".bundle";
    EXPECT_TRUE(write_text_file(path, make_tree_bundle(trained).value()));
    return path;
  }

  struct Run {
    int status;
    std::string out, err;
  };
  static Run ship(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"forerun-lab", "ship", "--data", kCampaign, "--fewest-networks", "2", "--out", shipped_folder()});
    std::vector<const char*> raw;
    for (const std::string& argument : arguments) raw.push_back(argument.c_str());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int status = run_lab(int(raw.size()), raw.data());
    std::string err = ::testing::internal::GetCapturedStderr();
    return {status, ::testing::internal::GetCapturedStdout(), std::move(err)};
  }
  static std::string shipped_folder() { return folder_ + "/bundles"; }
  static std::string shipped() { return shipped_folder() + "/trees.bundle"; }

  static inline std::string folder_;
  static inline TreeRows rows_;
  static inline TreeNodes kernels_;
};

TEST_F(Ship, OnlyABundleThatPassesIsPutInPlace) {
  const std::string good = train("good", {}), poor = train("poor", {.longer = 1.5});
  const Run lost = ship({good});
  EXPECT_EQ(lost.status, 2);
  EXPECT_THAT(lost.err, HasSubstr("nothing to compare with"));

  const Run first = ship({good, "--first"});
  EXPECT_EQ(first.status, 0) << first.out << first.err;
  EXPECT_THAT(first.out, HasSubstr("vision_inference latency_graph_ms"));
  EXPECT_EQ(read_text_file(shipped()).value(), read_text_file(good).value());
  EXPECT_TRUE(fs::exists(shipped_folder() + "/trees.answers.csv"));

  const Run again = ship({good});
  EXPECT_EQ(again.status, 0) << again.out << again.err;
  EXPECT_THAT(again.out, HasSubstr("trees.answers.csv"));

  const Run worse = ship({poor, "--against", good});
  EXPECT_EQ(worse.status, 1) << worse.out << worse.err;
  EXPECT_THAT(worse.out, HasSubstr("refused: worse, intervals too narrow"));
  EXPECT_EQ(read_text_file(shipped()).value(), read_text_file(good).value()) << "the shipped bundle stays";

  EXPECT_EQ(ship({good, "--against", poor, "--check"}).status, 0);
}

TEST_F(Ship, IntervalsThatClaimTooMuchAreRefused) {
  const Run narrow = ship({train("narrow", {.interval = 0.1}), "--against", train("honest", {})});
  EXPECT_EQ(narrow.status, 1) << narrow.out << narrow.err;
  EXPECT_THAT(narrow.out, HasSubstr("intervals too narrow"));
}

TEST_F(Ship, ABundleThatLearnedFromItsJudgesIsRefused) {
  const Run run = ship({train("all_rows", {.rounds = 20, .set_aside = false}), "--first"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("left out the networks that judge bundles"));
}

TEST_F(Ship, ABundleOfOtherFeaturesIsRefused) {
  const Bundle bundle = Bundle::open(train("other", {.rounds = 20})).value();
  BundleManifest manifest = bundle.manifest();
  manifest.schema.hash ^= 1;
  BundleWriter writer(manifest);
  for (const std::string& name : bundle.section_names())
    ASSERT_TRUE(writer.add_section(name, std::string(bundle.section(name).value())));
  const std::string path = folder_ + "/schema.bundle";
  ASSERT_TRUE(writer.write(path));
  const Run run = ship({path, "--first"});
  EXPECT_EQ(run.status, 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("refused: "));
}

}  // namespace
}  // namespace forerun
