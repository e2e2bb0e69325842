// Binds free dimensions to numbers.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
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

enum class Role { Batch, Sequence, Past, Height, Width, Channels, Other };

// Names of dimensions as exporters write them: whole names and parts of names, the first row that fits.
struct NamedRole {
  Role role;
  std::array<std::string_view, 3> names;
  std::array<std::string_view, 6> parts;

  [[nodiscard]] bool fits(const std::string& text) const {
    const auto is_name = [&](std::string_view name) { return !name.empty() && text == name; };
    const auto is_part = [&](std::string_view part) { return !part.empty() && text.find(part) != std::string::npos; };
    return std::any_of(names.begin(), names.end(), is_name) || std::any_of(parts.begin(), parts.end(), is_part);
  }
};
constexpr std::array<NamedRole, 6> kNamedRoles = {{
    {Role::Batch, {"n", "b"}, {"batch"}},
    {Role::Past, {}, {"past", "cache"}},
    {Role::Sequence, {"s", "t", "l"}, {"seq", "length", "len", "time", "token", "frames"}},
    {Role::Height, {"h"}, {"height"}},
    {Role::Width, {"w"}, {"width"}},
    {Role::Channels, {"c"}, {"channel"}},
}};

// What a free dimension is, from its name first and its place second.
Role guess_role(const std::string& name, std::size_t position, std::size_t rank, bool image) {
  const std::string text = lower(name);
  for (const NamedRole& row : kNamedRoles) {
    if (!row.fits(text)) continue;
    if (row.role == Role::Channels && rank < 3) return Role::Other;  // one scale per channel, not an image
    return row.role;
  }
  if (position == 0) return Role::Batch;
  if (image && rank >= 4) {
    if (position == 1) return Role::Channels;
    if (position == rank - 2) return Role::Height;
    if (position == rank - 1) return Role::Width;
  }
  return position == 1 && rank <= 3 ? Role::Sequence : Role::Other;
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

std::string shape_text(const Value& value) {
  std::string text;
  for (std::size_t i = 0; i < value.dims.size(); ++i) {
    const std::string name = i < value.dim_names.size() ? value.dim_names[i] : "";
    text += (i > 0 ? "x" : "") + (value.dims[i] >= 0 ? std::to_string(value.dims[i]) : name.empty() ? "?" : name);
  }
  return text.empty() ? "scalar" : text;
}

// --input NAME=SHAPE: the shape of an input that has none, or numbers for its free dimensions. An only input needs no
// name.
Status set_input_shapes(Graph& graph, const Binding& binding) {
  for (const auto& [name, shape] : binding.inputs) {
    Value* found = nullptr;
    std::string names;
    for (const ValueId id : graph.main().inputs) {
      Value& value = graph.values[std::size_t(id)];
      if (value.name == name || (name.empty() && graph.main().inputs.size() == 1)) found = &value;
      names += (names.empty() ? "" : ", ") + value.name;
    }
    if (found == nullptr && name.empty()) return bad_input("--input: say which input has the shape: " + names);
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
    if (!fits)
      return bad_input("--input" + (name.empty() ? "" : " " + name) + ": the file states the shape " +
                       shape_text(*found));
  }
  return ok();
}

Status check_numbers(const Binding& binding) {
  const auto valid = [](std::int64_t value) { return value > 0 && value <= kMaxDimension; };
  for (const auto& [name, value] : binding.dims) {
    if (!valid(value)) return bad_input("--dim " + name + ": must be a positive number");
  }
  if (binding.batch && !valid(*binding.batch)) return bad_input("--batch: must be a positive number");
  if (binding.seq && !valid(*binding.seq)) return bad_input("--seq: must be a positive number");
  return ok();
}

// Gives the free dimensions of a graph their numbers and warns of each that is a default.
class DimensionBinder {
 public:
  DimensionBinder(Graph& graph, const Binding& binding) : graph_(graph), binding_(binding), bound_(binding.dims) {}

  [[nodiscard]] Status set_inputs();  // by --input
  void bind_inputs();
  void bind_declared_shapes();
  [[nodiscard]] Status finish();  // REQUIRES: all of them were called, in this order

 private:
  void bind(Value& value, bool expressions);
  std::int64_t choose(const Value& value, std::size_t position, const std::string& name);
  std::int64_t choose_sequence(const Value& value);
  void report(const std::string& what, std::int64_t value, const std::string& option);

  Graph& graph_;
  const Binding& binding_;
  std::map<std::string, std::int64_t> bound_;
  std::set<std::string> seen_;  // names that occur, to check --dim against
  std::set<std::string> reported_;
  bool batch_used_ = false;
  bool seq_used_ = false;
  bool is_body_ = false;  // an input of a body, not of the network: nothing to report
};

Status DimensionBinder::set_inputs() {
  const std::vector<ValueId>& inputs = graph_.main().inputs;
  std::vector<Dims> stated;
  for (const ValueId id : inputs) stated.push_back(graph_.values[std::size_t(id)].dims);
  FORERUN_CHECK(set_input_shapes(graph_, binding_));
  for (std::size_t n = 0; n < inputs.size(); ++n) {  // the numbers hold for their names elsewhere, too
    const Value& value = graph_.values[std::size_t(inputs[n])];
    for (std::size_t i = 0; i < stated[n].size() && i < value.dim_names.size(); ++i) {
      if (stated[n][i] < 0 && value.dims[i] >= 0 && !value.dim_names[i].empty())
        bound_.emplace(value.dim_names[i], value.dims[i]);
    }
  }
  return ok();
}

void DimensionBinder::report(const std::string& what, std::int64_t value, const std::string& option) {
  if (is_body_) return;
  const std::string line = what + " not given: " + std::to_string(value) + " (" + option + ")";
  if (reported_.insert(line).second) graph_.warnings.push_back(line);
}

std::int64_t DimensionBinder::choose_sequence(const Value& value) {
  seq_used_ = true;
  if (is_floating(value.dtype) && value.dims.size() <= 2) {  // a waveform, not tokens
    if (!binding_.seq) report("samples", kDefaultSamples, "--seq");
    return binding_.seq.value_or(kDefaultSamples);
  }
  if (!binding_.seq) report("sequence", kDefaultSequence, "--seq");
  return binding_.seq.value_or(kDefaultSequence);
}

std::int64_t DimensionBinder::choose(const Value& value, std::size_t position, const std::string& name) {
  const bool image = value.dims.size() >= 4 && is_floating(value.dtype);
  const std::string option = "--dim " + (name.empty() ? "NAME" : name) + "=N";
  switch (guess_role(name, position, value.dims.size(), image)) {
    case Role::Batch:
      batch_used_ = batch_used_ || !is_body_;
      if (!binding_.batch) report("batch", 1, "--batch");
      return binding_.batch.value_or(1);
    case Role::Sequence: return choose_sequence(value);
    case Role::Past:
      seq_used_ = true;
      if (!binding_.seq) report("past sequence", kDefaultSequence, "--seq or --dim " + name + "=N");
      return binding_.seq.value_or(kDefaultSequence);
    case Role::Height:
    case Role::Width: report("image side", kDefaultImageSide, option); return kDefaultImageSide;
    case Role::Channels: return kDefaultChannels;
    case Role::Other: break;
  }
  report("dimension '" + name + "' of '" + value.name + "'", 1, option);
  return 1;
}

void DimensionBinder::bind(Value& value, bool expressions) {
  for (std::size_t i = 0; i < value.dims.size(); ++i) {
    if (value.dims[i] >= 0) continue;
    const std::string name = i < value.dim_names.size() ? value.dim_names[i] : "";
    seen_.insert(name);
    insert_words(name, seen_);
    const bool is_expression = name.find_first_of("+*- ") != std::string::npos;
    if (is_expression != expressions) continue;
    if (const auto found = bound_.find(name); found != bound_.end()) {
      value.dims[i] = found->second;
      continue;
    }
    std::optional<std::int64_t> number;
    if (is_expression) number = evaluate(name, bound_);
    value.dims[i] = number ? *number : choose(value, i, name);
    if (!name.empty()) bound_[name] = value.dims[i];
  }
}

// Two rounds: plain names first, so that expressions of them can be evaluated. Bodies come after the network: inference
// finds what a Loop or Scan passes to them, the rest is bound here.
void DimensionBinder::bind_inputs() {
  std::vector<ValueId> inputs = graph_.main().inputs;
  const std::size_t network_inputs = inputs.size();
  for (std::size_t b = 1; b < graph_.blocks.size(); ++b)
    inputs.insert(inputs.end(), graph_.blocks[b].inputs.begin(), graph_.blocks[b].inputs.end());
  for (const bool expressions : {false, true}) {
    for (std::size_t n = 0; n < inputs.size(); ++n) {
      is_body_ = n >= network_inputs;
      Value& value = graph_.values[std::size_t(inputs[n])];
      if (value.has_shape) bind(value, expressions);
    }
  }
}

// Inner values use the same names. What stays open is left to inference.
void DimensionBinder::bind_declared_shapes() {
  for (Value& value : graph_.values) {
    if (!value.has_shape || value.dim_names.empty()) continue;
    for (std::size_t i = 0; i < value.dims.size() && i < value.dim_names.size(); ++i) {
      if (value.dims[i] >= 0 || value.dim_names[i].empty()) continue;
      if (const auto number = evaluate(value.dim_names[i], bound_)) value.dims[i] = *number;
    }
  }
}

Status DimensionBinder::finish() {
  for (const auto& [name, number] : binding_.dims) {
    if (!seen_.contains(name)) {
      return bad_input("--dim " + name + "=" + std::to_string(number) +
                       ": the network has no free dimension of that name");
    }
  }
  const bool expanded = graph_.origin.form != GraphForm::Recorded;  // expanded from a configuration at this batch
  if (binding_.seq && !seq_used_ && !expanded)
    graph_.warnings.push_back("--seq has no effect: the file has no free sequence dimension");
  if (binding_.batch && !batch_used_ && !expanded) return rebind_batch(graph_, *binding_.batch);
  return ok();
}

}  // namespace

Status bind_dimensions(Graph& graph, const Binding& binding) {
  FORERUN_CHECK(check_numbers(binding));
  DimensionBinder binder(graph, binding);
  FORERUN_CHECK(binder.set_inputs());
  binder.bind_inputs();
  binder.bind_declared_shapes();
  return binder.finish();
}

}  // namespace forerun
