// The comparisons of the accuracy page: each study trains what it compares, scores it on rows it has not seen and
// writes one section of the page.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dataset/example.hpp"
#include "dataset/splits.hpp"
#include "predictors/trees/tree_predictor.hpp"
#include "training/gnn/kernel_training.hpp"

namespace forerun {

struct GnnStudyOptions {
  KernelTrainingOptions training;  // of the networks of the protocols, and of those that ship
  int seeds = 3;                   // networks averaged in the protocols and in the bundle
  int family_seeds = 1;            // networks averaged for a family left out
  int without_times = 0;           // of `seeds`, networks without the trees' kernel times; of others as large a share
  std::size_t folds = 5;           // of five, in the protocols; fewer to try something
  std::size_t families = 1000;     // groups of families left out; fewer to try something
  int study_epochs = 60;           // of our network in the smaller studies
  std::size_t study_folds = 5;     // of five, in the smaller studies
  std::size_t unlabelled = 10000;  // generated graphs for pre-training
  int pretrain_epochs = 10;
  std::vector<std::string> kinds;  // cases of the study of layers; empty: all
  std::uint64_t seed = 1337;
};

struct StudyInput {
  const Dataset* dataset = nullptr;
  const std::vector<GnnRow>* rows = nullptr;  // networks first, then operators
  std::vector<OperatorExample> operators;     // what GnnRow::example of an operator points to
  GnnStudyOptions options;
  std::function<void(const std::string&)> say;  // a line about what is being trained
  const TreePredictor* trees = nullptr;         // that timed the rows' kernels
};

struct StudySection {
  std::string markdown;
  std::map<std::string, std::string> files;  // name -> contents: pictures, and what later steps read
};

struct Study {
  const char* name;
  const char* title;
  Result<StudySection> (*run)(const StudyInput&);
};
[[nodiscard]] const std::vector<Study>& gnn_studies();

// All folds of all protocols as one stack; its section is written by the page, beside the trees (commands/gnn). Files:
// held-out.csv, gnn-kernels.bundle, pictures.
[[nodiscard]] Result<StudySection> study_protocols(const StudyInput& input);
// kernel_studies.cpp
[[nodiscard]] Result<StudySection> study_layers(const StudyInput& input);
[[nodiscard]] Result<StudySection> study_pretraining(const StudyInput& input);
[[nodiscard]] Result<StudySection> study_transfer(const StudyInput& input);

// Rows of a set of examples (ascending), without operators; and all operators on a device ("" any).
[[nodiscard]] RowIndices rows_of_examples(const std::vector<GnnRow>& rows, const std::vector<std::size_t>& examples);
[[nodiscard]] RowIndices operator_rows(const std::vector<GnnRow>& rows, std::string_view device);
[[nodiscard]] RowIndices joined(RowIndices a, const RowIndices& b);
// One member per fold (of the first `most`): trained on the fold's rows and `also`.
[[nodiscard]] std::vector<StackMember> members_of(const StudyInput& input, SplitKind kind, const RowIndices& also,
                                                  std::size_t most = 1000);
[[nodiscard]] KernelTrainingOptions study_training(const StudyInput& input);
[[nodiscard]] ReportEpoch reporter(const StudyInput& input, const std::string& note);
// Held-out scores of every member of a stack, together.
[[nodiscard]] Result<Scores> score_stack(const StudyInput& input, const TrainedStack& trained,
                                         const std::vector<StackMember>& members);
[[nodiscard]] std::string mape_cell(const Scores& scores, const std::string& metric);
[[nodiscard]] std::string count_cell(const Scores& scores, const std::string& metric);

}  // namespace forerun
