#include "cli/compare_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/fail.hpp"
#include "cli/progress_bar.hpp"
#include "cli/render.hpp"
#include "cli/render_parts.hpp"
#include "cli/text_table.hpp"
#include "service/compare.hpp"

namespace forerun {
namespace {

constexpr std::size_t kShown = 12;

std::string shape_of(const TensorInfo& tensor) {
  return tensor.shape_known ? fmt::format("[{}]", fmt::join(tensor.shape, ", ")) : "?";
}

std::string sizes_table(const CompareReport& r, const View& view) {
  TextTable table({{"what", "", 0, true}, {"a", "A"}, {"b", "B"}, {"change", "", 1}});
  const auto add = [&](const char* what, double a, double b, const auto& text) {
    table.add({what, text(a), text(b), a > 0 && a != b ? fmt::format("{:+.3g} %", 100 * (b / a - 1)) : ""});
  };
  const Totals &a = r.a.totals, &b = r.b.totals;
  add("nodes", double(a.nodes), double(b.nodes), number);
  add("parameters", double(a.parameters), double(b.parameters), human_count);
  add("MACs", double(a.macs), double(b.macs), human_count);
  add("FLOPs", double(a.flops), double(b.flops), human_count);
  add("bytes moved", double(a.bytes_moved), double(b.bytes_moved), human_bytes);
  const auto shapes = [&](const char* what, const std::vector<TensorInfo>& x, const std::vector<TensorInfo>& y) {
    for (std::size_t i = 0; i < std::max(x.size(), y.size()); ++i)
      table.add({fmt::format("{} {}", what, i < x.size() ? x[i].name : y[i].name), i < x.size() ? shape_of(x[i]) : "-",
                 i < y.size() ? shape_of(y[i]) : "-"});
  };
  shapes("in ", r.a.inputs, r.b.inputs);
  shapes("out", r.a.outputs, r.b.outputs);
  return table.render(view);
}

std::string device_table(const DeviceComparison& on, const View& view) {
  TextTable table({{"operators", "  operators", 0, true},
                   {"a", "kernels A", 1},
                   {"b", "B", 1},
                   {"a_ms", "ms A", 0},
                   {"b_ms", "B", 0},
                   {"difference_ms", "difference", 0}});
  for (std::size_t i = 0; i < std::min(kShown, on.kinds.size()); ++i) {
    const KindDifference& kind = on.kinds[i];
    table.add({"  " + kind.kind, std::to_string(kind.count_a), std::to_string(kind.count_b), number(kind.ms_a),
               number(kind.ms_b), fmt::format("{:+.3g}", kind.difference_ms())});
  }
  return "\n" + wrapped(view, on.text) + "\n" + table.render(view);
}

std::string render(const CompareReport& r, const View& view) {
  std::string text = wrapped(view, fmt::format("A: {}\nB: {}\n", r.title_a, r.title_b));
  text += "\n" + wrapped(view, coloured(view, Colour::Strong, r.text)) + "\n\n" + sizes_table(r, view);
  if (!r.operators.empty()) {
    TextTable table({{"operator", "operator", 0, true}, {"a", "A"}, {"b", "B"}});
    for (std::size_t i = 0; i < std::min(kShown, r.operators.size()); ++i)
      table.add({r.operators[i].name, std::to_string(r.operators[i].count_a), std::to_string(r.operators[i].count_b)});
    text += "\noperators whose counts differ\n" + table.render(view);
  }
  for (const DeviceComparison& on : r.devices) text += device_table(on, view);
  return text + (r.warnings.empty() ? "" : "\n" + wrapped(view, notes(r.warnings)));
}

}  // namespace

CLI::App* add_compare_command(CLI::App& app, Arguments& arguments) {
  auto* compare = app.add_subcommand("compare", "what differs between two networks, or two exports of one");
  compare->add_option("A", arguments.model, "a model")->required();
  compare->add_option("B", arguments.other, "the model to compare with")->required();
  add_options(compare, kPredict, arguments);
  compare->add_flag("--json", arguments.json, "one JSON object")->group("Output");
  compare->footer("Examples:\n  forerun compare legacy.onnx dynamo.onnx --device l4 --precision fp16");
  return compare;
}

int run_compare(const Service& service, Arguments& arguments, std::ostream& out, std::ostream& err) {
  const auto request = arguments.request(kPredict);
  if (!request) return fail(request.error(), err);
  const ProgressBar bar(nullptr, "comparing");
  const auto report = compare_networks(service, *request, arguments.other);
  if (!report) return fail(report.error(), err);
  out << (arguments.json ? to_json(*report) + "\n" : render(*report, view_of(out)));
  return 0;
}

}  // namespace forerun
