#include "service/option_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "base/nearest.hpp"

namespace forerun {
namespace {

OptionRange range_of(std::string_view name) {
  const auto rows = all_options();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Option& o) { return o.name == name; });
  return row == rows.end() ? OptionRange() : row->range;
}

Error out_of_range(std::string_view name, std::string_view text) {
  const OptionRange range = range_of(name);
  return bad_input(
      fmt::format("--{}: {} must lie in {:.15g} … {:.15g}", name, in_quotes(text), range.least, range.most));
}

bool is_within(std::string_view name, double value) {
  const OptionRange range = range_of(name);
  return value >= range.least && value <= range.most;
}

}  // namespace

std::string meant_of(std::string_view text, std::string_view choices) {
  constexpr std::pair<std::string_view, std::string_view> kOtherWords[] = {
      {"half", "fp16"},           {"float16", "fp16"},        {"float", "fp32"},         {"float32", "fp32"},
      {"single", "fp32"},         {"bfloat16", "bf16"},       {"amp", "amp_bf16"},       {"cudagraph", "graph"},
      {"cuda_graph", "graph"},    {"inductor", "compiled"},   {"compile", "compiled"},   {"torch.compile", "compiled"},
      {"tensorrt-llm", "trtllm"}, {"tensorrt_llm", "trtllm"}, {"llamacpp", "llama.cpp"}, {"hf", "transformers"}};
  std::vector<std::string> words;
  for (std::string_view rest = choices; !rest.empty();) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    words.emplace_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(rest.size(), bar + 1));
  }
  for (const auto& [other, own] : kOtherWords) {
    if (other == text && std::find(words.begin(), words.end(), own) != words.end())
      return "; did you mean '" + std::string(own) + "'?";
  }
  return did_you_mean(text, words);
}

Result<std::int64_t> whole(std::string_view name, std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return out_of_range(name, text);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) {
    return bad_input("--" + std::string(name) + ": " + in_quotes(text) + " is not a positive whole number");
  }
  if (!is_within(name, double(value))) return out_of_range(name, text);
  return value;
}

Result<double> real(std::string_view name, std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value > 0) || !std::isfinite(value)) {
    return bad_input("--" + std::string(name) + ": " + in_quotes(text) + " is not a positive number");
  }
  if (!is_within(name, value)) return out_of_range(name, text);
  return value;
}

}  // namespace forerun
