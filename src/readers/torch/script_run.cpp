#include "readers/torch/script_run.hpp"

#include <algorithm>

#include "readers/printable.hpp"
#include "readers/torch/translate.hpp"

namespace forerun::pytorch {
namespace {

constexpr std::int64_t kMaxSteps = 3'000'000;
constexpr int kMaxDepth = 1200;  // calls and expressions within each other

using Kind = Expr::Kind;

const Object* object_of(const Argument& value, ScriptObject::Form form) {
  const Object* object = value.as<Object>();
  return object != nullptr && (*object)->form == form ? object : nullptr;
}

}  // namespace

Error ScriptRun::wrong(const std::string& what) const {
  return bad_input(file_ + " line " + std::to_string(line_) + ": " + what);
}

Status ScriptRun::spend() {
  FORERUN_CHECK(writer_.check());
  if (++steps_ > kMaxSteps || writer_.is_full())
    return Error{ErrorKind::TooLarge, "the network runs too long to be read"};
  return ok();
}

Result<Argument> ScriptRun::call_method(const Argument& module, const std::string& method,
                                        std::vector<Argument> arguments) {
  const Object* object = object_of(module, ScriptObject::Form::Instance);
  if (object == nullptr) return bad_input("the archive's pickle holds no module");
  Arguments given;
  given.keywords.resize(arguments.size());
  given.values = std::move(arguments);
  return call_object(*object, method, std::move(given));
}

Result<Argument> ScriptRun::call_object(const Object& object, const std::string& method, Arguments arguments) {
  const auto found = program_.code.classes.find(object->name);
  if (found == program_.code.classes.end()) return wrong("class " + in_quotes(object->name) + " is not in the archive");
  const auto function = found->second.methods.find(method);
  if (function == found->second.methods.end())
    return wrong("class " + in_quotes(object->name) + " has no method " + in_quotes(method));
  arguments.values.insert(arguments.values.begin(), Argument{object});
  arguments.keywords.insert(arguments.keywords.begin(), "");
  const std::string outer = module_;
  if (!object->path.empty()) module_ = object->path;
  auto result = call(function->second, std::move(arguments));
  module_ = outer;
  return result;
}

Result<Argument> ScriptRun::call(const ScriptFunction& function, Arguments arguments) {
  FORERUN_CHECK(spend());
  if (++depth_ > kMaxDepth) return wrong("calls are nested too deep");
  const std::string outer_file = std::exchange(file_, function.file);
  const int outer_line = line_;
  Environment names;
  std::size_t place = 0;
  for (std::size_t i = 0; i < arguments.values.size(); ++i) {
    const std::string& keyword = arguments.keywords[i];
    if (keyword.empty() && place >= function.parameters.size())
      return wrong(in_quotes(function.name) + " is called with too many arguments");
    names[keyword.empty() ? function.parameters[place++] : keyword] = std::move(arguments.values[i]);
  }
  for (std::size_t i = 0; i < function.parameters.size(); ++i) {
    const Expr& fallback = function.defaults[i];
    const bool has_default = fallback.kind != Kind::Name || !fallback.text.empty();
    if (names.contains(function.parameters[i]) || !has_default) continue;
    FORERUN_TRY(names[function.parameters[i]], evaluate(fallback, names));
  }
  std::optional<Argument> returned;
  FORERUN_CHECK(run(function.body, names, returned));
  --depth_;
  file_ = outer_file;
  line_ = outer_line;
  return returned ? std::move(*returned) : Argument{};
}

Status ScriptRun::run(const std::vector<Statement>& statements, Environment& names, std::optional<Argument>& returned) {
  for (const Statement& statement : statements) {
    if (returned) return ok();
    FORERUN_CHECK(run_one(statement, names, returned));
  }
  return ok();
}

Status ScriptRun::run_one(const Statement& statement, Environment& names, std::optional<Argument>& returned) {
  FORERUN_CHECK(spend());
  line_ = statement.line;
  switch (statement.kind) {
    case Statement::Kind::Pass: return ok();
    case Statement::Kind::If: return run_branch(statement, names, returned);
    case Statement::Kind::For:
    case Statement::Kind::While: return run_loop(statement, names, returned);
    case Statement::Kind::With: return run(statement.body, names, returned);
    default: break;
  }
  FORERUN_TRY(Argument value, evaluate(statement.value, names));
  if (statement.kind == Statement::Kind::Return) returned = std::move(value);
  if (statement.kind == Statement::Kind::Assign) return assign(statement.target, value, names);
  return ok();
}

Status ScriptRun::run_branch(const Statement& statement, Environment& names, std::optional<Argument>& returned) {
  FORERUN_TRY(const Argument condition, evaluate(statement.value, names));
  const auto known = truth(condition);
  const bool taken = known ? *known : assume(statement);
  return run(taken ? statement.body : statement.otherwise, names, returned);
}

Status ScriptRun::run_loop(const Statement& statement, Environment& names, std::optional<Argument>& returned) {
  FORERUN_TRY(Argument value, evaluate(statement.value, names));
  if (statement.kind == Statement::Kind::While) {
    while (!returned) {
      FORERUN_CHECK(spend());
      const auto known = truth(value);
      if (!known) {
        warnings_.push_back("a loop whose steps depend on data is counted once");
        return run(statement.body, names, returned);
      }
      if (!*known) return ok();
      FORERUN_CHECK(run(statement.body, names, returned));
      FORERUN_TRY(value, evaluate(statement.value, names));
    }
    return ok();
  }
  if (value.as<AtRunTime>() != nullptr) {
    warnings_.push_back("a loop whose steps depend on data is counted once");
    value = make_list({{std::int64_t{0}}});
  }
  const List* list = value.as<List>();
  if (list == nullptr) return wrong("a loop runs over what is no list");
  const std::vector<Argument> items = **list;  // the body may change the list
  for (const Argument& item : items) {
    if (returned) return ok();
    FORERUN_CHECK(spend());
    FORERUN_CHECK(assign(statement.target, item, names));
    FORERUN_CHECK(run(statement.body, names, returned));
  }
  return ok();
}

Status ScriptRun::assign(const Expr& target, const Argument& value, Environment& names) {
  if (target.kind == Kind::Name) {
    names[target.text] = value;
    return ok();
  }
  if (target.kind == Kind::Attribute) {
    FORERUN_TRY(const Argument base, evaluate(target.children[0], names));
    const Object* object = object_of(base, ScriptObject::Form::Instance);
    if (object == nullptr) return wrong("an attribute of what is no object is set");
    if (holds(value, object->get(), 0)) return wrong("an object is made its own attribute");
    (*object)->attributes[target.text] = value;
    return ok();
  }
  if (target.kind == Kind::Subscript && target.children.size() == 2) {
    FORERUN_TRY(const Argument base, evaluate(target.children[0], names));
    FORERUN_TRY(const Argument index, evaluate(target.children[1], names));
    Arguments arguments;
    arguments.values = {base, index, value};
    arguments.keywords.resize(3);
    FORERUN_TRY(const Argument ignored, call_named("torch._set_item", std::move(arguments)));
    (void)ignored;
    return ok();
  }
  if (target.kind != Kind::Tuple) return wrong("something is assigned to what is no name");
  const List* list = value.as<List>();
  if (list == nullptr || (*list)->size() != target.children.size()) return wrong("the values do not fit their names");
  for (std::size_t i = 0; i < target.children.size(); ++i)
    FORERUN_CHECK(assign(target.children[i], (**list)[i], names));
  return ok();
}

Result<Argument> ScriptRun::evaluate(const Expr& expr, Environment& names) {
  FORERUN_CHECK(spend());
  if (++depth_ > kMaxDepth) return wrong("expressions are nested too deep");
  auto result = evaluate_inside(expr, names);
  --depth_;
  return result;
}

Result<Argument> ScriptRun::evaluate_inside(const Expr& expr, Environment& names) {
  switch (expr.kind) {
    case Kind::None: return Argument{};
    case Kind::Bool: return Argument{expr.integer != 0};
    case Kind::Integer: return Argument{expr.integer};
    case Kind::Real: return Argument{expr.real};
    case Kind::Text: return Argument{expr.text};
    case Kind::Name: {
      const auto found = names.find(expr.text);
      return found != names.end() ? found->second : make_named(expr.text);
    }
    case Kind::Attribute: {
      FORERUN_TRY(const Argument base, evaluate(expr.children[0], names));
      return attribute(base, expr.text);
    }
    case Kind::Call: return evaluate_call(expr, names);
    case Kind::Ternary: {
      FORERUN_TRY(const Argument condition, evaluate(expr.children[0], names));
      return evaluate(expr.children[truth(condition).value_or(true) ? 1 : 2], names);
    }
    case Kind::Subscript: {
      if (expr.children.size() != 2) return wrong("a subscript of several parts");
      FORERUN_TRY(const Argument base, evaluate(expr.children[0], names));
      if (object_of(base, ScriptObject::Form::Name) != nullptr) return base;  // a type: List[int]
      FORERUN_TRY(const Argument index, evaluate(expr.children[1], names));
      return item_at(base, index);
    }
    default: return evaluate_items(expr, names);
  }
}

// Lists, tuples, dictionaries and operators.
Result<Argument> ScriptRun::evaluate_items(const Expr& expr, Environment& names) {
  std::vector<Argument> items;
  items.reserve(expr.children.size());
  for (const Expr& child : expr.children) {
    FORERUN_TRY(items.emplace_back(), evaluate(child, names));
  }
  if (expr.kind == Kind::List || expr.kind == Kind::Tuple) return make_list(std::move(items));
  if (expr.kind == Kind::Dictionary) {
    auto object = std::make_shared<ScriptObject>();
    object->form = ScriptObject::Form::Dictionary;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) object->entries.emplace_back(items[i], items[i + 1]);
    return Argument{std::move(object)};
  }
  constexpr std::pair<std::string_view, std::string_view> kOperators[] = {
      {"+", "add"},           {"-", "sub"},         {"*", "mul"},         {"/", "div"},       {"//", "floordiv"},
      {"%", "remainder"},     {"**", "pow"},        {"==", "eq"},         {"!=", "ne"},       {"<", "lt"},
      {"<=", "le"},           {">", "gt"},          {">=", "ge"},         {"is", "__is__"},   {"is not", "__isnot__"},
      {"and", "__and__"},     {"or", "__or__"},     {"&", "__and__"},     {"|", "__or__"},    {"^", "__xor__"},
      {"@", "matmul"},        {"<<", "__lshift__"}, {">>", "__rshift__"}, {"not", "__not__"}, {"~", "bitwise_not"},
      {"in", "__contains__"},
  };
  std::string name;
  for (const auto& [sign, function] : kOperators) {
    if (sign == expr.text) name = "torch." + std::string(function);
  }
  if (expr.kind == Kind::Unary && expr.text == "-") name = "torch.neg";
  if (expr.text == "in" && items.size() == 2) std::swap(items[0], items[1]);
  if (name.empty()) return wrong("operator " + in_quotes(expr.text) + " is not known");
  Arguments arguments;
  arguments.keywords.resize(items.size());
  arguments.values = std::move(items);
  return call_named(name, std::move(arguments));
}

