#include "service/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "advice/cost.hpp"
#include "readers/printable.hpp"
#include "service/option_values.hpp"
#include "service/runtime_option.hpp"

namespace forerun {
namespace {

constexpr std::string_view kPrecisionChoices = "ieee_fp32|fp32|tf32|fp16|bf16|amp_bf16|amp_fp16|fp8|int8|int4|fp4";

Status set_devices(Request& r, std::string_view text) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view id = text.substr(0, comma);
    if (!id.empty()) r.devices.emplace_back(id);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  constexpr std::size_t kMostDevices = 256;
  if (r.devices.size() > kMostDevices)
    return Error{ErrorKind::TooLarge, "--device: more than 256 devices in one request"};
  return ok();
}

Status set_dim(Request& r, std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) return bad_input("--dim: " + in_quotes(text) + " is not NAME=N");
  FORERUN_TRY(const std::int64_t value, whole("dim", text.substr(equals + 1)));
  r.binding.dims[std::string(text.substr(0, equals))] = value;
  return ok();
}

// "image=2x3x224x224", "tokens=?x16": a question mark is bound like any free dimension. Without a name: the only input.
Status set_input(Request& r, std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::string_view name = equals == std::string_view::npos ? "" : text.substr(0, equals);
  std::string_view rest = equals == std::string_view::npos ? text : text.substr(equals + 1);
  if (rest.empty() || (name.empty() && rest.find_first_of("0123456789?") == std::string_view::npos))
    return bad_input("--input: " + in_quotes(text) + " is not NAME=SHAPE, as in image=1x3x224x224");
  std::vector<std::int64_t> shape;
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  constexpr std::size_t kMostDimensions = 32;
  while (!rest.empty() && shape.size() <= kMostDimensions) {
    const std::size_t end = std::min(rest.find_first_of("x,"), rest.size());
    const std::string_view part = rest.substr(0, end);
    if (part == "?" || part == "-1") {
      shape.push_back(-1);
    } else {
      FORERUN_TRY(const std::int64_t value, whole("input", part));
      shape.push_back(value);
    }
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  if (shape.size() > kMostDimensions) return bad_input("--input: more than 32 dimensions");
  r.binding.inputs[std::string(name)] = std::move(shape);
  return ok();
}

Status set_precision(Request& r, std::string_view text) {
  Precision precision{};
  FORERUN_CHECK(choose("precision", text, parse_precision(text), kPrecisionChoices, precision));
  r.precision = precision;
  return ok();
}

Status set_phase(Request& r, std::string_view text) {
  Phase phase{};
  FORERUN_CHECK(choose("phase", text, parse_phase(text), "forward|prefill|decode", phase));
  r.binding.phase = phase;
  return ok();
}

Status set_optimizer(Request& r, std::string_view text) {
  return choose("optimizer", text, parse_optimizer(text), "none|sgd|adam|adamw", r.optimizer);
}

Status set_zero(Request& r, std::string_view text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '3')
    return bad_input("--zero: '" + std::string(text) + "' is none of 0|1|2|3");
  r.parallel.step.zero = text[0] - '0';
  return ok();
}

Status set_schedule(Request& r, std::string_view text) {
  return choose("schedule", text, parse_schedule(text), "1f1b|gpipe", r.parallel.step.schedule);
}

Status set_checkpointing(Request& r, std::string_view text) {
  return choose("checkpointing", text, parse_checkpointing(text), "none|selective|full", r.parallel.step.checkpointing);
}

constexpr std::string_view kEngineChoices = "vllm|sglang|trtllm|transformers|llama.cpp";

Status set_engine(Request& r, std::string_view text) {
  for (std::string_view rest = kEngineChoices; !rest.empty();) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    if (rest.substr(0, bar) == text) {
      r.engine = std::string(text);
      return ok();
    }
    rest.remove_prefix(std::min(rest.size(), bar + 1));
  }
  return bad_input("--engine: " + in_quotes(text) + " is none of " + std::string(kEngineChoices));
}

