// Coordinate descent, which fits constants to measurements: one number at a time is moved up or down where that lowers
// a cost.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace forerun {

struct DescentPlan {
  std::span<const double> sizes;  // of steps, from large to small
  int rounds = 1;                 // over all coordinates with steps of one size, at most
  double worth_a_step = 0;        // a step that gains no more is not taken
  double worth_a_round = 0;       // a round that gains less is the last of its size
  bool takes_first = false;       // the first direction that gains, up before down; else the better of both
};

// Space has count() coordinates and a type Trial with a member `gain`, by how much it lowers the cost.
// try_step(coordinate, size, is_up, round) returns a Trial and changes no coordinate; apply(coordinate, Trial) takes
// it. say(size, round, gained) is called after every round.
template <typename Space, typename Say>
void descend(Space& space, const DescentPlan& plan, Say&& say) {
  for (const double size : plan.sizes) {
    for (int round = 0; round < plan.rounds; ++round) {
      double gained = 0;
      for (std::size_t c = 0; c < space.count(); ++c) {
        std::optional<typename Space::Trial> best;
        for (const bool is_up : {true, false}) {
          auto trial = space.try_step(c, size, is_up, round);
          if (trial.gain <= (best ? best->gain : plan.worth_a_step)) continue;
          best = std::move(trial);
          if (plan.takes_first) break;
        }
        if (!best) continue;
        gained += best->gain;
        space.apply(c, std::move(*best));
      }
      say(size, round, gained);
      if (gained < plan.worth_a_round) break;
    }
  }
}

}  // namespace forerun
