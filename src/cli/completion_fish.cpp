// Completions for fish.
#include <fmt/format.h>

#include "cli/manual_command.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

std::string in_fish_quotes(std::string_view text) {
  std::string escaped = "'";
  for (const char c : text)
    escaped += c == '\'' ? std::string("\\'") : c == '\\' ? std::string("\\\\") : std::string(1, c);
  return escaped + "'";
}

// What may follow an option: its choices, ids of devices, or a file.
std::string values_of(const CLI::Option& option) {
  const std::string& name = option.get_lnames().front();
  if (option.get_expected_max() == 0 || option.get_type_size_max() == 0) return "";
  if (option.get_type_name() == "FILE") return " -r";
  if (name == "device") return " -x -a '(forerun devices | string replace -r \" .*\" \"\")'";
  for (const Option& row : all_options()) {
    if (row.name != name || row.choices.empty()) continue;
    std::string choices(row.choices);
    for (char& c : choices) c = c == '|' ? ' ' : c;
    return " -x -a " + in_fish_quotes(choices);
  }
  return " -x";
}

}  // namespace

std::string render_fish(const CLI::App& app) {
  std::string text = "# fish completion for forerun, written by `forerun completion fish`.\ncomplete -c forerun -f\n";
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* c) { return !c->get_group().empty(); })) {
    const std::string& name = command->get_name();
    text += fmt::format("complete -c forerun -n __fish_use_subcommand -a {} -d {}\n", name,
                        in_fish_quotes(command->get_description()));
    const std::string here = fmt::format("complete -c forerun -n '__fish_seen_subcommand_from {}'", name);
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional() && option->get_name() == "MODEL")
        text += here + " -F -a '(forerun networks | string replace -r \" .*\" \"\")'\n";
      if (option->get_lnames().empty()) continue;
      text += fmt::format("{} -l {} -d {}{}\n", here, option->get_lnames().front(),
                          in_fish_quotes(option->get_description()), values_of(*option));
    }
  }
  return text;
}

}  // namespace forerun
