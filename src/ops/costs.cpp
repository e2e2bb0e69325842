// Cost rules of operators that are not products: counted by elements.
#include <algorithm>

#include "base/checked.hpp"
#include "ops/rules.hpp"

namespace forerun {

void set_macs(OpCost& cost, std::int64_t macs) {
  cost.macs = macs;
  cost.flops = checked_mul(2, macs);
}

void no_cost(RuleContext&, OpCost&) {}

void elementwise_cost(RuleContext& c, OpCost& cost) {
  if (const Value* output = c.output(0)) cost.flops = elements_of(*output);
}

void reduction_cost(RuleContext& c, OpCost& cost) {
  if (const Value* input = c.input(0)) cost.flops = elements_of(*input);
}

void gradient_cost(RuleContext& c, OpCost& cost) {
  if (const Value* input = c.input(0)) cost.flops = checked_mul(2, elements_of(*input));
}

}  // namespace forerun
