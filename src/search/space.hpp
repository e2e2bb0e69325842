// A space of questions: which values each field of a request may take. It is enumerated or sampled by number, so that
// any part of it can be asked anywhere, and its choices are the genes of a search.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace forerun {

// One thing to choose. `fragments`: what each choice adds to the request, as JSON text.
struct Axis {
  std::string name = {};                 // "batch", "operations[3]"
  std::vector<std::string> labels = {};  // of the choices, as shown
  std::vector<std::string> fragments = {};
  bool is_config = false;   // goes into the description of the network
  std::int32_t group = -1;  // axes of one list have the same number and follow each other
  std::string key = {};     // of such a list
};

using Genes = std::vector<std::uint16_t>;  // by axis, the choice

class QuestionSpace {
 public:
  // YAML or JSON (docs/sweeps.md). `what` opens every message.
  static Result<QuestionSpace> read(std::string_view text, const std::string& what);

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  // Questions of a sweep: all, or as many as `sample` and `architecture.sample` say.
  [[nodiscard]] std::int64_t size() const { return architectures_ * rest_; }
  // REQUIRES: i < size()
  [[nodiscard]] Genes genes_of(std::int64_t i) const;
  [[nodiscard]] std::string question(const Genes& genes) const;  // one line of JSON
  [[nodiscard]] std::string question(std::int64_t i) const { return question(genes_of(i)); }

 private:
  std::vector<Axis> axes_;            // the architecture's first, the device's last: neighbours share their network
  std::string fixed_, fixed_config_;  // fields with one value, as JSON text
  std::size_t architecture_axes_ = 0;
  double all_architectures_ = 1, all_rest_ = 1;
  std::int64_t architectures_ = 1, rest_ = 1;
  std::uint64_t seed_ = 1;
  friend class SpaceReader;
};

// The i-th of `count` numbers below `total`, all different: a permutation by a Feistel network. REQUIRES: i < total
[[nodiscard]] std::uint64_t shuffled(std::uint64_t i, std::uint64_t total, std::uint64_t seed);

}  // namespace forerun
