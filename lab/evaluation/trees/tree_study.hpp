// The steps that `train` and `evaluate` share: load, analyse, learn kernels, cross-validate, put a bundle together.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.hpp"
#include "dataset/tree_rows.hpp"
#include "evaluation/trees/cross_validate.hpp"
#include "training/trees/tree_bundle.hpp"

namespace forerun {

struct StudyOptions {
  std::string data = "data/measurements";
  std::string public_data = "../shared/data/public";  // optional: operators of other devices
  std::size_t public_rows = 600;                      // per table and device
  std::size_t public_networks = 150;                  // architectures of each public table of networks; 0: none
  std::string timm_graphs = "data/graphs/timm.tar.xz";
  bool set_aside = false;  // leaves out the networks that judge bundles
  unsigned threads = 0;
};

// What was held out once serves again: energy is made of held-out latencies.
struct HeldOutCache {
  std::map<std::tuple<RunKind, RunMetric, SplitKind, std::uint64_t>, HeldOut> metrics;
  std::map<std::pair<SplitKind, std::uint64_t>, std::vector<double>>
      busy_w;  // by example; 0 where no energy was measured
};

struct TreeStudy {
  TreeRows rows;
  TreeRows elsewhere;  // networks that others measured on other devices
  std::vector<OperatorRows> operators;
  std::vector<OperatorExample> products;  // those of the operators whose products are matrix products
  std::vector<OperatorExample> layers;    // likewise of Vidur's decoder layers, from which nothing is learned
  std::vector<SkippedRows> skipped;
  bool set_aside = false;
  TreeNodes kernels;   // learned from `operators`
  KnownKernels known;  // likewise
  TreeNodes host;      // likewise, of convolutions in groups
  TreeNodes transfer;  // likewise, for devices that were not measured
  std::shared_ptr<HeldOutCache> cache = std::make_shared<HeldOutCache>();
};

[[nodiscard]] std::set<std::string> kinds_of(std::span<const OperatorRows> operators);

using ProgressLine = std::function<void(const std::string&)>;
// Loads everything, learns the kernel forest and sums it over every example.
Result<TreeStudy> open_study(const StudyOptions& options, const ProgressLine& progress);

// The pairs of domain and metric with enough rows to learn from.
inline constexpr std::size_t kFewestRows = 60;
[[nodiscard]] std::vector<std::pair<RunKind, RunMetric>> learnable(const TreeRows& rows);

// Every row of a pair predicted by trees that did not see it, nor its network or family, as the split says.
Result<HeldOut> hold_out(const TreeStudy& study, RunKind domain, RunMetric metric, SplitKind kind, std::uint64_t seed,
                         unsigned threads = 0);

// Trains every pair on all rows, with intervals from cross-validation.
Result<TrainedTrees> train_all(const TreeStudy& study, unsigned threads, const ProgressLine& progress);

}  // namespace forerun
