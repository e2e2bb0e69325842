#include "cli/help_commands.hpp"

#include "cli/manual_command.hpp"
#include "service/version.hpp"

namespace forerun {

void add_help_commands(CLI::App& app, HelpArguments& arguments, const View& view,
                       const std::function<void(const std::string&)>& write) {
  auto* help = app.add_subcommand("help", "what a command does, its options and examples");
  help->add_option("COMMAND", arguments.command, "a command; without one: the list of commands");
  help->callback([&app, &arguments, &view, write] {
    if (arguments.command.empty())
      return write(wrapped(view, app.get_formatter()->make_help(&app, "forerun", CLI::AppFormatMode::Normal)));
    const auto found = app.get_subcommands([&](const CLI::App* c) { return c->get_name() == arguments.command; });
    if (found.empty()) throw CLI::ValidationError("there is no command '" + arguments.command + "'");
    write(wrapped(view, found.front()->help("forerun")));
  });
  auto* completion = app.add_subcommand("completion", "completions for a shell: source <(forerun completion bash)");
  completion->add_option("SHELL", arguments.shell, "bash, zsh or fish")->required();
  completion->callback([&app, &arguments, write] {
    ManualArguments what;
    what.bash = arguments.shell == "bash";
    what.zsh = arguments.shell == "zsh";
    what.fish = arguments.shell == "fish";
    if (!what.bash && !what.zsh && !what.fish)
      throw CLI::ValidationError("'" + arguments.shell + "' is none of bash, zsh, fish");
    write(render_manual(app, what, std::string(program_version())));
  });
  auto* man = app.add_subcommand("man", "the manual page: forerun man | man -l -");
  man->callback([&app, write] {
    ManualArguments what;
    what.man = true;
    write(render_manual(app, what, std::string(program_version())));
  });
}

}  // namespace forerun
