#include "analysis/fused_groups.hpp"

#include <algorithm>
#include <map>

namespace forerun {
namespace {

class Fuser {
 public:
  explicit Fuser(const FusionInput& input)
      : input_(input),
        group_of_(input.steps.size(), -1),
        maker_(input.buffers.size(), -1),
        users_(input.buffers.size()) {
    for (std::size_t i = 0; i < input.steps.size(); ++i) {
      maker_[std::size_t(input.steps[i].writes)] = std::int32_t(i);
      for (const BufferRead& read : input.steps[i].reads) users_[std::size_t(read.buffer)].push_back(std::int32_t(i));
    }
  }

  std::vector<FusedGroup> run() {
    for (std::size_t i = 0; i < input_.steps.size(); ++i) place(std::int32_t(i));
    std::vector<FusedGroup> groups;
    std::vector<std::pair<std::int32_t, std::size_t>> order;  // last step, group
    for (std::size_t g = 0; g < members_.size(); ++g) {
      if (!members_[g].steps.empty()) order.emplace_back(members_[g].steps.back(), g);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [last, g] : order) groups.push_back(sum_up(members_[g]));
    return groups;
  }

 private:
  struct Members {
    std::vector<std::int32_t> steps;  // in order
    double elements = 1;              // of the widest step: what the kernel iterates over
    double results = 0;               // of its reduction; 0: none
    bool open = false;                // others may join
  };

  const FusionStep& step(std::int32_t i) const { return input_.steps[std::size_t(i)]; }
  const FusionBuffer& buffer(std::int32_t i) const { return input_.buffers[std::size_t(i)]; }

  // What a step iterates over.
  double elements_of(const FusionStep& s) const {
    double elements = buffer(s.writes).elements;
    if (s.role == FusedRole::Reduction) {
      for (const BufferRead& read : s.reads) elements = std::max(elements, read.elements);
    }
    return elements;
  }

  bool only_used_in(std::int32_t group, std::int32_t made_by) const {
    const std::int32_t made = step(made_by).writes;
    const auto& users = users_[std::size_t(made)];
    if (buffer(made).leaves || users.empty()) return false;
    return std::all_of(users.begin(), users.end(),
                       [&](std::int32_t user) { return group_of_[std::size_t(user)] == group; });
  }

  // Whether step `at` needs something of the group by way of steps outside it.
  bool needs_through_others(std::int32_t at, std::int32_t group) const {
    const std::int32_t first = members_[std::size_t(group)].steps.front();
    std::vector<std::int32_t> open;
    std::vector<bool> seen(std::size_t(at - first), false);
    const auto visit = [&](std::int32_t user) {
      for (const BufferRead& read : step(user).reads) {
        const std::int32_t maker = maker_[std::size_t(read.buffer)];
        if (maker < first || seen[std::size_t(maker - first)]) continue;
        seen[std::size_t(maker - first)] = true;
        open.push_back(maker);
      }
    };
    visit(at);
    std::vector<std::int32_t> outside;
    for (const std::int32_t maker : open) {
      if (group_of_[std::size_t(maker)] != group) outside.push_back(maker);
    }
    open.clear();
    while (!outside.empty()) {
      const std::int32_t maker = outside.back();
      outside.pop_back();
      // A group runs as one: what any of its steps needs, all need.
      for (const std::int32_t member : members_[std::size_t(group_of_[std::size_t(maker)])].steps) {
        for (const BufferRead& read : step(member).reads) {
          const std::int32_t before = maker_[std::size_t(read.buffer)];
          if (before < first) continue;
          if (group_of_[std::size_t(before)] == group) return true;
          if (before >= at || seen[std::size_t(before - first)]) continue;
          seen[std::size_t(before - first)] = true;
          outside.push_back(before);
        }
      }
    }
    return false;
  }

  bool may_join(std::int32_t i, std::int32_t group) const {
    const FusionStep& s = step(i);
    const Members& m = members_[std::size_t(group)];
    if (!m.open || s.role == FusedRole::Library || s.role == FusedRole::Window) return false;
    const double elements = elements_of(s);
    const bool same = elements == m.elements || (m.results > 0 && elements == m.results);
    if (s.role == FusedRole::Reduction && m.results > 0) return false;
    if (!same) {
      // A smaller chain is computed again inside its only user.
      if (elements < m.elements || m.results > 0 || s.role == FusedRole::Reduction) return false;
      for (const std::int32_t member : m.steps) {
        const auto& users = users_[std::size_t(step(member).writes)];
        const bool inside = std::all_of(users.begin(), users.end(), [&](std::int32_t user) {
          return user == i || group_of_[std::size_t(user)] == group;
        });
        if (!inside || buffer(step(member).writes).leaves) return false;
      }
    }
    return !needs_through_others(i, group);
  }

