// The comparisons of the accuracy page: each study trains what it compares, scores it on rows it has not seen and writes
// one section of the page.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dataset/example.hpp"
#include "training/gnn/kernel_training.hpp"

namespace forerun {

struct StudyOptions {
  int epochs = 40;             // of our network
  int published_epochs = 40;   // of the published designs
  std::int64_t width = 64;
  std::int64_t published_width = 64;
  std::size_t unlabelled = 600;  // generated graphs for pre-training
  int pretrain_epochs = 5;
  std::size_t most_families = 6; // left out one at a time, the largest first
  std::uint64_t seed = 1337;
};

struct StudyInput {
  const Dataset* dataset = nullptr;
  const std::vector<GnnRow>* rows = nullptr;
  StudyOptions options;
  std::function<void(const std::string&)> say;  // a line about what is being trained
};

struct StudySection {
  std::string markdown;
  std::map<std::string, std::string> pictures;  // file name -> SVG
};

struct Study {
  const char* name;
  const char* title;
  Result<StudySection> (*run)(const StudyInput&);
};
[[nodiscard]] const std::vector<Study>& gnn_studies();

// Rows of a set of examples, and a part of them set aside (one in `share`) to choose the best epoch and calibrate on; whole
// networks are set aside together.
[[nodiscard]] RowIndices rows_of_examples(const std::vector<GnnRow>& rows, const std::vector<std::size_t>& examples);
struct TrainValid {
  RowIndices train, valid;
};
[[nodiscard]] TrainValid set_aside(const Dataset& dataset, const std::vector<GnnRow>& rows, const RowIndices& chosen, std::uint64_t share = 8);

// Trains, writes the bundle in memory and scores it. `note`: shown with progress.
struct KernelRun {
  TrainedKernelNet trained;
  Scores scores;
};
[[nodiscard]] Result<KernelRun> run_kernel_net(const StudyInput& input, const RowIndices& train, const RowIndices& test, const std::string& note,
                                               LayerKind kind = LayerKind::Sage, KernelNet* start = nullptr, int epochs = 0);

// The studies of the published designs (published_studies.cpp).
[[nodiscard]] Result<StudySection> study_inference_network(const StudyInput& input);
[[nodiscard]] Result<StudySection> study_training_network(const StudyInput& input);

}  // namespace forerun
