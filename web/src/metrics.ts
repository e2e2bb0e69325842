// Written by tests/metrics_check.py --write from the program's table of metrics (src/records/metric.cpp).
export const kMetricTable = {
  latency_ms: { label: "latency", unit: "ms", scope: "pass", better: "lower", meaning: "one pass over the whole batch, or one training step, device synchronised before and after" },
  throughput_per_s: { label: "throughput", unit: "/s", scope: "pass", better: "higher", meaning: "samples per second at this batch" },
  memory_mb: { label: "allocator peak", unit: "MB", scope: "pass", better: "lower", meaning: "peak bytes held by the framework's allocator" },
  device_memory_mb: { label: "device memory", unit: "MB", scope: "pass", better: "lower", meaning: "what the whole process occupies on the device" },
  energy_j: { label: "energy", unit: "J", scope: "pass", better: "lower", meaning: "board energy of one pass or step" },
  power_w: { label: "power", unit: "W", scope: "pass", better: "lower", meaning: "mean board power while passes run back to back" },
  ttft_ms: { label: "first token", unit: "ms", scope: "serving", better: "lower", meaning: "prefill of one prompt" },
  tpot_ms: { label: "next token", unit: "ms", scope: "serving", better: "lower", meaning: "one decode step of all requests in flight, half way through their outputs" },
  loaded_ttft_ms: { label: "first token, loaded", unit: "ms", scope: "serving", better: "lower", meaning: "the prefill with its wait behind other requests, as vLLM runs them" },
  loaded_tpot_ms: { label: "next token, loaded", unit: "ms", scope: "serving", better: "lower", meaning: "time between a request's tokens, others' prefills included" },
  request_latency_ms: { label: "request", unit: "ms", scope: "serving", better: "lower", meaning: "ttft + (output tokens - 1) x tpot" },
  tokens_per_s: { label: "tokens", unit: "/s", scope: "serving", better: "higher", meaning: "generated tokens of all requests, prefills included" },
  energy_per_token_j: { label: "energy per token", unit: "J", scope: "serving", better: "lower", meaning: "a request's prefill and its share of the decode steps, by generated token" },
  serving_memory_mb: { label: "serving memory", unit: "MB", scope: "serving", better: "lower", meaning: "device memory with all caches full" },
} as const;

export type MetricKey = keyof typeof kMetricTable;
