#include "service/serving_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "analysis/kernel_builder.hpp"
#include "graph/graph.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

constexpr double kMiB = 1048576.0;
constexpr std::int64_t kMostBatch = 1024, kLongestStep = 8192;

double mean_length(const Load& load) {
  if (load.trace.empty()) return load.input.mean + load.output.mean;
  double sum = 0;
  for (const TraceRow& row : load.trace) sum += double(row.input_tokens + row.output_tokens);
  return sum / double(load.trace.size());
}

double longest_input(const Load& load) {
  double longest = load.input.mean * (1 + 3 * load.input.cv);
  for (const TraceRow& row : load.trace) longest = std::max(longest, double(row.input_tokens));
  return longest;
}

// Weights of routed experts, whose share a device keeps differs from other weights'.
double expert_bytes(const Graph& graph) {
  double bytes = 0;
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      if (node.kind != OpKind::MoeExperts) continue;
      for (const ValueId id : node.inputs) {
        if (id == kNoValue || !is_weight(graph.values[std::size_t(id)])) continue;
        const Value& value = graph.values[std::size_t(id)];
        bytes += double(value.stored_bytes >= 0 ? value.stored_bytes : bytes_of(value));
      }
    }
  }
  return bytes;
}

// A KV cache [batch, heads, tokens, width] is divided by heads; the latent of MLA, [batch, tokens, width], is not.
double cache_bytes(const Graph& graph, std::int64_t tensor, std::int64_t& shards) {
  double bytes = 0;
  shards = 1;
  for (const Value& value : graph.values) {
    if (value.role != ValueRole::Cache) continue;
    const std::int64_t own = value.dims.size() == 4 ? std::min(tensor, std::max<std::int64_t>(1, value.dims[1])) : 1;
    shards = std::max(shards, own);
    bytes += double(bytes_of(value)) / double(own);
  }
  return bytes;
}

// Products of integer weights run in 16 bits; their kernels say so, for checkpoints of mixed formats too.
void mark_integer_weights(const Graph& graph, std::vector<Kernel>& kernels) {
  for (Kernel& kernel : kernels) {
    if (kernel.node < 0 || kernel.math != Math::Bf16Tensor) continue;
    for (const ValueId id : graph.blocks[std::size_t(kernel.block)].nodes[std::size_t(kernel.node)].inputs) {
      if (id == kNoValue || !is_weight(graph.values[std::size_t(id)])) continue;
      const DType dtype = graph.values[std::size_t(id)].dtype;
      if (dtype == DType::UInt4 || dtype == DType::Int4 || dtype == DType::Int8 || dtype == DType::UInt8)
        kernel.math = Math::Fp16Tensor;
    }
  }
}

std::vector<std::int64_t> powers_up_to(std::int64_t first, std::int64_t factor, std::int64_t last) {
  std::vector<std::int64_t> list;
  for (std::int64_t n = first; n < last; n *= factor) list.push_back(n);
  list.push_back(last);
  return list;
}

class QuestionMaker {
 public:
  QuestionMaker(Workspace& workspace, const Request& request, ServingQuestion& question)
      : workspace_(workspace), question_(question), request_(request) {
    request_.in_engine = !question.eager;
    request_.runtime = question.eager ? Runtime::Eager : Runtime::Graph;
    request_.train = false;
  }

  // `requests`: most that one instance holds at once.
  Status fill(ServingGroup& group, std::int64_t requests) {
    FORERUN_CHECK(check(group));
    const std::int64_t most = std::clamp<std::int64_t>(requests, 1, kMostBatch);
    const double mean = mean_length(question_.load);
    const std::set<std::int64_t> contexts = {std::max<std::int64_t>(16, std::int64_t(mean / 4)),
                                             std::max<std::int64_t>(32, std::int64_t(mean))};
    for (const std::int64_t batch : powers_up_to(1, 2, std::int64_t(std::bit_ceil(std::uint64_t(most))))) {
      for (const std::int64_t context : contexts) FORERUN_CHECK(decode(group, batch, context));
    }
    const auto longest = std::int64_t(std::max(longest_input(question_.load), double(kLongestStep)));
    for (const std::int64_t tokens : powers_up_to(64, 4, longest)) FORERUN_CHECK(prompt(group, tokens));
    return ok();
  }

 private:
  Result<std::shared_ptr<const Plan>> plan(Phase phase, std::int64_t batch, std::int64_t tokens) {
    request_.binding.phase = phase;
    request_.binding.batch = batch;
    request_.binding.seq = tokens;
    request_.binding.last_logits_only = phase == Phase::Prefill;
    FORERUN_TRY(std::shared_ptr<const Plan> plan, workspace_.plan_of(request_));
    for (const std::string& warning : plan->warnings) {
      if (std::find(question_.warnings.begin(), question_.warnings.end(), warning) == question_.warnings.end())
        question_.warnings.push_back(warning);
    }
    return plan;
  }

