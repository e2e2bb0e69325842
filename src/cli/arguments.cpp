#include "cli/arguments.hpp"

#include <algorithm>

#include "cli/defaults.hpp"

namespace forerun {
namespace {

struct Group {
  std::string_view title;
  std::string_view options;  // names between spaces
};
// In the order of --help. Options of no row are shown under "More".
constexpr Group kGroups[] = {
    {"What runs",
     " batch seq dim input precision weights runtime runtimes attention phase train optimizer last-logits steps "
     "host-speed "},
    {"Where", " device device-file system fabric gpus nodes region pue price "},
    {"Limits and what is shown",
     " max-latency-ms min-throughput fps slo-ttft-ms slo-tpot-ms max-usd-per-hour users memory-budget assert remedies "
     "fits-only sort top explain store "},
    {"Serving a language model",
     " input-tokens output-tokens concurrency request-rate burstiness input-cv output-cv trace engine engine-version "
     "disaggregated prefill-tensor-parallel attention-data-parallel kv-precision seed "},
    {"Several devices",
     " tensor-parallel pipeline-parallel data-parallel expert-parallel context-parallel zero global-batch micro-batch "
     "schedule checkpointing offload-optimizer lora-rank "},
    {"Totals of a run", " samples tokens samples-per-s-input "},
};

// Place of an option's group in kGroups; one past the end for options of none.
std::size_t group_of(std::string_view option) {
  const std::string word = " " + std::string(option) + " ";
  const auto row = std::find_if(std::begin(kGroups), std::end(kGroups),
                                [&](const Group& group) { return group.options.find(word) != std::string_view::npos; });
  return std::size_t(row - std::begin(kGroups));
}

}  // namespace

bool Arguments::has(std::string_view option) const {
  const std::string name(option);
  const auto value = values.find(name);
  const auto flag = flags.find(name);
  return (value != values.end() && !value->second.empty()) || (flag != flags.end() && flag->second);
}

Result<Request> Arguments::request(unsigned which) {
  interrupts.emplace();
  Request request;
  request.model = model;
  request.cancel = interrupts->token();
  std::map<std::string, std::vector<std::string>> defaults;
  if (!no_config) {
    FORERUN_TRY(defaults, read_defaults());
  }
  for (const Option& option : all_options()) {
    const std::string name(option.name);
    if (has(name)) {
      for (const std::string& value : option.kind == OptionKind::Flag ? std::vector<std::string>{""} : values[name])
        FORERUN_CHECK(option.apply(request, value));
    } else if (const auto own = defaults.find(name); own != defaults.end() && (option.commands & which) != 0) {
      for (const std::string& value : own->second) FORERUN_CHECK(option.apply(request, value));
    }
  }
  return request;
}

void add_options(CLI::App* command, unsigned which, Arguments& arguments) {
  std::vector<Option> rows(all_options().begin(), all_options().end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Option& a, const Option& b) { return group_of(a.name) < group_of(b.name); });
  for (const Option& option : rows) {
    if ((option.commands & which) == 0) continue;
    const std::string name(option.name);
    std::string help(option.help);
    if (!option.choices.empty()) help += " (" + std::string(option.choices) + ")";
    CLI::Option* added = nullptr;
    if (option.kind == OptionKind::Flag) {
      added = command->add_flag("--" + name, arguments.flags[name], help);
    } else {
      added = command->add_option("--" + name, arguments.values[name], help);
      added->type_name(std::string(option.placeholder))->expected(1);
      if (option.kind == OptionKind::Dims || option.kind == OptionKind::Shapes || option.kind == OptionKind::List) {
        added->take_all();
      } else {
        added->take_last();
      }
    }
    const std::size_t group = group_of(option.name);
    added->group(group < std::size(kGroups) ? std::string(kGroups[group].title) : "More");
  }
}

}  // namespace forerun
