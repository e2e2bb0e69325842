// The Python that TorchScript archives hold, as a tree: classes with methods, functions, and a handful of statements.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace forerun::pytorch {

struct Expr {
  enum class Kind : std::uint8_t {
    None,
    Bool,
    Integer,
    Real,
    Text,
    Name,
    Attribute,
    Call,
    Subscript,
    List,
    Tuple,
    Dictionary,
    Unary,
    Binary,
    Ternary
  };
  Kind kind = Kind::None;
  std::string text;  // a name, an attribute, an operator, a text
  std::int64_t integer = 0;
  double real = 0;
  std::vector<Expr> children;         // of a call: what is called, then the arguments
  std::vector<std::string> keywords;  // of a call's arguments; empty for those by position
  int line = 0;
};

struct Statement {
  enum class Kind : std::uint8_t { Assign, Expression, Return, If, For, While, With, Pass };
  Kind kind = Kind::Pass;
  Expr target;  // what is assigned to, or a loop's variable
  Expr value;   // what is assigned, evaluated, tested or looped over
  std::vector<Statement> body;
  std::vector<Statement> otherwise;
  int line = 0;
};

struct ScriptFunction {
  std::string name;
  std::string file;
  std::vector<std::string> parameters;
  std::vector<std::string> types;  // as written, by parameter
  std::vector<Expr> defaults;      // by parameter; a Name without text where there is none
  std::vector<Statement> body;
};

struct ScriptClass {
  std::map<std::string, ScriptFunction, std::less<>> methods;
  std::map<std::string, Expr, std::less<>> constants;  // eps : Final[float] = 1e-05
  std::vector<std::string> parameters;                 // attributes that are parameters
};

struct ScriptCode {
  std::map<std::string, ScriptClass, std::less<>> classes;  // by dotted name
  std::map<std::string, ScriptFunction, std::less<>> functions;
};

// Adds what `source` defines; `space` is its dotted name ("__torch__.torch.nn.modules.conv").
Status parse_script(std::string_view source, const std::string& space, const std::string& file, ScriptCode& code);

}  // namespace forerun::pytorch
