// Sizes that an exported program computes from its free dimensions: "4*s39", "((s0//2))", and SymPy's own spelling
// "Mul(Integer(4), Symbol('s39', positive=True, integer=True))".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace forerun::pytorch {

using Bindings = std::map<std::string, std::int64_t, std::less<>>;

class Expression {
 public:
  static Result<Expression> parse(std::string_view text);

  // nullopt when a symbol is not bound, or the value is no number of reasonable size.
  [[nodiscard]] std::optional<std::int64_t> evaluate(const Bindings& bound) const;
  // The only symbol in it; empty when there are none or several.
  [[nodiscard]] std::string only_symbol() const;
  // The number of its only symbol for which it has this value; nullopt when it has none.
  [[nodiscard]] std::optional<std::int64_t> solve(std::int64_t value) const;
  [[nodiscard]] const std::vector<std::string>& symbols() const { return symbols_; }
  // For people: "4*s39".
  [[nodiscard]] std::string text() const { return terms_.empty() ? "" : text_of(terms_.size() - 1); }

 private:
  friend class ExpressionParser;
  // Operands before operators: the last term is the whole.
  struct Term {
    std::string function;  // "" number, "symbol", "+", "*", "//", "max", …
    std::int64_t number = 0;
    std::size_t symbol = 0;
    std::vector<std::size_t> operands;
  };

  [[nodiscard]] std::string text_of(std::size_t term) const;

  std::vector<Term> terms_;
  std::vector<std::string> symbols_;
};

}  // namespace forerun::pytorch
