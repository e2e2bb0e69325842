#include "python/options_json.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "service/options.hpp"

namespace forerun::python {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string dump(const OrderedJson& json) { return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace); }

struct Command {
  unsigned bit;
  const char* name;
};
constexpr std::array kCommands = {Command{kInspect, "inspect"}, Command{kPredictAll, "predict"}, Command{kAdviseAll, "advise"}, Command{kPlanAll, "plan"}, Command{kMig, "mig"},
                                  Command{kRoofline, "roofline"}};

const char* type_of(OptionKind kind) {
  switch (kind) {
    case OptionKind::Integer: return "int";
    case OptionKind::Real: return "float";
    case OptionKind::Text: return "str";
    case OptionKind::Flag: return "bool";
    case OptionKind::List: return "list[str]";
    case OptionKind::Dims: return "dict[str, int]";
    case OptionKind::Shapes: return "dict[str, list[int]]";
  }
  return "str";
}

}  // namespace

std::string options_json() {
  OrderedJson list = OrderedJson::array();
  for (const Option& option : all_options()) {
    std::string key(option.kind == OptionKind::Dims ? std::string_view("dims") : option.name);
    std::replace(key.begin(), key.end(), '-', '_');
    OrderedJson commands = OrderedJson::array();
    for (const Command& command : kCommands) {
      if ((option.commands & command.bit) != 0) commands.push_back(command.name);
    }
    list.push_back({{"key", key},
                    {"type", type_of(option.kind)},
                    {"commands", commands},
                    {"help", option.help},
                    {"choices", option.choices}});
  }
  return dump(list);
}

}  // namespace forerun::python
