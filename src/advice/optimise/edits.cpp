// Proposals that change the network: one row for each edit.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "advice/optimise/proposal.hpp"

namespace forerun {
namespace {

struct Row {
  GraphEdit edit;
  const char* title;  // {} = number of places
  const char* why;
  Risk risk;
  bool for_training;
};
constexpr std::array kRows = {
    Row{{"fold-norms", fold_norms},
        "fold {} batch normalisations into the convolutions before them",
        "in inference a batch normalisation is a factor and a shift, which the convolution's weights can take over",
        Risk::None,
        false},
    Row{{"join-products", join_products},
        "join the matrix products that share their input, in {} places",
        "one wide product fills the device better than several narrow ones and reads its input once",
        Risk::None,
        true},
    Row{{"align-widths", align_widths},
        "widen {} sets of channels to multiples of 8",
        "tensor cores and vector loads work on 8 channels at a time",
        Risk::Architecture,
        true},
    Row{{"shrink-windows", shrink_windows},
        "3x3 windows in {} convolutions with larger ones",
        "the arithmetic of a convolution grows with the area of its window",
        Risk::Architecture,
        true},
    Row{{"simplify-activations", simplify_activations},
        "ReLU for {} costlier activations",
        "ReLU runs in one short kernel, and its gradient needs no second pass over the input",
        Risk::Architecture,
        true},
};

}  // namespace

const GraphEdit* find_edit(std::string_view name) {
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& r) { return r.edit.name == name; });
  return row == kRows.end() ? nullptr : &row->edit;
}

void propose_edits(const Situation& situation, std::vector<Proposal>& proposals) {
  for (const Row& row : kRows) {
    if (situation.workload.training && !row.for_training) continue;
    Graph trial = situation.graph;
    const std::size_t places = row.edit.apply(trial);
    if (places == 0) continue;
    proposals.push_back({"", fmt::format(fmt::runtime(row.title), places), row.why, {}, &row.edit, row.risk});
  }
}

}  // namespace forerun
