// Bounds between answers: what no learned number may contradict, because one pass holds another.
#include "service/estimate.hpp"

namespace forerun {
namespace {

void lengthen(Answer& answer, double factor) {
  scale(answer.estimates.at(Metric::Latency), factor);
  scale(answer.estimates.at(Metric::Energy), factor);
  for (KernelTerms& terms : answer.kernels) terms.learned += terms.total() * (factor - 1);
}

}  // namespace

void Estimator::raise_to_larger_slices(const Plan& plan, const Request& request, const Target& target,
                                       Pass& pass) const {
  Estimate& latency = pass.answer.estimates.at(Metric::Latency);
  double slowest_ms = latency.value;
  std::string slowest;
  for (const Device& larger : target.larger) {
    const Result<Pass> other = estimate_pass(plan, request, larger, false);
    if (!other) continue;  // a named predictor that does not know the whole card
    const double ms = other->answer.estimates.at(Metric::Latency).value;
    if (!(ms > slowest_ms)) continue;
    slowest_ms = ms;
    slowest = larger.id;
  }
  if (slowest.empty() || !(latency.value > 0)) return;
  lengthen(pass.answer, slowest_ms / latency.value);
  pass.answer.warnings.push_back("latency is that of " + slowest + ": no slice is faster than a larger one");
}

void Estimator::raise_to_one_sample(const Plan& plan, const Request& request, const Device& device, Pass& pass) const {
  const Estimate& latency = pass.answer.estimates.at(Metric::Latency);
  const bool may_fall = runtime_of(request) == Runtime::Eager && !request.parallel.cluster && batch_of(plan) > 1 &&
                        latency.basis == Basis::Learned && host_share(pass.answer) > 0.5;
  if (!may_fall) return;
  Request one = request;
  one.binding.batch = 1;
  for (auto& [name, shape] : one.binding.inputs) {
    if (!shape.empty() && shape.front() == batch_of(plan)) shape.front() = 1;
  }
  const auto smaller = workspace_.plan_of(one);
  if (!smaller) return;  // a file whose shapes hold its batch
  const Result<Pass> other = estimate_pass(**smaller, one, device, false);
  if (!other) return;
  const double least_ms = other->answer.estimates.at(Metric::Latency).value;
  if (latency.value > 0 && least_ms > latency.value) lengthen(pass.answer, least_ms / latency.value);
}

}  // namespace forerun
