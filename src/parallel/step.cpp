#include "parallel/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include <nlohmann/json.hpp>

#include "base/embedded.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {

std::span<const EmbeddedFile> embedded_steps();  // data/parallel

namespace {

struct StepConstants {
  // Messages and kernels at the same time share multiprocessors and memory: the longer of both takes longer by this
  // share of the shorter one.
  double interference = 0.15;
  std::map<std::string, StepFactors> architectures;
};

const StepConstants& constants() {
  static const StepConstants kConstants = [] {
    StepConstants read;
    if (embedded_steps().empty()) return read;
    const auto json = nlohmann::json::parse(embedded_steps().front().bytes, nullptr, false);
    if (!json.is_object()) return read;
    read.interference = json.value("interference", read.interference);
    for (const auto& [name, row] : json.at("architectures").items())
      read.architectures[name] = {row.value("kernels", 1.0), row.value("attention_of_2023", 1.0)};
    return read;
  }();
  return kConstants;
}

constexpr double kDdpBuckets = 25e6;      // bytes, PyTorch's default
constexpr double kHostBytesPerUs = 20e3;  // host memory's rate for one device's share of a CPU optimiser
constexpr double kIdleShare = 0.15;       // of the power limit, where a device's idle power is not known

struct Messages {
  double tensor_us = 0;  // of one forward pass: on the way, nothing can run meanwhile
  double send_us = 0;
};

Messages stage_messages(const StepInput& in, const StageWork& stage) {
  Messages m;
  const Parallelism& l = in.layout;
  for (const RankMessage& e : stage.messages) {
    std::int64_t ranks = 1, stride = 1;
    switch (e.axis) {
      case ShardAxis::Tensor: ranks = l.tensor; break;
      case ShardAxis::Context:
        ranks = l.context;
        stride = l.tensor;
        break;
      case ShardAxis::Expert:
        ranks = l.expert;
        stride = l.tensor * l.context;
        break;
      default: break;
    }
    m.tensor_us +=
        e.count * in.collectives.time_us(e.collective, e.bytes, in.collectives.group_of(ranks, stride), in.exchange);
  }
  if (l.pipeline > 1) {
    const Group pair = in.collectives.group_of(2, l.tensor * l.context * l.data);
    m.send_us = in.collectives.time_us(Collective::Send, stage.boundary_bytes / double(l.tensor), pair);
    // Ranks of one stage send their part and gather it on the other side.
    if (l.tensor > 1)
      m.send_us +=
          in.collectives.time_us(Collective::AllGather, stage.boundary_bytes, in.collectives.group_of(l.tensor, 1));
  }
  return m;
}

// Messages over the replicas of a rank's weights, for one micro-batch and for the whole step.
struct ReplicaMessages {
  double each_us = 0;  // ZeRO-3: weights gathered twice, gradients scattered
  double once_us = 0;  // gradients summed, or scattered and weights gathered
};

ReplicaMessages replica_messages(const StepInput& in, const StageWork& stage) {
  ReplicaMessages m;
  const Parallelism& l = in.layout;
  if (!in.workload.training || l.replicas() <= 1) return m;
  const ParameterBytes each = parameter_bytes(in.workload);
  const auto messages = [&](double parameters, double trained, std::int64_t ranks, std::int64_t stride) {
    if (ranks <= 1 || parameters <= 0) return;
    const Group group = in.collectives.group_of(ranks, stride);
    const auto time = [&](Collective collective, double bytes) {
      // Messages are cut into buckets or layers: each pays the fixed cost.
      const double pieces = std::max(1.0, in.options.zero >= 3 ? stage.layers + 1 : bytes / kDdpBuckets);
      return pieces * in.collectives.time_us(collective, bytes / pieces, group);
    };
    if (in.options.zero >= 3) {
      m.each_us += 2 * time(Collective::AllGather, parameters * each.compute) +
                   time(Collective::ReduceScatter, trained * each.gradient);
    } else if (in.options.zero >= 1) {
      const double scatter = time(Collective::ReduceScatter, trained * each.gradient);
      (in.options.zero == 2 ? m.each_us : m.once_us) += scatter;
      m.once_us += time(Collective::AllGather, trained * each.compute);
    } else {
      m.once_us += time(Collective::AllReduce, trained * each.gradient);
    }
  };
  const double share = in.options.lora_rank > 0 ? in.adapter_parameters / std::max(1.0, double(in.stages.size())) : -1;
  const double dense = stage.parameters - stage.expert_parameters;
  messages(dense, share < 0 ? dense : share, l.replicas(), l.tensor);
  messages(stage.expert_parameters, share < 0 ? stage.expert_parameters : 0, l.replicas() / l.expert,
           l.tensor * l.context * l.expert);
  return m;
}

struct StageTimes {
  double compute_us = 0, messages_us = 0, hidden_us = 0;  // of one micro-batch
  double attention_us = 0;
  double last_hidden_us = 0, last_us = 0;  // once a step: of gradients and weights
  double update_us = 0, send_us = 0;
  [[nodiscard]] double each() const { return compute_us + messages_us; }
};

StageTimes time_stage(const StepInput& in, const StageWork& stage) {
  StageTimes t;
  const Messages on_the_way = stage_messages(in, stage);
  const ReplicaMessages replicas = replica_messages(in, stage);
  const bool training = in.workload.training;
  double passes = 1;  // over the messages of one forward pass
  t.compute_us = stage.forward_us;
  t.attention_us = stage.scores_forward_us;
  if (training) {
    const bool full = in.options.checkpointing == Checkpointing::Full;
    const bool scores = in.options.checkpointing == Checkpointing::Selective || full;
    const double again = full ? stage.layers_forward_us : scores ? stage.scores_forward_us : 0;
    passes = full ? 3 : 2;
    t.compute_us += stage.backward_us + again - (in.options.lora_rank > 0 ? stage.weight_gradient_us : 0);
    t.attention_us += stage.scores_backward_us + (scores ? stage.scores_forward_us : 0);
    const double others = std::max(0.0, t.compute_us - t.attention_us);
    t.attention_us *= in.factors.attention;
    t.compute_us = others * in.factors.kernels + t.attention_us;
  }
  t.messages_us = passes * on_the_way.tensor_us;
  t.send_us = on_the_way.send_us * (training ? 2 : 1);
  // Weights of the first layer are gathered before anything can run; the rest hides behind the layer before.
  const double units = stage.layers + 1;
  const auto overlapped = [&](double messages, double compute, double& hidden) {
    if (messages <= 0) return 0.0;
    const double first = messages / units, rest = messages - first;
    hidden += std::min(rest, compute);
    return first + std::max(0.0, rest - compute) + constants().interference * std::min(rest, compute);
  };
  t.messages_us += overlapped(replicas.each_us, t.compute_us, t.hidden_us);
  t.last_us = overlapped(replicas.once_us, stage.backward_us, t.last_hidden_us);
  if (!training) return t;
  const double divided = in.options.zero >= 1 ? double(in.layout.replicas()) : 1;
  const double trained = in.options.lora_rank > 0 && stage.parameters > 0
                             ? std::min(1.0, in.adapter_parameters / stage.parameters / double(in.layout.pipeline))
                             : 1;
  t.update_us = stage.update_us * trained / divided;
  if (in.options.offload_optimizer) {
    // Gradients to the host, an update at its memory's rate, weights back.
    const ParameterBytes each = parameter_bytes(in.workload);
    const double elements = stage.parameters * trained / divided;
    const double pcie = in.device.interconnect.pcie_gb_per_s.value_or(16) * 1e3 * 0.8;
    t.update_us = elements * (each.gradient + each.compute) / pcie +
                  elements * (2 * each.optimizer + each.gradient + each.compute) / kHostBytesPerUs;
  }
  return t;
}

void account_energy(const StepInput& in, StepBreakdown& times, double busy_ms) {
  const double devices = double(in.layout.devices());
  double working_w = 0, stages = 0;
  for (const StageWork& stage : in.stages) {
    working_w += stage.power_w * double(stage.stages);
    stages += double(stage.stages);
  }
  working_w /= std::max(1.0, stages);
  const double idle_w = in.device.idle_power_w.value_or(in.device.power_limit_w * kIdleShare);
  const double busy = std::min(busy_ms, times.total_ms);
  times.energy_j = devices * (working_w * busy + idle_w * (times.total_ms - busy)) / 1e3;
  times.power_w = times.energy_j / (times.total_ms / 1e3);
}

Math widest_math(Precision precision) {
  switch (precision) {
    case Precision::Fp16: return Math::Fp16Tensor;
    case Precision::Bf16:
    case Precision::AmpBf16: return Math::Bf16Tensor;
    case Precision::AmpFp16: return Math::Fp16Tensor;
    case Precision::Fp8: return Math::Fp8Tensor;
    case Precision::Int8: return Math::Int8Tensor;
    case Precision::Int4: return Math::Fp16Tensor;
    case Precision::Tf32: return Math::Tf32Tensor;
    default: return Math::Fp32;
  }
}

double sheet_tflops(const Device& device, Precision precision) {
  constexpr std::pair<Math, const char*> kKeys[] = {
      {Math::Fp16Tensor, "fp16_tensor"}, {Math::Bf16Tensor, "bf16_tensor"}, {Math::Fp8Tensor, "fp8_tensor"},
      {Math::Int8Tensor, "int8_tensor"}, {Math::Tf32Tensor, "tf32_tensor"}, {Math::Fp32, "fp32"}};
  for (const auto& [math, key] : kKeys) {
    const auto found = device.peak_tflops.find(key);
    if (math == widest_math(precision) && found != device.peak_tflops.end()) return found->second;
  }
  return peak_tflops(device, widest_math(precision));
}

}  // namespace

