-- Questions for bench/serve.sh. Environment: FORERUN_BENCH_KIND =
--   asked: 256 questions (4 devices x 64 batch sizes of one network), answered from the server's cache of answers;
--   new:   no question comes twice: 6 networks, 8 batch sizes, 3 precisions, 2 runtimes, 8 devices, and a number of samples
--          that is new every time; the networks at those sizes are known to the server after the first seconds;
--   sizes: no batch size comes twice, so that the network has to be expanded and costed anew for every question.
-- FORERUN_BENCH_DELAY_MS = pause before each request, which turns the closed loop into a given rate.
local kind = os.getenv("FORERUN_BENCH_KIND") or "asked"
local delay_ms = tonumber(os.getenv("FORERUN_BENCH_DELAY_MS") or "0")
local networks = { "bert-base-uncased", "resnet50", "gpt2", "vit-base-patch16-224", "distilbert-base-uncased", "t5-small" }
local devices = { "h200-sxm", "a100-sxm-40gb", "l4", "t4", "h100-sxm", "rtx-4090", "a10", "v100-sxm-16gb" }
local precisions = { "fp32", "fp16", "bf16" }
local runtimes = { "eager", "graph" }
local any = function(list) return list[math.random(1, #list)] end

wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
math.randomseed(os.time())
local count = math.random(1, 1e9)

local questions = {
  asked = function()
    return string.format('{"model":"bert-base-uncased","device":"%s","batch":%d,"seq":128,"precision":"fp16"}',
      devices[math.random(1, 4)], math.random(1, 64))
  end,
  new = function()
    return string.format('{"model":"%s","device":"%s","batch":%d,"precision":"%s","runtime":"%s","samples":%d}',
      any(networks), any(devices), 2 ^ math.random(0, 7), any(precisions), any(runtimes), count)
  end,
  sizes = function()
    return string.format('{"model":"bert-base-uncased","device":"%s","batch":%d,"seq":128,"precision":"fp16"}',
      devices[math.random(1, 4)], count % 1000000 + 1)
  end,
}
local question = questions[kind]

function request()
  count = count + 1
  return wrk.format(nil, nil, nil, question())
end

if delay_ms > 0 then
  function delay()
    -- Spread over 0.5 to 1.5 of the pause, so that clients do not march in step.
    return math.floor(delay_ms * (0.5 + math.random()))
  end
end

function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format("RESULT %.0f requests/s, p50 %.2f ms, p99 %.2f ms, max %.2f ms, errors %d, %.1f kB an answer\n",
    summary.requests / (summary.duration / 1e6), latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    latency.max / 1e3, e.connect + e.read + e.write + e.status + e.timeout, summary.bytes / summary.requests / 1e3))
end
