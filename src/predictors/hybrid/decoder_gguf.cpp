// A llama decoder's weights from a GGUF file.
#include <fmt/format.h>

#include "base/checked.hpp"
#include "predictors/hybrid/decoder.hpp"
#include "predictors/hybrid/dequantise.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 29;  // 2 GiB of floats
constexpr std::int64_t kMostLayers = 512;

class Tensors {
 public:
  Tensors(std::string_view bytes, const GgufFile& file) : bytes_(bytes), file_(file) {
    for (const GgufTensor& tensor : file.tensors) by_name_.emplace(tensor.stored.name, &tensor);
  }
  [[nodiscard]] const GgufTensor* find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }
  // outputs x inputs, as stored.
  [[nodiscard]] Result<Matrix> matrix(const std::string& name, std::int64_t rows, std::int64_t columns) const {
    const GgufTensor* tensor = find(name);
    if (tensor == nullptr) return bad_input("there is no tensor " + in_quotes(name));
    const Dims wanted = rows == 1 ? Dims{columns} : Dims{rows, columns};
    if (tensor->stored.shape != wanted)
      return bad_input(fmt::format("tensor '{}' is not of {} x {} as the metadata says", name, rows, columns));
    FORERUN_TRY(const std::string_view stored, bytes_of(bytes_, file_, *tensor));
    Matrix values(rows, columns);
    FORERUN_CHECK(dequantise(tensor->type_name, stored, {values.data(), std::size_t(values.size())}));
    return values;
  }

 private:
  std::string_view bytes_;
  const GgufFile& file_;
  std::map<std::string, const GgufTensor*, std::less<>> by_name_;
};

Result<DecoderShape> shape_of(const GgufFile& file, const GgufTensor& tokens) {
  if (file.text("general.architecture") != "llama")
    return bad_input("the language model is a " + in_quotes(file.text("general.architecture")) + ", not a llama");
  DecoderShape shape;
  shape.layers = file.integer("llama.block_count", 0);
  shape.width = file.integer("llama.embedding_length", 0);
  shape.heads = file.integer("llama.attention.head_count", 0);
  shape.kv_heads = file.integer("llama.attention.head_count_kv", shape.heads);
  shape.hidden = file.integer("llama.feed_forward_length", 0);
  shape.context = file.integer("llama.context_length", 0);
  shape.rope_base = file.real("llama.rope.freq_base", 10000);
  shape.epsilon = file.real("llama.attention.layer_norm_rms_epsilon", 1e-5);
  shape.vocabulary = tokens.stored.shape.empty() ? 0 : tokens.stored.shape.front();
  for (const std::int64_t size :
       {shape.layers, shape.width, shape.heads, shape.kv_heads, shape.hidden, shape.context, shape.vocabulary}) {
    if (size < 1 || size > kMostElements) return bad_input("the metadata lacks a size of the decoder");
  }
  if (shape.layers > kMostLayers || shape.width % shape.heads != 0 || shape.heads % shape.kv_heads != 0 ||
      shape.head_width() % 2 != 0 || !(shape.rope_base > 0) || !(shape.epsilon > 0))
    return bad_input("the sizes of the decoder do not fit each other");
  const std::int64_t rope = file.integer("llama.rope.dimension_count", shape.head_width());
  if (rope != shape.head_width() || file.metadata.contains("llama.rope.scaling.type"))
    return bad_input("partial or scaled rotary positions are not supported");
  const std::int64_t layer = checked_mul(
      shape.width, checked_add(2 * (shape.width + shape.kv_heads * shape.head_width()), checked_mul(3, shape.hidden)));
  const std::int64_t all =
      checked_add(checked_mul(layer, shape.layers), checked_mul(2, checked_mul(shape.vocabulary, shape.width)));
  if (all > kMostElements) return bad_input("the language model is larger than 2 GiB as 32-bit floats");
  return shape;
}

}  // namespace

Result<Decoder> decoder_from_gguf(std::string_view bytes, const GgufFile& file) {
  const Tensors tensors(bytes, file);
  const GgufTensor* tokens = tensors.find("token_embd.weight");
  if (tokens == nullptr) return bad_input("there is no tensor 'token_embd.weight'");
  Decoder made;
  FORERUN_TRY(made.shape, shape_of(file, *tokens));
  const DecoderShape& shape = made.shape;
  FORERUN_TRY(made.tokens, tensors.matrix("token_embd.weight", shape.vocabulary, shape.width));
  if (tensors.find("output.weight") != nullptr) {
    FORERUN_TRY(made.output, tensors.matrix("output.weight", shape.vocabulary, shape.width));
  }
  FORERUN_TRY(made.final_norm, tensors.matrix("output_norm.weight", 1, shape.width));
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    DecoderLayer layer;
    const std::string prefix = fmt::format("blk.{}.", i);
    FORERUN_TRY(layer.attention_norm, tensors.matrix(prefix + "attn_norm.weight", 1, shape.width));
    FORERUN_TRY(layer.mlp_norm, tensors.matrix(prefix + "ffn_norm.weight", 1, shape.width));
    for (std::size_t p = 0; p < kProjections; ++p) {
      const auto [in, out] = made.sizes(Projection(p));
      const std::string name = prefix + std::string(kProjectionNames[p]);
      if (tensors.find(name + ".bias") != nullptr)
        return bad_input("tensor '" + name + ".bias': biases are not supported");
      FORERUN_TRY(const Matrix stored, tensors.matrix(name + ".weight", out, in));
      layer.weights[p] = stored.transpose();
    }
    made.layers.push_back(std::move(layer));
  }
  return made;
}

}  // namespace forerun
