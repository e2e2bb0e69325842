#include "cli/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>

#include "cli/arguments.hpp"
#include "cli/catalogue_commands.hpp"
#include "cli/compare_command.hpp"
#include "cli/fail.hpp"
#include "cli/help_commands.hpp"
#include "cli/manual_command.hpp"
#include "cli/misspelled.hpp"
#include "cli/predict_command.hpp"
#include "cli/render.hpp"
#include "cli/serve_command.hpp"
#include "cli/space_commands.hpp"
#include "service/json.hpp"
#include "service/options.hpp"
#include "service/service.hpp"
#include "service/version.hpp"

namespace forerun {
namespace {

struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

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
  app.get_formatter()->column_width(34);
  app.set_version_flag("--version", version_line());
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
      const auto request = args.request(kInspect);
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

  add_predict_command(app, args)->callback(
      [&] { run([&](const Service& s) { return run_predict(s, args, io.in, io.out, io.err); }); });

  add_compare_command(app, args)->callback(
      [&] { run([&](const Service& s) { return run_compare(s, args, io.out, io.err); }); });

  auto* advise = app.add_subcommand("advise", "what to change, and what each change is worth");
  advise->add_option("MODEL", args.model, "a model")->required();
  add_options(advise, kAdviseAll, args);
  advise->add_flag("--json", args.json, "one JSON object");
  advise->callback([&] {
    run([&](const Service& s) {
      const auto request = args.request(kAdviseAll);
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
      const auto request = args.request(kPlanAll);
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
      const auto request = args.request(kMig);
      if (!request) return fail(request.error(), io.err);
      return answer<MigReport>(s.mig(*request), io,
                               [&](const MigReport& r) { return args.json ? to_json(r) + "\n" : render_table(r); });
    });
  });

  auto* roofline = app.add_subcommand("roofline", "what bounds each kernel, as a chart");
  roofline->add_option("MODEL", args.model, "a model; or --operator");
  add_options(roofline, kRoofline, args);
  roofline->add_option("--svg", args.svg, "write the chart to this file")->type_name("FILE");
  roofline->add_flag("--json", args.json, "one JSON object");
  roofline->callback([&] {
    run([&](const Service& s) {
      const auto request = args.request(kRoofline);
      if (!request) return fail(request.error(), io.err);
      if (request->model.empty() && request->one_operator.empty())
        return fail(bad_input("roofline: give MODEL or --operator"), io.err);
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
  add_manual_command(app, manual)->callback([&] {
    io.out << render_manual(app, manual, std::string(program_version()));
  });

  HelpArguments help;
  const View view = view_of(io.out);
  add_help_commands(app, help, view, [&](const std::string& text) { io.out << text; });
  if (const auto problem = find_misspelled(app, arguments)) return fail(*problem, io.err);

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    io.out << wrapped(view, app.help());
    return 0;
  } catch (const CLI::CallForAllHelp&) {
    io.out << app.help("", CLI::AppFormatMode::All);
    return 0;
  } catch (const CLI::CallForVersion&) {
    io.out << version_line() << "\n";
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
