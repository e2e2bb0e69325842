// HELP's image networks: NAS-Bench-201 (32 x 32), FBNet's space for CIFAR-100 (32 x 32) and Once-for-All's MobileNetV3
// (width 1.2). Eager PyTorch in fp32, timed from the host: small batches wait for it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/csv.hpp"
#include "dataset/graph_draft.hpp"
#include "dataset/public_networks.hpp"
#include "dataset/splits.hpp"
#include "ops/op_table.hpp"
#include "store/import_format.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;
using Ints = std::vector<std::int64_t>;

// Images go in, every convolution is followed by its batch norm.
class Draft : public GraphDraft {
 public:
  Draft(std::int64_t batch, std::int64_t side) : GraphDraft(17), x(input({batch, 3, side, side})) {}

  ValueId x;  // the last result
  std::int64_t channels = 3;

  ValueId apply(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    return x = GraphDraft::apply(op, std::move(inputs), std::move(attributes));
  }
  void conv(std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t groups = 1, bool bias = false) {
    const std::int64_t pad = kernel / 2;
    std::vector<ValueId> inputs = {x, weight({out, channels / groups, kernel, kernel})};
    if (bias) inputs.push_back(weight({out}));
    apply("Conv", std::move(inputs),
          {{"kernel_shape", Ints{kernel, kernel}},
           {"strides", Ints{stride, stride}},
           {"pads", Ints{pad, pad, pad, pad}},
           {"group", groups}});
    channels = out;
  }
  void norm() {
    apply("BatchNormalization", {x, weight({channels}), weight({channels}), weight({channels}), weight({channels})});
  }
  void relu() { apply("Relu", {x}); }
  void add(ValueId other) { apply("Add", {x, other}); }
  void average_pool(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
    apply("AveragePool", {x},
          {{"kernel_shape", Ints{kernel, kernel}},
           {"strides", Ints{stride, stride}},
           {"pads", Ints{pad, pad, pad, pad}}});
  }
  void classify(std::int64_t classes) {
    apply("GlobalAveragePool", {x});
    apply("Flatten", {x});
    apply("Gemm", {x, weight({classes, channels}), weight({classes})}, {{"transB", std::int64_t{1}}});
  }
  Result<Graph> take() {
    graph_.main().outputs = {x};
    FORERUN_CHECK(verify(graph_));
    return std::move(graph_);
  }
};

// Builds one row's network for a batch; nullopt when the row does not describe one.
using Build = std::optional<Result<Graph>> (*)(const std::vector<std::string>& fields, std::int64_t batch);

// Cells of four nodes: "|op~0|+|op~0|op~1|+|op~0|op~1|op~2|". Three stages of five cells, halved by a residual block
// between.
std::optional<Result<Graph>> nasbench201(const std::vector<std::string>& fields, std::int64_t batch) {
  std::vector<std::string> ops;
  const std::string& text = fields[0];
  for (std::size_t at = text.find('|'); at != std::string::npos;) {
    const std::size_t next = text.find('|', at + 1), tilde = text.find('~', at + 1);
    if (next == std::string::npos) break;
    if (tilde != std::string::npos && tilde < next) ops.push_back(text.substr(at + 1, tilde - at - 1));
    at = next;
  }
  if (ops.size() != 6) return std::nullopt;
  Draft d(batch, 32);
  const auto relu_conv_norm = [&](std::int64_t out, std::int64_t kernel, std::int64_t stride) {
    d.relu();
    d.conv(out, kernel, stride);
    d.norm();
  };
  const auto edge = [&](ValueId from, const std::string& op) {
    d.x = from;
    if (op == "nor_conv_1x1") relu_conv_norm(d.channels, 1, 1);
    if (op == "nor_conv_3x3") relu_conv_norm(d.channels, 3, 1);
    if (op == "avg_pool_3x3") d.average_pool(3, 1, 1);
    if (op == "none") d.apply("Neg", {d.x});  // times zero: it runs
    return d.x;
  };
  d.conv(16, 3, 1);
  d.norm();
  for (std::int64_t stage = 0; stage < 3; ++stage) {
    if (stage > 0) {
      const ValueId before = d.x;
      const std::int64_t narrow = d.channels, wide = 2 * narrow;
      relu_conv_norm(wide, 3, 2);
      relu_conv_norm(wide, 3, 1);
      const ValueId main = d.x;
      d.x = before;
      d.channels = narrow;
      d.average_pool(2, 2, 0);
      d.conv(wide, 1, 1);
      d.add(main);
    }
    for (int cell = 0; cell < 5; ++cell) {
      std::array<ValueId, 4> nodes = {d.x, kNoValue, kNoValue, kNoValue};
      std::size_t op = 0;
      for (std::size_t node = 1; node < 4; ++node) {
        ValueId sum = kNoValue;
        for (std::size_t from = 0; from < node; ++from) {
          const ValueId result = edge(nodes[from], ops[op++]);
          d.x = sum == kNoValue ? result : d.apply("Add", {sum, result});
          sum = d.x;
        }
        nodes[node] = sum;
      }
    }
  }
  d.norm();
  d.relu();
  d.classify(10);
  return d.take();
}

