#include "cli/manual_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "service/catalogue_json.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> list;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) list.push_back(command);  // an empty group hides a command
  }
  return list;
}

std::vector<const CLI::Option*> flags_of(const CLI::App& command) {
  std::vector<const CLI::Option*> list;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_lnames().empty() && !option->get_group().empty()) list.push_back(option);
  }
  return list;
}

std::vector<const CLI::Option*> places_of(const CLI::App& command) {
  std::vector<const CLI::Option*> list;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) list.push_back(option);
  }
  return list;
}

std::string long_name(const CLI::Option& option) { return "--" + option.get_lnames().front(); }

bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0 && option.get_type_size_max() > 0; }

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string choices_of(const CLI::Option& option) {
  for (const Option& row : all_options()) {
    if (row.name == option.get_lnames().front()) return replace_all(std::string(row.choices), "|", " ");
  }
  return {};
}

bool is_file(const CLI::Option& option) { return option.get_type_name() == "FILE"; }

// --- the manual page -------------------------------------------------------------------------------------------------

std::string roff(const std::string& text) {
  std::string escaped = replace_all(replace_all(replace_all(text, "\\", "\\e"), "-", "\\-"), "…", "...");
  if (!escaped.empty() && (escaped.front() == '.' || escaped.front() == '\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string render_man(const CLI::App& app, const std::string& version) {
  std::string page = fmt::format(
      ".\\\" Written by `forerun manual --man`.\n.TH FORERUN 1 \"\" \"forerun {}\" \"User commands\"\n"
      ".SH NAME\nforerun \\- how a neural network will run before it runs\n.SH SYNOPSIS\n",
      version);
  for (const CLI::App* command : commands_of(app)) {
    std::string line = fmt::format(".B forerun {}\n", roff(command->get_name()));
    for (const CLI::Option* place : places_of(*command)) {
      line += place->get_required() ? fmt::format(".I {}\n", roff(place->get_name()))
                                    : fmt::format(".RI [ {} ]\n", roff(place->get_name()));
    }
    page += line + ".RI [ options ]\n.br\n";
  }
  page +=
      ".SH DESCRIPTION\nTells how a neural network will run before it runs: latency, throughput, memory, energy, "
      "power, cost and carbon on\n"
      "any device of the catalogue, for inference and training, from the model file alone. No GPU, no framework and no "
      "weights\n"
      "are needed. Each number comes with a 90 % interval and what it rests on (measured on this device, similar "
      "devices, data sheet); what could "
      "not be\n"
      "estimated is absent, and a warning says why.\n.SH COMMANDS\n";
  for (const CLI::App* command : commands_of(app)) {
    page += fmt::format(".SS {}\n{}\n", roff(command->get_name()), roff(command->get_description()));
    for (const CLI::Option* place : places_of(*command)) {
      page += fmt::format(".TP\n.I {}\n{}\n", roff(place->get_name()), roff(place->get_description()));
    }
    for (const CLI::Option* option : flags_of(*command)) {
      if (option->get_lnames().front() == "help") continue;
      page += ".TP\n";
      page += takes_value(*option)
                  ? fmt::format(".BI {} \" {}\"\n", roff(long_name(*option)), roff(option->get_type_name()))
                  : fmt::format(".B {}\n", roff(long_name(*option)));
      page += roff(option->get_description()) + "\n";
    }
  }
  page +=
      ".SH EXIT STATUS\n.TP\n.B 0\nanswered\n.TP\n.B 2\nthe request or the file is wrong; one line on standard error "
      "says what, where and what to "
      "do\n.TP\n.B 1\nour own fault\n"
      ".TP\n.B 3\nan assertion of\n.B \\-\\-assert\ndoes not hold\n"
      ".SH FILES\n.TP\n.I ~/.config/forerun/config.json\ndefaults of options, as in {\"precision\": \"fp16\"}\n"
      ".TP\n.I ~/.config/forerun/devices/*.json\nyour own devices\n"
      ".SH ENVIRONMENT\n.TP\n.B FORERUN_TOKEN\nthe bearer token that clients of\n.B forerun serve\nmust send\n"
      ".SH EXAMPLES\n.nf\nforerun inspect model.onnx \\-\\-batch 8\n"
      "forerun predict llama\\-3\\-8b \\-\\-device h200\\-sxm,l4 \\-\\-precision bf16 \\-\\-phase decode \\-\\-seq "
      "2048\n"
      "forerun mig model.onnx \\-\\-device a100\\-sxm\\-40gb \\-\\-max\\-latency\\-ms 20\n.fi\n";
  return page;
}

// --- completions -----------------------------------------------------------------------------------------------------

constexpr std::string_view kDevices = "forerun devices 2>/dev/null | awk 'NR > 1 { print $1 }'";
constexpr std::string_view kNetworks = "forerun networks 2>/dev/null | awk '{ print $1 }'";

std::string render_bash(const CLI::App& app) {
  std::string names, cases, values;
  for (const CLI::App* command : commands_of(app)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    std::string flags;
    for (const CLI::Option* option : flags_of(*command)) flags += (flags.empty() ? "" : " ") + long_name(*option);
    cases += fmt::format("    {}) flags=\"{}\" ;;\n", command->get_name(), flags);
  }
  std::vector<std::string> seen;
  for (const CLI::App* command : commands_of(app)) {
    for (const CLI::Option* option : flags_of(*command)) {
      const std::string name = long_name(*option);
      if (!takes_value(*option) || std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
      seen.push_back(name);
      const std::string choices = choices_of(*option);
      std::string action = "return";
      if (name == "--device") {
        action = fmt::format(
            "COMPREPLY=($(compgen -P \"$prefix\" -W \"all $({})\" -- \"${{word##*,}}\")); compopt -o nospace; return",
            kDevices);
      } else if (!choices.empty()) {
        action = fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$word\")); return", choices);
      } else if (is_file(*option)) {
        action = "COMPREPLY=($(compgen -f -- \"$word\")); return";
      }
      values += fmt::format("    {}) {} ;;\n", name, action);
    }
  }
  return fmt::format(
      "# bash completion for forerun, written by `forerun manual --bash`.\n"
      "_forerun() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} flags= "
      "prefix=\n"
      "  [[ $word == *,* ]] && prefix=${{word%,*}},\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{0} --help --version\" -- \"$word\")); return\n"
      "  fi\n"
      "  case $before in\n{1}  esac\n"
      "  case $command in\n{2}  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
      "  elif [ \"$command\" = devices ]; then\n"
      "    COMPREPLY=($(compgen -W \"$({3})\" -- \"$word\"))\n"
      "  elif [ \"$command\" != serve ]; then\n"
      "    COMPREPLY=($(compgen -W \"$({4})\" -- \"$word\") $(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _forerun forerun\n",
      names, values, cases, kDevices, kNetworks);
}

// Escapes text inside '…[…]:…:…' of zsh's _arguments.
std::string zsh_text(const std::string& text) {
  std::string escaped = replace_all(text, "'", "'\\''");
  for (const std::string_view special : {"[", "]", ":"})
    escaped = replace_all(escaped, special, "\\" + std::string(special));
  return escaped;
}

std::string render_zsh(const CLI::App& app) {
  std::string names, cases;
  for (const CLI::App* command : commands_of(app)) {
    names += fmt::format("    '{}:{}'\n", command->get_name(), zsh_text(command->get_description()));
    cases += fmt::format("    {})\n      _arguments \\\n", command->get_name());
    for (const CLI::Option* option : flags_of(*command)) {
      std::string action;
      if (takes_value(*option)) {
        const std::string choices = choices_of(*option);
        action = fmt::format(":{}:", zsh_text(option->get_type_name()));
        if (long_name(*option) == "--device") {
          action += "{_sequence compadd - all ${(f)\"$(" + replace_all(std::string(kDevices), "'", "'\\''") + ")\"}}";
        } else if (!choices.empty()) {
          action += "(" + choices + ")";
        } else if (is_file(*option)) {
          action += "_files";
        }
      }
      const std::string star = option->get_lnames().front() == "dim" ? "*" : "";
      cases += fmt::format("        '{}{}[{}]{}' \\\n", star, long_name(*option), zsh_text(option->get_description()),
                           action);
    }
    for (const CLI::Option* place : places_of(*command)) {
      const bool is_device = command->get_name() == "devices";
      const std::string source = replace_all(std::string(is_device ? kDevices : kNetworks), "'", "'\\''");
      const std::string listed = "{compadd - ${(f)\"$(" + source + ")\"}" + (is_device ? "}" : "; _files}");
      cases += fmt::format("        '{}:{}:{}' \\\n", place->get_required() ? "1" : "::1", zsh_text(place->get_name()),
                           listed);
    }
    cases += "        && return\n      ;;\n";
  }
  cases = replace_all(cases, "'::1:", "'1::");
  return fmt::format(
      "#compdef forerun\n# zsh completion for forerun, written by `forerun manual --zsh`.\n"
      "_forerun() {{\n"
      "  local -a commands\n  commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n"
      "  case $command in\n{}  esac\n}}\n_forerun \"$@\"\n",
      names, cases);
}

}  // namespace

CLI::App* add_manual_command(CLI::App& app, ManualArguments& arguments) {
  CLI::App* manual = app.add_subcommand("manual", "the manual page, completions for shells, the metrics")->group("");
  manual->add_flag("--man", arguments.man, "manual page (roff)");
  manual->add_flag("--bash", arguments.bash, "completion for bash");
  manual->add_flag("--zsh", arguments.zsh, "completion for zsh");
  manual->add_flag("--fish", arguments.fish, "completion for fish");
  manual->add_flag("--json", arguments.json, "commands and options as JSON");
  manual->add_flag("--metrics", arguments.metrics, "table of metrics (JSON)");
  manual->require_option(1);
  return manual;
}

std::string render_manual(const CLI::App& app, const ManualArguments& arguments, const std::string& version) {
  if (arguments.bash) return render_bash(app);
  if (arguments.zsh) return render_zsh(app);
  if (arguments.fish) return render_fish(app);
  if (arguments.json) return render_manual_json(app);
  if (arguments.metrics) return metrics_json() + "\n";
  return render_man(app, version);
}

}  // namespace forerun
