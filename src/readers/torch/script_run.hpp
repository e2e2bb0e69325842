// Runs a TorchScript method on tensors that have shapes but no contents; every operator goes into the graph.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "readers/torch/call.hpp"
#include "readers/torch/pickle.hpp"
#include "readers/torch/script_syntax.hpp"

namespace forerun::pytorch {

// The stored tensors of an archive as the network sees them.
struct ScriptTensor {
  DType type = DType::Undefined;
  Dims dims;
  std::string key;   // tensors with one key are one tensor
  std::string name;  // "features.0.weight"
  bool is_parameter = false;
  std::optional<Literal> literal;  // of small constants
};

struct ScriptProgram {
  ScriptCode code;
  Argument root;                      // the module
  std::vector<ScriptTensor> tensors;  // what Stored means
  std::vector<Argument> constants;    // CONSTANTS.c0 …
};

class ScriptRun {
 public:
  ScriptRun(const ScriptProgram& program, GraphWriter& writer) : program_(program), writer_(writer) {}

  // Calls the module's method; `module` is this run's own copy of it.
  Result<Argument> call_method(const Argument& module, const std::string& method, std::vector<Argument> arguments);

  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  // What is called with tensors before it is translated; for looking at the network without running it.
  std::function<void(const Operation&)> observer;

 private:
  using Environment = std::unordered_map<std::string, Argument>;
  struct Arguments {
    std::vector<Argument> values;
    std::vector<std::string> keywords;  // empty for those by position
  };

  // script_run.cpp
  Result<Argument> call(const ScriptFunction& function, Arguments arguments);
  Status run(const std::vector<Statement>& statements, Environment& names, std::optional<Argument>& returned);
  Status run_one(const Statement& statement, Environment& names, std::optional<Argument>& returned);
  Status run_branch(const Statement& statement, Environment& names, std::optional<Argument>& returned);
  Status run_loop(const Statement& statement, Environment& names, std::optional<Argument>& returned);
  Status assign(const Expr& target, const Argument& value, Environment& names);
  Result<Argument> evaluate(const Expr& expr, Environment& names);
  Result<Argument> evaluate_inside(const Expr& expr, Environment& names);
  Result<Argument> evaluate_call(const Expr& expr, Environment& names);
  Result<Argument> evaluate_items(const Expr& expr, Environment& names);
  Result<Argument> attribute(const Argument& of, const std::string& name);
  Result<Argument> call_object(const Object& object, const std::string& method, Arguments arguments);
  Result<Argument> call_named(const std::string& name, Arguments arguments);
  Result<Argument> call_operator(std::string space, const std::string& name, Arguments arguments);
  [[nodiscard]] Argument number_in(const Argument& value) const;
  Argument tensor_of(std::int32_t index);
  Status spend();
  [[nodiscard]] Error wrong(const std::string& what) const;

  // script_builtins.cpp
  std::optional<Result<Argument>> builtin(const std::string& name, const Arguments& arguments);
  std::optional<Result<Argument>> language(const std::string& name, const Arguments& arguments);
  std::optional<Result<Argument>> on_tensor(const std::string& name, const Arguments& arguments);
  Result<Argument> new_tensor(const Arguments& arguments);
  std::optional<bool> truth(const Argument& value) const;
  bool assume(const Statement& statement);

  // script_containers.cpp
  std::optional<Result<Argument>> on_list(const std::string& name, const Arguments& arguments);
  std::optional<Result<Argument>> on_dictionary(const std::string& name, const Arguments& arguments);
  Result<Argument> item_at(const Argument& of, const Argument& index);
  bool holds(const Argument& value, const void* container, int depth);

  const ScriptProgram& program_;
  GraphWriter& writer_;
  std::unordered_map<std::string, ValueId> stored_;
  std::unordered_map<std::string, int> counts_;  // of operators, for names
  std::vector<std::string> warnings_;
  std::string module_;
  std::string file_;
  int line_ = 0;
  int depth_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace forerun::pytorch
