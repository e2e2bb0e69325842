// HW-GPT-Bench: decoders whose layers differ in heads and inner size. What was timed is the sum of the kernels of one
// forward pass under autocast, as PyTorch's profiler saw them: no host gaps, as in graph replay.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/csv.hpp"
#include "dataset/public_networks.hpp"
#include "dataset/splits.hpp"
#include "readers/huggingface/decoder.hpp"
#include "readers/huggingface/quantization.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTokens = 1024, kHeadDim = 64, kVocabulary = 50254;

struct GptArchitecture {
  std::int64_t hidden = 0;
  std::vector<std::int64_t> heads, mlp_ratio;  // by layer
  bool bias = false;
};

// LitGPT's block: attention and a gated MLP in parallel, a LayerNorm for each, rotary on a quarter of each head's
// 64 dimensions, an untied head. Parameters and multiplications agree with the table's for every architecture.
class GptNetwork final : public Network {
 public:
  GptNetwork(std::string name, GptArchitecture architecture)
      : name_(std::move(name)), architecture_(std::move(architecture)) {}
  [[nodiscard]] bool is_fixed_graph() const override { return false; }

  [[nodiscard]] Result<Graph> expand(const Binding& binding, const CancelToken&) const override {
    RunShape run;
    run.batch = binding.batch.value_or(1);
    run.tokens = binding.seq.value_or(kTokens);
    const PrecisionTypes types = types_of(binding.precision);
    run.weights = types.weights;
    run.activations = types.activations;
    run.linear = run.experts = types.linear;
    DecoderSpec spec;
    spec.layers = std::int64_t(architecture_.heads.size());
    spec.hidden = architecture_.hidden;
    spec.vocabulary = kVocabulary;
    spec.max_positions = kTokens;
    spec.norm = NormKind::Layer;
    spec.residual = Residual::ParallelTwoNorms;
    AttentionSpec& attention = spec.layer.attention;
    attention.head_dim = kHeadDim;
    attention.rotary_dim = kHeadDim / 4;
    attention.fused_qkv = true;
    attention.qkv_bias = attention.out_bias = architecture_.bias;
    attention.uses_cache = false;
    spec.layer.mlp.gated = true;
    spec.layer.mlp.bias = architecture_.bias;
    spec.layer.mlp.activation = "silu";
    spec.adjust = [this](std::int64_t layer, LayerSpec& changed) {
      changed.attention.heads = changed.attention.kv_heads = architecture_.heads[std::size_t(layer)];
      changed.mlp.intermediate = architecture_.hidden * architecture_.mlp_ratio[std::size_t(layer)];
    };
    GraphBuilder b(run, 256 + 40 * std::size_t(spec.layers));
    b.graph.name = name_;
    b.graph.format = "huggingface";
    b.graph.origin.framework = Framework::PyTorch;
    b.graph.origin.exporter = "hwgpt";
    b.graph.origin.form = GraphForm::WrittenOut;
    b.graph.origin.task = NetworkTask::Language;
    build_decoder(b, spec);
    FORERUN_CHECK(verify(b.graph));
    return std::move(b.graph);
  }

 private:
  std::string name_;
  GptArchitecture architecture_;
};

struct Scale {
  std::string_view name;
  std::int64_t batch;
};
constexpr std::array<Scale, 3> kScales = {{{"s", 8}, {"m", 4}, {"l", 1}}};

// The devices timed, and the number format each was timed in. The A100 is that of JUWELS Booster (the benchmark's
// configuration of this run writes to its file system): SXM, 40 GB. Of the V100 and the P100 no more is said.
struct Timed {
  std::string_view spelled;
  std::string_view device;
  Precision precision;
};
constexpr std::array<Timed, 7> kTimed = {{{"a100", "a100-sxm-40gb", Precision::AmpBf16},
                                          {"a40", "a40", Precision::AmpBf16},
                                          {"a6000", "rtx-a6000", Precision::AmpBf16},
                                          {"P100", "p100", Precision::Fp16},
                                          {"v100", "v100-sxm-16gb", Precision::Fp16},
                                          {"rtx2080", "rtx-2080", Precision::Fp16},
                                          {"rtx3080", "rtx-3080", Precision::Fp16}}};

using Networks = std::map<std::int64_t, std::shared_ptr<const Network>>;

Result<Networks> read_architectures(const std::string& path, const Scale& scale, std::size_t wanted) {
  std::vector<std::pair<std::int64_t, GptArchitecture>> all;
  FORERUN_TRY(CsvReader csv, CsvReader::open(path));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) break;
    GptArchitecture a;
    a.hidden = std::int64_t(csv.number("embed_dim").value_or(0));
    a.heads = parse_numbers(csv.field("n_head_per_layer"));
    a.mlp_ratio = parse_numbers(csv.field("mlp_ratio_per_layer"));
    a.bias = csv.number("bias").value_or(0) > 0;
    if (a.hidden < 1 || a.heads.empty() || a.heads.size() != a.mlp_ratio.size())
      return bad_input(fmt::format("{}: line {}: not an architecture", path, csv.line()));
    all.emplace_back(std::int64_t(csv.number("arch_id").value_or(-1)), std::move(a));
  }
  Networks networks;
  for (auto& [id, architecture] : all) {
    const std::string name = fmt::format("hwgpt-{}-{}", scale.name, id);
    if (is_chosen(name, wanted, all.size())) networks[id] = std::make_shared<GptNetwork>(name, std::move(architecture));
  }
  return networks;
}

}  // namespace

Status load_gpt_networks(const std::string& folder, const PublicNetworkOptions& options, std::vector<Example>& out) {
  const std::string measured = (fs::path(folder) / "hwgpt_measurements.csv.gz").string();
  if (!fs::exists(measured)) return ok();
  std::map<std::string, Networks, std::less<>> by_scale;
  for (const Scale& scale : kScales) {
    FORERUN_TRY(by_scale[std::string(scale.name)],
                read_architectures((fs::path(folder) / fmt::format("hwgpt_arch_{}.csv.gz", scale.name)).string(), scale,
                                   options.architectures));
  }
  FORERUN_TRY(CsvReader csv, CsvReader::open(measured));
  while (true) {
    FORERUN_TRY(const bool more, csv.next());
    if (!more) return ok();
    const auto timed =
        std::find_if(kTimed.begin(), kTimed.end(), [&](const Timed& t) { return t.spelled == csv.field("device"); });
    const auto scale =
        std::find_if(kScales.begin(), kScales.end(), [&](const Scale& s) { return s.name == csv.field("scale"); });
    const auto id = csv.number("arch_id"), latency = csv.number("latency_ms_median");
    if (timed == kTimed.end() || scale == kScales.end() || !id || !latency || *latency <= 0) continue;
    const Networks& networks = by_scale[std::string(scale->name)];
    const auto network = networks.find(std::int64_t(*id));
    if (network == networks.end()) continue;
    Example example;
    example.domain = RunKind::LanguageInference;
    example.device = std::string(timed->device);
    example.network = fmt::format("hwgpt-{}-{}", scale->name, network->first);
    example.family = "hwgpt";
    example.campaign = "hwgpt";
    example.row_id = fmt::format("{}/{}", example.device, example.network);
    example.net = network->second;
    example.workload.precision = example.workload.binding.precision = timed->precision;
    example.workload.autocast = true;
    example.workload.runtime = Runtime::Graph;
    example.workload.binding.batch = scale->batch;
    example.workload.binding.seq = kTokens;
    example.workload.binding.phase = Phase::Forward;
    example.metrics.emplace(kLatencyGraph, *latency);
    out.push_back(std::move(example));
  }
}

}  // namespace forerun