  Status check(ServingGroup& group) {
    FORERUN_TRY(const std::shared_ptr<const Plan> plan, this->plan(Phase::Decode, 1, 64));
    const Graph& graph = *plan->graph;
    const bool has_cache = std::any_of(graph.values.begin(), graph.values.end(),
                                       [](const Value& value) { return value.role == ValueRole::Cache; });
    if (!graph.transformer || !has_cache)
      return bad_input("serving questions need a language model that generates tokens (a configuration or GGUF file)");
    const TransformerFacts& facts = *graph.transformer;
    if (group.layout.tensor > 1 && facts.heads > 0 && facts.heads % group.layout.tensor != 0)
      return bad_input(fmt::format("--tensor-parallel {}: does not divide the {} attention heads", group.layout.tensor,
                                   facts.heads));
    if (group.layout.pipeline > facts.layers)
      return bad_input(
          fmt::format("--pipeline-parallel {}: the network has {} layers", group.layout.pipeline, facts.layers));
    group.layout.hidden = double(facts.hidden_size);
    group.layout.layers = double(facts.layers);
    const double experts = expert_bytes(graph);
    group.weights_mb = ((plan->memory.weight_bytes - experts) / double(group.layout.tensor) +
                        experts / double(group.layout.devices())) /
                       double(group.layout.pipeline * group.layout.split) / kMiB;
    const auto length = std::max<std::int64_t>(1, std::int64_t(mean_length(question_.load)));
    FORERUN_TRY(const std::shared_ptr<const Plan> full, this->plan(Phase::Decode, 1, length));
    const double wide = request_.kv_bytes.value_or(2) / 2;
    const double bytes = cache_bytes(*full->graph, group.layout.tensor, group.layout.kv_shards) * wide;
    group.layout.kv_bytes_per_token = bytes / double(length);
    group.kv_mb_per_token = group.layout.kv_bytes_per_token / double(group.layout.split) / kMiB;
    question_.kv_mb_per_request = bytes * double(group.layout.kv_shards) / kMiB;
    FORERUN_TRY(const std::shared_ptr<const Plan> chunk, this->plan(Phase::Prefill, 1, kLongestStep));
    // The caches of a prompt are its outputs: those lie in the engine's blocks.
    const double per_token = bytes / double(length) * double(group.layout.kv_shards);
    const double activations = chunk->memory.peak_bytes - per_token * double(kLongestStep);
    // Engines run attention and norms fused: no more than some tensors of a step's tokens live at once.
    constexpr double kLiveBytes = 40;
    const double most = kLiveBytes * double(kLongestStep) * group.layout.hidden;
    group.activations_mb = std::max(64.0, std::min(activations, most) / double(group.layout.tensor) / kMiB);
    return ok();
  }

  Result<PassKernels> kernels(ServingGroup& group, Phase phase, std::int64_t batch, std::int64_t tokens) {
    // Attention in groups: each runs its share of the batch, and the experts see the tokens of all of them.
    const std::int64_t groups = group.layout.attention_data;
    const std::int64_t own = phase == Phase::Decode ? std::max<std::int64_t>(1, (batch + groups - 1) / groups) : batch;
    FORERUN_TRY(const std::shared_ptr<const Plan> dense, plan(phase, own, tokens));
    PassKernels pass;
    pass.batch = double(batch);
    pass.context = double(tokens);
    pass.tokens = phase == Phase::Decode ? double(own) : double(tokens);
    pass.dense = dense->distinct_kernels;
    mark_integer_weights(*dense->graph, pass.dense);
    pass.experts = pass.dense;
    if (groups > 1) {
      FORERUN_TRY(const std::shared_ptr<const Plan> whole,
                  phase == Phase::Decode ? plan(phase, batch, tokens) : plan(phase, 1, tokens * groups));
      pass.experts = whole->distinct_kernels;
      mark_integer_weights(*whole->graph, pass.experts);
    }
    if (request_.kv_bytes && phase == Phase::Decode) {
      for (Kernel& kernel : pass.dense) {
        if (kernel.kernel_class == KernelClass::Attention) kernel.read_bytes *= *request_.kv_bytes / 2;
      }
    }
    return share_pass(std::move(pass), group.layout);
  }

