// The public data sets: their columns, licences and repositories. A new data set is one new row.
#include "store/import_public.hpp"

namespace forerun {
namespace {

constexpr std::string_view kApache = "Apache-2.0";
constexpr std::string_view kMit = "MIT";
constexpr std::string_view kAic = "https://github.com/ai-dynamo/aiconfigurator";
constexpr std::string_view kNeusight = "https://github.com/sitar-lab/NeuSight";
constexpr std::string_view kHelp = "https://github.com/HayeonLee/HELP";
constexpr std::string_view kVidur = "https://github.com/microsoft/vidur";

// Kernels timed inside a serving engine: the columns differ, everything else is the same.
PublicTable aic(std::string_view stem, std::string_view network, std::string_view dtype_column,
                std::vector<ColumnMap> settings) {
  PublicTable table{.stem = stem,
                    .format = "aic",
                    .license = kApache,
                    .origin = kAic,
                    .device_column = "system",
                    .network = network,
                    .family = "kernel"};
  table.settings = std::move(settings);
  table.settings.push_back({"backend", ""});
  table.settings.push_back({dtype_column, "precision"});
  table.software = {{"version", "backend"}};
  table.metrics = {{"latency_ms", "latency_ms_median"}};
  return table;
}

// Operators with TF32 off (PyTorch 2.1).
PublicTable neusight(std::string_view stem, std::vector<ColumnMap> settings) {
  PublicTable table{.stem = stem,
                    .format = "neusight",
                    .license = kMit,
                    .origin = kNeusight,
                    .device_column = "device",
                    .network_column = "op",
                    .family = "operator"};
  table.settings = std::move(settings);
  table.software = {{"torch", ""}};
  table.metrics = {{"latency_ms", "latency_ms_median"}};
  table.fixed = {{"precision", "ieee_fp32"}};
  return table;
}

PublicTable help(std::string_view stem, std::string_view family, std::vector<ColumnMap> settings) {
  PublicTable table{
      .stem = stem, .format = "help", .license = kMit, .origin = kHelp, .network_column = "idx", .family = family};
  table.settings = std::move(settings);
  table.fixed = {{"phase", "forward"}, {"precision", "fp32"}, {"runtime", "eager"}};
  table.shape = PublicShape::ColumnPerDevice;
  return table;
}

// One table per line or few, so that they can be compared.
// clang-format off
std::vector<PublicTable> make_tables() {
  std::vector<PublicTable> tables = {
      neusight("neusight_ops_conv", {{"op", ""}, {"B", "batch"}, {"in_ch", ""}, {"out_ch", ""}, {"kernel_size", ""}, {"input_size", ""}, {"stride", ""}, {"padding", ""}, {"kernel", ""}}),
      neusight("neusight_ops_matmul", {{"op", ""}, {"B", "batch"}, {"M", "m"}, {"N", "n"}, {"K", "k"}, {"kernel", ""}}),
      neusight("neusight_ops_vector", {{"op", ""}, {"B", "batch"}, {"H", "h"}}),
      help("help_nasbench201", "nasbench201", {{"arch_str", "architecture"}}),
      help("help_fbnet", "fbnet", {{"op_idx", "operators"}, {"arch_str", "architecture"}}),
      help("help_ofa", "once-for-all", {{"kernel_sizes", ""}, {"expand", ""}, {"depth", ""}, {"resolution", ""}}),
      aic("aic_gemm", "gemm", "gemm_dtype", {{"m", ""}, {"n", ""}, {"k", ""}}),
      aic("aic_context_attention", "context_attention", "attn_dtype", {{"batch_size", "batch"}, {"isl", "sequence"}, {"num_heads", ""}, {"num_key_value_heads", ""}, {"head_dim", ""}, {"kv_cache_dtype", ""}, {"step", ""}, {"window_size", ""}}),
      aic("aic_generation_attention", "generation_attention", "attn_dtype", {{"batch_size", "batch"}, {"isl", "sequence"}, {"num_heads", ""}, {"num_key_value_heads", ""}, {"head_dim", ""}, {"kv_cache_dtype", ""}, {"step", ""}, {"window_size", ""}}),
      aic("aic_encoder_attention", "encoder_attention", "attn_dtype", {{"batch_size", "batch"}, {"isl", "sequence"}, {"num_heads", ""}, {"head_dim", ""}}),
      aic("aic_moe", "moe", "moe_dtype", {{"num_tokens", ""}, {"hidden_size", ""}, {"inter_size", ""}, {"topk", ""}, {"num_experts", ""}, {"moe_tp_size", ""}, {"moe_ep_size", ""}, {"distribution", ""}}),
      aic("aic_mla_context", "mla_context", "mla_dtype", {{"kv_cache_dtype", ""}, {"num_heads", ""}, {"batch_size", "batch"}, {"isl", "sequence"}, {"tp_size", ""}, {"step", ""}}),
      aic("aic_mla_generation", "mla_generation", "mla_dtype", {{"kv_cache_dtype", ""}, {"num_heads", ""}, {"batch_size", "batch"}, {"isl", "sequence"}, {"tp_size", ""}, {"step", ""}}),
      aic("aic_nccl", "collective", "nccl_dtype", {{"op_name", "collective"}, {"num_gpus", ""}, {"message_size", "message_bytes"}}),
      aic("aic_custom_allreduce", "custom_allreduce", "allreduce_dtype", {{"num_gpus", ""}, {"message_size", "message_bytes"}}),
  };
  tables.push_back({.stem = "aic_serving_ttft_tpot", .format = "aic", .license = kApache, .origin = kAic, .device_column = "system", .network_column = "model_path", .family = "llm-serving",
                    .settings = {{"id", "run"}, {"silicon_data_source", "data_source"}, {"backend", ""}, {"precision", ""}, {"mode", ""}, {"isl", "input_tokens"}, {"osl", "output_tokens"}, {"gemm_quant_mode", ""}, {"moe_quant_mode", ""}, {"batch_size", "batch"},
                                 {"tp_size", ""}, {"pp_size", ""}, {"attention_dp_size", ""}, {"moe_tp_size", ""}, {"moe_ep_size", ""},
                                 {"prefill_batch_size", ""}, {"prefill_num_workers", ""}, {"prefill_tp_size", ""}, {"prefill_pp_size", ""}, {"prefill_attention_dp_size", ""}, {"prefill_moe_tp_size", ""}, {"prefill_moe_ep_size", ""},
                                 {"decode_batch_size", ""}, {"decode_num_workers", ""}, {"decode_tp_size", ""}, {"decode_pp_size", ""}, {"decode_attention_dp_size", ""}, {"decode_moe_tp_size", ""}, {"decode_moe_ep_size", ""}},
                    .metrics = {{"silicon_ttft_ms", "ttft_ms"}, {"silicon_tpot_ms", "tpot_ms"}}, .software = {{"backend_version", "backend"}}});
  tables.push_back({.stem = "timm_throughput", .format = "timm", .license = kApache, .origin = "https://github.com/huggingface/pytorch-image-models", .device_column = "device", .network_column = "model", .family = "timm",
                    .settings = {{"mode", ""}, {"precision", ""}, {"layout", ""}, {"compiled", ""}, {"img_size", "resolution"}, {"batch_size", "batch"}},
                    .metrics = {{"samples_per_sec", "samples_per_s"}, {"step_time_ms", "latency_ms_mean"}, {"gmacs", "macs", 1e9}, {"macts_m", "activations", 1e6}, {"params_m", "parameters", 1e6}},
                    .software = {{"torch", ""}, {"cuda", ""}}, .fixed = {{"runtime", "eager"}}});
  tables.push_back({.stem = "hwgpt_measurements", .format = "hwgpt", .license = kApache, .origin = "https://github.com/automl/HW-GPT-Bench", .device_column = "device", .network_column = "arch_id", .family = "hwgpt",
                    .settings = {{"scale", ""}, {"arch_id", ""}},
                    .metrics = {{"latency_ms_median", ""}, {"latency_ms_min", ""}, {"latency_ms_max", ""}, {"mem_allocated_mb", "allocated_after_mb"}},
                    .fixed = {{"phase", "forward"}, {"sequence", "1024"}}, .shape = PublicShape::GptArchitectures});
  tables.push_back({.stem = "vidur_llm_layer_ops", .format = "vidur", .license = kMit, .origin = kVidur, .device_column = "gpu", .network_column = "model", .family = "llm-layer",
                    .settings = {{"n_head", ""}, {"n_kv_head", ""}, {"n_embd", ""}, {"n_expanded_embd", ""}, {"vocab_size", ""}, {"use_gated_mlp", ""}, {"num_tokens", ""}, {"tp", "tp_size"}},
                    .metrics = {{"emb", "emb_ms"}, {"input_layernorm", "input_layernorm_ms"}, {"attn_pre_proj", "attn_pre_proj_ms"}, {"attn_rope", "attn_rope_ms"}, {"attn_post_proj", "attn_post_proj_ms"}, {"post_attention_layernorm", "post_attention_layernorm_ms"}, {"mlp_up_proj", "mlp_up_proj_ms"}, {"mlp_act", "mlp_act_ms"}, {"mlp_down_proj", "mlp_down_proj_ms"}, {"add", "add_ms"}},
                    .fixed = {{"precision", "fp16"}}});
  tables.push_back({.stem = "vidur_collectives", .format = "vidur", .license = kMit, .origin = kVidur, .device_column = "cluster", .network = "collective", .family = "collective",
                    .settings = {{"cluster", ""}, {"collective", ""}, {"num_workers", "num_gpus"}, {"devices_per_node", ""}, {"size_bytes", "message_bytes"}, {"rank", ""}},
                    .metrics = {{"median_ms", "latency_ms_median"}}});
  tables.push_back({.stem = "gavel_training_throughput", .format = "gavel", .license = kMit, .origin = "https://github.com/stanford-futuredata/gavel", .device_column = "device", .network_column = "model", .family = "training",
                    .settings = {{"batch_size", "batch"}, {"num_gpus", ""}}, .metrics = {{"steps_per_sec", "steps_per_s"}}, .fixed = {{"training", "true"}}});
  tables.push_back({.stem = "zeus_training_power", .format = "zeus", .license = kApache, .origin = "https://github.com/ml-energy/zeus", .device_column = "gpu", .network_column = "network", .family = "training",
                    .settings = {{"dataset", ""}, {"batch_size", "batch"}, {"optimizer", ""}, {"power_limit_w", ""}}, .metrics = {{"time_per_epoch_s", ""}, {"average_power_w", "power_w"}}, .fixed = {{"training", "true"}}});
  tables.push_back({.stem = "mpt_training_mfu", .format = "mpt", .license = kApache, .origin = "https://github.com/mosaicml/llm-foundry", .device_column = "GPU", .network_column = "Model", .family = "mpt",
                    .settings = {{"section", ""}, {"SeqLen (T)", "sequence"}, {"# GPUs", "num_gpus"}, {"MicroBatchSize", "batch"}, {"GradAccum", "gradient_accumulation"}, {"GlobalBatchSize", "global_batch"}, {"Precision", "precision"}, {"MP Mode", "mixed_precision_mode"}, {"Sharding Strategy", "sharding"}, {"Activation Checkpointing", "activation_checkpointing"}, {"Activation CPUOffload", "activation_offload"}},
                    .metrics = {{"MFU", "mfu_percent"}, {"HFU", "hfu_percent"}, {"Model TFLOP", "model_tflops_per_gpu"}, {"Throughput (S/s)", "samples_per_s"}, {"Throughput (T/s)", "tokens_per_s"}, {"Throughput (T/s/GPU)", "tokens_per_s_per_gpu"}, {"NumParams", "parameters"}},
                    .fixed = {{"training", "true"}}});
  tables.push_back({.stem = "splitwise_llm_latency_power", .format = "splitwise", .license = kMit, .origin = "https://github.com/Mutinifni/splitwise-sim", .device_column = "hardware", .network_column = "model", .family = "llm-serving",
                    .settings = {{"hardware", ""}, {"prompt_size", "prompt_tokens"}, {"batch_size", "batch"}, {"token_size", "output_tokens"}, {"tensor_parallel", "tp_size"}},
                    .metrics = {{"peak_power", "peak_power_tdp_share"}, {"average_power", "power_tdp_share"}, {"prompt_time", "ttft_ms"}, {"token_time", "tpot_ms"}, {"e2e_time", "request_ms"}}});
  tables.push_back({.stem = "mlenergy_v2", .format = "mlenergy", .license = kApache, .origin = "https://github.com/ml-energy/leaderboard-v2", .device_column = "GPU", .network_column = "Model", .family = "serving",
                    .settings = {{"_task", "task"}, {"Batch size", "batch"}, {"Denoising steps", "denoising_steps"}, {"Frames", "frames"}, {"TP", "tp_size"}, {"PP", "pp_size"}, {"Max BS (reqs)", "max_batch"}},
                    .metrics = {{"Energy/video (J)", "energy_per_video_j"}, {"Energy/image (J)", "energy_per_image_j"}, {"Energy/req (J)", "energy_per_request_j"}, {"Batch latency (s)", "latency_ms_mean", 1e3}, {"Avg TPOT (s)", "tpot_ms", 1e3}, {"Token tput (tok/s)", "tokens_per_s"}, {"Avg Output Tokens", "output_tokens_mean"}, {"Avg BS (reqs)", "batch_mean"}}});
  return tables;
}
// clang-format on

}  // namespace

std::span<const PublicTable> public_tables() {
  static const std::vector<PublicTable> kTables = make_tables();
  return kTables;
}

}  // namespace forerun
