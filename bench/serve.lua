-- Questions for bench/serve.sh. Environment: FORERUN_BENCH_BATCHES = how many different batch sizes are asked for (each is
-- one question; a question asked before is answered from the server's cache), FORERUN_BENCH_DELAY_MS = pause before each
-- request, which turns the closed loop into a given rate, FORERUN_BENCH_TOKEN.
local batches = tonumber(os.getenv("FORERUN_BENCH_BATCHES") or "64")
local delay_ms = tonumber(os.getenv("FORERUN_BENCH_DELAY_MS") or "0")
local network = os.getenv("FORERUN_BENCH_NETWORK") or "bert-base-uncased"
local devices = { "h200-sxm", "a100-sxm-40gb", "l4", "t4" }

wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local token = os.getenv("FORERUN_BENCH_TOKEN")
if token then wrk.headers["Authorization"] = "Bearer " .. token end

local count = 0
function request()
  count = count + 1
  local batch = math.random(1, batches)
  local device = devices[math.random(1, #devices)]
  return wrk.format(nil, nil, nil, string.format(
    '{"model":"%s","device":"%s","batch":%d,"seq":128,"precision":"fp16"}', network, device, batch))
end

if delay_ms > 0 then
  function delay()
    -- Spread over 0.5 to 1.5 of the pause, so that clients do not march in step.
    return math.floor(delay_ms * (0.5 + math.random()))
  end
end

local bad = 0
function response(status)
  if status ~= 200 then bad = bad + 1 end
end
local threads = {}
function setup(thread) table.insert(threads, thread) end
function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format("RESULT %.0f requests/s, p50 %.2f ms, p99 %.2f ms, max %.2f ms, errors %d\n",
    summary.requests / (summary.duration / 1e6), latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    latency.max / 1e3, e.connect + e.read + e.write + e.status + e.timeout))
end
