// Free dimensions become numbers.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "analysis/analyze.hpp"
#include "analysis/rebind_batch.hpp"

namespace forerun {
namespace {

constexpr std::int64_t kDefaultSequence = 128;
constexpr std::int64_t kDefaultSamples = 512;
constexpr std::int64_t kDefaultImageSide = 224;
constexpr std::int64_t kDefaultChannels = 3;
constexpr std::int64_t kMaxDimension = std::int64_t{1} << 40;

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return result;
}

bool contains_any(const std::string& text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view p) { return text.find(p) != std::string::npos; });
}

enum class Role { Batch, Sequence, Past, Height, Width, Channels, Other };

// What a free dimension is, from its name first and its place second.
Role guess_role(const std::string& name, std::size_t position, std::size_t rank, bool image) {
  const std::string text = lower(name);
  if (text == "n" || text == "b" || contains_any(text, {"batch"})) return Role::Batch;
  if (contains_any(text, {"past", "cache"})) return Role::Past;
  if (text == "s" || text == "t" || text == "l" ||
      contains_any(text, {"seq", "length", "len", "time", "token", "frames"})) {
    return Role::Sequence;
  }
  if (text == "h" || contains_any(text, {"height"})) return Role::Height;
  if (text == "w" || contains_any(text, {"width"})) return Role::Width;
  if (text == "c" || contains_any(text, {"channel"})) return rank >= 3 ? Role::Channels : Role::Other;  // scales too
  if (position == 0) return Role::Batch;
  if (image && rank >= 4 && position == 1) return Role::Channels;
  if (image && rank >= 4 && position == rank - 2) return Role::Height;
  if (image && rank >= 4 && position == rank - 1) return Role::Width;
  if (position == 1 && rank <= 3) return Role::Sequence;
  return Role::Other;
}

// "past_sequence_length + 1", "2*N": sums and products of bound names and numbers, left to right.
std::optional<std::int64_t> evaluate(const std::string& text, const std::map<std::string, std::int64_t>& bound) {
  std::int64_t total = 0;
  char pending = '+';
  bool any = false;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == ' ' || c == '(' || c == ')') {
      ++i;
    } else if (c == '+' || c == '-' || c == '*') {
      pending = c;
      ++i;
    } else {
      std::size_t end = i;
      while (end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_' || text[end] == '.'))
        ++end;
      if (end == i) return std::nullopt;
      const std::string word = text.substr(i, end - i);
      std::int64_t value = 0;
      if (const auto found = bound.find(word); found != bound.end()) {
        value = found->second;
      } else if (std::from_chars(word.data(), word.data() + word.size(), value).ptr != word.data() + word.size()) {
        return std::nullopt;
      }
      if (std::abs(total) > kMaxDimension || std::abs(value) > kMaxDimension) return std::nullopt;
      total = pending == '*'
                  ? std::clamp<std::int64_t>(total * std::min<std::int64_t>(value, 1 << 20), 0, kMaxDimension)
              : pending == '-' ? total - value
                               : total + value;
      any = true;
      i = end;
    }
  }
  return any && total >= 0 ? std::optional(total) : std::nullopt;
}

// The names in an expression of several.
void insert_words(const std::string& text, std::set<std::string>& words) {
  std::string word;
  for (const char c : text + ' ') {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.') {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
}

}  // namespace

namespace {

std::string shape_text(const Value& value) {
  std::string text;
  for (std::size_t i = 0; i < value.dims.size(); ++i) {
    const std::string name = i < value.dim_names.size() ? value.dim_names[i] : "";
    text += (i > 0 ? "x" : "") + (value.dims[i] >= 0 ? std::to_string(value.dims[i]) : name.empty() ? "?" : name);
  }
  return text.empty() ? "scalar" : text;
}

// --input NAME=SHAPE: the shape of an input that has none, or numbers for its free dimensions.
Status bind_inputs(Graph& graph, const Binding& binding) {
  for (const auto& [name, shape] : binding.inputs) {
    Value* found = nullptr;
    std::string names;
    for (const ValueId id : graph.main().inputs) {
      Value& value = graph.values[std::size_t(id)];
      if (value.name == name) found = &value;
      names += (names.empty() ? "" : ", ") + value.name;
    }
    if (found == nullptr) return bad_input("--input " + name + ": the network's inputs are " + names);
    if (!found->has_shape) {
      found->has_shape = true;
      found->dims = shape;
      continue;
    }
    bool fits = shape.size() == found->dims.size();
    for (std::size_t i = 0; i < shape.size() && fits; ++i) {
      fits = found->dims[i] < 0 || shape[i] < 0 || found->dims[i] == shape[i];
      if (found->dims[i] < 0) found->dims[i] = shape[i];
    }
    if (!fits) return bad_input("--input " + name + ": the file states the shape " + shape_text(*found));
  }
  return ok();
}

}  // namespace

