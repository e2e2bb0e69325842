#include "records/estimate.hpp"

#include <algorithm>
#include <array>

namespace forerun {

std::string_view name_of(Basis basis) {
  constexpr std::array<std::string_view, std::size_t(Basis::Count)> kNames = {"measured", "learned", "roofline"};
  return kNames[std::size_t(basis)];
}

Estimate* Estimates::find(Metric metric) {
  for (auto& [key, estimate] : entries_) {
    if (key == metric) return &estimate;
  }
  return nullptr;
}
const Estimate* Estimates::find(Metric metric) const { return const_cast<Estimates*>(this)->find(metric); }

void Estimates::set(Metric metric, Estimate estimate) {
  if (Estimate* known = find(metric)) {
    *known = std::move(estimate);
    return;
  }
  const auto place = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.first > metric; });
  entries_.emplace(place, metric, std::move(estimate));
}

void Estimates::set_all(const Estimates& others) {
  for (const auto& [metric, estimate] : others) set(metric, estimate);
}

}  // namespace forerun
