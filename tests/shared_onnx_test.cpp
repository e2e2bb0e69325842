// A wider suite over the data folder beside the project, where there is one: real exports, and damaged copies of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "analysis/analyze.hpp"
#include "analysis/totals.hpp"
#include "base/archive.hpp"
#include "base/mapped_file.hpp"
#include "readers/onnx/onnx_reader.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

const fs::path kShared = fs::path(FORERUN_SOURCE_DIR).parent_path() / "shared";

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// What is wrong with an analysed graph: operators or shapes that are unknown though no warning says so.
std::string complaint(const Graph& graph) {
  const Totals totals = sum_totals(graph);
  if (!graph.warnings.empty()) return {};
  if (totals.coverage < 1.0) return "coverage " + std::to_string(totals.coverage) + " without a warning";
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      for (const ValueId output : node.outputs) {
        if (output == kNoValue) continue;
        const Value& value = graph.values[std::size_t(output)];
        const bool known = value.has_shape && std::count(value.dims.begin(), value.dims.end(), kUnknownDim) == 0;
        if (value.form == ValueForm::Tensor && !known) return "value " + value.name + " has no shape and no warning";
      }
    }
  }
  return {};
}

// Reads, binds with the defaults, analyses. Whatever the bytes are, it returns.
Result<Graph> inspect(std::string_view bytes, const std::string& name, const fs::path& folder) {
  FORERUN_TRY(const auto network, read_onnx(bytes, name, folder));
  return analyze(*network, Binding{});
}

TEST(SharedOnnx, EveryFixtureIsCountedOrExplained) {
  std::vector<fs::path> files = files_of(kShared / "fixtures/onnx");
  const auto external = files_of(kShared / "fixtures/onnx_external");
  files.insert(files.end(), external.begin(), external.end());
  if (files.empty()) GTEST_SKIP() << "no data folder beside the project";
  for (const fs::path& path : files) {
    SCOPED_TRACE(path.filename());
    const auto network = read_network(path.string());
    if (path.filename() == "test_arbitrary_external_file.onnx") {
      ASSERT_FALSE(network);
      EXPECT_NE(network.error().message.find("outside the model's folder"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(network) << network.error().message;
    const Result<Graph> graph = analyze(**network, Binding{});
    if (!graph) {
      ADD_FAILURE() << graph.error().message;
      continue;
    }
    EXPECT_EQ(complaint(*graph), "");
  }
}

TEST(SharedOnnx, EveryMeasuredGraphIsCountedFully) {
  const fs::path archive = kShared / "data/h200/graphs.tar.xz";
  if (!fs::exists(archive)) GTEST_SKIP() << "no data folder beside the project";
  int count = 0;
  const Status status = visit_tar(archive.string(), [&](const TarMember& member) {
    SCOPED_TRACE(member.name);
    const Result<Graph> graph = inspect(member.bytes, member.name, {});
    EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
    if (!graph) return ok();
    EXPECT_EQ(complaint(*graph), "");
    EXPECT_EQ(sum_totals(*graph).coverage, 1.0);
    EXPECT_GT(sum_totals(*graph).macs, 0);
    ++count;
    return ok();
  });
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_GT(count, 300);
}

// Files are damaged at random places, with a fixed seed; what matters is that every copy is answered.
TEST(SharedOnnx, DamagedCopiesAreAnswered) {
  std::vector<fs::path> files = files_of(kShared / "fixtures/onnx");
  const std::size_t shared_files = files.size();
  const auto own = files_of(fs::path(FORERUN_SOURCE_DIR) / "tests/fixtures/onnx");
  files.insert(files.end(), own.begin(), own.end());
  std::mt19937_64 random(2026);
  int refused = 0;
  int answered = 0;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const auto file = MappedFile::open(files[f].string());
    ASSERT_TRUE(file);
    const std::string whole(file->bytes());
    if (whole.empty() || whole.size() > 300'000) continue;
    const int copies = shared_files > 0 && whole.size() < 20'000 ? 60 : 8;
    for (int copy = 0; copy < copies; ++copy) {
      std::string damaged = whole;
      if (copy % 2 == 0) {
        damaged.resize(random() % whole.size());
      } else {
        const int flips = 1 + int(random() % 8);
        for (int flip = 0; flip < flips; ++flip) damaged[random() % whole.size()] ^= char(1U << (random() % 8));
      }
      const Result<Graph> graph = inspect(damaged, "damaged.onnx", {});
      if (graph) {
        (void)sum_totals(*graph);
        ++answered;
      } else {
        EXPECT_NE(graph.error().kind, ErrorKind::Internal) << files[f] << ": " << graph.error().message;
        EXPECT_EQ(graph.error().message.find('\n'), std::string::npos);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(answered, 0);
}

}  // namespace
}  // namespace forerun
