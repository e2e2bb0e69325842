// A llama decoder on the CPU: rotary attention with grouped keys, RMS norms, gated SiLU. Inputs are rows, so that a row
// that no token has (a graph's embedding) can stand among those of the text. LoRA matrices are added where given.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel_token.hpp"
#include "base/result.hpp"
#include "predictors/gnn/product.hpp"
#include "predictors/hybrid/tokenizer.hpp"

namespace forerun {

struct DecoderShape {
  std::int64_t layers = 0, width = 0, heads = 0, kv_heads = 0, hidden = 0, vocabulary = 0;
  std::int64_t context = 0;  // most rows that it was trained for
  double rope_base = 10000, epsilon = 1e-5;
  [[nodiscard]] std::int64_t head_width() const { return heads > 0 ? width / heads : 0; }
};

// The products of a layer, in the order of GGUF's attn_q, attn_k, attn_v, attn_output, ffn_gate, ffn_up, ffn_down.
enum class Projection : std::size_t { Query, Key, Value, Output, Gate, Up, Down, Count };
inline constexpr std::size_t kProjections = std::size_t(Projection::Count);
inline constexpr std::array<std::string_view, kProjections> kProjectionNames = {
    "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"};

struct DecoderLayer {
  Eigen::RowVectorXf attention_norm, mlp_norm;
  std::array<Matrix, kProjections> weights;  // inputs x outputs
};

struct Decoder {
  DecoderShape shape;
  Matrix tokens;  // vocabulary x width
  std::vector<DecoderLayer> layers;
  Eigen::RowVectorXf final_norm;
  Matrix output;  // vocabulary x width; empty where the tokens' rows serve as well
  // Inputs and outputs of a projection.
  [[nodiscard]] std::array<std::int64_t, 2> sizes(Projection projection) const;
};

// What LoRA adds to a projection: x down up. Empty matrices add nothing. `up` holds the scale.
struct LoraPair {
  Matrix down, up;  // inputs x rank, rank x outputs
};
using LoraLayer = std::array<LoraPair, kProjections>;
using Lora = std::vector<LoraLayer>;  // as many as layers, or none

// Reads llama weights. `bytes` is needed only while reading. Errors: another architecture, missing or misshapen
// tensors, sizes beyond 2 GiB as floats.
[[nodiscard]] Result<Decoder> decoder_from_gguf(std::string_view bytes, const GgufFile& file);

// Errors: LoRA matrices that do not fit the decoder.
[[nodiscard]] Status check_lora(const Decoder& decoder, const Lora& lora);

// One text being decoded. REQUIRES: `decoder` and `lora` outlive it; check_lora was passed.
class Decoding {
 public:
  explicit Decoding(const Decoder& decoder, const Lora* lora = nullptr);
  // The tokens' embedding rows. REQUIRES: ids of the vocabulary
  [[nodiscard]] Matrix embed(std::span<const TokenId> ids) const;
  // Adds rows to the text; returns the logits after the last. Errors: more rows than the context holds, or cancelled.
  [[nodiscard]] Result<Eigen::RowVectorXf> advance(const Matrix& rows, const CancelToken& cancel = {});
  [[nodiscard]] std::int64_t rows() const { return rows_; }

 private:
  [[nodiscard]] Matrix project(const Matrix& x, std::size_t layer, Projection projection) const;
  void rotate(Matrix& heads, std::int64_t count) const;
  [[nodiscard]] Matrix attend(const Matrix& query, std::size_t layer) const;

  const Decoder& decoder_;
  const Lora* lora_;
  std::int64_t rows_ = 0;
  std::vector<Matrix> keys_, values_;  // by layer, context rows; the first rows_ are filled
};

// The likeliest token each time, up to `limit`, until `stop`. The stop token is the last one.
[[nodiscard]] Result<std::vector<TokenId>> decode_greedily(Decoding& decoding, const Matrix& rows, std::int64_t limit,
                                                           TokenId stop, const CancelToken& cancel = {});

}  // namespace forerun