StepFactors measured_step_factors(const Device& device) {
  const auto found = constants().architectures.find(device.architecture);
  if (found != constants().architectures.end()) return found->second;
  StepFactors mean{0, 0};
  for (const auto& [name, factors] : constants().architectures) {
    mean.kernels += factors.kernels / double(constants().architectures.size());
    mean.attention += factors.attention / double(constants().architectures.size());
  }
  return constants().architectures.empty() ? StepFactors{} : mean;
}

StepFactors step_factors(const Device& device) {
  StepFactors factors = measured_step_factors(device);
  factors.attention = factors.kernels;
  return factors;
}

StepBreakdown combine_stages(const StepInput& in) {
  StepBreakdown result;
  const double micro_batches = double(in.options.micro_batches);
  double slowest = 0, through = 0, sends = 0, compute_of_slowest = 0, hidden = 0, last = 0, update = 0, macs = 0;
  for (const StageWork& stage : in.stages) {
    const StageTimes t = time_stage(in, stage);
    through += t.each() * double(stage.stages);
    sends += t.send_us * double(stage.stages - (&stage == &in.stages.back() ? 1 : 0));
    macs += stage.macs * double(stage.stages);
    if (t.each() > slowest) {
      slowest = t.each();
      compute_of_slowest = t.compute_us;
      result.attention_ms = micro_batches * t.attention_us / 1e3;
      hidden = t.hidden_us * micro_batches + t.last_hidden_us;
    }
    last = std::max(last, t.last_us);
    update = std::max(update, t.update_us);
  }
  // Every stage but the slowest waits once until the first micro-batch has come through and the last one is gone.
  const double bubble = through - slowest + sends;
  result.compute_ms = micro_batches * compute_of_slowest / 1e3;
  result.communication_ms = (micro_batches * (slowest - compute_of_slowest) + last) / 1e3;
  result.bubble_ms = in.layout.pipeline > 1 ? bubble / 1e3 : 0;
  result.update_ms = update / 1e3;
  result.hidden_communication_ms = hidden / 1e3;
  result.total_ms = result.compute_ms + result.communication_ms + result.bubble_ms + result.update_ms;
  const double busy_ms = result.total_ms - result.bubble_ms;
  if (in.input_samples_per_s) {
    const double input_ms = in.samples / *in.input_samples_per_s * 1e3;
    if (input_ms > result.total_ms) {
      result.warnings.push_back(
          fmt::format("the input pipeline's {:.4g} samples/s limit the step: the devices work {:.0f} % of the time",
                      *in.input_samples_per_s, 100 * result.total_ms / input_ms));
      result.input_ms = input_ms - result.total_ms;
      result.total_ms = input_ms;
      result.waits_for_input = true;
    }
  }
  account_energy(in, result, busy_ms);
  const double flops =
      2 * macs * double(in.layout.tensor * in.layout.replicas()) * micro_batches * (in.workload.training ? 3 : 1);
  const double peak = sheet_tflops(in.device, in.workload.precision) * double(in.layout.devices());
  if (peak > 0) result.mfu = flops / 1e12 / (result.total_ms / 1e3) / peak;
  return result;
}

}  // namespace forerun
