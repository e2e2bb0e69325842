#include "readers/torch/expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "readers/printable.hpp"

namespace forerun::pytorch {
namespace {

constexpr int kMaxDepth = 48;
constexpr std::size_t kMaxTerms = 4096;
constexpr std::size_t kMaxText = 16384;
constexpr std::int64_t kMaxValue = std::int64_t{1} << 52;  // exact in a double, too
constexpr std::size_t kMaxShownText = 200;

// SymPy's and PyTorch's functions by the operator they are.
constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kFunctions = {{
    {"Add", "+"},           {"Mul", "*"},           {"Pow", "**"},          {"FloorDiv", "//"},
    {"CleanDiv", "//"},     {"IntTrueDiv", "/"},    {"FloatTrueDiv", "/"},  {"TrueDiv", "/"},
    {"Mod", "%"},           {"PythonMod", "%"},     {"Max", "max"},         {"Min", "min"},
    {"CeilDiv", "ceildiv"}, {"floor", "same"},      {"ceiling", "same"},    {"Rational", "//"},
    {"ToFloat", "same"},    {"TruncToInt", "same"}, {"FloorToInt", "same"}, {"CeilToInt", "same"},
    {"RoundToInt", "same"}, {"Identity", "same"},
}};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::optional<std::int64_t> bounded(double value) {
  return std::abs(value) <= double(kMaxValue) ? std::optional(std::int64_t(value)) : std::nullopt;
}

std::optional<std::int64_t> apply(std::string_view function, std::int64_t a, std::int64_t b) {
  if (function == "+") return bounded(double(a) + double(b));
  if (function == "-") return bounded(double(a) - double(b));
  if (function == "*") return bounded(double(a) * double(b));
  if (function == "max") return std::max(a, b);
  if (function == "min") return std::min(a, b);
  if (function == "**") return b < 0 || b > 62 ? std::nullopt : bounded(std::pow(double(a), double(b)));
  if (b == 0) return std::nullopt;
  if (function == "//" || function == "/") return floor_divide(a, b);
  if (function == "ceildiv") return -floor_divide(-a, b);
  if (function == "%") return a - floor_divide(a, b) * b;
  return std::nullopt;
}

}  // namespace

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) {}

  Result<Expression> parse() {
    const bool whole = text_.size() <= kMaxText && sum() && (skip_spaces(), at_ == text_.size());
    if (!whole) return bad_input("the size " + in_quotes(text_) + " is not understood");
    return std::move(result_);
  }

 private:
  bool sum() {
    if (!product()) return false;
    while (true) {
      const std::string_view sign = take("+") ? "+" : take("-") ? "-" : "";
      if (sign.empty()) return true;
      const std::size_t left = last();
      if (!product() || !add(sign, {left, last()})) return false;
    }
  }

  bool product() {
    if (!power()) return false;
    while (true) {
      std::string_view sign;
      if (peek("**")) return false;
      for (const std::string_view one : {"//", "*", "/", "%"}) {
        if (sign.empty() && take(one)) sign = one;
      }
      if (sign.empty()) return true;
      const std::size_t left = last();
      if (!power() || !add(sign, {left, last()})) return false;
    }
  }

  bool power() {
    if (!atom()) return false;
    if (!take("**")) return true;
    const std::size_t left = last();
    return atom() && add("**", {left, last()});
  }

  bool atom() {
    if (++depth_ > kMaxDepth) return false;
    const bool found = atom_inside();
    --depth_;
    return found;
  }

  bool atom_inside() {
    if (take("(")) return sum() && take(")");
    if (take("-")) {
      if (!number_term(0)) return false;
      const std::size_t zero = last();
      return atom() && add("-", {zero, last()});
    }
    skip_spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.empty()) return false;
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) return number_word(word);
    if (!peek("(")) return symbol(word);
    take("(");
    return call(word);
  }

  bool call(std::string_view name) {
    if (name == "Symbol") {
      const bool quoted = take("'") || take("\"");
      const std::size_t end = text_.find_first_of("'\"", at_);
      if (!quoted || end == std::string_view::npos || !symbol(text_.substr(at_, end - at_))) return false;
      at_ = text_.find(')', end);  // assumptions about the symbol
      if (at_ == std::string_view::npos) return false;
      ++at_;
      return true;
    }
    if (name == "Integer" || name == "Float") return sum() && (take(",") ? skip_to_end() : take(")"));
    const auto row = std::find_if(kFunctions.begin(), kFunctions.end(), [&](const auto& f) { return f.first == name; });
    if (row == kFunctions.end()) return false;
    std::vector<std::size_t> operands;
    do {
      if (!sum()) return false;
      operands.push_back(last());
    } while (take(",") && operands.size() < 64);
    if (!take(")")) return false;
    if (row->second == "same") return operands.size() == 1;
    return operands.size() >= 1 && add(row->second, std::move(operands));
  }

  bool skip_to_end() {
    const std::size_t end = text_.find(')', at_);
    if (end == std::string_view::npos) return false;
    at_ = end + 1;
    return true;
  }

  bool symbol(std::string_view name) {
    if (name.empty()) return false;
    auto& symbols = result_.symbols_;
    auto found = std::find(symbols.begin(), symbols.end(), name);
    if (found == symbols.end()) found = symbols.insert(symbols.end(), printable(name));
    const auto place = std::size_t(found - symbols.begin());
    if (!add("symbol", {})) return false;
    result_.terms_.back().symbol = place;
    return true;
  }

  bool number_word(std::string_view word) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const std::string_view rest(end, std::size_t(word.data() + word.size() - end));
    const bool whole = rest.empty() || (rest.front() == '.' && rest.find_first_not_of(".0") == std::string_view::npos);
    return error == std::errc{} && whole && value <= kMaxValue && number_term(value);
  }

  bool number_term(std::int64_t value) {
    if (!add("", {})) return false;
    result_.terms_.back().number = value;
    return true;
  }

  bool add(std::string_view function, std::vector<std::size_t> operands) {
    if (result_.terms_.size() >= kMaxTerms) return false;
    result_.terms_.push_back({std::string(function), 0, 0, std::move(operands)});
    return true;
  }

  [[nodiscard]] std::size_t last() const { return result_.terms_.size() - 1; }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool peek(std::string_view token) {
    skip_spaces();
    return text_.substr(at_, token.size()) == token;
  }
  bool take(std::string_view token) {
    if (!peek(token) || (token == "*" && peek("**"))) return false;
    at_ += token.size();
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expression result_;
};

