#include <vector>

#include "advice/optimise/graph_edits.hpp"

namespace forerun {
namespace {

class EditedNetwork final : public Network {
 public:
  EditedNetwork(std::shared_ptr<const Network> original, std::span<const GraphEdit* const> edits)
      : original_(std::move(original)), edits_(edits.begin(), edits.end()) {}

  Result<Graph> expand(const Binding& binding) const override {
    FORERUN_TRY(Graph graph, original_->expand(binding));
    for (const GraphEdit* edit : edits_) {
      if (edit->apply(graph) == 0) return bad_input(std::string(edit->name) + ": the network has no place for it");
    }
    FORERUN_CHECK(verify(graph));
    return graph;
  }
  bool is_fixed_graph() const override { return original_->is_fixed_graph(); }
  const Graph* open_inputs() const override { return original_->open_inputs(); }
  std::optional<Precision> own_precision() const override { return original_->own_precision(); }

 private:
  std::shared_ptr<const Network> original_;
  std::vector<const GraphEdit*> edits_;
};

}  // namespace

std::shared_ptr<const Network> edited(std::shared_ptr<const Network> network, std::span<const GraphEdit* const> edits) {
  return std::make_shared<EditedNetwork>(std::move(network), edits);
}

}  // namespace forerun
