// What a bundle answers for the measured runs that judge it, through the code that answers users.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bundle/bundle.hpp"
#include "dataset/example.hpp"
#include "evaluation/accuracy.hpp"

namespace forerun {

// One metric of one measured run. Equal keys in two lists are the same measurement.
struct BundleAnswer {
  std::string key;    // "CAMPAIGN/ROW METRIC"
  std::string group;  // "vision_inference latency_graph_ms": what is judged together
  Judged judged;      // family and device stay empty
};
using BundleAnswers = std::vector<BundleAnswer>;

// The measured runs of networks that no bundle learns from (dataset/splits.hpp), of all campaigns below `folder`.
Result<std::vector<Example>> load_judged(const std::string& folder);

// Answers of a bundle of kind "trees" or "gnn", and of the analytic roofline. `trees`: the file of the trees that time
// a graph network's kernels. Errors: a bundle that this program cannot use, or that learned from these runs.
Result<BundleAnswers> answers_of_bundle(const std::string& path, const std::string& trees,
                                        std::span<const Example> examples);
Result<BundleAnswers> answers_of_roofline(std::span<const Example> examples);

// Kept as CSV, a later bundle can be compared with answers of one that a newer program no longer reads.
Status write_answers(const BundleAnswers& answers, const std::string& path);
Result<BundleAnswers> read_answers(const std::string& path);

}  // namespace forerun
