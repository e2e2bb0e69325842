// Runs a graph network's program with Eigen. Immutable after loading and safe to share between threads.
#pragma once

#include <span>
#include <vector>

#include "base/cancel_token.hpp"
#include "bundle/bundle.hpp"
#include "features/graph_tensors.hpp"
#include "predictors/gnn/product.hpp"
#include "predictors/gnn/program.hpp"

namespace forerun {

class GnnEngine {
 public:
  // Reads the bundle's part "program" and its tensors. Errors: an invalid program, or a tensor whose size differs from
  // its section.
  static Result<GnnEngine> load(const Bundle& bundle);

  [[nodiscard]] const GnnProgram& program() const { return program_; }
  // One matrix per output register: nodes x width, or 1 x width. `node_weights` is what weighted_mean uses. Errors:
  // features of the wrong width; a graph without nodes.
  [[nodiscard]] Result<std::vector<Matrix>> run(const GraphTensors& graph, std::span<const float> node_weights,
                                                const CancelToken& cancel = {}) const;

 private:
  // Computes the result of one step from the registers before it.
  [[nodiscard]] Status run_step(const Step& step, const GraphTensors& graph, std::span<const float> node_weights,
                                const std::vector<Matrix>& registers, Matrix& y) const;

  GnnProgram program_;
  std::vector<Matrix> tensors_;         // transposed where a step multiplies by them
  std::vector<std::int32_t> last_use_;  // of each register: the last step that reads it
};

}  // namespace forerun