// 22 layers of one of nine inverted residual blocks: "k5_e6", "k3_e1_g2", "skip".
std::optional<Result<Graph>> fbnet(const std::vector<std::string>& fields, std::int64_t batch) {
  constexpr std::array<std::int64_t, 7> kLayers = {1, 4, 4, 4, 4, 4, 1}, kChannels = {16, 24, 32, 64, 112, 184, 352},
                                        kStrides = {1, 1, 2, 2, 1, 2, 1};
  std::vector<std::string> ops(1);
  for (const char c : fields[0]) {
    if (c == ' ')
      ops.emplace_back();
    else
      ops.back() += c;
  }
  if (ops.size() != 22) return std::nullopt;
  Draft d(batch, 32);
  d.conv(16, 3, 1);
  d.norm();
  d.relu();
  std::size_t at = 0;
  for (std::size_t stage = 0; stage < kLayers.size(); ++stage) {
    for (std::int64_t layer = 0; layer < kLayers[stage]; ++layer) {
      const std::string& op = ops[at++];
      const std::int64_t stride = layer == 0 ? kStrides[stage] : 1, in = d.channels, out = kChannels[stage];
      const ValueId before = d.x;
      if (op == "skip") {
        if (stride == 1 && in == out) continue;
        d.conv(out, 1, stride);
        d.norm();
        d.relu();
        continue;
      }
      if (op.size() < 5) return std::nullopt;
      const std::int64_t kernel = op[1] - '0', expand = op[4] - '0', groups = op.ends_with("_g2") ? 2 : 1;
      d.conv(in * expand, 1, 1, groups);
      d.norm();
      d.relu();
      d.conv(d.channels, kernel, stride, d.channels);
      d.norm();
      d.relu();
      d.conv(out, 1, 1, groups);
      d.norm();
      if (stride == 1 && in == out) d.add(before);
    }
  }
  d.conv(1504, 1, 1);
  d.norm();
  d.relu();
  d.classify(100);
  return d.take();
}

void hard_swish(Draft& d) { d.apply("HardSwish", {d.x}); }

// Five stages of up to four inverted residual blocks with their own kernel and expansion.
std::optional<Result<Graph>> once_for_all(const std::vector<std::string>& fields, std::int64_t batch) {
  const Ints kernels = parse_numbers(fields[0]), expand = parse_numbers(fields[1]), depth = parse_numbers(fields[2]),
             side = parse_numbers(fields[3]);
  if (kernels.size() != 20 || expand.size() != 20 || depth.size() != 5 || side.size() != 1) return std::nullopt;
  constexpr std::array<std::int64_t, 5> kWidths = {32, 48, 96, 136, 192}, kStrides = {2, 2, 2, 1, 2};
  constexpr std::array<bool, 5> kSqueezes = {false, true, false, true, true}, kSwish = {false, false, true, true, true};
  Draft d(batch, side[0]);
  d.conv(24, 3, 2);
  d.norm();
  hard_swish(d);
  const ValueId first = d.x;
  d.conv(24, 3, 1, 24);
  d.norm();
  d.relu();
  d.conv(24, 1, 1);
  d.norm();
  d.add(first);
  for (std::size_t stage = 0; stage < 5; ++stage) {
    for (std::size_t layer = 0; layer < std::size_t(std::clamp<std::int64_t>(depth[stage], 1, 4)); ++layer) {
      const std::int64_t stride = layer == 0 ? kStrides[stage] : 1, in = d.channels,
                         kernel = kernels[stage * 4 + layer], wide = in * expand[stage * 4 + layer];
      const ValueId before = d.x;
      const auto activate = [&] { kSwish[stage] ? hard_swish(d) : d.relu(); };
      d.conv(wide, 1, 1);
      d.norm();
      activate();
      d.conv(wide, kernel, stride, wide);
      d.norm();
      activate();
      if (kSqueezes[stage]) {
        const ValueId full = d.x;
        d.apply("GlobalAveragePool", {d.x});
        d.conv((wide / 4 + 7) / 8 * 8, 1, 1, 1, true);
        d.relu();
        d.conv(wide, 1, 1, 1, true);
        d.apply("HardSigmoid", {d.x});
        d.apply("Mul", {full, d.x});
      }
      d.conv(kWidths[stage], 1, 1);
      d.norm();
      if (stride == 1 && in == kWidths[stage]) d.add(before);
    }
  }
  d.conv(1152, 1, 1);
  d.norm();
  hard_swish(d);
  d.apply("GlobalAveragePool", {d.x});
  d.conv(1536, 1, 1);
  hard_swish(d);
  d.classify(1000);
  return d.take();
}

