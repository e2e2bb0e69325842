// For tests: a GGUF file of a random llama with a vocabulary of bytes, digits and a few merges. Nothing is downloaded.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace forerun {

struct TinyShape {
  std::uint32_t layers = 2, width = 16, heads = 4, kv_heads = 2, hidden = 24, context = 512;
};

class TinyGguf {
 public:
  static std::string make(const TinyShape& shape = {}, unsigned seed = 1, float scale = 0.4F) {
    TinyGguf made(shape, seed, scale);
    return made.write();
  }

 private:
  TinyGguf(const TinyShape& shape, unsigned seed, float scale) : shape_(shape), draw_(seed), normal_(0, scale) {}

  template <typename T>
  static void number(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void text(std::string& out, std::string_view value) {
    number<std::uint64_t>(out, value.size());
    out.append(value);
  }
  void entry(std::string_view key, std::uint32_t value) {
    text(head_, key);
    number<std::uint32_t>(head_, 4);
    number(head_, value);
    ++entries_;
  }
  void entry(std::string_view key, std::string_view value) {
    text(head_, key);
    number<std::uint32_t>(head_, 8);
    text(head_, value);
    ++entries_;
  }
  void entry(std::string_view key, const std::vector<std::string>& values) {
    text(head_, key);
    number<std::uint32_t>(head_, 9);
    number<std::uint32_t>(head_, 8);
    number<std::uint64_t>(head_, values.size());
    for (const std::string& value : values) text(head_, value);
    ++entries_;
  }
  // Random values; `columns` inputs. Norms are 1.
  void tensor(const std::string& name, std::uint64_t rows, std::uint64_t columns) {
    text(list_, name);
    number<std::uint32_t>(list_, rows == 1 ? 1 : 2);
    number(list_, columns);
    if (rows != 1) number(list_, rows);
    number<std::uint32_t>(list_, 0);
    number<std::uint64_t>(list_, data_.size());
    for (std::uint64_t i = 0; i < rows * columns; ++i) number(data_, rows == 1 ? 1.0F : normal_(draw_));
    data_.resize((data_.size() + 31) / 32 * 32, '\0');
    ++tensors_;
  }
  std::string write() {
    // Bytes as GPT-2 writes them, for ASCII; then control tokens, then results of merges.
    std::vector<std::string> tokens = {"<|im_start|>", "<|im_end|>", "\u0120", "\u010a"};  // blank, line feed
    for (char c = '!'; c <= '~'; ++c) tokens.emplace_back(1, c);
    tokens.insert(tokens.end(), {"th", "the", "\u0120the", "ms"});
    entry("general.architecture", "llama");
    entry("llama.block_count", shape_.layers);
    entry("llama.context_length", shape_.context);
    entry("llama.embedding_length", shape_.width);
    entry("llama.feed_forward_length", shape_.hidden);
    entry("llama.attention.head_count", shape_.heads);
    entry("llama.attention.head_count_kv", shape_.kv_heads);
    entry("tokenizer.ggml.model", "gpt2");
    entry("tokenizer.ggml.pre", "smollm");
    entry("tokenizer.ggml.eos_token_id", 1U);
    entry("tokenizer.ggml.tokens", tokens);
    entry("tokenizer.ggml.merges", std::vector<std::string>{"t h", "th e", "\u0120 the", "m s"});
    text(head_, "tokenizer.ggml.token_type");
    number<std::uint32_t>(head_, 9);
    number<std::uint32_t>(head_, 5);
    number<std::uint64_t>(head_, tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) number<std::int32_t>(head_, i < 2 ? 3 : 1);
    ++entries_;
    tensor("token_embd.weight", tokens.size(), shape_.width);
    tensor("output_norm.weight", 1, shape_.width);
    const std::uint64_t kv = shape_.width / shape_.heads * shape_.kv_heads;
    for (std::uint32_t i = 0; i < shape_.layers; ++i) {
      const std::string layer = "blk." + std::to_string(i) + ".";
      tensor(layer + "attn_norm.weight", 1, shape_.width);
      tensor(layer + "ffn_norm.weight", 1, shape_.width);
      tensor(layer + "attn_q.weight", shape_.width, shape_.width);
      tensor(layer + "attn_k.weight", kv, shape_.width);
      tensor(layer + "attn_v.weight", kv, shape_.width);
      tensor(layer + "attn_output.weight", shape_.width, shape_.width);
      tensor(layer + "ffn_gate.weight", shape_.hidden, shape_.width);
      tensor(layer + "ffn_up.weight", shape_.hidden, shape_.width);
      tensor(layer + "ffn_down.weight", shape_.width, shape_.hidden);
    }
    std::string file = "GGUF";
    number<std::uint32_t>(file, 3);
    number(file, tensors_);
    number(file, entries_);
    file += head_ + list_;
    file.resize((file.size() + 31) / 32 * 32, '\0');
    return file + data_;
  }

  TinyShape shape_;
  std::mt19937 draw_;
  std::normal_distribution<float> normal_;
  std::string head_, list_, data_;
  std::uint64_t tensors_ = 0, entries_ = 0;
};

}  // namespace forerun
