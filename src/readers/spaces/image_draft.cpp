#include "readers/spaces/image_draft.hpp"

namespace forerun::spaces {

using Ints = std::vector<std::int64_t>;

ImageDraft::ImageDraft(std::int64_t batch, std::int64_t side) : GraphDraft(17), x(input({batch, 3, side, side})) {
  graph_.values.front().name = "image";
}

ValueId ImageDraft::apply(std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes) {
  return x = GraphDraft::apply(op, std::move(inputs), std::move(attributes));
}

void ImageDraft::conv(std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t groups, bool bias) {
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

void ImageDraft::norm() {
  apply("BatchNormalization", {x, weight({channels}), weight({channels}), weight({channels}), weight({channels})});
}

void ImageDraft::pool(std::string_view op, std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  apply(
      op, {x},
      {{"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}});
}

void ImageDraft::average_pool(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  pool("AveragePool", kernel, stride, pad);
}

void ImageDraft::max_pool(std::int64_t kernel, std::int64_t stride, std::int64_t pad) {
  pool("MaxPool", kernel, stride, pad);
}

void ImageDraft::classify(std::int64_t classes) {
  apply("GlobalAveragePool", {x});
  apply("Flatten", {x});
  apply("Gemm", {x, weight({classes, channels}), weight({classes})}, {{"transB", std::int64_t{1}}});
}

Result<Graph> ImageDraft::take() {
  graph_.main().outputs = {x};
  FORERUN_CHECK(verify(graph_));
  return std::move(graph_);
}

}  // namespace forerun::spaces