  void place(std::int32_t i) {
    const FusionStep& s = step(i);
    std::vector<std::int32_t> candidates;
    for (const BufferRead& read : s.reads) {
      const std::int32_t group = group_of_[std::size_t(maker_[std::size_t(read.buffer)])];
      if (std::find(candidates.begin(), candidates.end(), group) == candidates.end()) candidates.push_back(group);
    }
    std::sort(candidates.begin(), candidates.end(), [&](std::int32_t a, std::int32_t b) {
      return members_[std::size_t(a)].steps.back() > members_[std::size_t(b)].steps.back();
    });
    std::int32_t home = -1;
    for (const std::int32_t group : candidates) {
      if (home < 0 && may_join(i, group)) home = group;
    }
    if (home < 0) {
      home = std::int32_t(members_.size());
      members_.push_back({{}, 1, 0, s.role != FusedRole::Library});
    }
    group_of_[std::size_t(i)] = home;
    Members& m = members_[std::size_t(home)];
    m.steps.push_back(i);
    m.elements = std::max(m.elements, elements_of(s));
    if (s.role == FusedRole::Reduction) m.results = buffer(s.writes).elements;
    if (s.role != FusedRole::Library && s.role != FusedRole::Window) absorb(home, candidates);
  }

  // Chains whose results nobody else reads are computed inside the group that reads them.
  void absorb(std::int32_t home, const std::vector<std::int32_t>& candidates) {
    for (const std::int32_t group : candidates) {
      Members& other = members_[std::size_t(group)];
      if (group == home || !other.open || other.results > 0 || other.steps.empty()) continue;
      Members& m = members_[std::size_t(home)];
      const bool is_window = std::any_of(other.steps.begin(), other.steps.end(),
                                         [&](std::int32_t s) { return step(s).role == FusedRole::Window; });
      if (is_window || other.elements > m.elements) continue;
      const bool inside = std::all_of(other.steps.begin(), other.steps.end(), [&](std::int32_t s) {
        const auto& users = users_[std::size_t(step(s).writes)];
        return !buffer(step(s).writes).leaves && std::all_of(users.begin(), users.end(), [&](std::int32_t user) {
          return group_of_[std::size_t(user)] == group || group_of_[std::size_t(user)] == home;
        });
      });
      if (!inside) continue;
      for (const std::int32_t s : other.steps) group_of_[std::size_t(s)] = home;
      m.steps.insert(m.steps.end(), other.steps.begin(), other.steps.end());
      std::sort(m.steps.begin(), m.steps.end());
      other.steps.clear();
      other.open = false;
    }
  }

  FusedGroup sum_up(const Members& m) const {
    FusedGroup group;
    const std::int32_t own = group_of_[std::size_t(m.steps.front())];
    std::map<std::int32_t, double> read;  // largest part of each buffer
    for (const std::int32_t i : m.steps) {
      const FusionStep& s = step(i);
      group.kernels.push_back(s.kernel);
      group.read_bytes += s.outside_bytes;
      for (const BufferRead& r : s.reads) {
        const FusionBuffer& from = buffer(r.buffer);
        if (group_of_[std::size_t(maker_[std::size_t(r.buffer)])] == own) continue;
        double& most = read[r.buffer];
        most = std::max(most, r.elements * from.bytes / from.elements);
      }
      if (!only_used_in(own, i)) group.write_bytes += buffer(s.writes).bytes;
    }
    for (const auto& [id, bytes] : read) group.read_bytes += bytes;
    return group;
  }

  const FusionInput& input_;
  std::vector<std::int32_t> group_of_;
  std::vector<std::int32_t> maker_;               // the step that writes a buffer
  std::vector<std::vector<std::int32_t>> users_;  // the steps that read it
  std::vector<Members> members_;
};

}  // namespace

std::vector<FusedGroup> fuse(const FusionInput& input) { return Fuser(input).run(); }

}  // namespace forerun
