#include "cli/predict_command.hpp"

#include <algorithm>

#include "cli/fail.hpp"
#include "cli/predict_lines.hpp"
#include "cli/progress_bar.hpp"
#include "cli/render.hpp"
#include "cli/render_parts.hpp"
#include "service/edge_answer.hpp"
#include "service/json.hpp"
#include "service/predict_csv.hpp"
#include "service/serving_question.hpp"

namespace forerun {
namespace {

bool is_one_device(const Request& request) { return request.devices.size() == 1 && request.devices[0] != "all"; }

// Options that ask about a pass. Without them a person who names a language model asks how it serves.
constexpr std::string_view kPassOptions[] = {"phase",   "seq",           "batch",       "train",      "optimizer",
                                             "runtime", "runtimes",      "predictor",   "host-speed", "steps",
                                             "samples", "memory-budget", "tokens",      "store",      "last-logits",
                                             "explain", "dim",           "micro-batch", "assert"};

Result<bool> is_about_serving(const Service& service, const Arguments& arguments, const Request& request) {
  if (asks_for_serving(request)) return false;  // it is already
  if (std::any_of(std::begin(kPassOptions), std::end(kPassOptions),
                  [&](std::string_view option) { return arguments.has(option); }))
    return false;
  FORERUN_TRY(const EdgePlatform* const edge, edge_platform_of(request));
  if (edge != nullptr) return false;
  return service.is_language_model(request);
}

}  // namespace

CLI::App* add_predict_command(CLI::App& app, Arguments& arguments) {
  auto* predict = app.add_subcommand("predict", "latency, memory, energy, cost and carbon on one device or many");
  predict->add_option("MODEL", arguments.model, "a model, or - for one JSON request per line on standard input")
      ->required();
  add_options(predict, kPredictAll, arguments);
  auto* json = predict->add_flag("--json", arguments.json, "one JSON object")->group("Output");
  predict->add_flag("--csv", arguments.csv, "one row per device, every number with its interval")
      ->excludes(json)
      ->group("Output");
  predict
      ->add_option_function<std::string>(
          "--columns", [&arguments](const std::string& keys) { arguments.columns = CLI::detail::split(keys, ','); },
          "columns of the table or of the CSV, by key")
      ->type_name("KEY[,KEY…]")
      ->group("Output");
  predict->add_flag("--strict", arguments.strict, "with -: status 2 when a line fails")->group("Output");
  predict->add_flag("--no-config", arguments.no_config, "without the defaults of ~/.config/forerun/config.json")
      ->group("Output");
  predict->footer(
      "Examples:\n"
      "  forerun predict resnet50 --device l4,t4 --batch 8 --precision fp16\n"
      "  forerun predict model.onnx --device l4 --fps 30\n"
      "  forerun predict meta-llama/Llama-3.1-8B --device all --users 50 --fits-only --sort usd_per_hour --top 5\n"
      "  forerun predict model.onnx --device l4 --batch 1 --assert 'latency_ms<5'");
  return predict;
}

int run_predict(const Service& service, Arguments& arguments, std::istream& in, std::ostream& out, std::ostream& err) {
  if (arguments.model == "-") return predict_lines(service, in, out, arguments.strict);
  if (arguments.strict) return fail(bad_input("--strict: of lines of requests: forerun predict - --strict"), err);
  auto request = arguments.request(kPredictAll);
  if (!request) return fail(request.error(), err);
  if (!request->runtime && is_one_device(*request)) request->runtimes = true;
  if (!arguments.json) {  // scripts ask as they always did
    const auto serves = is_about_serving(service, arguments, *request);
    if (!serves) return fail(serves.error(), err);
    if (*serves) request->concurrency = 1;
  }
  request->remedies = request->remedies || !arguments.json || has_limits(*request) || request->users;
  request->progress = std::make_shared<Progress>();
  std::optional<Result<PredictReport>> report;
  {
    const ProgressBar bar(request->progress, "asking about " + request->model);
    report.emplace(service.predict(*request));
  }
  if (!*report) return fail(report->error(), err);
  View view = view_of(out);
  view.explain = request->explain;
  view.columns = arguments.columns;
  Result<std::string> text = arguments.json  ? Result<std::string>(to_json(**report) + "\n")
                             : arguments.csv ? to_csv(**report, arguments.columns)
                                             : render_table(**report, view);
  if (!text) return fail(text.error(), err);
  out << *text;
  bool all_hold = true;
  for (const Checked& checked : (*report)->assertions) {
    if (checked.holds) continue;
    all_hold = false;
    err << "forerun: " << checked.device << ": " << checked.assertion
        << " does not hold: " << (checked.value ? "it is " + number(*checked.value) : "it is not estimated") << "\n";
  }
  return all_hold ? 0 : kAssertionStatus;
}

}  // namespace forerun