Result<Argument> ScriptRun::attribute(const Argument& of, const std::string& name) {
  const Object* object = of.as<Object>();
  if (object == nullptr) {
    if (of.as<Tensor>() != nullptr) {  // x.shape, x.dtype …
      Arguments arguments;
      arguments.values = {of};
      arguments.keywords = {""};
      return call_named("ops.prim." + name, std::move(arguments));
    }
    return wrong("attribute " + in_quotes(name) + " of what is no object");
  }
  if ((*object)->form == ScriptObject::Form::Name) {
    const std::string dotted = (*object)->name + "." + name;
    if ((*object)->name == "CONSTANTS" && name.size() > 1) {
      const std::size_t place = std::size_t(std::strtoul(name.c_str() + 1, nullptr, 10));
      if (place >= program_.constants.size()) return wrong("constant " + in_quotes(name) + " is not in the archive");
      const auto* stored = program_.constants[place].as<Stored>();
      return stored != nullptr ? tensor_of(stored->index) : program_.constants[place];
    }
    return make_named(dotted);
  }
  const auto found = (*object)->attributes.find(name);
  if (found != (*object)->attributes.end()) {
    const auto* stored = found->second.as<Stored>();
    if (stored != nullptr) return tensor_of(stored->index);
    const List* list = found->second.as<List>();
    if (list == nullptr) return found->second;
    for (Argument& item : **list) {
      if (const auto* one = item.as<Stored>()) item = tensor_of(one->index);
    }
    return found->second;
  }
  const auto known = program_.code.classes.find((*object)->name);
  if (known != program_.code.classes.end()) {
    if (const auto constant = known->second.constants.find(name); constant != known->second.constants.end()) {
      Environment none;
      return evaluate(constant->second, none);
    }
  }
  return wrong("class " + in_quotes((*object)->name) + " has no attribute " + in_quotes(name));
}