Status bind_dimensions(Graph& graph, const Binding& binding) {
  std::vector<Dims> stated;
  for (const ValueId id : graph.main().inputs) stated.push_back(graph.values[std::size_t(id)].dims);
  FORERUN_CHECK(bind_inputs(graph, binding));
  for (const auto& [name, value] : binding.dims) {
    if (value <= 0 || value > kMaxDimension) return bad_input("--dim " + name + ": must be a positive number");
  }
  if (binding.batch && (*binding.batch <= 0 || *binding.batch > kMaxDimension))
    return bad_input("--batch: must be a positive number");
  if (binding.seq && (*binding.seq <= 0 || *binding.seq > kMaxDimension))
    return bad_input("--seq: must be a positive number");

  std::map<std::string, std::int64_t> bound = binding.dims;
  for (std::size_t n = 0; n < graph.main().inputs.size(); ++n) {  // names whose numbers an --input gave
    const Value& value = graph.values[std::size_t(graph.main().inputs[n])];
    for (std::size_t i = 0; i < stated[n].size() && i < value.dim_names.size(); ++i) {
      if (stated[n][i] < 0 && value.dims[i] >= 0 && !value.dim_names[i].empty())
        bound.emplace(value.dim_names[i], value.dims[i]);
    }
  }
  std::set<std::string> seen;  // names that occur, to check --dim against
  std::set<std::string> reported;
  bool batch_used = false;
  bool seq_used = false;
  bool is_body = false;  // an input of a body, not of the network: nothing to report
  const auto report = [&](const std::string& what, std::int64_t value, const std::string& option) {
    if (is_body) return;
    const std::string line = what + " not given: " + std::to_string(value) + " (" + option + ")";
    if (reported.insert(line).second) graph.warnings.push_back(line);
  };
  const auto choose = [&](const Value& value, std::size_t position, const std::string& name) -> std::int64_t {
    const bool image = value.dims.size() >= 4 && is_floating(value.dtype);
    switch (guess_role(name, position, value.dims.size(), image)) {
      case Role::Batch:
        batch_used = batch_used || !is_body;
        if (!binding.batch) report("batch", 1, "--batch");
        return binding.batch.value_or(1);
      case Role::Sequence:
        seq_used = true;
        if (is_floating(value.dtype) && value.dims.size() <= 2) {  // a waveform, not tokens
          if (!binding.seq) report("samples", kDefaultSamples, "--seq");
          return binding.seq.value_or(kDefaultSamples);
        }
        if (!binding.seq) report("sequence", kDefaultSequence, "--seq");
        return binding.seq.value_or(kDefaultSequence);
      case Role::Past:
        seq_used = true;
        if (!binding.seq) report("past sequence", kDefaultSequence, "--seq or --dim " + name + "=N");
        return binding.seq.value_or(kDefaultSequence);
      case Role::Height:
      case Role::Width:
        report("image side", kDefaultImageSide, "--dim " + (name.empty() ? "NAME" : name) + "=N");
        return kDefaultImageSide;
      case Role::Channels: return kDefaultChannels;
      case Role::Other: break;
    }
    report("dimension '" + name + "' of '" + value.name + "'", 1, "--dim " + (name.empty() ? "NAME" : name) + "=N");
    return 1;
  };
  // Two rounds: plain names first, so that expressions of them can be evaluated.
  // Bodies come after the network: what a Loop or Scan hands them is found by inference, the rest is bound here.
  std::vector<ValueId> inputs = graph.main().inputs;
  const std::size_t own_inputs = inputs.size();
  for (std::size_t b = 1; b < graph.blocks.size(); ++b)
    inputs.insert(inputs.end(), graph.blocks[b].inputs.begin(), graph.blocks[b].inputs.end());
  for (const bool expressions : {false, true}) {
    for (std::size_t n = 0; n < inputs.size(); ++n) {
      is_body = n >= own_inputs;
      const ValueId id = inputs[n];
      Value& value = graph.values[std::size_t(id)];
      if (!value.has_shape) continue;
      for (std::size_t i = 0; i < value.dims.size(); ++i) {
        if (value.dims[i] >= 0) continue;
        const std::string name = i < value.dim_names.size() ? value.dim_names[i] : "";
        seen.insert(name);
        insert_words(name, seen);
        const bool is_expression = name.find_first_of("+*- ") != std::string::npos;
        if (is_expression != expressions) continue;
        if (const auto found = bound.find(name); found != bound.end()) {
          value.dims[i] = found->second;
          continue;
        }
        std::optional<std::int64_t> number;
        if (is_expression) number = evaluate(name, bound);
        value.dims[i] = number ? *number : choose(value, i, name);
        if (!name.empty()) bound[name] = value.dims[i];
      }
    }
  }
  for (const auto& [name, number] : binding.dims) {
    if (!seen.contains(name)) {
      return bad_input("--dim " + name + "=" + std::to_string(number) +
                       ": the network has no free dimension of that name");
    }
  }
  const bool expanded = graph.origin.form != GraphForm::Recorded;  // a configuration was expanded for its batch already
  if (binding.seq && !seq_used && !expanded)
    graph.warnings.push_back("--seq has no effect: the file has no free sequence dimension");
  // Declared shapes of inner values: their names are bound, too; what stays open is left to inference.
  for (Value& value : graph.values) {
    if (!value.has_shape || value.dim_names.empty()) continue;
    for (std::size_t i = 0; i < value.dims.size() && i < value.dim_names.size(); ++i) {
      if (value.dims[i] >= 0 || value.dim_names[i].empty()) continue;
      if (const auto number = evaluate(value.dim_names[i], bound)) value.dims[i] = *number;
    }
  }
  if (binding.batch && !batch_used && !expanded) FORERUN_CHECK(rebind_batch(graph, *binding.batch));
  return ok();
}

}  // namespace forerun
