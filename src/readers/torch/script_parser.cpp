#include <charconv>
#include <cmath>
#include <limits>

#include "readers/printable.hpp"
#include "readers/torch/script_lexer.hpp"
#include "readers/torch/script_syntax.hpp"

namespace forerun::pytorch {
namespace {

constexpr int kMaxDepth = 300;  // of expressions and blocks within each other

using Kind = Expr::Kind;

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string space, std::string file, ScriptCode& code)
      : tokens_(std::move(tokens)), space_(std::move(space)), file_(std::move(file)), code_(code) {}

  Status run() {
    while (peek().kind != Token::Kind::End) {
      if (take_word("class")) {
        FORERUN_CHECK(class_definition());
      } else if (take_word("def")) {
        FORERUN_TRY(ScriptFunction function, function_definition());
        const std::string name = space_ + "." + function.name;
        code_.functions.insert_or_assign(name, std::move(function));
      } else {
        FORERUN_TRY(const Statement ignored, statement());  // op_version_set = 1, import …
        (void)ignored;
      }
    }
    return ok();
  }

 private:
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

  Status class_definition() {
    FORERUN_TRY(const std::string own, name());
    ScriptClass result;
    if (take_sign("(")) {
      while (!is_sign(")") && peek().kind != Token::Kind::End) next();
      FORERUN_CHECK(expect(")"));
    }
    FORERUN_CHECK(expect(":"));
    if (!take(Token::Kind::NewLine) || !take(Token::Kind::Indent)) return wrong("a block is expected");
    while (!take(Token::Kind::Dedent)) {
      if (peek().kind == Token::Kind::End) break;
      if (take_word("def")) {
        FORERUN_TRY(ScriptFunction method, function_definition());
        const std::string method_name = method.name;
        result.methods.insert_or_assign(method_name, std::move(method));
      } else {
        FORERUN_CHECK(class_member(result));
      }
    }
    code_.classes.insert_or_assign(space_ + "." + own, std::move(result));
    return ok();
  }

  // weight : Tensor;  eps : Final[float] = 1e-05;  __parameters__ = ["weight", ];  __annotations__["0"] = …
  Status class_member(ScriptClass& result) {
    if (peek().kind != Token::Kind::Name) {
      next();
      return ok();
    }
    FORERUN_TRY(const Expr target, postfix());
    if (take_sign(":")) {
      FORERUN_TRY(const Expr type, expression());
      (void)type;
    }
    if (take_sign("=")) {
      FORERUN_TRY(Expr value, expression());
      if (target.kind == Kind::Name && target.text == "__parameters__") {
        for (const Expr& item : value.children) result.parameters.push_back(item.text);
      } else if (target.kind == Kind::Name && !target.text.starts_with("__")) {
        result.constants.insert_or_assign(target.text, std::move(value));
      }
    }
    if (!take(Token::Kind::NewLine)) return wrong("the end of the line is expected");
    return ok();
  }

  Result<ScriptFunction> function_definition() {
    ScriptFunction function;
    function.file = file_;
    FORERUN_TRY(function.name, name());
    FORERUN_CHECK(expect("("));
    while (!is_sign(")")) {
      take_sign("*");
      if (take_sign(",")) continue;
      FORERUN_TRY(function.parameters.emplace_back(), name());
      function.types.emplace_back();
      if (take_sign(":")) {
        FORERUN_TRY(const Expr type, expression());
        function.types.back() = type_text(type);
      }
      function.defaults.push_back(make(Kind::Name));
      if (take_sign("=")) {
        FORERUN_TRY(function.defaults.back(), expression());
      }
      if (!take_sign(",")) break;
    }
    FORERUN_CHECK(expect(")"));
    if (take_sign("->")) {
      FORERUN_TRY(const Expr type, expression());
      (void)type;
    }
    FORERUN_TRY(function.body, block());
    return function;
  }

  // "Optional[Tensor]"
  static std::string type_text(const Expr& type) {
    std::string text = type.text;
    for (std::size_t i = 0; i < type.children.size(); ++i) {
      text += type.kind == Kind::Subscript && i == 1 ? "[" : i > 0 ? ", " : "";
      text += type_text(type.children[i]);
    }
    return text + (type.kind == Kind::Subscript ? "]" : "");
  }

  Result<std::vector<Statement>> block() {
    FORERUN_CHECK(expect(":"));
    if (!take(Token::Kind::NewLine) || !take(Token::Kind::Indent)) return wrong("a block is expected");
    if (++depth_ > kMaxDepth) return wrong("blocks are nested too deep");
    std::vector<Statement> statements;
    while (!take(Token::Kind::Dedent)) {
      if (peek().kind == Token::Kind::End) break;
      FORERUN_TRY(statements.emplace_back(), statement());
    }
    --depth_;
    return statements;
  }

