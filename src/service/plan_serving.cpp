#include "service/plan_serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "advice/cost.hpp"
#include "analysis/kernel_builder.hpp"
#include "base/on_cores.hpp"
#include "parallel/system.hpp"
#include "readers/networks.hpp"
#include "service/serving_deployment.hpp"
#include "service/size_deployment.hpp"

namespace forerun {
namespace {

constexpr std::int64_t kMostDevices = 128;  // of a deployment, where --gpus does not say
constexpr std::int64_t kMostTensor = 8;
constexpr double kRoomier[] = {1.5, 2.0};  // times the instances needed: dearer, faster points of the front

// One precision and layout of an instance, the same on every device.
struct Variant {
  std::optional<Precision> precision;
  std::int64_t tensor = 1, attention_data = 1;
  ServingQuestion question;
};

// A variant on a device: what the engines there share.
struct Job {
  const Device* device = nullptr;
  std::size_t variant = 0;
  std::int64_t pipeline = 1;
  std::optional<std::size_t> prefill;  // disaggregated: the variant of the prefill instances
  double usd_per_hour = 0;             // of one device
  std::int64_t most_devices = 0;
};

struct Outcome {
  std::vector<PlannedDeployment> found;
  std::map<std::string, std::int64_t> problems;
  std::set<std::string> warnings;
};

// The group of a pipeline's stages, without its kernels.
ServingGroup staged(const ServingGroup& group, std::int64_t pipeline) {
  ServingGroup one{group.layout,         pipeline, {}, {}, group.weights_mb / double(pipeline), group.activations_mb,
                   group.kv_mb_per_token};
  one.layout.pipeline = pipeline;
  return one;
}

std::string hub_name(const Request& request) {
  constexpr std::string_view kHub = "huggingface.co/";
  for (const ShippedNetwork& network : list_networks()) {
    if (network.name != request.model) continue;
    const std::size_t at = network.source.find(kHub);
    if (at != std::string::npos) return network.source.substr(at + kHub.size());
  }
  return request.model;
}

bool runs_on(std::string_view engine, const Device& device) {
  return device.maker == "NVIDIA" || (engine != "trtllm" && (engine != "sglang" || device.maker == "AMD"));
}

bool computes_in(const Device& device, const std::optional<Precision>& precision) {
  if (precision == Precision::Fp8) return device.peak_tflops.contains("fp8_tensor");
  return precision != Precision::Fp4 || device.peak_tflops.contains("fp4_tensor");
}

class DeploymentSearch {
 public:
  DeploymentSearch(const Request& request, const ServingPlanner& planner) : request_(request), planner_(planner) {}

  Result<ServingPlan> run() {
    FORERUN_CHECK(make_variants());
    make_jobs();
    std::vector<Outcome> outcomes(jobs_.size());
    on_cores(jobs_.size(), [&](std::size_t j) { search(jobs_[j], outcomes[j]); });
    FORERUN_CHECK(request_.cancel.check());
    for (Outcome& outcome : outcomes) {
      for (PlannedDeployment& found : outcome.found) plan_.found.push_back(std::move(found));
      for (const auto& [why, count] : outcome.problems) problems_[why] += count;
      warnings_.insert(outcome.warnings.begin(), outcome.warnings.end());
    }
    keep_front();
    return finish();
  }

 private:
  [[nodiscard]] std::vector<std::string> engines() const {
    return request_.engine.empty() ? std::vector<std::string>{"vllm", "sglang", "trtllm"}
                                   : std::vector<std::string>{request_.engine};
  }

  // The question's own format, else the network's; and the narrower ones that some device computes in.
  Result<std::vector<std::optional<Precision>>> precisions() const {
    if (request_.precision) return std::vector<std::optional<Precision>>{request_.precision};
    FORERUN_TRY(const std::shared_ptr<const Network> network, planner_.workspace.network_of(request_));
    const std::optional<Precision> own = network->own_precision();
    if (own && activation_bytes(*own) <= 2 && *own != Precision::Bf16 && *own != Precision::Fp16)
      return std::vector<std::optional<Precision>>{std::nullopt};
    return std::vector<std::optional<Precision>>{own == Precision::Fp16 ? own : Precision::Bf16, Precision::Fp8,
                                                 Precision::Fp4};
  }

