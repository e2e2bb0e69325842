// ProgramDesc (framework.proto), read in place. Variables there may be written more than once; each writing makes a new
// value here, so that a program is a graph.
#include <map>
#include <optional>
#include <unordered_map>

#include "readers/paddle/desc_messages.hpp"
#include "readers/printable.hpp"
#include "readers/protobuf.hpp"

namespace forerun::paddle {
namespace {

using protobuf::bytes;
using protobuf::Message;
using protobuf::varint;

class DescReader {
 public:
  Result<Program> read(std::string_view file) {
    std::vector<std::string_view> views;
    Message message(file);
    while (message.next()) {
      switch (message.tag_and_type()) {
        case bytes(1): views.push_back(message.get_view()); break;
        case bytes(4): {
          Message version = message.get_message();
          while (version.next(1, protozero::pbf_wire_type::varint)) version_ = version.get_int64();
          break;
        }
        default: message.skip();
      }
    }
    if (views.empty()) return bad_input("the program has no blocks");
    if (views.size() > 10'000) return bad_input("the program has more than 10000 blocks");
    for (const std::string_view view : views) messages_.push_back(split_block(view));
    program_.blocks.resize(messages_.size());
    visited_.assign(messages_.size(), false);
    if (version_ >= 1'000'000) {
      program_.version = std::to_string(version_ / 1'000'000) + "." + std::to_string(version_ / 1000 % 1000) + "." +
                         std::to_string(version_ % 1000);
    }
    Scope root{.parent = nullptr, .vars = {}, .current = {}};
    root_ = &root;
    visited_[0] = true;
    FORERUN_CHECK(read_block(0, root, 0));
    FORERUN_CHECK(check_size(program_));
    return std::move(program_);
  }

 private:
  struct Scope {
    const Scope* parent = nullptr;
    std::unordered_map<std::string_view, const VarMessage*> vars;
    std::unordered_map<std::string_view, std::int32_t> current;  // the last value of a variable
  };

  static const VarMessage* find_var(const Scope* scope, std::string_view name) {
    for (; scope != nullptr; scope = scope->parent) {
      if (const auto found = scope->vars.find(name); found != scope->vars.end()) return found->second;
    }
    return nullptr;
  }

  std::int32_t new_value(std::string_view name, const VarMessage* var) {
    NativeValue& value = program_.values.emplace_back();
    value.name = std::string(name.substr(0, 4096));
    if (var != nullptr) {
      value.type = var->type;
      value.is_list = var->is_list;
      value.is_stored = var->is_persistable;
    }
    return static_cast<std::int32_t>(program_.values.size() - 1);
  }

  // What a variable holds now. One that nothing has written yet belongs to the block that declares it.
  std::int32_t read_variable(Scope& scope, std::string_view name) {
    if (name.empty() || name == "@EMPTY@") return kNone;
    for (const Scope* place = &scope; place != nullptr; place = place->parent) {
      if (const auto found = place->current.find(name); found != place->current.end()) return found->second;
    }
    const std::int32_t value = new_value(name, find_var(&scope, name));
    root_->current.emplace(name, value);
    return value;
  }

  Status read_slots(const std::vector<std::string_view>& messages, bool writes, Scope& scope,
                    std::vector<Slot>& slots) {
    for (const std::string_view view : messages) {
      Slot& slot = slots.emplace_back();
      Message message(view);
      while (message.next()) {
        switch (message.tag_and_type()) {
          case bytes(1): slot.name = std::string(message.get_view().substr(0, 256)); break;
          case bytes(2): {
            const std::string_view name = message.get_view();
            if (++operands_ > kMaxOperands || program_.values.size() > kMaxValues) return check_too_large();
            if (!writes) {
              slot.values.push_back(read_variable(scope, name));
            } else {
              const VarMessage* var = find_var(&scope, name);
              const std::int32_t value = new_value(name, var);
              program_.values[std::size_t(value)].is_stored = false;
              slot.values.push_back(value);
              pending_.emplace_back(name, value);
            }
            break;
          }
          default: message.skip();
        }
      }
    }
    return ok();
  }

  static Status check_too_large() {
    return Error{ErrorKind::TooLarge, "the program has more values than Forerun reads"};
  }

  Status read_block(std::size_t index, Scope& scope, int depth) {
    if (depth >= kMaxDepth) return bad_input("blocks are nested more than " + std::to_string(kMaxDepth) + " deep");
    for (const VarMessage& var : messages_[index].vars) scope.vars.emplace(var.name, &var);
    for (const OpMessage& message : messages_[index].ops) {
      if (++ops_ > kMaxOps) return check_too_large();
      NativeOp op;
      op.type = printable(message.type.substr(0, 256));
      FORERUN_CHECK(read_slots(message.inputs, false, scope, op.inputs));
      for (const std::string_view view : message.attributes) {
        AttributeMessage attribute = read_attribute(view);
        if (attribute.name == "op_namescope") {
          if (const auto* text = std::get_if<std::string>(&attribute.value); text != nullptr && text->size() > 1)
            op.module = printable(*text);
        } else if (attribute.block && attribute.name == "sub_block") {
          FORERUN_CHECK(read_body(*attribute.block, message, op, scope, depth));
        } else if (!std::holds_alternative<std::monostate>(attribute.value)) {
          op.attributes.push_back({std::string(attribute.name.substr(0, 256)), std::move(attribute.value)});
        }
      }
      FORERUN_CHECK(read_slots(message.outputs, true, scope, op.outputs));
      for (const auto& [name, value] : pending_) scope.current.insert_or_assign(name, value);
      pending_.clear();
      program_.blocks[index].ops.push_back(std::move(op));
    }
    join_conditionals(program_.blocks[index]);
    return ok();
  }

  // The names an operator has under its slot `wanted`.
  static std::vector<std::string_view> names_of(const std::vector<std::string_view>& slots, std::string_view wanted) {
    std::vector<std::string_view> names;
    for (const std::string_view view : slots) {
      Message message(view);
      bool is_wanted = false;
      while (message.next()) {
        switch (message.tag_and_type()) {
          case bytes(1): is_wanted = message.get_view() == wanted; break;
          case bytes(2):
            if (is_wanted) {
              names.push_back(message.get_view());
            } else {
              message.skip();
            }
            break;
          default: message.skip();
        }
      }
    }
    return names;
  }

  // A body writes variables of the blocks around it: those the operator lists under Out are its results.
  Status read_body(std::int64_t body, const OpMessage& message, NativeOp& op, Scope& outer, int depth) {
    if (body <= 0 || body >= std::int64_t(messages_.size()))
      return bad_input("operator " + op.type + " names block " + std::to_string(body) + ", which is not there");
    if (visited_[std::size_t(body)])
      return bad_input("block " + std::to_string(body) + " is the body of two operators");
    visited_[std::size_t(body)] = true;
    Scope scope{.parent = &outer, .vars = {}, .current = {}};
    const std::vector<std::string_view> results = names_of(message.outputs, "Out");
    const std::vector<std::string_view> condition = names_of(message.inputs, "Condition");
    const bool is_loop = op.type == "while" && condition.size() == 1;
    if (results.size() > kMaxListed) return check_too_large();
    if (is_loop) {
      op.inputs = {Slot{.name = "Condition", .values = {read_variable(outer, condition[0])}},
                   Slot{.name = "X", .values = {}}};
      for (const std::string_view name : results) {
        op.inputs[1].values.push_back(read_variable(outer, name));
        const std::int32_t argument = new_value(name, find_var(&outer, name));
        program_.values[std::size_t(argument)].is_stored = false;
        scope.current.emplace(name, argument);
        program_.blocks[std::size_t(body)].arguments.push_back(argument);
      }
    }
    FORERUN_CHECK(read_block(std::size_t(body), scope, depth + 1));
    std::vector<std::int32_t> values;
    if (is_loop) values.push_back(read_variable(scope, condition[0]));
    for (const std::string_view name : results) values.push_back(read_variable(scope, name));
    program_.blocks[std::size_t(body)].results = std::move(values);
    op.blocks.push_back(std::int32_t(body));
    return ok();
  }

  static std::vector<std::int32_t> values_of(const std::vector<Slot>& slots, std::string_view name) {
    for (const Slot& slot : slots) {
      if (slot.name == name) return slot.values;
    }
    return {};
  }

  // "if" is saved as two conditional_blocks, one for each outcome, and a select_input for each result.
  void join_conditionals(NativeBlock& block) {
    std::unordered_map<std::int32_t, std::pair<std::size_t, std::size_t>> made_by;  // value: operator, place in Out
    std::map<std::pair<std::size_t, std::size_t>, std::vector<std::size_t>> selections;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      const NativeOp& op = block.ops[i];
      if (op.type == "conditional_block" && op.blocks.size() == 1) {
        const std::vector<std::int32_t> results = values_of(op.outputs, "Out");
        for (std::size_t k = 0; k < results.size(); ++k) made_by.emplace(results[k], std::pair(i, k));
      } else if (op.type == "select_input") {
        const std::vector<std::int32_t> choices = values_of(op.inputs, "X");
        if (choices.size() != 2 || !made_by.contains(choices[0]) || !made_by.contains(choices[1])) continue;
        selections[{made_by[choices[0]].first, made_by[choices[1]].first}].push_back(i);
      }
    }
    std::vector<bool> gone(block.ops.size(), false);
    for (const auto& [pair, selects] : selections) {
      const auto [otherwise, then] = pair;
      if (otherwise == then || gone[otherwise] || gone[then]) continue;
      const std::int32_t bodies[2] = {block.ops[then].blocks[0], block.ops[otherwise].blocks[0]};
      std::vector<std::int32_t> results[2];
      Slot out{.name = "Out", .values = {}};
      for (const std::size_t select : selects) {
        const std::vector<std::int32_t> choices = values_of(block.ops[select].inputs, "X");
        for (std::size_t side = 0; side < 2; ++side) {
          const auto& all = program_.blocks[std::size_t(bodies[side])].results;
          const std::size_t place = made_by[choices[1 - side]].second;
          results[side].push_back(place < all.size() ? all[place] : kNone);
        }
        const std::vector<std::int32_t> made = values_of(block.ops[select].outputs, "Out");
        out.values.push_back(made.empty() ? kNone : made[0]);
        gone[select] = true;
      }
      for (std::size_t side = 0; side < 2; ++side) program_.blocks[std::size_t(bodies[side])].results = results[side];
      gone[otherwise] = true;
      NativeOp& op = block.ops[then];
      op.type = "if";
      op.inputs = {Slot{.name = "Cond", .values = values_of(op.inputs, "Cond")}};
      op.blocks = {bodies[0], bodies[1]};
      op.outputs = {std::move(out)};
    }
    std::size_t i = 0;
    std::erase_if(block.ops, [&](const NativeOp&) { return gone[i++]; });
  }

  Program program_;
  std::vector<BlockMessage> messages_;
  std::vector<bool> visited_;
  std::vector<std::pair<std::string_view, std::int32_t>> pending_;
  Scope* root_ = nullptr;
  std::int64_t version_ = 0;
  std::size_t ops_ = 0, operands_ = 0;
};

}  // namespace

Result<Program> read_program_desc(std::string_view file) { return DescReader().read(file); }

}  // namespace forerun::paddle