  Result<Statement> statement() {
    Statement result;
    result.line = peek().line;
    if (take_word("if")) return branch(std::move(result));
    if (take_word("for")) {
      result.kind = Statement::Kind::For;
      FORERUN_TRY(result.target, target_list());
      if (!take_word("in")) return wrong("'in' is expected");
      FORERUN_TRY(result.value, expression());
      FORERUN_TRY(result.body, block());
      return result;
    }
    if (take_word("while")) {
      result.kind = Statement::Kind::While;
      FORERUN_TRY(result.value, expression());
      FORERUN_TRY(result.body, block());
      return result;
    }
    if (take_word("with")) {
      result.kind = Statement::Kind::With;
      FORERUN_TRY(result.value, expression());
      if (take_word("as")) {
        FORERUN_TRY(const Expr ignored, expression());
        (void)ignored;
      }
      FORERUN_TRY(result.body, block());
      return result;
    }
    if (take_word("return")) {
      result.kind = Statement::Kind::Return;
      if (peek().kind != Token::Kind::NewLine) {
        FORERUN_TRY(result.value, expression_list());
      }
    } else if (take_word("pass")) {
      result.kind = Statement::Kind::Pass;
    } else if (take_word("import")) {
      while (peek().kind != Token::Kind::NewLine && peek().kind != Token::Kind::End) next();
    } else {
      FORERUN_CHECK(simple(result));
    }
    if (!take(Token::Kind::NewLine)) return wrong("the end of the line is expected");
    return result;
  }

  Status simple(Statement& result) {
    result.kind = Statement::Kind::Expression;
    FORERUN_TRY(result.value, expression_list());
    if (take_sign(":")) {
      FORERUN_TRY(const Expr type, expression());
      (void)type;
    }
    if (!take_sign("=")) return ok();
    result.kind = Statement::Kind::Assign;
    result.target = std::move(result.value);
    FORERUN_TRY(result.value, expression_list());
    return ok();
  }

  Result<Statement> branch(Statement result) {
    result.kind = Statement::Kind::If;
    FORERUN_TRY(result.value, expression());
    FORERUN_TRY(result.body, block());
    if (take_word("elif")) {
      Statement inner;
      inner.line = peek().line;
      if (++depth_ > kMaxDepth) return wrong("blocks are nested too deep");
      FORERUN_TRY(result.otherwise.emplace_back(), branch(std::move(inner)));
      --depth_;
    } else if (take_word("else")) {
      FORERUN_TRY(result.otherwise, block());
    }
    return result;
  }

  Expr make(Kind kind, std::string text = {}) const {
    Expr expr;
    expr.kind = kind;
    expr.text = std::move(text);
    expr.line = peek().line;
    return expr;
  }

  Result<Expr> target_list() {
    Expr first = make(Kind::Tuple);
    do {
      if (is_word("in")) break;
      FORERUN_TRY(first.children.emplace_back(), postfix());
    } while (take_sign(","));
    if (first.children.size() == 1) return Expr(std::move(first.children.front()));
    return first;
  }

  // a, b, = …
  Result<Expr> expression_list() {
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

  Result<Expr> expression() {
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

  Result<Expr> binary_of(Result<Expr> (Parser::*operand)(), std::initializer_list<std::string_view> signs) {
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

  Result<Expr> disjunction() { return binary_of(&Parser::conjunction, {"or"}); }
  Result<Expr> conjunction() { return binary_of(&Parser::inversion, {"and"}); }
  Result<Expr> inversion() {
    if (!take_word("not")) return comparison();
    Expr result = make(Kind::Unary, "not");
    if (++depth_ > kMaxDepth) return wrong("expressions are nested too deep");
    FORERUN_TRY(result.children.emplace_back(), inversion());
    --depth_;
    return result;
  }
  Result<Expr> comparison() { return binary_of(&Parser::bits, {"==", "!=", "<=", ">=", "<", ">", "is", "in"}); }
  Result<Expr> bits() { return binary_of(&Parser::sum, {"|", "&", "^", "<<", ">>"}); }
  Result<Expr> sum() { return binary_of(&Parser::product, {"+", "-"}); }
  Result<Expr> product() { return binary_of(&Parser::prefix, {"*", "//", "/", "%", "@"}); }

  Result<Expr> prefix() {
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

  Result<Expr> postfix() {
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

  Result<Expr> call(Expr function) {
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

  Result<Expr> subscript(Expr value) {
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

  Result<Expr> items(Kind kind, std::string_view end) {
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

  Result<Expr> atom() {
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

  Result<Expr> number(const std::string& text) {
    Expr result = make(Kind::Integer);
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data(), end, result.integer).ptr == end) return result;
    result.kind = Kind::Real;
    if (std::from_chars(text.data(), end, result.real).ptr != end) return wrong("a number is expected");
    return result;
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::string space_;
  std::string file_;
  ScriptCode& code_;
};

}  // namespace

Status parse_script(std::string_view source, const std::string& space, const std::string& file, ScriptCode& code) {
  auto tokens = split_script(source);
  Status status = ok();
  if (tokens) {
    status = Parser(std::move(tokens).value(), space, file, code).run();
  } else {
    status = tokens.error();
  }
  if (!status) return Error{status.error().kind, file + ": " + status.error().message};
  return ok();
}

}  // namespace forerun::pytorch
