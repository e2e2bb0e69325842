#include "predictors/hybrid/decoder.hpp"

#include <algorithm>
#include <cmath>

namespace forerun {
namespace {

constexpr std::int64_t kFirstRows = 256;  // of the caches; they grow

Matrix normed(const Matrix& x, const Eigen::RowVectorXf& weight, double epsilon) {
  Matrix y = x;
  for (Eigen::Index r = 0; r < y.rows(); ++r) {
    const double mean = double(y.row(r).squaredNorm()) / double(y.cols());
    y.row(r) = (y.row(r) * float(1 / std::sqrt(mean + epsilon))).cwiseProduct(weight);
  }
  return y;
}

void multiply_add(const Matrix& x, const Matrix& w, Matrix& y) {
  if (x.rows() >= 4) return add_product(x, w, y);
  for (Eigen::Index r = 0; r < x.rows(); ++r) y.row(r).noalias() += x.row(r) * w;  // bound by reading w
}

}  // namespace

std::array<std::int64_t, 2> Decoder::sizes(Projection projection) const {
  const std::int64_t width = shape.width, kv = shape.kv_heads * shape.head_width(), hidden = shape.hidden;
  switch (projection) {
    case Projection::Query:
    case Projection::Output: return {width, width};
    case Projection::Key:
    case Projection::Value: return {width, kv};
    case Projection::Gate:
    case Projection::Up: return {width, hidden};
    case Projection::Down: return {hidden, width};
    case Projection::Count: break;
  }
  return {0, 0};
}

Status check_lora(const Decoder& decoder, const Lora& lora) {
  if (!lora.empty() && lora.size() != decoder.layers.size())
    return bad_input("the LoRA matrices are of a decoder with another number of layers");
  for (const LoraLayer& layer : lora) {
    for (std::size_t p = 0; p < kProjections; ++p) {
      const auto [in, out] = decoder.sizes(Projection(p));
      const LoraPair& pair = layer[p];
      const bool is_empty = pair.down.size() == 0 && pair.up.size() == 0;
      if (!is_empty && (pair.down.rows() != in || pair.up.cols() != out || pair.down.cols() != pair.up.rows()))
        return bad_input("a LoRA matrix does not fit the decoder's " + std::string(kProjectionNames[p]));
    }
  }
  return ok();
}

Decoding::Decoding(const Decoder& decoder, const Lora* lora)
    : decoder_(decoder),
      lora_(lora != nullptr && !lora->empty() ? lora : nullptr),
      keys_(decoder.layers.size()),
      values_(decoder.layers.size()) {}

Matrix Decoding::embed(std::span<const TokenId> ids) const {
  Matrix rows(Eigen::Index(ids.size()), decoder_.shape.width);
  for (std::size_t i = 0; i < ids.size(); ++i) rows.row(Eigen::Index(i)) = decoder_.tokens.row(ids[i]);
  return rows;
}

Matrix Decoding::project(const Matrix& x, std::size_t layer, Projection projection) const {
  const Matrix& w = decoder_.layers[layer].weights[std::size_t(projection)];
  Matrix y = Matrix::Zero(x.rows(), w.cols());
  multiply_add(x, w, y);
  if (lora_ != nullptr) {
    const LoraPair& pair = (*lora_)[layer][std::size_t(projection)];
    if (pair.down.size() > 0) y.noalias() += (x * pair.down) * pair.up;
  }
  return y;
}

// Rotary positions, pairs of neighbours (2i, 2i + 1), as llama's GGUF files are laid out.
void Decoding::rotate(Matrix& heads, std::int64_t count) const {
  const std::int64_t width = decoder_.shape.head_width();
  for (Eigen::Index r = 0; r < heads.rows(); ++r) {
    for (std::int64_t pair = 0; pair < width / 2; ++pair) {
      const double angle = double(rows_ + r) * std::pow(decoder_.shape.rope_base, -2.0 * double(pair) / double(width));
      const auto cosine = float(std::cos(angle)), sine = float(std::sin(angle));
      for (std::int64_t head = 0; head < count; ++head) {
        float& a = heads(r, head * width + 2 * pair);
        float& b = heads(r, head * width + 2 * pair + 1);
        const float before = a;
        a = before * cosine - b * sine;
        b = before * sine + b * cosine;
      }
    }
  }
}

Matrix Decoding::attend(const Matrix& query, std::size_t layer) const {
  const DecoderShape& shape = decoder_.shape;
  const std::int64_t width = shape.head_width(), shared = shape.heads / shape.kv_heads;
  Matrix out(query.rows(), query.cols());
  for (Eigen::Index r = 0; r < query.rows(); ++r) {
    const std::int64_t seen = rows_ + r + 1;
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t from = head / shared * width;
      Eigen::VectorXf scores = keys_[layer].block(0, from, seen, width) *
                               query.block(r, head * width, 1, width).transpose() / std::sqrt(float(width));
      scores = (scores.array() - scores.maxCoeff()).exp();
      out.block(r, head * width, 1, width) =
          scores.transpose() * values_[layer].block(0, from, seen, width) / scores.sum();
    }
  }
  return out;
}