  Status make_variants() {
    FORERUN_TRY(const auto formats, precisions());
    FORERUN_TRY(const std::shared_ptr<const Network> network, planner_.workspace.network_of(request_));
    Binding token;
    token.batch = 1;
    token.seq = 16;
    token.phase = Phase::Decode;
    FORERUN_TRY(const Graph graph, network->expand(token));
    const TransformerFacts facts = graph.transformer.value_or(TransformerFacts{});
    layers_ = facts.layers;
    const auto add = [&](const std::optional<Precision>& precision, std::int64_t tensor,
                         std::int64_t attention_data) -> Status {
      Request one = request_;
      one.precision = precision;
      one.parallel = {};
      one.parallel.degrees.tensor = tensor;
      one.attention_data_parallel = attention_data;
      if (one.engine.empty()) one.engine = kDefaultEngine;
      FORERUN_TRY(ServingQuestion question, make_serving_question(planner_.workspace, one));
      warnings_.insert(question.warnings.begin(), question.warnings.end());
      variants_.push_back({question.precision, tensor, attention_data, std::move(question)});
      return ok();
    };
    const std::int64_t asked = request_.parallel.degrees.tensor;
    for (const auto& precision : formats) {
      const bool is_computed = std::any_of(planner_.devices.begin(), planner_.devices.end(),
                                           [&](const Device* d) { return computes_in(*d, precision); });
      if (!is_computed && !request_.precision) continue;
      for (std::int64_t tensor = 1; tensor <= std::max(kMostTensor, asked); tensor *= 2) {
        if (asked > 1 && tensor != asked) continue;
        if (facts.heads % tensor == 0) FORERUN_CHECK(add(precision, tensor, 1));
        // Experts on every device, and a batch of its own for each device's attention.
        if (facts.experts > 0 && tensor > 1 && facts.experts % tensor == 0) FORERUN_CHECK(add(precision, 1, tensor));
      }
      if (asked > 1 && variants_.empty()) FORERUN_CHECK(add(precision, asked, 1));  // says what divides the heads
    }
    return ok();
  }

  void make_jobs() {
    for (const Device* device : planner_.devices) {
      const auto price = find_price(device->id, request_.price);
      if (!price) {
        ++problems_[request_.price == "spot" ? "no spot price is known" : "no on-demand price is known"];
        continue;
      }
      const System system = assumed_system(*device);
      for (std::size_t v = 0; v < variants_.size(); ++v) {
        const Variant& variant = variants_[v];
        if (!request_.precision && !computes_in(*device, variant.precision)) continue;
        if (variant.tensor * variant.attention_data > system.link_domain) continue;
        Job job{device, v, 1, {}, price->usd_per_hour, request_.parallel.gpus.value_or(kMostDevices)};
        const std::int64_t asked = request_.parallel.degrees.pipeline;
        for (const std::int64_t pipeline : asked > 1 ? std::vector{asked} : std::vector<std::int64_t>{1, 2, 4}) {
          if (pipeline > std::max<std::int64_t>(1, layers_)) break;
          job.pipeline = pipeline;
          jobs_.push_back(job);
          // More stages hold larger networks; between devices without links of their own they also send less.
          if (fits(job) && (!device->interconnect.kind.empty() || variant.tensor == 1)) break;
        }
        if (asked > 1) continue;
        job.pipeline = 1;
        // Prompts on as many devices as decode steps, or on as few as hold the weights.
        bool has_smallest = false;
        for (std::size_t p = 0; p <= v; ++p) {
          const Variant& prefill = variants_[p];
          job.prefill = p;
          if (prefill.precision != variant.precision || prefill.attention_data != variant.attention_data ||
              (has_smallest && p != v) || !fits(job))
            continue;
          has_smallest = true;
          jobs_.push_back(job);
        }
      }
    }
  }

  [[nodiscard]] bool fits(const Job& job) const {
    std::vector<std::string> warnings;
    const auto engine = find_engine(engines().front(), request_.engine_version, *job.device, warnings);
    const auto holds = [&](const Variant& variant, std::int64_t pipeline) {
      return engine && fixed_mb(staged(variant.question.decode, pipeline), *engine, *job.device) <
                           usable_mb(*engine, *job.device);
    };
    return holds(variants_[job.variant], job.pipeline) && (!job.prefill || holds(variants_[*job.prefill], 1));
  }

