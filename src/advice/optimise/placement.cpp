// Where it runs: slices of the card, another device.
#include <fmt/format.h>

#include <algorithm>

#include "advice/cost.hpp"
#include "advice/optimise/proposal.hpp"

namespace forerun {

void propose_slices(const Situation& situation, std::vector<Proposal>& proposals) {
  const bool is_wanted = situation.goal == Goal::Throughput || situation.goal == Goal::Cost;
  if (!is_wanted || situation.devices > 1 || situation.serves()) return;
  for (const SliceEstimate& slice : situation.advice.slices) {
    if (!slice.fits || slice.profile.instances < 2) continue;
    const MigProfile& profile = slice.profile;
    proposals.push_back({"",
                         fmt::format("{} slices {} of the card, a copy on each", profile.instances, profile.profile),
                         fmt::format("one copy leaves the card partly idle; a slice has {} of {} multiprocessors",
                                     profile.sm_count, situation.device.sm_count),
                         {{"device", situation.device.id + ":" + profile.profile}},
                         nullptr,
                         Risk::None,
                         profile.instances});
  }
}

void propose_device(const Situation& situation, std::vector<Proposal>& proposals) {
  if (situation.goal == Goal::Memory && situation.advice.fits) return;
  const auto now = find_price(situation.device.id, situation.price_kind);
  for (const Device& device : situation.catalogue) {
    if (device.id == situation.device.id || device.kind == "cpu") continue;
    const auto price = find_price(device.id, situation.price_kind);
    if (!price && situation.goal != Goal::Energy) continue;
    const bool is_dearer = price && now && price->usd_per_hour > now->usd_per_hour;
    const bool is_for_money = situation.goal == Goal::Cost || situation.goal == Goal::Energy || !situation.advice.fits;
    if (is_dearer && !is_for_money) continue;
    std::string why = price ? fmt::format("it rents for {:.2f} USD an hour", price->usd_per_hour)
                            : fmt::format("its board takes at most {:.0f} W", device.power_limit_w);
    if (price && now) why += fmt::format(" instead of {:.2f}", now->usd_per_hour);
    proposals.push_back({"", "run on " + device.name, std::move(why), {{"device", device.id}}});
  }
}

}  // namespace forerun
