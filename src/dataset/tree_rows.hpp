// Examples turned into what trees read: analysed once, in parallel, then reused by every split and metric.
#pragma once

#include <span>
#include <vector>

#include "dataset/example.hpp"
#include "devices/catalogue.hpp"
#include "predictors/trees/tree_input.hpp"

namespace forerun {

struct TreeRows {
  std::vector<Example> examples;
  std::vector<TreeInput> inputs;  // parallel to examples
  std::vector<std::string> failures;
};
// Examples whose graph cannot be analysed are left out and named in `failures`. threads 0: all cores.
Result<TreeRows> make_tree_rows(std::vector<Example> examples, const Catalogue& catalogue, unsigned threads = 0);

// One operator's kernels as facts.
struct OperatorRows {
  std::vector<float> facts;
  std::vector<double> ideal_us;
  double measured_us = 0;
  std::string device, op, source, row_id;
  bool is_product = false;  // matrix products, convolutions and attention
};
// Operators on devices that the catalogue does not have are left out.
[[nodiscard]] std::vector<OperatorRows> make_operator_rows(std::span<const OperatorExample> examples, const Catalogue& catalogue);

}  // namespace forerun