class VisionNetwork final : public Network {
 public:
  VisionNetwork(Build build, std::vector<std::string> fields) : build_(build), fields_(std::move(fields)) {}
  [[nodiscard]] bool is_fixed_graph() const override { return false; }
  [[nodiscard]] Result<Graph> expand(const Binding& binding, const CancelToken&) const override {
    auto graph = build_(fields_, binding.batch.value_or(1));
    return graph ? std::move(*graph) : Result<Graph>(bad_input("not an architecture of this space"));
  }

 private:
  Build build_;
  std::vector<std::string> fields_;
};

struct Space {
  std::string_view file, family;
  std::array<std::string_view, 4> fields;  // columns that describe the architecture
  Build build;
};
constexpr std::array<Space, 3> kSpaces = {
    {{"help_nasbench201.csv.gz", "nasbench201", {"arch_str", "", "", ""}, nasbench201},
     {"help_fbnet.csv.gz", "fbnet", {"arch_str", "", "", ""}, fbnet},
     {"help_ofa.csv.gz", "once-for-all", {"kernel_sizes", "expand", "depth", "resolution"}, once_for_all}}};

// Columns are called by device and batch: "titan_rtx_32". Phones, accelerators and CPUs have no place here.
constexpr std::array<std::string_view, 7> kGpus = {"1080ti",  "2080ti",   "titan_rtx", "titanx",
                                                   "titanxp", "titan_xp", "v100"};

}  // namespace

Status load_vision_networks(const std::string& folder, const PublicNetworkOptions& options, std::vector<Example>& out) {
  for (const Space& space : kSpaces) {
    const std::string path = (fs::path(folder) / space.file).string();
    if (!fs::exists(path)) continue;
    std::size_t rows = 0;
    for (const bool counting : {true, false}) {
      FORERUN_TRY(CsvReader csv, CsvReader::open(path));
      while (true) {
        FORERUN_TRY(const bool more, csv.next());
        if (!more) break;
        if (counting) {
          ++rows;
          continue;
        }
        const std::string name = fmt::format("{}-{}", space.family, csv.field("idx"));
        if (!is_chosen(name, options.architectures, rows)) continue;
        std::vector<std::string> fields;
        for (const std::string_view column : space.fields) {
          if (!column.empty()) fields.emplace_back(csv.field(column));
        }
        const auto network = std::make_shared<VisionNetwork>(space.build, std::move(fields));
        for (const std::string& column : csv.columns()) {
          const std::size_t cut = column.rfind('_');
          const auto latency = csv.number(column);
          if (cut == std::string::npos || !latency || *latency <= 0 ||
              std::find(kGpus.begin(), kGpus.end(), column.substr(0, cut)) == kGpus.end())
            continue;
          const Ints batch = parse_numbers(column.substr(cut + 1));
          Example example;
          example.domain = RunKind::VisionInference;
          example.device = device_id_of(column.substr(0, cut));
          example.network = name;
          example.family = std::string(space.family);
          example.campaign = "help-" + std::string(space.family);
          example.row_id = fmt::format("{}/{}/{}", example.device, name, batch.at(0));
          example.net = network;
          example.workload.binding.batch = batch.at(0);
          example.metrics.emplace(kLatencyEager, *latency);
          out.push_back(std::move(example));
        }
      }
    }
  }
  return ok();
}

}  // namespace forerun
