#include "dataset/one_operator.hpp"

#include "analysis/analyze.hpp"
#include "ops/op_table.hpp"

namespace forerun {

OneOperator::OneOperator() : GraphDraft(23) {
  // The first product of a network needs no gradient of its input; this one of a single element takes that place.
  apply("MatMul", {input({1, 1}), weight({1, 1})});
}

ValueId OneOperator::input(Dims dims, DType dtype) {
  const ValueId id = GraphDraft::input(std::move(dims), dtype);
  graph_.values[std::size_t(id)].wants_gradient = true;
  return id;
}

ValueId OneOperator::literal(std::vector<std::int64_t> ints) {
  const ValueId id = add_value({std::int64_t(ints.size())}, DType::Int64);
  graph_.values[std::size_t(id)].role = ValueRole::Constant;
  graph_.values[std::size_t(id)].literal = Literal{std::move(ints), {}};
  return id;
}

Result<std::vector<Kernel>> OneOperator::kernels(const Workload& workload, OperatorPart part) {
  FORERUN_CHECK(verify(graph_));
  FORERUN_CHECK(infer_shapes(graph_));
  FORERUN_CHECK(count_costs(graph_));
  Workload run = workload;
  run.training = run.binding.training = part != OperatorPart::Forward;
  if (part != OperatorPart::Update) run.optimizer = Optimizer::None;
  const Stage stage = part == OperatorPart::Backward ? Stage::Backward
                      : part == OperatorPart::Update ? Stage::Update
                                                     : Stage::Forward;
  std::vector<Kernel> found;
  for (Kernel& kernel : list_kernels(graph_, run)) {
    if (kernel.node == 0 || kernel.stage != stage) continue;
    if (kernel.node > 0) {  // the optimiser's belongs to none
      // Labels may lie in this graph, which does not outlive the kernels: the operator table's are for ever.
      const Node& node = graph_.main().nodes[std::size_t(kernel.node)];
      if (kernel.label == node.op_type.c_str()) kernel.label = spec_of(node.kind).name.data();
    }
    found.push_back(kernel);
  }
  if (found.empty() && part != OperatorPart::Backward)
    return internal_error("an operator without a kernel: " + graph_.main().nodes.back().op_type);
  return found;
}

}  // namespace forerun
