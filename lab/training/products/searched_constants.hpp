// Where a search for the constants of matrix products starts, and how far it may go.
#pragma once

#include <vector>

#include "features/product_constants.hpp"

namespace forerun {

enum class Change { Add, Scale };  // by steps, by factors
struct SearchedConstant {
  double* value;
  double neutral;  // a textbook's value, or that of no effect
  double low, high;
  double step;  // the first
  Change change;
};
// Those of `constants`, of which each is set to its neutral value. REQUIRES: `constants` outlives them.
[[nodiscard]] std::vector<SearchedConstant> searched_constants(ProductConstants& constants);

}  // namespace forerun
