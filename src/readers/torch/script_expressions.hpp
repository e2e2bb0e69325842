// The expressions of TorchScript's Python, by recursive descent over the lexer's tokens.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "readers/printable.hpp"
#include "readers/torch/script_lexer.hpp"
#include "readers/torch/script_syntax.hpp"

namespace forerun::pytorch {

class ScriptExpressions {
 protected:
  static constexpr int kMaxDepth = 300;  // of expressions and blocks within each other

  explicit ScriptExpressions(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is_sign(std::string_view text) const { return peek().kind == Token::Kind::Sign && peek().text == text; }
  bool is_word(std::string_view text) const { return peek().kind == Token::Kind::Name && peek().text == text; }
  bool take_sign(std::string_view text) { return is_sign(text) && (++at_, true); }
  bool take_word(std::string_view text) { return is_word(text) && (++at_, true); }
  bool take(Token::Kind kind) { return peek().kind == kind && kind != Token::Kind::End && (++at_, true); }

  [[nodiscard]] Error wrong(const std::string& what) const {
    return bad_input("line " + std::to_string(peek().line) + ": " + what + ", not " + in_quotes(peek().text));
  }
  Status expect(std::string_view sign) {
    if (take_sign(sign)) return ok();
    return wrong("'" + std::string(sign) + "' is expected");
  }
  Result<std::string> name() {
    if (peek().kind != Token::Kind::Name) return wrong("a name is expected");
    return next().text;
  }

  [[nodiscard]] Expr make(Expr::Kind kind, std::string text = {}) const;  // at the current line
  Result<Expr> target_list();                                             // what a loop assigns to
  Result<Expr> expression_list();                                         // a, b, = …
  Result<Expr> expression();
  Result<Expr> postfix();  // a value with the attributes, calls and items taken of it

  int depth_ = 0;

 private:
  // From the loosest operators to the tightest.
  Result<Expr> disjunction();
  Result<Expr> conjunction();
  Result<Expr> inversion();
  Result<Expr> comparison();
  Result<Expr> bits();
  Result<Expr> sum();
  Result<Expr> product();
  Result<Expr> prefix();
  Result<Expr> binary_of(Result<Expr> (ScriptExpressions::*operand)(), std::initializer_list<std::string_view> signs);
  Result<Expr> call(Expr function);
  Result<Expr> subscript(Expr value);
  Result<Expr> items(Expr::Kind kind, std::string_view end);
  Result<Expr> atom();
  Result<Expr> number(const std::string& text);

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace forerun::pytorch