Status set_disaggregated(Request& r, std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos)
    return bad_input("--disaggregated: " + in_quotes(text) + " is not P,D, as in 2,4");
  FORERUN_TRY(r.prefill_instances, whole("disaggregated", text.substr(0, comma)));
  FORERUN_TRY(r.decode_instances, whole("disaggregated", text.substr(comma + 1)));
  constexpr std::int64_t kMostInstances = 1024;
  if (r.prefill_instances > kMostInstances || r.decode_instances > kMostInstances)
    return bad_input("--disaggregated: more than 1024 instances");
  return ok();
}

Status set_kv_precision(Request& r, std::string_view text) {
  if (text == "fp16" || text == "bf16") {
    r.kv_bytes = 2;
  } else if (text == "fp8" || text == "int8") {
    r.kv_bytes = 1;
  } else {
    return bad_input("--kv-precision: " + in_quotes(text) + " is none of fp16|bf16|fp8|int8");
  }
  return ok();
}

Status set_price(Request& r, std::string_view text) {
  if (text != "on_demand" && text != "spot")
    return bad_input("--price: " + in_quotes(text) + " is none of on_demand|spot");
  r.price = std::string(text);
  return ok();
}

Status set_cloud(Request& r, std::string_view text) {
  const auto clouds = price_clouds();
  if (text != "all" && std::find(clouds.begin(), clouds.end(), text) == clouds.end())
    return bad_input(fmt::format("--cloud: {} is none of all|{}", in_quotes(text), fmt::join(clouds, "|")));
  r.cloud = std::string(text);
  return ok();
}

Status add_sweep(Request& r, std::string_view text) {
  constexpr std::size_t kMostSweeps = 8;
  if (r.sweeps.size() >= kMostSweeps) return bad_input("--sweep: more than 8");
  r.sweeps.emplace_back(text);
  return ok();
}

Status set_mig_rule(Request& r, std::string_view text) {
  if (text != "default" && text != "memory" && text != "utilisation")
    return bad_input("--rule: " + in_quotes(text) + " is none of default|memory|utilisation");
  r.mig_rule = text == "default" ? "" : std::string(text);
  return ok();
}

constexpr OptionRange kMegabytes{1, 1e9};  // up to a petabyte
constexpr OptionRange kHostSpeed{0.01, 100};
constexpr OptionRange kPue{1, 10};  // 1: no overhead at all
constexpr OptionRange kDevices{1, double(1 << 20)};
constexpr OptionRange kAtOnce{1, double(1 << 20)};  // requests
constexpr OptionRange kRate{1e-6, 1e6};             // requests a second
constexpr OptionRange kShape{1e-3, 1e3};            // of a gamma distribution
constexpr OptionRange kSpread{1e-6, 100};           // standard deviation / mean
constexpr OptionRange kSamplesPerSecond{1e-6, 1e12};
constexpr OptionRange kLimit{1e-12, 1e15};  // of any metric

Status set_goal(Request& r, std::string_view text) {
  return choose("goal", text, parse_goal(text), "latency|throughput|energy|cost|memory", r.goal);
}

// "latency_ms<=20": any key of the table of metrics.
Status set_constraint(Request& r, std::string_view text) {
  const std::size_t sign = text.find_first_of("<>");
  const bool has_sign = sign != std::string_view::npos && sign + 2 < text.size() && text[sign + 1] == '=';
  const std::optional<Metric> metric = has_sign ? parse_metric(text.substr(0, sign)) : std::nullopt;
  if (!metric) {
    return bad_input("--constraint: " + in_quotes(text) +
                     " is not METRIC<=X or METRIC>=X, as in latency_ms<=20 (metrics: the keys of estimates in --json)");
  }
  constexpr std::size_t kMostConstraints = 32;
  if (r.constraints.size() >= kMostConstraints) return bad_input("--constraint: more than 32");
  FORERUN_TRY(const double limit, real("constraint", text.substr(sign + 2)));
  r.constraints.push_back({*metric, text[sign] == '<', limit});
  return ok();
}

constexpr unsigned kEverywhere = kInspect | kAllEstimates;
using K = OptionKind;