Result<Eigen::RowVectorXf> Decoding::advance(const Matrix& rows, const CancelToken& cancel) {
  const DecoderShape& shape = decoder_.shape;
  const std::int64_t end = rows_ + rows.rows(), kv = shape.kv_heads * shape.head_width();
  if (rows.rows() == 0 || rows.cols() != shape.width) return internal_error("no rows, or rows of another width");
  if (end > shape.context) {
    return bad_input("a text of " + std::to_string(end) + " tokens is longer than the language model's context of " +
                     std::to_string(shape.context));
  }
  Matrix x = rows;
  for (std::size_t layer = 0; layer < decoder_.layers.size(); ++layer) {
    FORERUN_CHECK(cancel.check());
    const DecoderLayer& weights = decoder_.layers[layer];
    const Matrix before = normed(x, weights.attention_norm, shape.epsilon);
    Matrix query = project(before, layer, Projection::Query), key = project(before, layer, Projection::Key);
    rotate(query, shape.heads);
    rotate(key, shape.kv_heads);
    for (Matrix* cache : {&keys_[layer], &values_[layer]}) {
      if (cache->rows() < end) cache->conservativeResize(std::max(kFirstRows, 2 * end), kv);
    }
    keys_[layer].middleRows(rows_, rows.rows()) = key;
    values_[layer].middleRows(rows_, rows.rows()) = project(before, layer, Projection::Value);
    x += project(attend(query, layer), layer, Projection::Output);
    const Matrix mlp = normed(x, weights.mlp_norm, shape.epsilon);
    Matrix gate = project(mlp, layer, Projection::Gate);
    gate = gate.array() / (1 + (-gate.array()).exp());
    x += project(gate.cwiseProduct(project(mlp, layer, Projection::Up)), layer, Projection::Down);
  }
  rows_ = end;
  const Matrix last = normed(x.bottomRows(1), decoder_.final_norm, shape.epsilon);
  const Matrix& output = decoder_.output.size() > 0 ? decoder_.output : decoder_.tokens;
  Eigen::RowVectorXf logits = last.row(0) * output.transpose();
  if (!logits.allFinite()) return bad_input("the language model's weights give no finite numbers: the file is damaged");
  return logits;
}

Result<std::vector<TokenId>> decode_greedily(Decoding& decoding, const Matrix& rows, std::int64_t limit, TokenId stop,
                                             const CancelToken& cancel) {
  std::vector<TokenId> ids;
  Matrix next = rows;
  while (std::int64_t(ids.size()) < limit) {
    FORERUN_TRY(const Eigen::RowVectorXf logits, decoding.advance(next, cancel));
    Eigen::Index best = 0;
    logits.maxCoeff(&best);
    ids.push_back(TokenId(best));
    if (ids.back() == stop) break;
    next = decoding.embed({&ids.back(), 1});
  }
  return ids;
}

}  // namespace forerun
