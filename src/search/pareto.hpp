// Which of several candidates no other one beats in everything.
#pragma once

#include <cstddef>
#include <vector>

namespace forerun {

using Objectives = std::vector<double>;  // of one candidate; smaller is better

// `a` is nowhere worse than `b` and somewhere better.
[[nodiscard]] bool dominates(const Objectives& a, const Objectives& b);

// The front of each candidate: 0 those that none dominates, 1 those that only front 0 dominates, …
[[nodiscard]] std::vector<std::size_t> rank_fronts(const std::vector<Objectives>& points);

// Free space around each candidate among those of its own front; infinite at the ends (Deb's crowding distance).
[[nodiscard]] std::vector<double> crowding_of(const std::vector<Objectives>& points,
                                              const std::vector<std::size_t>& fronts);

}  // namespace forerun
