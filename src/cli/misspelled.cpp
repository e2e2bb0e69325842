#include "cli/misspelled.hpp"

#include <algorithm>

#include "base/nearest.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

std::vector<std::string> names_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

const CLI::Option* find_option(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->check_lname(name)) return option;
  }
  return nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0 && option.get_type_size_max() > 0; }

}  // namespace

std::optional<Error> find_misspelled(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); }))
    commands.push_back(command->get_name());
  if (arguments.empty()) {
    std::string names;
    for (const std::string& name : commands) names += (names.empty() ? "" : ", ") + name;
    return bad_input("which command? " + names + " (forerun help shows what they do)");
  }
  const std::string& word = arguments.front();
  if (word.starts_with("-")) return std::nullopt;
  const auto found = app.get_subcommands([&](const CLI::App* c) { return c->get_name() == word; });
  if (found.empty())
    return bad_input("there is no command " + in_quotes(word) + did_you_mean(word, commands) +
                     " (forerun help lists them)");
  const CLI::App* command = found.front();
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") break;
    if (!argument.starts_with("--")) continue;
    const std::string name = argument.substr(2, argument.find('=') - 2);
    const CLI::Option* option = find_option(*command, name);
    if (option == nullptr)
      return bad_input("forerun " + word + " has no option " + in_quotes("--" + name) +
                       did_you_mean("--" + name, names_of(*command)) + " (forerun help " + word + " lists them)");
    if (takes_value(*option) && argument.find('=') == std::string::npos) ++i;
  }
  return std::nullopt;
}

}  // namespace forerun