  Status decode(ServingGroup& group, std::int64_t batch, std::int64_t context) {
    FORERUN_TRY(PassKernels pass, kernels(group, Phase::Decode, batch, context));
    group.decodes.push_back(std::move(pass));
    return ok();
  }
  // With attention in groups, a prompt is one group's and the others work on theirs at the same time: a point for n
  // groups' prompts of t tokens stands for n t tokens.
  Status prompt(ServingGroup& group, std::int64_t tokens) {
    FORERUN_TRY(PassKernels pass, kernels(group, Phase::Prefill, 1, tokens));
    group.prompts.push_back(std::move(pass));
    return ok();
  }

  Workspace& workspace_;
  ServingQuestion& question_;
  Request request_;
};

Result<Load> load_of(const Request& request) {
  Load load;
  load.input = {double(request.input_tokens.value_or(request.binding.seq.value_or(512))), request.input_cv};
  load.output = {double(request.output_tokens.value_or(128)), request.output_cv};
  load.concurrency = request.concurrency;
  load.requests_per_s = request.request_rate;
  load.burstiness = request.burstiness;
  load.seed = request.seed;
  if (!request.trace.empty() || !request.trace_rows.empty()) {
    load.trace = request.trace_rows;
    if (!request.trace.empty()) {
      FORERUN_TRY(load.trace, read_trace(request.trace));
    }
    if (request.request_rate)
      return bad_input("--trace and --request-rate: a trace has its own arrivals; give one of both");
  }
  if (!load.concurrency && !load.requests_per_s && load.trace.empty())
    load.concurrency = request.binding.batch.value_or(1);
  return load;
}

}  // namespace

double ServingQuestion::devices() const {
  const auto of = [](const ServingGroup& group) {
    return double(group.layout.devices() * group.layout.split * group.count);
  };
  double devices = of(decode);
  if (prefill) devices += of(*prefill);
  return devices;
}

bool asks_for_serving(const Request& request) {
  return request.input_tokens || request.output_tokens || request.concurrency || request.request_rate ||
         !request.trace.empty() || !request.trace_rows.empty() || !request.engine.empty() ||
         request.decode_instances > 0 || request.slo_ttft_ms || request.slo_tpot_ms || request.users;
}

Result<ServingQuestion> make_serving_question(Workspace& workspace, const Request& request) {
  ServingQuestion question;
  question.cancel = request.cancel;
  question.engine = request.engine.empty() ? kDefaultEngine : request.engine;
  question.version = request.engine_version;
  std::vector<std::string> of_devices;
  FORERUN_TRY(const Engine engine, find_engine(question.engine, question.version, {}, of_devices));
  question.eager = engine.runs_framework_kernels;
  question.limits = {request.slo_ttft_ms, request.slo_tpot_ms};
  question.finds_rate = request.finds_rate;
  FORERUN_TRY(question.load, load_of(request));
  question.decode.layout.tensor = request.parallel.degrees.tensor;
  question.decode.layout.attention_data = request.attention_data_parallel;
  if (engine.splits_layers) std::swap(question.decode.layout.tensor, question.decode.layout.split);
  // A pipeline of n stages runs n batches at once, each as fast as without it: it is taken as n instances that share
  // their devices' memory.
  question.decode.layout.pipeline = std::max<std::int64_t>(1, request.parallel.degrees.pipeline);
  question.decode.count = question.decode.layout.pipeline *
                          (request.decode_instances > 0 ? request.decode_instances : request.parallel.degrees.data);
  // An open loop may hold as many requests as there is room for.
  const std::int64_t clients = question.load.concurrency.value_or(kMostBatch * question.decode.count);
  const std::int64_t each = (clients + question.decode.count - 1) / question.decode.count;
  // Engines run networks that do not state a format in 16 bits, not in fp32.
  FORERUN_TRY(const std::shared_ptr<const Network> network, workspace.network_of(request));
  question.precision = request.precision ? request.precision : network->own_precision();
  if (!question.precision || (!request.precision && activation_bytes(*question.precision) > 2)) {
    question.precision = Precision::Bf16;
    question.warnings.push_back("precision not given: bf16, as engines run it");
  }
  Request asked = request;
  asked.precision = question.precision;
  QuestionMaker maker(workspace, asked, question);
  FORERUN_CHECK(maker.fill(question.decode, each));
  if (request.prefill_instances > 0) {
    ServingGroup prefill;
    prefill.layout = question.decode.layout;
    if (request.prefill_tensor_parallel > 0 && !engine.splits_layers)
      prefill.layout.tensor = request.prefill_tensor_parallel;
    if (request.prefill_attention_data_parallel > 0)
      prefill.layout.attention_data = request.prefill_attention_data_parallel;
    prefill.count = request.prefill_instances * prefill.layout.pipeline;
    FORERUN_CHECK(maker.fill(prefill, 1));
    question.prefill = std::move(prefill);
  }
  return question;
}

}  // namespace forerun