Result<Expression> Expression::parse(std::string_view text) { return ExpressionParser(text).parse(); }

std::optional<std::int64_t> Expression::evaluate(const Bindings& bound) const {
  std::vector<std::int64_t> values;
  values.reserve(terms_.size());
  for (const Term& term : terms_) {
    if (term.function.empty()) {
      values.push_back(term.number);
    } else if (term.function == "symbol") {
      const auto found = bound.find(symbols_[term.symbol]);
      if (found == bound.end()) return std::nullopt;
      values.push_back(found->second);
    } else {
      std::int64_t value = values[term.operands.front()];
      for (std::size_t i = 1; i < term.operands.size(); ++i) {
        const auto next = apply(term.function, value, values[term.operands[i]]);
        if (!next) return std::nullopt;
        value = *next;
      }
      values.push_back(value);
    }
  }
  return values.empty() ? std::nullopt : std::optional(values.back());
}

std::string Expression::only_symbol() const { return symbols_.size() == 1 ? symbols_.front() : ""; }

// Sizes are linear in their symbol, or close to it: tried at two points, and checked.
std::optional<std::int64_t> Expression::solve(std::int64_t value) const {
  if (symbols_.size() != 1) return std::nullopt;
  const auto at = [&](std::int64_t n) { return evaluate({{symbols_.front(), n}}); };
  const auto low = at(1 << 10), high = at(1 << 11);
  if (!low || !high || *low == *high) return std::nullopt;
  const double slope = double(*high - *low) / (1 << 10);
  const double guess = (double(value) - double(*low)) / slope + (1 << 10);
  for (const double offset : {0.0, -1.0, 1.0, -2.0, 2.0}) {
    const double tried = std::round(guess + offset);
    if (tried >= 0 && tried < 1e15 && at(std::int64_t(tried)) == value) return std::int64_t(tried);
  }
  return std::nullopt;
}

std::string Expression::text_of(std::size_t index) const {
  const Term& term = terms_[index];
  if (term.function.empty()) return std::to_string(term.number);
  if (term.function == "symbol") return symbols_[term.symbol];
  const bool named = std::isalpha(static_cast<unsigned char>(term.function.front())) != 0;
  std::string text = named ? term.function + "(" : "";
  for (std::size_t i = 0; i < term.operands.size() && text.size() < kMaxShownText; ++i) {
    if (i > 0) text += named ? ", " : term.function;
    const Term& inner = terms_[term.operands[i]];
    const bool wraps = !named && !inner.operands.empty();
    text += (wraps ? "(" : "") + text_of(term.operands[i]) + (wraps ? ")" : "");
  }
  return text + (named ? ")" : "");
}

}  // namespace forerun::pytorch
