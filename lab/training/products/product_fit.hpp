// Fits the constants of matrix products' physical times to operators that were timed.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataset/example.hpp"
#include "devices/catalogue.hpp"
#include "features/product_constants.hpp"

namespace forerun {

// Whether matrix products are the only products among its kernels.
[[nodiscard]] bool is_matrix_operator(const OperatorExample& example);

class ProductFit {
 public:
  // Takes the matrix products, an even choice of at most `rows_per_device`. REQUIRES: `examples` outlives this.
  ProductFit(std::span<const OperatorExample> examples, const Catalogue& catalogue, std::size_t rows_per_device = 1500);

  // A coordinate search with random hops that lowers the mean error over devices, each weighing alike, without the rows
  // of `left_out` (empty: with all). Always from the same start, a textbook's values, and held near them: a constant
  // that only the device left out shows keeps its own.
  [[nodiscard]] ProductConstants run(const std::string& left_out = "") const;

  // Mean error of each device's rows, %.
  [[nodiscard]] std::map<std::string, double> errors(const ProductConstants& constants) const;

 private:
  class Search;
  struct Row {
    const OperatorExample* example;
    const Device* device;
    double weight;  // those of a device add up to 1
  };
  [[nodiscard]] static double error(const Row& row, const ProductConstants& constants);

  std::map<std::string, std::optional<Device>> devices_;
  std::vector<Row> rows_;
};

}  // namespace forerun
