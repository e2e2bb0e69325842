// Written by tests/metrics_check.py --write from the program's table of metrics (src/records/metric.cpp).
export const kMetricTable = {
  latency_ms: { label: "latency", unit: "ms", scope: "pass", better: "lower", meaning: "one pass over the whole batch, or one training step, device synchronised before and after" },
  throughput_per_s: { label: "throughput", unit: "/s", scope: "pass", better: "higher", meaning: "samples per second at this batch" },
  memory_mb: { label: "allocator peak", unit: "MB", scope: "pass", better: "lower", meaning: "peak bytes held by the framework's allocator" },
  device_memory_mb: { label: "device memory", unit: "MB", scope: "pass", better: "lower", meaning: "what the whole process occupies on the device" },
  energy_j: { label: "energy", unit: "J", scope: "pass", better: "lower", meaning: "board energy of one pass or step" },
  power_w: { label: "power", unit: "W", scope: "pass", better: "lower", meaning: "mean board power while passes run back to back" },
  ttft_ms: { label: "first token", unit: "ms", scope: "serving", better: "lower", meaning: "time to first token under the load, waiting included; mean" },
  tpot_ms: { label: "next token", unit: "ms", scope: "serving", better: "lower", meaning: "time between a request's output tokens under the load; mean" },
  loaded_ttft_ms: { label: "first token, loaded", unit: "ms", scope: "serving", better: "lower", meaning: "the same as ttft_ms" },
  loaded_tpot_ms: { label: "next token, loaded", unit: "ms", scope: "serving", better: "lower", meaning: "the same as tpot_ms" },
  request_latency_ms: { label: "request", unit: "ms", scope: "serving", better: "lower", meaning: "from sending a request to its last token; mean" },
  tokens_per_s: { label: "tokens", unit: "/s", scope: "serving", better: "higher", meaning: "generated tokens of all requests on all devices" },
  energy_per_token_j: { label: "energy per token", unit: "J", scope: "serving", better: "lower", meaning: "energy of all devices, idle time included, by generated token" },
  serving_memory_mb: { label: "serving memory", unit: "MB", scope: "serving", better: "lower", meaning: "what the engine needs on one device: weights, activations, and the KV caches of the requests in flight" },
} as const;

export type MetricKey = keyof typeof kMetricTable;
