#include "records/kernel_terms.hpp"

namespace forerun {

void add(KernelTerms& sum, const KernelTerms& terms) {
  for (const NamedTerm& term : kKernelTerms) sum.*term.value += terms.*term.value;
}

KernelTerms scaled(const KernelTerms& terms, double factor) {
  KernelTerms result;
  for (const NamedTerm& term : kKernelTerms) result.*term.value = terms.*term.value * factor;
  return result;
}

Bound bound_of(const KernelTerms& t) {
  const double compute = t.compute + t.waves;
  if (t.host > compute && t.host > t.memory && t.host > t.launch) return Bound::Host;
  if (t.launch > compute && t.launch > t.memory) return Bound::Launch;
  return compute >= t.memory ? Bound::Compute : Bound::Memory;
}

}  // namespace forerun
