// `forerun manual --json`: commands with their options, for programs that ask every question (tests/sweep).
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/manual_command.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(OptionKind kind) {
  constexpr std::string_view kNames[] = {"integer", "real", "text", "flag", "list", "dims", "shapes"};
  return kNames[std::size_t(kind)];
}

Json choices_of(std::string_view text) {
  Json choices = Json::array();
  while (!text.empty()) {
    const std::size_t bar = std::min(text.find('|'), text.size());
    choices.push_back(text.substr(0, bar));
    text.remove_prefix(std::min(text.size(), bar + 1));
  }
  return choices;
}

// An option of a request where the command asks about a model; `serve` and `devices` have some of the same names.
Json describe(const CLI::Option& option, bool asks) {
  const std::string& name = option.get_lnames().front();
  Json row = {{"name", name}, {"kind", option.get_expected_max() == 0 ? "flag" : "text"}, {"request", false}};
  for (const Option& declared : all_options()) {
    // `inspect --nodes` is a flag of its own; `nodes` of a request is a number.
    const bool is_flag = option.get_expected_max() == 0;
    if (!asks || declared.name != name || is_flag != (declared.kind == OptionKind::Flag)) continue;
    std::string key(name);
    std::replace(key.begin(), key.end(), '-', '_');
    row = {{"name", name}, {"kind", name_of(declared.kind)}, {"request", true}, {"key", key}};
    if (declared.kind == OptionKind::Dims) row["key"] = key + "s";
    if (!declared.choices.empty()) row["choices"] = choices_of(declared.choices);
  }
  return row;
}

}  // namespace

std::string render_manual_json(const CLI::App& app) {
  Json commands = Json::array();
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); })) {
    Json options = Json::array(), places = Json::array();
    const bool asks = command->get_option_no_throw("MODEL") != nullptr;
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional()) {
        places.push_back({{"name", option->get_name()}, {"required", option->get_required()}});
      } else if (!option->get_lnames().empty() && option->get_lnames().front() != "help") {
        options.push_back(describe(*option, asks));
      }
    }
    commands.push_back({{"name", command->get_name()}, {"places", std::move(places)}, {"options", std::move(options)}});
  }
  return Json{{"commands", std::move(commands)}}.dump() + "\n";
}

}  // namespace forerun
