// One call of a Keras layer while it is expanded, and the table of layers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "readers/graph_writer.hpp"
#include "readers/json_text.hpp"

namespace forerun::keras {

// A tensor as Keras sees it. Channels come last there; where the IR has them second, the value is `permuted`: its
// dimensions are [batch, channels, spatial …].
struct Tensor {
  ValueId id = kNoValue;
  bool has_shape = false;
  bool permuted = false;
  Dims shape;  // in Keras's order; kUnknownDim: free
  [[nodiscard]] std::size_t rank() const { return shape.size(); }
  [[nodiscard]] std::int64_t last() const { return shape.empty() ? kUnknownDim : shape.back(); }
};

struct Argument {
  std::string name;             // of a keyword argument
  std::vector<Tensor> tensors;  // a list when is_list
  bool is_list = false;
  const Json* json = nullptr;  // where it is no tensor
};

class Expander;
class Layer;
using Build = Status (*)(Layer&);

struct LayerType {
  std::string_view name;
  Build build;
  OpKind kind = OpKind::Unknown;
  int rank = 0;  // spatial dimensions, where one builder serves several
};
[[nodiscard]] const LayerType* find_layer(std::string_view class_name);
[[nodiscard]] const LayerType* find_function(std::string_view name);  // of keras.ops and of TensorFlow

class Layer {
 public:
  Layer(Expander& expander, const LayerType& row, const Json& settings, std::vector<Argument> arguments);

  Expander& e;
  GraphWriter& w;
  const LayerType& row;
  const Json& config;
  std::vector<Argument> args;
  std::vector<Tensor> inputs;  // every tensor of the arguments, in order
  std::vector<Tensor> outputs;

  // The configuration's values.
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  [[nodiscard]] double real(std::string_view key, double fallback) const;
  [[nodiscard]] bool flag(std::string_view key, bool fallback) const;
  [[nodiscard]] std::string text(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] Dims ints(std::string_view key) const;  // a number is a list of one; nested lists are joined
  [[nodiscard]] Dims ints(std::string_view key, std::size_t count, std::int64_t fallback) const;  // one serves all
  [[nodiscard]] bool is_channels_first() const { return text("data_format", "channels_last") == "channels_first"; }
  // An argument by its name, else by its place; nullptr when it is left out.
  [[nodiscard]] const Argument* argument(std::string_view name, std::size_t place) const;
  [[nodiscard]] const Tensor* tensor(std::string_view name, std::size_t place) const;
  [[nodiscard]] const Json* value(std::string_view name, std::size_t place) const;

  // Weights belong to the layer, whoever calls it. Dims are the IR's.
  ValueId weight(std::string_view name, Dims dims, ValueRole role = ValueRole::Weight);
  [[nodiscard]] DType dtype(const Tensor& t) const { return w.value(t.id).dtype; }

  // The value in the layout that an operator needs, transposed where it has another.
  ValueId natural(const Tensor& t);
  ValueId channels_second(const Tensor& t);  // [batch, channels, spatial …], as convolutions need it
  [[nodiscard]] bool is_convertible(const Tensor& t) const { return t.has_shape && t.rank() >= 3; }
  [[nodiscard]] static std::int64_t ir_axis(const Tensor& t, std::int64_t axis);

  [[nodiscard]] Tensor made(ValueId id, Dims shape, bool permuted = false) const;
  Tensor activate(const Tensor& x, const Json* activation);  // "relu", or a serialised function or layer
  void give(Tensor t) { outputs.push_back(std::move(t)); }
  Status unknown(const std::string& why);  // stays in the graph without a cost, and is warned about
  Status expect(bool holds, const std::string& what);
};

[[nodiscard]] std::int64_t times(std::int64_t a, std::int64_t b);  // kUnknownDim where one is
[[nodiscard]] Dims iota_dims(std::int64_t from, std::int64_t to);
// The operator of an activation's name; nullopt: none that Forerun knows. Identity for "linear".
[[nodiscard]] std::optional<OpKind> activation_kind(std::string_view name);

// Builders, by file.
// layers_conv.cpp
Status conv(Layer&);
Status depthwise_conv(Layer&);
Status separable_conv(Layer&);
Status conv_transpose(Layer&);
Status pooling(Layer&);
Status global_pooling(Layer&);
Status padding(Layer&);
Status cropping(Layer&);
Status up_sampling(Layer&);
Status resizing(Layer&);
// layers_dense.cpp
Status dense(Layer&);
Status einsum_dense(Layer&);
Status embedding(Layer&);
Status multi_head_attention(Layer&);
Status grouped_query_attention(Layer&);
Status dot_attention(Layer&);
Status dot(Layer&);
// layers_recurrent.cpp
Status recurrent(Layer&);
Status bidirectional(Layer&);
Status rnn_of_cells(Layer&);
Status time_distributed(Layer&);
Status wrapper(Layer&);
// layers_norm.cpp
Status batch_norm(Layer&);
Status layer_norm(Layer&);
Status group_norm(Layer&);
Status unit_norm(Layer&);
Status rms_norm(Layer&);
Status normalization(Layer&);
Status rescaling(Layer&);
Status layer_scale(Layer&);
// layers_shape.cpp
Status reshape(Layer&);
Status flatten(Layer&);
Status permute(Layer&);
Status repeat_vector(Layer&);
Status concatenate(Layer&);
Status merge(Layer&);
Status average(Layer&);
Status identity(Layer&);
Status activation(Layer&);
Status relu(Layer&);
Status leaky(Layer&);
Status prelu(Layer&);
Status softmax(Layer&);
// layers_text.cpp
Status position_embedding(Layer&);
Status token_and_position_embedding(Layer&);
Status transformer_encoder(Layer&);
// functions.cpp
Status cumulative_sum(Layer&);
Status unary(Layer&);
Status binary(Layer&);
Status reduce(Layer&);
Status function_matmul(Layer&);
Status function_reshape(Layer&);
Status function_transpose(Layer&);
Status function_concat(Layer&);
Status function_cast(Layer&);
Status expand_dims(Layer&);
Status squeeze(Layer&);
Status clip(Layer&);
Status square(Layer&);
Status function_softmax(Layer&);
Status function_einsum(Layer&);
Status function_stack(Layer&);
Status function_split(Layer&);
// functions_select.cpp
Status get_item(Layer&);

}  // namespace forerun::keras
