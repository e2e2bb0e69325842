// From a language model's configuration to the JSON of `forerun predict`, in process and with nothing kept between
// rounds.
#include <benchmark/benchmark.h>

#include <string>

#include "service/json.hpp"
#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

void report(benchmark::State& state, const std::string& phase, int layers) {
  const auto service = Service::create();
  if (!service) return state.SkipWithError(service.error().message.c_str());
  const std::string question =
      R"({"config": {"model_type": "llama", "num_hidden_layers": )" + std::to_string(layers) +
      R"(, "hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 128256},
      "device": "h100-sxm", "precision": "bf16", "batch": 8, "seq": 1024, "phase": ")" +
      phase + "\"}";
  for (auto _ : state) {
    const auto request = parse_request(question);
    if (!request) return state.SkipWithError(request.error().message.c_str());
    const auto answer = (*service)->predict(*request);
    if (!answer) return state.SkipWithError(answer.error().message.c_str());
    std::string text = to_json(*answer);
    benchmark::DoNotOptimize(text);
  }
}

BENCHMARK_CAPTURE(report, decode_100_layers, "decode", 100)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(report, prefill_100_layers, "prefill", 100)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace forerun

BENCHMARK_MAIN();
