#include "readers/torch/script_expressions.hpp"

#include <charconv>
#include <limits>

namespace forerun::pytorch {

using Kind = Expr::Kind;

Expr ScriptExpressions::make(Kind kind, std::string text) const {
  Expr expr;
  expr.kind = kind;
  expr.text = std::move(text);
  expr.line = peek().line;
  return expr;
}

Result<Expr> ScriptExpressions::target_list() {
  Expr first = make(Kind::Tuple);
  do {
    if (is_word("in")) break;
    FORERUN_TRY(first.children.emplace_back(), postfix());
  } while (take_sign(","));
  if (first.children.size() == 1) return Expr(std::move(first.children.front()));
  return first;
}

// a, b, = …
Result<Expr> ScriptExpressions::expression_list() {
  FORERUN_TRY(Expr first, expression());
  if (!is_sign(",")) return first;
  Expr tuple = make(Kind::Tuple);
  tuple.children.push_back(std::move(first));
  while (take_sign(",")) {
    if (is_sign("=") || peek().kind == Token::Kind::NewLine) break;
    FORERUN_TRY(tuple.children.emplace_back(), expression());
  }
  return tuple;
}

Result<Expr> ScriptExpressions::expression() {
  if (++depth_ > kMaxDepth) return wrong("expressions are nested too deep");
  FORERUN_TRY(Expr value, disjunction());
  if (take_word("if")) {
    Expr choice = make(Kind::Ternary);
    FORERUN_TRY(Expr condition, disjunction());
    if (!take_word("else")) return wrong("'else' is expected");
    FORERUN_TRY(Expr otherwise, expression());
    choice.children.push_back(std::move(condition));
    choice.children.push_back(std::move(value));
    choice.children.push_back(std::move(otherwise));
    value = std::move(choice);
  }
  --depth_;
  return value;
}

Result<Expr> ScriptExpressions::binary_of(Result<Expr> (ScriptExpressions::*operand)(),
                                          std::initializer_list<std::string_view> signs) {
  FORERUN_TRY(Expr left, (this->*operand)());
  while (true) {
    std::string_view found;
    for (const std::string_view sign : signs) {
      if (found.empty() && (take_sign(sign) || take_word(sign))) found = sign;
    }
    if (found.empty()) return left;
    Expr both = make(Kind::Binary, std::string(found));
    if (found == "is" && take_word("not")) both.text = "is not";
    FORERUN_TRY(Expr right, (this->*operand)());
    both.children.push_back(std::move(left));
    both.children.push_back(std::move(right));
    left = std::move(both);
  }
}

Result<Expr> ScriptExpressions::disjunction() { return binary_of(&ScriptExpressions::conjunction, {"or"}); }
Result<Expr> ScriptExpressions::conjunction() { return binary_of(&ScriptExpressions::inversion, {"and"}); }
Result<Expr> ScriptExpressions::inversion() {
  if (!take_word("not")) return comparison();
  Expr result = make(Kind::Unary, "not");
  if (++depth_ > kMaxDepth) return wrong("expressions are nested too deep");
  FORERUN_TRY(result.children.emplace_back(), inversion());
  --depth_;
  return result;
}
Result<Expr> ScriptExpressions::comparison() {
  return binary_of(&ScriptExpressions::bits, {"==", "!=", "<=", ">=", "<", ">", "is", "in"});
}
Result<Expr> ScriptExpressions::bits() { return binary_of(&ScriptExpressions::sum, {"|", "&", "^", "<<", ">>"}); }
Result<Expr> ScriptExpressions::sum() { return binary_of(&ScriptExpressions::product, {"+", "-"}); }
Result<Expr> ScriptExpressions::product() { return binary_of(&ScriptExpressions::prefix, {"*", "//", "/", "%", "@"}); }

Result<Expr> ScriptExpressions::prefix() {
  for (const std::string_view sign : {"-", "+", "~"}) {
    if (!take_sign(sign)) continue;
    if (++depth_ > kMaxDepth) return wrong("expressions are nested too deep");
    FORERUN_TRY(Expr operand, prefix());
    --depth_;
    if (sign == "-" && operand.kind == Kind::Integer) operand.integer = -operand.integer;
    if (sign == "-" && operand.kind == Kind::Real) operand.real = -operand.real;
    if (operand.kind == Kind::Integer || operand.kind == Kind::Real) return operand;
    Expr result = make(Kind::Unary, std::string(sign));
    result.children.push_back(std::move(operand));
    return result;
  }
  FORERUN_TRY(Expr base, postfix());
  if (!take_sign("**")) return base;
  Expr power = make(Kind::Binary, "**");
  FORERUN_TRY(Expr exponent, postfix());
  power.children.push_back(std::move(base));
  power.children.push_back(std::move(exponent));
  return power;
}

Result<Expr> ScriptExpressions::postfix() {
  if (++depth_ > kMaxDepth) return wrong("expressions are nested too deep");
  FORERUN_TRY(Expr value, atom());
  for (int links = 0;; ++links) {
    if (links > kMaxDepth) return wrong("too many calls in a row");
    if (take_sign(".")) {
      Expr attribute = make(Kind::Attribute);
      FORERUN_TRY(attribute.text, name());
      attribute.children.push_back(std::move(value));
      value = std::move(attribute);
    } else if (take_sign("(")) {
      FORERUN_TRY(value, call(std::move(value)));
    } else if (take_sign("[")) {
      FORERUN_TRY(value, subscript(std::move(value)));
    } else {
      break;
    }
  }
  --depth_;
  return value;
}

Result<Expr> ScriptExpressions::call(Expr function) {
  Expr result = make(Kind::Call);
  result.children.push_back(std::move(function));
  while (!is_sign(")")) {
    take_sign("*");  // *args of a list: handed on as the list
    std::string keyword;
    if (peek().kind == Token::Kind::Name && peek(1).kind == Token::Kind::Sign && peek(1).text == "=") {
      keyword = next().text;
      next();
    }
    FORERUN_TRY(result.children.emplace_back(), expression());
    result.keywords.push_back(std::move(keyword));
    if (!take_sign(",")) break;
  }
  FORERUN_CHECK(expect(")"));
  return result;
}

Result<Expr> ScriptExpressions::subscript(Expr value) {
  Expr result = make(Kind::Subscript);
  result.children.push_back(std::move(value));
  while (!is_sign("]")) {
    if (take_sign(":")) continue;  // x[1:], written by hand; serialised code calls torch.slice
    FORERUN_TRY(result.children.emplace_back(), expression());
    if (!take_sign(",") && !is_sign(":")) break;
  }
  FORERUN_CHECK(expect("]"));
  return result;
}

Result<Expr> ScriptExpressions::items(Kind kind, std::string_view end) {
  Expr result = make(kind);
  while (!is_sign(end)) {
    FORERUN_TRY(result.children.emplace_back(), expression());
    if (kind == Kind::Dictionary) {
      FORERUN_CHECK(expect(":"));
      FORERUN_TRY(result.children.emplace_back(), expression());
    }
    if (!take_sign(",")) break;
    if (kind == Kind::Name) result.kind = Kind::Tuple;
  }
  FORERUN_CHECK(expect(end));
  return result;
}

Result<Expr> ScriptExpressions::atom() {
  const Token token = peek();
  if (take_sign("[")) return items(Kind::List, "]");
  if (take_sign("{")) return items(Kind::Dictionary, "}");
  if (take_sign("(")) {
    FORERUN_TRY(Expr inside, items(Kind::Name, ")"));  // a tuple where a comma follows
    if (inside.kind == Kind::Tuple || inside.children.size() != 1) {
      inside.kind = Kind::Tuple;
      return inside;
    }
    return Expr(std::move(inside.children.front()));
  }
  if (token.kind == Token::Kind::Number) return number(next().text);
  if (token.kind == Token::Kind::Text) return make(Kind::Text, next().text);
  if (token.kind != Token::Kind::Name) return wrong("a value is expected");
  next();
  if (token.text == "None") return make(Kind::None);
  Expr result = make(Kind::Name, token.text);
  if (token.text == "True" || token.text == "False") {
    result.kind = Kind::Bool;
    result.integer = token.text == "True" ? 1 : 0;
  } else if (token.text == "inf" || token.text == "nan") {
    result.kind = Kind::Real;
    result.real = token.text == "inf" ? std::numeric_limits<double>::infinity() : 0;
  }
  return result;
}

Result<Expr> ScriptExpressions::number(const std::string& text) {
  Expr result = make(Kind::Integer);
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, result.integer).ptr == end) return result;
  result.kind = Kind::Real;
  if (std::from_chars(text.data(), end, result.real).ptr != end) return wrong("a number is expected");
  return result;
}

}  // namespace forerun::pytorch
