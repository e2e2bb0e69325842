#include "serving/pass_parts.hpp"

#include <algorithm>
#include <cmath>

#include "parallel/collectives.hpp"
#include "predictors/roofline/roofline.hpp"

namespace forerun {
namespace {

enum class WeightFormat : std::uint8_t { Wide, Fp8, Int, Fp4 };

// From the bytes of a weight's element: checkpoints mix formats, and a kernel's arithmetic does not name its weights'.
WeightFormat format_of(const Kernel& kernel) {
  if (kernel.kernel_class == KernelClass::BatchedMatMul) return WeightFormat::Wide;
  const double elements = kernel.kernel_class == KernelClass::Experts
                              ? kernel.macs / std::max(1.0, kernel.m)  // each weight meets m rows
                              : kernel.n * kernel.k;
  if (kernel.weight_bytes <= 0 || elements <= 0) return WeightFormat::Wide;
  const double bytes = kernel.weight_bytes / elements;
  if (bytes > 1.5) return WeightFormat::Wide;
  const bool is_integer = kernel.math == Math::Int8Tensor || kernel.math == Math::Fp16Tensor;
  if (is_integer) return WeightFormat::Int;
  return bytes > 0.8 ? WeightFormat::Fp8 : WeightFormat::Fp4;
}

// TFLOP/s that engines compute in: the weights' own format where the device has it, else 16 bits.
double product_tflops(const Kernel& kernel, WeightFormat format, const Device& device) {
  const double own = peak_tflops(device, kernel.math);
  const auto named = [&](const char* key) {
    const auto found = device.peak_tflops.find(key);
    return found == device.peak_tflops.end() ? own : std::max(own, found->second);
  };
  if (format == WeightFormat::Fp8) return named("fp8_tensor");
  if (format == WeightFormat::Fp4) return named("fp4_tensor");
  return own;
}

void add_linear(const Kernel& kernel, const KernelTime& time, const Device& device, PassParts& parts) {
  const WeightFormat format = format_of(kernel);
  const double own = peak_tflops(device, kernel.math), used = product_tflops(kernel, format, device);
  double us = time.time_us;
  if (used > own) us = std::max(time.compute_us * own / used, time.memory_us) + time.launch_us;
  double* const sums[] = {&parts.linear, &parts.linear_fp8, &parts.linear_int, &parts.linear_fp4};
  *sums[std::size_t(format)] += us / 1e3;
}

// Grouped products stream the weights of the experts that were chosen; arithmetic counts the tokens' rows, not tiles.
void add_experts(const Kernel& kernel, const KernelTime& time, const Device& device, PassParts& parts) {
  const double tflops = std::max(1e-3, product_tflops(kernel, format_of(kernel), device));
  parts.expert_memory += time.memory_us / 1e3;
  parts.expert_compute += kernel.flops * kernel.runs / (tflops * 1e9);
  parts.expert_launch += time.launch_us / 1e3;
}

// Two all-reduces a layer, or with attention in groups: an all-reduce, and the tokens sent to their experts and back.
double exchange_ms(const PassKernels& pass, const ServingLayout& layout, double layers, double chosen,
                   const Device& device) {
  const double message = pass.tokens * layout.hidden * 2;
  if (layout.attention_data == 1)
    return 2 * layers * all_reduce_us(device, layout.tensor, message, Exchange::Engine) / 1e3;
  const double n = double(layout.devices());
  // Tokens go out in fp8 and come back in 16 bits; no device gets a token twice, and its own needs no link.
  const double receivers = (n - 1) * (1 - std::pow(1 - 1 / n, chosen));
  const double sent = pass.tokens / double(layout.tensor) * receivers * layout.hidden * 3;
  const double all_to_all_us = send_us(device, sent / 2) * 2;
  return layers * (all_reduce_us(device, layout.tensor, message, Exchange::Engine) + all_to_all_us) / 1e3;
}

// One device's share of each kernel: products column-parallel, then row-parallel; attention by heads.
void share_kernels(std::vector<Kernel>& kernels, std::int64_t devices) {
  if (devices <= 1) return;
  const double part = 1.0 / double(devices);
  for (Kernel& k : kernels) {
    const bool is_product = k.kernel_class == KernelClass::Linear || k.kernel_class == KernelClass::Experts;
    const bool by_heads = k.kernel_class == KernelClass::Attention || k.kernel_class == KernelClass::BatchedMatMul;
    if (!is_product && !by_heads && k.kernel_class != KernelClass::Softmax) continue;
    k.macs *= part;
    k.flops *= part;
    k.write_bytes *= part;
    if (is_product) {
      k.n = std::max(1.0, k.n * part);
      k.read_bytes -= k.weight_bytes * (1 - part);
    } else {
      k.batch = std::max(1.0, k.batch * part);
      k.read_bytes *= part;
      k.output_elements *= part;
    }
    k.weight_bytes *= part;
  }
}

}  // namespace

PassKernels share_pass(PassKernels pass, const ServingLayout& layout) {
  share_kernels(pass.dense, layout.tensor);
  std::erase_if(pass.experts, [](const Kernel& k) { return k.kernel_class != KernelClass::Experts; });
  share_kernels(pass.experts, layout.devices());
  const double whole = double(layout.tensor) / double(std::max<std::int64_t>(1, layout.kv_shards));
  for (Kernel& kernel : pass.dense) {
    if (kernel.kernel_class == KernelClass::Attention && kernel.m <= 1) kernel.read_bytes *= whole;
  }
  return pass;
}

namespace {

// Attention that the framework writes out (with sinks, say) as products without weights, a softmax and passes over the
// scores: engines run one kernel. The caches are read once, scores stay on the chip.
bool add_written_out_attention(const Kernel& kernel, const KernelTime& time, const Device& device,
                               const PassKernels& pass, PassParts& parts) {
  constexpr double kMatrixShare = 0.5;  // of the arithmetic peak that fused attention reaches
  if (kernel.kernel_class == KernelClass::Softmax) return true;
  if (kernel.kernel_class == KernelClass::BatchedMatMul && kernel.weight_bytes == 0) {
    const double peak = std::max(1e-3, peak_tflops(device, kernel.math)) * kMatrixShare;
    const bool is_prompt = pass.tokens > pass.batch;
    // Half of a prompt's scores are masked. The two products are one kernel; a decode step's reading is added once.
    const double compute_us = kernel.flops * kernel.runs / (peak * 1e6) / (is_prompt ? 2 : 1);
    parts.attention += (compute_us + time.launch_us / 2) / 1e3;
    return true;
  }
  // Passes over the scores of all heads, with or without the sink's column.
  if (is_matrix_product(kernel.kernel_class) || pass.context < 256) return false;
  const double scores = pass.tokens * pass.context, with_sink = pass.tokens * (pass.context + 1);
  return kernel.output_elements >= scores &&
         (std::fmod(kernel.output_elements, scores) == 0 || std::fmod(kernel.output_elements, with_sink) == 0);
}

}  // namespace

PassParts sum_parts(const PassKernels& pass, const ServingLayout& layout, const Device& device) {
  PassParts parts{.batch = pass.batch, .context = pass.context};
  Workload workload;
  workload.runtime = Runtime::Graph;
  const RooflineEstimate dense = estimate_roofline(pass.dense, {}, workload, device);
  const RooflineEstimate experts = estimate_roofline(pass.experts, {}, workload, device);
  double chosen = 0;
  const bool is_written_out = std::none_of(pass.dense.begin(), pass.dense.end(), [](const Kernel& kernel) {
    return kernel.kernel_class == KernelClass::Attention;
  });
  parts.layers = layout.layers;
  for (std::size_t i = 0; i < pass.dense.size(); ++i) {
    const Kernel& kernel = pass.dense[i];
    const KernelTime& time = dense.kernels[i];
    if (kernel.kernel_class == KernelClass::Experts) continue;
    if (is_written_out && add_written_out_attention(kernel, time, device, pass, parts)) continue;
    if (is_matrix_product(kernel.kernel_class)) {
      add_linear(kernel, time, device, parts);
    } else if (kernel.kernel_class == KernelClass::Attention) {
      constexpr double kWidestHead = 256;  // wider: all heads share one latent cache
      const bool is_latent = kernel.m <= 1 && kernel.k > kWidestHead;
      (is_latent ? parts.latent_attention : parts.attention) += time.time_us / 1e3;
    } else {
      parts.other += time.time_us / 1e3;
    }
  }
  for (std::size_t i = 0; i < pass.experts.size(); ++i) {
    add_experts(pass.experts[i], experts.kernels[i], device, parts);
    chosen = pass.experts[i].m * pass.experts[i].batch / std::max(1.0, pass.tokens * double(layout.attention_data));
  }
  if (is_written_out && pass.tokens <= pass.batch) {
    constexpr double kCacheShare = 0.8;  // of the memory's rate that reading caches in blocks reaches
    parts.attention +=
        pass.tokens * pass.context * layout.kv_bytes_per_token / (device.memory_bandwidth_gb_per_s * kCacheShare * 1e6);
  }
  parts.exchange = exchange_ms(pass, layout, parts.layers, chosen, device);
  const double device_ms = dense.device_ms + experts.device_ms;
  parts.power_w = device_ms > 0 ? (dense.power_graph_w * dense.device_ms + experts.power_graph_w * experts.device_ms) /
                                      device_ms * double(layout.devices())
                                : 0;
  return parts;
}

StepPoint step_point(const PassParts& p, const Engine& engine) {
  const EngineFactors& f = engine.factors;
  StepPoint point{.batch = p.batch, .context = p.context, .power_w = p.power_w};
  const double memory = f.expert_memory * p.expert_memory, compute = f.expert_compute * p.expert_compute;
  point.dense_ms = f.linear * p.linear + f.linear_fp8 * p.linear_fp8 + f.linear_fp4 * p.linear_fp4 +
                   f.linear_int * p.linear_int + std::sqrt(memory * memory + compute * compute) + p.expert_launch +
                   f.other * p.other + f.exchange * p.exchange + engine.host.layer_ms * p.layers;
  point.attention_ms = f.attention * p.attention + f.latent_attention * p.latent_attention;
  return point;
}

StepTimes make_step_times(std::span<const PassParts> decodes, std::span<const PassParts> prompts,
                          const Engine& engine) {
  const double scale = engine.factors.step;
  std::vector<StepPoint> decode_points, prompt_points;
  for (const PassParts& p : decodes) {
    decode_points.push_back(step_point(p, engine));
    decode_points.back().attention_ms *= scale;
    decode_points.back().dense_ms *= scale;
  }
  for (const PassParts& p : prompts) {
    prompt_points.push_back(step_point(p, engine));
    prompt_points.back().attention_ms = p.attention * engine.factors.prompt_attention * scale;
    prompt_points.back().dense_ms *= engine.factors.prompt * scale;
  }
  return StepTimes(std::move(decode_points), std::move(prompt_points),
                   {engine.host.step_ms * scale, engine.host.request_ms * scale, engine.overlaps_host});
}

}  // namespace forerun