Result<Argument> ScriptRun::evaluate_call(const Expr& expr, Environment& names) {
  const Expr& callee = expr.children[0];
  if (callee.kind == Kind::Name && !names.contains(callee.text)) {
    // Forms whose first operand is a type.
    const bool casts = callee.text == "annotate" || callee.text == "unchecked_cast";
    if (casts && expr.children.size() == 3) {
      FORERUN_TRY(Argument value, evaluate(expr.children[2], names));
      const bool to_number = expr.children[1].kind == Kind::Name && expr.children[1].text == "number";
      return to_number ? number_in(value) : std::move(value);
    }
    if (callee.text == "uninitialized") return Argument{};
  }
  Arguments arguments;
  const auto add_arguments = [&]() -> Status {
    for (std::size_t i = 1; i < expr.children.size(); ++i) {
      FORERUN_TRY(arguments.values.emplace_back(), evaluate(expr.children[i], names));
    }
    arguments.keywords = expr.keywords;
    return ok();
  };
  if (callee.kind == Kind::Attribute) {
    FORERUN_TRY(const Argument base, evaluate(callee.children[0], names));
    FORERUN_CHECK(add_arguments());
    line_ = expr.line;
    if (const Object* object = object_of(base, ScriptObject::Form::Instance))
      return call_object(*object, callee.text, std::move(arguments));
    if (const Object* named = object_of(base, ScriptObject::Form::Name))
      return call_named((*named)->name + "." + callee.text, std::move(arguments));
    arguments.values.insert(arguments.values.begin(), base);
    arguments.keywords.insert(arguments.keywords.begin(), "");
    return call_named("torch." + callee.text, std::move(arguments));
  }
  FORERUN_TRY(const Argument function, evaluate(callee, names));
  FORERUN_CHECK(add_arguments());
  line_ = expr.line;
  const Object* named = object_of(function, ScriptObject::Form::Name);
  if (named == nullptr) return wrong("something is called that is no function");
  return call_named((*named)->name, std::move(arguments));
}

