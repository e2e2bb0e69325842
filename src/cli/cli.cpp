#include "cli/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>

#include "cli/catalogue_commands.hpp"
#include "cli/fail.hpp"
#include "cli/interrupt.hpp"
#include "cli/manual_command.hpp"
#include "cli/predict_lines.hpp"
#include "cli/render.hpp"
#include "cli/serve_command.hpp"
#include "cli/space_commands.hpp"
#include "service/json.hpp"
#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun {
namespace {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// Command-line values as written, applied to the request after parsing.
struct Arguments {
  std::string model;
  bool json = false, text = false, nodes = false, csv = false;
  std::string svg;
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, bool> flags;

  std::optional<InterruptScope> interrupts;  // from the request on

  Result<Request> request() {
    interrupts.emplace();
    Request request;
    request.model = model;
    request.cancel = interrupts->token();
    for (const Option& option : all_options()) {
      const std::string name(option.name);
      if (option.kind == OptionKind::Flag) {
        if (const auto found = flags.find(name); found != flags.end() && found->second)
          FORERUN_CHECK(option.apply(request, ""));
      } else if (const auto found = values.find(name); found != values.end()) {
        for (const std::string& value : found->second) FORERUN_CHECK(option.apply(request, value));
      }
    }
    return request;
  }
};

void add_options(CLI::App* command, unsigned which, Arguments& arguments) {
  for (const Option& option : all_options()) {
    if ((option.commands & which) == 0) continue;
    const std::string name(option.name);
    std::string help(option.help);
    if (!option.choices.empty()) help += " (" + std::string(option.choices) + ")";
    if (option.kind == OptionKind::Flag) {
      command->add_flag("--" + name, arguments.flags[name], help);
    } else {
      auto* added = command->add_option("--" + name, arguments.values[name], help);
      added->type_name(std::string(option.placeholder))->expected(1);
      if (option.kind == OptionKind::Dims || option.kind == OptionKind::Shapes || option.kind == OptionKind::List) {
        added->take_all();
      } else {
        added->take_last();
      }
    }
  }
}

bool is_one_device(const Request& request) { return request.devices.size() == 1 && request.devices[0] != "all"; }

template <typename Report>
int answer(const Result<Report>& report, const Streams& io, const std::function<std::string(const Report&)>& render) {
  if (!report) return fail(report.error(), io.err);
  io.out << render(*report);
  return 0;
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return bool(file.flush());
}

int dispatch(const std::vector<std::string>& arguments, const Streams& io) {
  CLI::App app(
      "Forerun tells how a neural network will run before it runs: latency, memory, energy, cost and carbon on any "
      "GPU.");
  app.name("forerun");
  app.require_subcommand(1);
  app.set_version_flag("--version", "forerun " FORERUN_VERSION);
  Arguments args;
  std::string name;
  int status = 0;
  const auto service = [&]() { return Service::create(); };
  const auto warn_of = [&](const Catalogue& catalogue) {
    for (const std::string& problem : catalogue.problems()) io.err << "forerun: warning: " << problem << "\n";
  };
  const auto run = [&](auto&& body) {
    const auto made = service();
    status = made ? body(**made) : fail(made.error(), io.err);
  };

  auto* inspect = app.add_subcommand("inspect", "what a network is made of and what it costs");
  inspect
      ->add_option("MODEL", args.model,
                   "a model file, a Hugging Face config.json or folder, or a name from 'forerun networks'")
      ->required();
  add_options(inspect, kInspect, args);
  auto* as_json = inspect->add_flag("--json", args.json, "one JSON object");
  auto* as_text = inspect->add_flag("--text", args.text, "a summary in plain English")->excludes(as_json);
  auto* nodes = inspect->add_flag("--nodes", args.nodes, "one row per node: operands, shapes, attributes and costs")
                    ->excludes(as_text);
  inspect->add_flag("--csv", args.csv, "the nodes as CSV")->needs(nodes)->excludes(as_json);
  inspect->callback([&] {
    run([&](const Service& s) {
      const auto request = args.request();
      if (!request) return fail(request.error(), io.err);
      if (args.nodes) {
        return answer<NodesReport>(s.nodes(*request), io, [&](const NodesReport& r) {
          return args.json ? to_json(r) + "\n" : args.csv ? to_csv(r) : render_table(r);
        });
      }
      return answer<InspectReport>(s.inspect(*request), io, [&](const InspectReport& r) {
        return args.json ? to_json(r) + "\n" : args.text ? render_summary(r) : render_table(r);
      });
    });
  });

  auto* predict = app.add_subcommand("predict", "latency, memory, energy, cost and carbon on one device or many");
  predict->add_option("MODEL", args.model, "a model, or - for one JSON request per line on standard input")->required();
  add_options(predict, kPredictAll, args);
  predict->add_flag("--json", args.json, "one JSON object");
  predict->callback([&] {
    run([&](const Service& s) {
      if (args.model == "-") return predict_lines(s, io.in, io.out);
      auto request = args.request();
      if (!request) return fail(request.error(), io.err);
      if (!request->runtime && is_one_device(*request)) request->runtimes = true;
      return answer<PredictReport>(s.predict(*request), io, [&](const PredictReport& r) {
        return args.json ? to_json(r) + "\n" : render_table(r, request->explain);
      });
    });
  });

  auto* advise = app.add_subcommand("advise", "what to change, and what each change is worth");
  advise->add_option("MODEL", args.model, "a model")->required();
  add_options(advise, kAdviseAll, args);
  advise->add_flag("--json", args.json, "one JSON object");
  advise->callback([&] {
    run([&](const Service& s) {
      const auto request = args.request();
      if (!request) return fail(request.error(), io.err);
      return answer<AdviseReport>(s.advise(*request), io, [&](const AdviseReport& r) {
        return args.json ? to_json(r) + "\n" : render_table(r);
      });
    });
  });

  auto* plan = app.add_subcommand("plan",
                                  "the fastest layouts of a network on several devices, or with --serve the "
                                  "cheapest deployments that serve a load");
  plan->add_option("MODEL", args.model, "a model")->required();
  add_options(plan, kPlanAll, args);
  plan->add_option("--svg", args.svg, "with --serve: write price against latency to this file")->type_name("FILE");
  plan->add_flag("--json", args.json, "one JSON object");
  plan->callback([&] {
    run([&](const Service& s) {
      const auto request = args.request();
      if (!request) return fail(request.error(), io.err);
      if (!args.svg.empty() && !request->serve)
        return fail(bad_input("--svg: a chart of deployments; add --serve and --rate"), io.err);
      const auto report = s.plan(*request);
      if (report && !args.svg.empty() && !write_file(args.svg, render_svg(std::get<ServingPlan>(*report))))
        return fail({ErrorKind::Io, args.svg + ": cannot write"}, io.err);
      return answer<PlanReport>(report, io, [&](const PlanReport& r) {
        return args.json ? to_json(r) + "\n" : std::visit([](const auto& one) { return render_table(one); }, r);
      });
    });
  });

  auto* mig = app.add_subcommand("mig", "which MIG slice of a card the network needs");
  mig->add_option("MODEL", args.model, "a model")->required();
  add_options(mig, kMig, args);
  mig->add_flag("--json", args.json, "one JSON object");
  mig->callback([&] {
    run([&](const Service& s) {
      const auto request = args.request();
      if (!request) return fail(request.error(), io.err);
      return answer<MigReport>(s.mig(*request), io,
                               [&](const MigReport& r) { return args.json ? to_json(r) + "\n" : render_table(r); });
    });
  });

  auto* roofline = app.add_subcommand("roofline", "what bounds each kernel, as a chart");
  roofline->add_option("MODEL", args.model, "a model")->required();
  add_options(roofline, kRoofline, args);
  roofline->add_option("--svg", args.svg, "write the chart to this file")->type_name("FILE");
  roofline->add_flag("--json", args.json, "one JSON object");
  roofline->callback([&] {
    run([&](const Service& s) {
      const auto request = args.request();
      if (!request) return fail(request.error(), io.err);
      const auto report = s.roofline(*request);
      if (report && !args.svg.empty() && !write_file(args.svg, render_svg(*report)))
        return fail({ErrorKind::Io, args.svg + ": cannot write"}, io.err);
      return answer<RooflineReport>(
          report, io, [&](const RooflineReport& r) { return args.json ? to_json(r) + "\n" : render_chart(r); });
    });
  });

  SweepArguments sweep;
  add_sweep_command(app, sweep)->callback([&] { status = run_sweep_command(sweep, io.out, io.err); });
  SearchArguments search;
  add_search_command(app, search)->callback([&] {
    run([&](const Service& s) { return run_search_command(s, search, io.out, io.err); });
  });

  std::vector<std::string> device_files;
  auto* devices = app.add_subcommand("devices", "the device catalogue");
  devices->add_option("ID", name, "one device");
  devices->add_option("--device-file", device_files, "a device description of your own, to be listed too")
      ->type_name("FILE")
      ->take_all();
  std::string kind;
  devices->add_option("--kind", kind, "edge: phones and boards of which latency alone is known")
      ->check(CLI::IsMember({"edge"}));
  devices->add_flag("--json", args.json, "JSON");
  devices->callback([&] {
    if (!kind.empty() || is_edge_platform(name)) {
      status = show_edge_platforms(name, args.json, io.out, io.err);
      return;
    }
    const auto made = Service::create({.device_files = device_files});
    if (made) warn_of((*made)->catalogue());
    status = made ? show_devices((*made)->catalogue(), name, args.json, io.out, io.err) : fail(made.error(), io.err);
  });

  auto* predictors = app.add_subcommand("predictors", "what answers, and on what it rests");
  predictors->add_flag("--json", args.json, "JSON");
  predictors->callback([&] { run([&](const Service& s) { return show_predictors(s, args.json, io.out); }); });

  auto* networks = app.add_subcommand("networks", "the networks that ship with the program");
  networks->add_option("NAME", name, "one network's configuration");
  networks->add_flag("--json", args.json, "JSON");
  networks->callback([&] { status = show_networks(name, args.json, io.out, io.err); });

  ServeArguments serve;
  add_serve_command(app, serve)->callback([&] {
    const auto made = Service::create({.device_files = serve.device_files});
    if (made) warn_of((*made)->catalogue());
    const Status served = made ? run_serve(**made, serve, io.err) : Status(made.error());
    status = served ? 0 : fail(served.error(), io.err);
  });

  ManualArguments manual;
  add_manual_command(app, manual)->callback([&] { io.out << render_manual(app, manual, FORERUN_VERSION); });

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    io.out << app.help();
    return 0;
  } catch (const CLI::CallForAllHelp&) {
    io.out << app.help("", CLI::AppFormatMode::All);
    return 0;
  } catch (const CLI::CallForVersion&) {
    io.out << "forerun " FORERUN_VERSION "\n";
    return 0;
  } catch (const CLI::ParseError& error) {
    return fail(bad_input(std::string(error.what()) + " (forerun --help shows the commands)"), io.err);
  }
  return status;
}

}  // namespace

int run_cli(const std::vector<std::string>& arguments, std::istream& in, std::ostream& out, std::ostream& err) {
  const Streams io{in, out, err};
  try {
    const int status = dispatch(arguments, io);
    out.flush();
    return out ? status : 1;
  } catch (const std::exception& error) {
    return fail(internal_error(std::string("unexpected failure: ") + error.what()), err);
  }
}

}  // namespace forerun