constexpr std::array kOptions = {
    Option{"device", K::List, kAllEstimates, "ID[,ID…|all]", "devices by id or alias, ID:PROFILE for a MIG slice", "",
           set_devices},
    Option{"batch", K::Integer, kEverywhere, "N", "samples (or sequences) in one pass (default: the file's, else 1)",
           "", SET_WHOLE("batch", binding.batch)},
    Option{"seq", K::Integer, kEverywhere, "N", "tokens per sequence; for decode, tokens already in the cache", "",
           SET_WHOLE("seq", binding.seq)},
    Option{"dim", K::Dims, kEverywhere, "NAME=N", "bind a free dimension by its name; may be repeated", "", set_dim},
    Option{"input", K::Shapes, kEverywhere, "NAME=SHAPE",
           "shape of an input that the file does not state, as in image=1x3x224x224; may be repeated", "", set_input},
    Option{"precision", K::Text, kEverywhere, "P",
           "number format it runs in (default: what the file's weights are stored in, else fp32)", kPrecisionChoices,
           set_precision},
    Option{"runtime", K::Text, kAllEstimates, "R",
           "eager: as PyTorch launches it; graph: replayed as one CUDA graph; compiled: torch.compile's kernels, "
           "replayed; "
           "engine: a serving engine's kernels",
           kRuntimeChoices, set_runtime},
    Option{"runtimes", K::Flag, kPredictOnly, "",
           "answer for every runtime that applies (the default for one device without --runtime)", "",
           SET_FLAG(runtimes)},
    Option{"host-speed", K::Real, kPredict | kMig, "X",
           "of eager passes: how fast the host is, relative to the reference host (docs/glossary.md)", "",
           SET_REAL("host-speed", host_speed), kHostSpeed},
    Option{"phase", K::Text, kEverywhere, "P", "of a language model: forward, prefill or decode (default: prefill)",
           "forward|prefill|decode", set_phase},
    Option{"train", K::Flag, kAllEstimates, "", "a training step instead of inference", "", SET_FLAG(train)},
    Option{"optimizer", K::Text, kAllEstimates, "O",
           "of the training step; none = forward and backward only (default: sgd)", "none|sgd|adam|adamw",
           set_optimizer},
    Option{"last-logits", K::Flag, kEverywhere, "", "language models: logits for the last position only", "",
           SET_FLAG(binding.last_logits_only)},
    Option{"predictor", K::Text, kAllEstimates, "NAME",
           "use this predictor (forerun predictors lists them); default: the best for the request", "",
           SET_TEXT(predictor)},
    Option{"explain", K::Flag, kPredictOnly, "",
           "the terms of the longest kernels, and the features that moved the answer most", "", SET_FLAG(explain)},
    Option{"region", K::Text, kPredict, "CODE",
           "grid for carbon: country (DEU), cloud region (aws:eu-west-1); default world", "", SET_TEXT(region)},
    Option{"pue", K::Real, kPredict, "X", "data centre's overhead; default: the provider's or the industry's mean", "",
           SET_REAL("pue", pue), kPue},
    Option{"price", K::Text, kPredict, "KIND", "which rental price (default: on_demand)", "on_demand|spot", set_price},
    Option{"max-latency-ms", K::Real, kPredict | kMig, "X",
           "limit: latency of a pass, or of a served request, at most; MIG slices must keep it too", "",
           SET_REAL("max-latency-ms", max_latency_ms), kMilliseconds},
    Option{"rule", K::Text, kPredict | kMig, "RULE", "MIG rule; memory, utilisation: the published ones",
           "default|memory|utilisation", set_mig_rule},
    Option{"cloud", K::Text, kPredict, "NAME", "whose prices and instances (aws, gcp, azure, …); all = a table", "",
           set_cloud},
    Option{"operator", K::Text, kRoofline, "KIND:KEY=N,…",
           "one operator instead of a model, as in conv:h=128,w=96,c=112,filters=56,kernel=3 (docs/roofline.md)", "",
           SET_TEXT(one_operator)},
    Option{"sweep", K::List, kRoofline, "KEY=N,N,…", "sizes of the operator to go over; may be repeated", "",
           add_sweep},
    Option{"dataset-samples", K::Integer, kPredict, "N", "training: samples of one epoch, for its time", "",
           SET_WHOLE("dataset-samples", dataset_samples)},
    Option{"epochs", K::Integer, kPredict, "N", "training: epochs of the whole run, for its time, cost and carbon", "",
           SET_WHOLE("epochs", epochs)},
    Option{"steps", K::Integer, kEverywhere, "N",
           "training steps of the whole run, for its time, cost and carbon; of a diffusion pipeline, denoising steps",
           "", SET_WHOLE("steps", steps)},
    Option{"samples", K::Integer, kPredict, "N", "samples to process, for their time, cost and carbon", "",
           SET_WHOLE("samples", samples)},
    Option{"input-tokens", K::Integer, kPredict, "N", "serving: prompt tokens of a request (default: 512)", "",
           SET_WHOLE("input-tokens", input_tokens)},
    Option{"output-tokens", K::Integer, kPredict, "N", "serving: generated tokens of a request (default: 128)", "",
           SET_WHOLE("output-tokens", output_tokens)},
    Option{"concurrency", K::Integer, kPredict, "N", "serving: requests in flight (default: 1)", "",
           SET_WHOLE("concurrency", concurrency), kAtOnce},
    Option{"request-rate", K::Real, kPredict, "X", "serving: requests that arrive in a second", "",
           SET_REAL("request-rate", request_rate), kRate},
    Option{"burstiness", K::Real, kPredict, "X",
           "serving: gamma shape of the gaps between arrivals; 1 (default) Poisson, below 1 bursts", "",
           SET_REAL("burstiness", burstiness), kShape},
    Option{"input-cv", K::Real, kPredict, "X", "serving: spread of the prompts' lengths, standard deviation / mean", "",
           SET_REAL("input-cv", input_cv), kSpread},
    Option{"output-cv", K::Real, kPredict, "X", "serving: spread of the outputs' lengths, standard deviation / mean",
           "", SET_REAL("output-cv", output_cv), kSpread},
    Option{"trace", K::Text, kPredict, "FILE",
           "serving: CSV of arrivals with timestamp (s), input_tokens and output_tokens", "", SET_TEXT(trace)},
    Option{"engine", K::Text, kPredict, "NAME", "serving engine (default: vllm)", kEngineChoices, set_engine},
    Option{"engine-version", K::Text, kPredict, "V", "version of the engine, as in 0.12 (default: the newest known)",
           "", SET_TEXT(engine_version)},
    Option{"slo-ttft-ms", K::Real, kPredict, "X", "limit: time to first token that nine requests in ten keep", "",
           SET_REAL("slo-ttft-ms", slo_ttft_ms), kMilliseconds},
    Option{"slo-tpot-ms", K::Real, kPredict, "X", "limit: time per output token that nine requests in ten keep", "",
           SET_REAL("slo-tpot-ms", slo_tpot_ms), kMilliseconds},
    Option{"disaggregated", K::Text, kPredict, "P,D",
           "serving: P instances for prompts and D for decode steps, each with --tensor-parallel devices", "",
           set_disaggregated},
    Option{"prefill-tensor-parallel", K::Integer, kPredict, "N",
           "serving: devices of a prefill instance (default: --tensor-parallel)", "",
           SET_WHOLE("prefill-tensor-parallel", prefill_tensor_parallel), kDevices},
    Option{"kv-precision", K::Text, kPredict, "P", "serving: number format of the KV caches", "fp16|bf16|fp8|int8",
           set_kv_precision},
    Option{"seed", K::Integer, kPredict, "N", "serving: seed of arrivals and lengths (default 1)", "",
           SET_WHOLE("seed", seed)},
    Option{"memory-budget", K::Real, kPredictOnly, "MB", "answer the largest batch and context that fit", "",
           SET_REAL("memory-budget", memory_budget_mb), kMegabytes},
    Option{"gpus", K::Integer, kPredict, "N", "devices working together", "", SET_WHOLE("gpus", parallel.gpus),
           kDevices},
    Option{"nodes", K::Integer, kPredict, "N", "machines that hold the devices", "", SET_WHOLE("nodes", parallel.nodes),
           kDevices},
    Option{"system", K::Text, kPredict, "ID", "a machine by name: its devices, links and network cards (dgx-h100, …)",
           "", SET_TEXT(parallel.system)},
    Option{"fabric", K::Text, kPredict, "ID", "network between machines, instead of the system's (infiniband-ndr, …)",
           "", SET_TEXT(parallel.fabric)},
    Option{"tensor-parallel", K::Integer, kPredict, "N", "devices that share each layer", "",
           SET_WHOLE("tensor-parallel", parallel.degrees.tensor), kDevices},
    Option{"pipeline-parallel", K::Integer, kPredict, "N", "stages of consecutive layers", "",
           SET_WHOLE("pipeline-parallel", parallel.degrees.pipeline), kDevices},
    Option{"data-parallel", K::Integer, kPredict, "N", "copies that each take a share of the batch", "",
           SET_WHOLE("data-parallel", parallel.degrees.data), kDevices},
    Option{"expert-parallel", K::Integer, kPredict, "N", "copies over which the experts are spread", "",
           SET_WHOLE("expert-parallel", parallel.degrees.expert), kDevices},
    Option{"context-parallel", K::Integer, kPredict, "N", "devices that share each sequence", "",
           SET_WHOLE("context-parallel", parallel.degrees.context), kDevices},
    Option{"zero", K::Text, kPredict, "STAGE",
           "training: what copies divide: 1 optimiser state, 2 and gradients, 3 and weights (as FSDP does)", "0|1|2|3",
           set_zero},
    Option{"global-batch", K::Integer, kPredict, "N", "training: samples of a step on all devices", "",
           SET_WHOLE("global-batch", parallel.global_batch)},
    Option{"micro-batch", K::Integer, kPredict, "N", "samples of one pass of one copy; more are passes one by one", "",
           SET_WHOLE("micro-batch", parallel.micro_batch)},
    Option{"schedule", K::Text, kPredict, "S", "order of the passes through a pipeline", "1f1b|gpipe", set_schedule},
    Option{"checkpointing", K::Text, kPredict, "C",
           "training: activations that are computed again instead of kept: attention's scores, or whole layers",
           "none|selective|full", set_checkpointing},
    Option{"offload-optimizer", K::Flag, kPredict, "", "training: optimiser state in the host's memory", "",
           SET_FLAG(parallel.step.offload_optimizer)},
    Option{"lora-rank", K::Integer, kPredict, "N", "training: low-rank adapters on every linear layer, all else frozen",
           "", SET_WHOLE("lora-rank", parallel.step.lora_rank)},
    Option{"tokens", K::Integer, kPredict, "N", "training: tokens of the whole run, for its time, cost and carbon", "",
           SET_WHOLE("tokens", parallel.tokens)},
    Option{"samples-per-s-input", K::Real, kPredict, "X", "training: samples that the input pipeline delivers", "",
           SET_REAL("samples-per-s-input", parallel.input_samples_per_s), kSamplesPerSecond},
    Option{"serve", K::Flag, kPlan, "", "deployments that serve a load, instead of layouts", "", SET_FLAG(serve)},
    Option{"rate", K::Real, kPlan, "X", "with --serve: requests that arrive in a second, as --request-rate", "",
           SET_REAL("rate", request_rate), kRate},
    Option{"device-file", K::Text, kAllEstimates, "FILE", "a device description of your own", "",
           SET_TEXT(device_file)},
    Option{"goal", K::Text, kAdvise, "GOAL", "what the changes should improve", "latency|throughput|energy|cost|memory",
           set_goal},
    Option{"constraint", K::List, kAdvise, "METRIC<=X", "limit that every change must keep; may be repeated", "",
           set_constraint, kLimit},
    Option{"store", K::Text, kPredictOnly, "URL", "measurements to show beside the estimate", "", SET_TEXT(store)},
};

}  // namespace

std::span<const Option> all_options() {
  static const std::vector<Option> kAll = [] {
    std::vector<Option> all(kOptions.begin(), kOptions.end());
    all.insert(all.end(), limit_options().begin(), limit_options().end());
    return all;
  }();
  return kAll;
}

}  // namespace forerun