  void search(const Job& job, Outcome& outcome) const {
    if (request_.cancel.stopped()) return;
    const Variant& variant = variants_[job.variant];
    const ServingGroup decode = staged(variant.question.decode, job.pipeline);
    const GroupTimes times = times_of(variant.question.decode, *job.device);
    std::optional<ServingGroup> prefill;
    GroupTimes prefill_times;
    if (job.prefill) {
      prefill = staged(variants_[*job.prefill].question.decode, 1);
      prefill_times = times_of(variants_[*job.prefill].question.decode, *job.device);
    }
    for (const std::string& name : engines()) {
      if (!runs_on(name, *job.device)) {
        ++outcome.problems[fmt::format("{} does not run on {}'s devices", name, job.device->maker)];
        continue;
      }
      std::vector<std::string> warnings;
      const auto engine = find_engine(name, request_.engine_version, *job.device, warnings);
      if (!engine) continue;
      outcome.warnings.insert(warnings.begin(), warnings.end());
      std::optional<TimedGroup> prefills;
      if (prefill) prefills.emplace(*prefill, prefill_times);
      const ServingDeployment made = deploy(variant.question, *job.device, *engine, {decode, times}, prefills);
      size(job, *engine, made.deployment, outcome);
    }
  }

  void size(const Job& job, const Engine& engine, const Deployment& deployment, Outcome& outcome) const {
    const Variant& variant = variants_[job.variant];
    const ServingQuestion& question = variant.question;
    if (requests_at_once(question, deployment.decode) < 1 ||
        (job.prefill && requests_at_once(question, deployment.prefill) < 1)) {
      ++outcome.problems["weights and one request do not fit an instance"];
      return;
    }
    const std::int64_t each = variant.tensor * variant.attention_data * job.pipeline;
    const std::int64_t most = job.most_devices / each;
    const SizedDeployment sized = job.prefill ? size_disaggregated(deployment, question.load, question.limits, most)
                                              : size_instances(deployment, question.load, question.limits, most);
    if (!sized.problem.empty()) {
      ++outcome
            .problems[sized.problem.starts_with("needs") ? fmt::format("needs more than {} devices", job.most_devices)
                                                         : sized.problem];
      return;
    }
    const auto add = [&](const Deployment& of, const SimulationResult& result) {
      PlannedDeployment found = describe(job, engine, of, result);
      if (found.devices() <= job.most_devices && found.latency_ms > 0) outcome.found.push_back(std::move(found));
    };
    add(sized.deployment, sized.result);
    for (const double times : kRoomier) {
      Deployment more = sized.deployment;
      const auto grown = [&](std::int64_t count, std::int64_t unit) {
        return std::int64_t(std::ceil(double(count / unit) * times)) * unit;
      };
      more.decode.count = grown(more.decode.count, job.pipeline);
      more.prefill.count = grown(more.prefill.count, 1);
      if (more.decode.count > sized.deployment.decode.count) add(more, run_load(more, question.load));
    }
  }

  PlannedDeployment describe(const Job& job, const Engine& engine, const Deployment& deployment,
                             const SimulationResult& result) const {
    const Variant& variant = variants_[job.variant];
    PlannedDeployment found{job.device->id, engine.name, engine.version, variant.precision, {}, {}, 0, 0, 0, false};
    const auto add = [&](InstanceRole role, const Variant& of, std::int64_t instances) {
      const LaunchOptions options{hub_name(request_), of.precision, request_.kv_bytes == 1.0, of.tensor, job.pipeline,
                                  of.attention_data,  role};
      found.groups.push_back(
          {role, instances, of.tensor, job.pipeline, of.attention_data, launch_command(engine, options)});
    };
    if (job.prefill) add(InstanceRole::Prefill, variants_[*job.prefill], deployment.prefill.count);
    add(job.prefill ? InstanceRole::Decode : InstanceRole::Whole, variant, deployment.decode.count / job.pipeline);
    ServingSummary summary = summarise(result, variant.question.load, variant.question.limits, double(found.devices()));
    add_intervals(summary, engine);
    if (summary.saturated) return found;
    found.metrics = std::move(summary.metrics);
    const ServingMetric* latency = found.find("request_latency_ms");
    const ServingMetric* tokens = found.find("tokens_per_s");
    found.usd_per_hour = job.usd_per_hour * double(found.devices());
    if (latency != nullptr) found.latency_ms = latency->p90.value_or(latency->value);
    if (tokens != nullptr && tokens->value > 0) found.usd_per_million = found.usd_per_hour / 3600 / tokens->value * 1e6;
    return found;
  }

