#include "dataset/published_networks.hpp"

#include "readers/graph_draft.hpp"

namespace forerun {
namespace {

using Ints = std::vector<std::int64_t>;

class Draft : public GraphDraft {
 public:
  Draft(std::int64_t batch, std::int64_t height, std::int64_t width)
      : GraphDraft(17), x(input({batch, 3, height, width})) {}

  ValueId x;
  std::int64_t channels = 3;

  void step(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    x = apply(op, std::move(inputs), std::move(attributes));
  }
  void conv(std::int64_t out, std::int64_t kernel, std::int64_t stride, bool bias) {
    std::vector<ValueId> inputs = {x, weight({out, channels, kernel, kernel})};
    if (bias) inputs.push_back(weight({out}));
    const std::int64_t pad = kernel / 2;
    step("Conv", std::move(inputs),
         {{"kernel_shape", Ints{kernel, kernel}},
          {"strides", Ints{stride, stride}},
          {"pads", Ints{pad, pad, pad, pad}}});
    channels = out;
  }
  void norm() {
    step("BatchNormalization", {x, weight({channels}), weight({channels}), weight({channels}), weight({channels})});
  }
  void relu() { step("Relu", {x}); }
  void conv_norm_relu(std::int64_t out) {
    conv(out, 3, 1, true);
    norm();
    relu();
  }
  void up(std::int64_t out) {
    step("ConvTranspose", {x, weight({channels, out, 2, 2}), weight({out})},
         {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
    channels = out;
  }
  void join(ValueId skip) {
    step("Concat", {x, skip}, {{"axis", std::int64_t{1}}});
    channels *= 2;
  }
  Result<Graph> take(std::string name, std::vector<ValueId> outputs) {
    graph_.name = std::move(name);
    graph_.main().outputs = std::move(outputs);
    FORERUN_CHECK(verify(graph_));
    return std::move(graph_);
  }
};

Result<Graph> unet(std::int64_t batch) {
  constexpr std::int64_t kWidth = 56, kLevels = 3;
  Draft d(batch, 96, 128);
  std::vector<ValueId> skips;
  for (std::int64_t level = 0; level < kLevels; ++level) {
    d.conv_norm_relu(kWidth << level);
    if (level == 0) d.conv_norm_relu(kWidth);
    skips.push_back(d.x);
    d.step("MaxPool", {d.x}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  }
  d.conv_norm_relu(kWidth << kLevels);
  for (std::int64_t level = kLevels; level-- > 0;) {
    d.up(kWidth << level);
    d.join(skips[std::size_t(level)]);
    d.conv_norm_relu(kWidth << level);
    d.conv_norm_relu(kWidth << level);
  }
  const ValueId last = d.x;
  d.conv(1, 1, 1, true);
  const ValueId first = d.x;
  d.x = last;
  d.channels = kWidth;
  d.conv(1, 1, 1, true);
  return d.take("unet-downscaling", {first, d.x});
}

Result<Graph> resnet18(std::int64_t batch) {
  Draft d(batch, 32, 32);
  const auto conv_norm = [&](std::int64_t out, std::int64_t kernel, std::int64_t stride) {
    d.conv(out, kernel, stride, false);
    d.norm();
  };
  conv_norm(64, 3, 1);
  d.relu();
  for (const std::int64_t width : {64, 128, 256, 512}) {
    for (int block = 0; block < 2; ++block) {
      const std::int64_t stride = block == 0 && width > 64 ? 2 : 1;
      const ValueId before = d.x;
      const std::int64_t channels = d.channels;
      conv_norm(width, 3, stride);
      d.relu();
      conv_norm(width, 3, 1);
      const ValueId main = d.x;
      ValueId shortcut = before;
      if (channels != width || stride != 1) {
        d.x = before;
        d.channels = channels;
        conv_norm(width, 1, stride);
        shortcut = d.x;
      }
      d.step("Add", {main, shortcut});
      d.relu();
    }
  }
  d.step("GlobalAveragePool", {d.x});
  d.step("Flatten", {d.x});
  d.step("Gemm", {d.x, d.weight({10, 512}), d.weight({10})}, {{"transB", std::int64_t{1}}});
  return d.take("resnet-18", {d.x});
}

class DrawnNetwork final : public Network {
 public:
  explicit DrawnNetwork(Result<Graph> (*build)(std::int64_t batch)) : build_(build) {}
  [[nodiscard]] bool is_fixed_graph() const override { return false; }
  [[nodiscard]] Result<Graph> expand(const Binding& binding, const CancelToken& = {}) const override {
    return build_(binding.batch.value_or(1));
  }

 private:
  Result<Graph> (*build_)(std::int64_t batch);
};

}  // namespace

std::shared_ptr<const Network> published_unet() { return std::make_shared<DrawnNetwork>(unet); }
std::shared_ptr<const Network> small_image_resnet18() { return std::make_shared<DrawnNetwork>(resnet18); }

}  // namespace forerun
