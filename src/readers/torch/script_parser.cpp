#include "readers/printable.hpp"
#include "readers/torch/script_expressions.hpp"
#include "readers/torch/script_lexer.hpp"
#include "readers/torch/script_syntax.hpp"

namespace forerun::pytorch {
namespace {

using Kind = Expr::Kind;

// Definitions and statements; the base class reads the expressions in them.
class Parser : ScriptExpressions {
 public:
  Parser(std::vector<Token> tokens, std::string space, std::string file, ScriptCode& code)
      : ScriptExpressions(std::move(tokens)), space_(std::move(space)), file_(std::move(file)), code_(code) {}

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