  // Marks what nothing else beats in price and latency, and leaves it with each device's cheapest.
  void keep_front() {
    std::sort(plan_.found.begin(), plan_.found.end(), [](const PlannedDeployment& a, const PlannedDeployment& b) {
      return std::tuple(a.usd_per_hour, a.latency_ms, a.device, a.engine) <
             std::tuple(b.usd_per_hour, b.latency_ms, b.device, b.engine);
    });
    double fastest = 1e300;
    std::set<std::string> devices;
    plan_.keeping = std::ssize(plan_.found);
    std::erase_if(plan_.found, [&](PlannedDeployment& found) {
      constexpr double kWorthwhile = 0.98;  // of the latency of the next cheaper one
      found.is_on_front = found.latency_ms < kWorthwhile * fastest;
      if (found.is_on_front) fastest = found.latency_ms;
      const bool is_cheapest = devices.insert(found.device).second;
      return !found.is_on_front && !is_cheapest;
    });
  }

  Result<ServingPlan> finish() {
    plan_.network = request_.model;
    plan_.rate = *request_.request_rate;
    plan_.limits = {request_.slo_ttft_ms, request_.slo_tpot_ms};
    if (!variants_.empty()) {
      plan_.input = variants_.front().question.load.input;
      plan_.output = variants_.front().question.load.output;
    }
    plan_.considered = std::ssize(jobs_) * std::ssize(engines());
    for (const auto& [why, count] : problems_) plan_.problems.push_back({why, count});
    std::stable_sort(plan_.problems.begin(), plan_.problems.end(),
                     [](const LayoutProblem& a, const LayoutProblem& b) { return a.layouts > b.layouts; });
    for (const PlannedDeployment& found : plan_.found) {
      if (found.precision == Precision::Fp8 && !request_.precision)
        warnings_.insert("fp8 weights change what the network answers; --precision bf16 leaves them out");
      if (found.precision == Precision::Fp4 || found.precision == Precision::Int4 ||
          (found.precision == Precision::Fp8 && found.engine == "trtllm"))
        warnings_.insert(fmt::format("{} in {} needs a checkpoint quantised to it: name that in the launch command",
                                     found.engine, name_of(*found.precision)));
    }
    plan_.warnings.assign(warnings_.begin(), warnings_.end());
    return std::move(plan_);
  }

  const Request& request_;
  const ServingPlanner& planner_;
  std::vector<Variant> variants_;
  std::vector<Job> jobs_;
  std::int64_t layers_ = 0;
  std::map<std::string, std::int64_t> problems_;
  std::set<std::string> warnings_;
  ServingPlan plan_;
};

// What a search decides itself, or does not simulate.
Status check_options(const Request& r) {
  if (!r.request_rate) return bad_input("forerun plan --serve: say with --rate how many requests come in a second");
  const std::pair<bool, std::string_view> kRefused[] = {{r.train, "--train"},
                                                        {r.concurrency.has_value(), "--concurrency"},
                                                        {!r.trace.empty() || !r.trace_rows.empty(), "--trace"},
                                                        {r.decode_instances > 0, "--disaggregated"},
                                                        {r.prefill_tensor_parallel > 0, "--prefill-tensor-parallel"},
                                                        {r.parallel.degrees.data > 1, "--data-parallel"},
                                                        {r.parallel.degrees.expert > 1, "--expert-parallel"},
                                                        {r.parallel.degrees.context > 1, "--context-parallel"},
                                                        {r.parallel.nodes.has_value(), "--nodes"},
                                                        {r.max_latency_ms.has_value(), "--max-latency-ms"}};
  for (const auto& [is_given, option] : kRefused) {
    if (is_given)
      return bad_input(
          fmt::format("forerun plan --serve: {} does not apply; the search has --rate, --slo-ttft-ms, "
                      "--slo-tpot-ms, --device, --engine, --precision, --tensor-parallel, "
                      "--pipeline-parallel and --gpus",
                      option));
  }
  return ok();
}

}  // namespace

std::int64_t PlannedDeployment::devices() const {
  std::int64_t sum = 0;
  for (const PlannedInstances& group : groups) sum += group.devices();
  return sum;
}

const ServingMetric* PlannedDeployment::find(std::string_view key) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const auto& m) { return m.key == key; });
  return found == metrics.end() ? nullptr : &*found;
}

Result<ServingPlan> plan_serving(const Request& request, const ServingPlanner& planner) {
  FORERUN_CHECK(check_options(request));
  return DeploymentSearch(request, planner).run();
}

}  // namespace forerun