Result<Argument> ScriptRun::call_named(const std::string& name, Arguments arguments) {
  FORERUN_CHECK(spend());
  if (const auto function = program_.code.functions.find(name); function != program_.code.functions.end())
    return call(function->second, std::move(arguments));
  if (auto result = builtin(name, arguments)) return std::move(*result);
  if (name.starts_with("torch.")) return call_operator("aten", name.substr(name.rfind('.') + 1), std::move(arguments));
  if (name.starts_with("ops.")) {
    const std::size_t dot = name.find('.', 4);
    if (dot != std::string::npos)
      return call_operator(name.substr(4, dot - 4), name.substr(dot + 1), std::move(arguments));
  }
  return wrong("function " + in_quotes(name) + " is not known");
}

Result<Argument> ScriptRun::call_operator(std::string space, const std::string& name, Arguments arguments) {
  Operation operation;
  operation.space = std::move(space);
  operation.name = name;
  operation.results = 0;
  for (std::size_t i = 0; i < arguments.values.size(); ++i) {
    const auto* stored = arguments.values[i].as<Stored>();
    operation.arguments.emplace_back(arguments.keywords[i],
                                     stored != nullptr ? tensor_of(stored->index) : std::move(arguments.values[i]));
  }
  if (observer) observer(operation);
  const int count = counts_[name]++;
  const std::string own = count == 0 ? name : name + "_" + std::to_string(count);
  writer_.set_place(module_.empty() ? own : module_ + "/" + own, module_);
  std::vector<Argument> results = translate(operation, writer_);
  if (results.empty()) return Argument{};
  if (results.size() == 1) return std::move(results.front());
  return make_list(std::move(results));
}

// A tensor of one number as that number, where it is known.
Argument ScriptRun::number_in(const Argument& value) const {
  const auto* tensor = value.as<Tensor>();
  if (tensor == nullptr) return value;
  const auto& literal = writer_.value(tensor->id).literal;
  if (literal && literal->ints.size() == 1) return {literal->ints[0]};
  if (literal && literal->reals.size() == 1) return {literal->reals[0]};
  return value;
}

Argument ScriptRun::tensor_of(std::int32_t index) {
  const ScriptTensor& tensor = program_.tensors[std::size_t(index)];
  const auto found = stored_.find(tensor.key);
  if (found != stored_.end()) return {Tensor{found->second}};
  const bool is_weight = tensor.is_parameter && (is_floating(tensor.type) || is_quantized(tensor.type));
  const ValueId id =
      writer_.add_value(tensor.name, tensor.type, tensor.dims, is_weight ? ValueRole::Weight : ValueRole::Constant);
  writer_.value(id).literal = tensor.literal;
  stored_.emplace(tensor.key, id);
  return {Tensor{id}};
}

}  // namespace forerun::pytorch
