// PIR programs (.json of PaddlePaddle 3): operators with numbered values, attributes with typed contents.
#include <unordered_map>

#include "readers/json_text.hpp"
#include "readers/paddle/program.hpp"
#include "readers/printable.hpp"

namespace forerun::paddle {
namespace {

constexpr std::size_t kMaxListed = 100'000;

const Json* find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string text_of(const Json* json) {
  return json != nullptr && json->is_string() ? json->get_ref<const std::string&>().substr(0, 4096) : std::string();
}

// "0.t_dtensor" -> "t_dtensor"
std::string_view without_dialect(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string_view kind_of(const Json& json) {
  const Json* kind = find(json, "#");
  return kind != nullptr && kind->is_string() ? without_dialect(kind->get_ref<const std::string&>())
                                              : std::string_view{};
}

class PirReader {
 public:
  Result<Program> read(const Json& document) {
    const Json* program = find(document, "program");
    const Json* base = find(document, "base_code");
    if (const Json* version = base == nullptr ? nullptr : find(*base, "version"); version != nullptr)
      program_.version = "PIR " + (version->is_string() ? text_of(version) : version->dump());
    program_.is_pir = true;
    const Json* block = program == nullptr ? nullptr : first_block(find(*program, "regions"));
    if (block == nullptr) return bad_input("the program has no block of operators");
    program_.blocks.emplace_back();
    FORERUN_CHECK(read_block(*block, 0, 0));
    FORERUN_CHECK(check_size(program_));
    return std::move(program_);
  }

 private:
  static const Json* first_block(const Json* regions, std::size_t index = 0) {
    if (regions == nullptr || !regions->is_array() || regions->size() <= index) return nullptr;
    const Json* blocks = find((*regions)[index], "blocks");
    return blocks != nullptr && blocks->is_array() && !blocks->empty() ? &(*blocks)[0] : nullptr;
  }

  static TensorType read_tensor_type(const Json& json) {
    TensorType type;
    const Json* details = find(json, "D");
    if (kind_of(json) != "t_dtensor" && kind_of(json) != "t_selected_rows") return type;
    if (details == nullptr || !details->is_array() || details->size() < 2) return type;
    const std::string_view element = kind_of((*details)[0]);
    if (element.starts_with("t_")) type.dtype = dtype_of_name(element.substr(2));
    const Json& dims = (*details)[1];
    if (!dims.is_array() || dims.size() > 64) return type;
    type.has_shape = true;
    for (const Json& dim : dims) {
      const std::int64_t size = dim.is_number_integer() ? dim.get<std::int64_t>() : kUnknownDim;
      type.dims.push_back(size < 0 || size > kMaxDim ? kUnknownDim : size);
    }
    return type;
  }

  // Values are numbered from 1; those a loop hands its body from -1 downwards; 0 is none.
  std::int32_t define(const Json& json, const char* number_key) {
    const Json* number = find(json, number_key);
    if (number == nullptr || !number->is_number_integer()) return kNone;
    const auto key = number->get<std::int64_t>();
    if (key == 0) return kNone;
    NativeValue& value = program_.values.emplace_back();
    value.name = key > 0 ? std::to_string(key) : "argument_" + std::to_string(-(key + 1));
    if (const Json* type = find(json, "TT"); type != nullptr) {
      if (kind_of(*type) == "t_vec") {
        value.is_list = true;
        if (const Json* members = find(*type, "D"); members != nullptr && members->is_array()) {
          for (const Json& member : *members) {
            if (value.members.size() < kMaxListed) value.members.push_back(read_tensor_type(member));
          }
        }
      } else {
        value.type = read_tensor_type(*type);
      }
    }
    const auto id = static_cast<std::int32_t>(program_.values.size() - 1);
    numbers_.insert_or_assign(key, id);
    return id;
  }

  std::int32_t find_value(const Json& json) const {
    const Json* number = find(json, "%");
    if (number == nullptr || !number->is_number_integer()) return kNone;
    const auto found = numbers_.find(number->get<std::int64_t>());
    return found == numbers_.end() ? kNone : found->second;
  }

  static NativeAttribute read_number(const Json& json) {
    if (json.is_boolean()) return std::int64_t{json.get<bool>()};
    if (json.is_number_integer()) return json.get<std::int64_t>();
    if (json.is_number()) return json.get<double>();
    if (json.is_string()) return json.get_ref<const std::string&>().substr(0, 4096);
    return {};
  }

  static NativeAttribute read_list(const Json& list) {
    std::vector<std::int64_t> ints;
    std::vector<double> reals;
    std::vector<std::string> texts;
    for (const Json& item : list) {
      if (ints.size() + reals.size() + texts.size() >= kMaxListed) break;
      const Json* inner = item.is_object() ? find(item, "D") : &item;
      if (inner == nullptr) continue;
      NativeAttribute one = read_number(*inner);
      if (item.is_object() && inner->is_number() && (kind_of(item) == "a_f32" || kind_of(item) == "a_f64"))
        one = inner->get<double>();
      if (const auto* integer = std::get_if<std::int64_t>(&one)) ints.push_back(*integer);
      if (const auto* real = std::get_if<double>(&one)) reals.push_back(*real);
      if (auto* text = std::get_if<std::string>(&one)) texts.push_back(std::move(*text));
    }
    if (!reals.empty()) {
      reals.insert(reals.end(), ints.begin(), ints.end());
      return reals;
    }
    if (!texts.empty()) return texts;
    return ints;
  }

  static NativeAttribute read_attribute(const Json& json) {
    const Json* contents = find(json, "D");
    const std::string_view kind = kind_of(json);
    if (contents == nullptr) return {};
    if (kind == "a_array" || kind == "a_intarray" || kind == "a_tensorname") {
      if (contents->is_array()) return read_list(*contents);
    }
    if ((kind == "a_f32" || kind == "a_f64") && contents->is_number()) return contents->get<double>();
    if (kind == "a_scalar" && contents->is_array() && !contents->empty()) return read_number(contents->back());
    return read_number(*contents);
  }

  Status read_op(const Json& json, std::int32_t block, int depth) {
    const Json* kind = find(json, "#");
    const std::string name = text_of(kind);
    const Json* outputs = find(json, "O");
    if (name == "p") {  // a parameter: [is_distributed, is_parameter, need_clip, name]
      if (outputs == nullptr) return ok();
      const std::int32_t id = define(outputs->is_array() && !outputs->empty() ? (*outputs)[0] : *outputs, "%");
      if (id == kNone) return ok();
      program_.values[std::size_t(id)].is_stored = true;
      const Json* attributes = find(json, "A");
      if (attributes != nullptr && attributes->is_array() && !attributes->empty())
        program_.values[std::size_t(id)].name = text_of(&attributes->back());
      return ok();
    }
    NativeOp op;
    // Dialect 0 is "builtin": its split and slice take lists of tensors apart, and are not those of tensors.
    op.type = (name.starts_with("0.") ? "builtin." : "") + printable(without_dialect(name).substr(0, 256));
    if (const Json* inputs = find(json, "I"); inputs != nullptr && inputs->is_array()) {
      for (const Json& input : *inputs) op.inputs.push_back({.name = {}, .values = {find_value(input)}});
    }
    if (op.type == "yield") {
      for (const Slot& slot : op.inputs) program_.blocks[std::size_t(block)].results.push_back(slot.values[0]);
      return ok();
    }
    if (const Json* attributes = find(json, "A"); attributes != nullptr && attributes->is_array()) {
      for (const Json& one : *attributes) {
        const Json* contents = find(one, "AT");
        std::string key = text_of(find(one, "N"));
        if (contents == nullptr || key.empty()) continue;
        NativeAttribute value = read_attribute(*contents);
        if (key == "struct_name") {
          if (const auto* text = std::get_if<std::string>(&value)) op.module = printable(*text);
        } else if (!std::holds_alternative<std::monostate>(value)) {
          op.attributes.push_back({std::move(key), std::move(value)});
        }
      }
    }
    if (const Json* regions = find(json, "regions"); regions != nullptr && regions->is_array()) {
      for (std::size_t i = 0; i < regions->size(); ++i) {
        const Json* body = first_block(regions, i);
        if (body == nullptr) continue;
        const auto index = static_cast<std::int32_t>(program_.blocks.size());
        program_.blocks.emplace_back();
        FORERUN_CHECK(read_block(*body, index, depth + 1));
        op.blocks.push_back(index);
      }
    }
    if (outputs != nullptr && outputs->is_array()) {
      for (const Json& output : *outputs) op.outputs.push_back({.name = {}, .values = {define(output, "%")}});
    } else if (outputs != nullptr && outputs->is_object()) {
      op.outputs.push_back({.name = {}, .values = {define(*outputs, "%")}});
    }
    program_.blocks[std::size_t(block)].ops.push_back(std::move(op));
    return ok();
  }

  Status read_block(const Json& json, std::int32_t block, int depth) {
    if (depth >= kMaxDepth) return bad_input("blocks are nested more than " + std::to_string(kMaxDepth) + " deep");
    if (const Json* arguments = find(json, "args"); arguments != nullptr && arguments->is_array()) {
      for (const Json& argument : *arguments)
        program_.blocks[std::size_t(block)].arguments.push_back(define(argument, "#"));
    }
    const Json* ops = find(json, "ops");
    if (ops == nullptr || !ops->is_array()) return bad_input("a block has no list of operators");
    if (ops->size() > kMaxOps || program_.values.size() > kMaxValues) return check_size(program_);
    for (const Json& op : *ops) FORERUN_CHECK(read_op(op, block, depth));
    return ok();
  }

  Program program_;
  std::unordered_map<std::int64_t, std::int32_t> numbers_;
};

}  // namespace

Result<Program> read_pir(std::string_view text) {
  FORERUN_TRY(const Json document, parse_json_text(text, "the program"));
  return PirReader().read(document);
}

}  // namespace forerun::paddle
