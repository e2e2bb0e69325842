#include "search/pareto.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace forerun {

bool dominates(const Objectives& a, const Objectives& b) {
  bool is_better = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    is_better = is_better || a[i] < b[i];
  }
  return is_better;
}

std::vector<std::size_t> rank_fronts(const std::vector<Objectives>& points) {
  // In lexicographic order nobody is dominated by a later one: each joins the first front that does not dominate it.
  std::vector<std::size_t> order(points.size()), fronts(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<std::vector<std::size_t>> members;
  for (const std::size_t i : order) {
    std::size_t front = 0;
    while (front < members.size() &&
           std::any_of(members[front].rbegin(), members[front].rend(),
                       [&](std::size_t other) { return dominates(points[other], points[i]); }))
      ++front;
    if (front == members.size()) members.emplace_back();
    members[front].push_back(i);
    fronts[i] = front;
  }
  return fronts;
}

std::vector<double> crowding_of(const std::vector<Objectives>& points, const std::vector<std::size_t>& fronts) {
  std::vector<double> space(points.size(), 0);
  std::map<std::size_t, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < points.size(); ++i) members[fronts[i]].push_back(i);
  for (auto& [front, list] : members) {
    for (std::size_t k = 0; k < points[list.front()].size(); ++k) {
      std::sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) { return points[a][k] < points[b][k]; });
      const double width = points[list.back()][k] - points[list.front()][k];
      space[list.front()] = space[list.back()] = std::numeric_limits<double>::infinity();
      for (std::size_t i = 1; i + 1 < list.size() && width > 0; ++i)
        space[list[i]] += (points[list[i + 1]][k] - points[list[i - 1]][k]) / width;
    }
  }
  return space;
}

}  // namespace forerun
