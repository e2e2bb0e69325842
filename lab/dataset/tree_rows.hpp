// Examples turned into what trees read: analysed once, in parallel, then reused by every split and metric.
#pragma once

#include <algorithm>
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
Result<TreeRows> make_tree_rows(std::vector<Example> examples, const Catalogue& catalogue, unsigned threads = 0,
                                KernelBasis basis = KernelBasis::Measured);

// One operator's kernels as facts.
struct OperatorRows {
  std::vector<float> facts;
  std::vector<double> ideal_us;
  // The same as TreeInput has them for KernelBasis::Transfer.
  std::vector<float> transfer_facts;
  std::vector<double> physics_us;
  std::vector<std::string> kinds;
  std::uint64_t key = 0;  // known_kernel_key() of its kernel, where that can be looked up for a network; else 0
  double measured_us = 0;
  double host_us = 0;           // of one call; 0: not measured
  std::ptrdiff_t grouped = -1;  // which of its kernels is a convolution in groups
  double timing_us =
      0;                // part of measured_us that the way of timing adds; counted apart from transferred kernels alone
  double floor_us = 0;  // OperatorExample's
  bool at_floor = false;  // OperatorExample's
  std::string device, op, source, row_id;
  bool is_product = false;                        // matrix products, convolutions and attention
  KernelClass kernel_class = KernelClass::Other;  // of its first product, else of its first kernel
  double roofline_us = 0;  // the roofline's time with the constants that ship, and what the way of timing adds
};
// Operators on devices that the catalogue does not have are left out.
[[nodiscard]] std::vector<OperatorRows> make_operator_rows(std::span<const OperatorExample> examples,
                                                           const Catalogue& catalogue,
                                                           const ProductConstants& products = kProducts);

}  // namespace forerun
