#include "commands/adapt_platform.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "analysis/analyze.hpp"
#include "base/text_file.hpp"
#include "base/user_folder.hpp"
#include "commands/measured_rows.hpp"
#include "training/platforms/platform_fit.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWordsOfId = 4;

// "My phone, 2 cores" -> "my-phone-2-cores".
std::string id_of(const std::string& text) {
  std::string id;
  std::size_t words = 1;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      id += char(std::tolower(static_cast<unsigned char>(c)));
    } else if (!id.empty() && id.back() != '-') {
      if (++words > kWordsOfId) break;
      id += '-';
    }
  }
  while (!id.empty() && id.back() == '-') id.pop_back();
  return id.substr(0, 64);
}

// Rates of the shipped platforms in this precision, else in any; the one whose description is nearest first.
std::vector<KnownRates> known_rates(const EdgePlatforms& shipped, Precision precision, const std::string& text) {
  std::vector<KnownRates> known;
  std::vector<std::string> descriptions;
  for (const bool same : {true, false}) {
    for (const EdgePlatform& platform : shipped.platforms) {
      for (const auto& [other, rates] : platform.rates) {
        if ((other == precision) != same) continue;
        known.push_back({platform.id, rates.ms});
        descriptions.push_back(platform.description);
      }
    }
    if (!known.empty()) break;
  }
  std::swap(known.front(), known[nearest_description(text, descriptions)]);
  return known;
}

}  // namespace

Status adapt_platform(const AdaptPlatformOptions& options) {
  EdgePlatform platform;
  platform.id = options.id.empty() ? id_of(options.text) : options.id;
  platform.name = options.text.substr(0, options.text.find_first_of(",;:."));
  platform.kind = "board";
  platform.description = options.text;
  platform.source = "rows of " + fs::path(options.measurements).filename().string();
  platform.command = "forerun-lab adapt --platform";
  FORERUN_TRY(const std::vector<Example> examples, load_measured_rows(options.measurements, platform.id));
  std::map<Precision, std::vector<PlatformFitRow>> by_precision;
  std::size_t left_out = 0;
  for (const Example& e : examples) {
    const auto measured = e.metrics.find(kLatencyEager);
    if (measured == e.metrics.end() || e.workload.binding.batch.value_or(1) != 1 || e.workload.training) {
      ++left_out;
      continue;
    }
    FORERUN_TRY(const Graph graph, analyze(*e.net, e.workload.binding));
    by_precision[e.workload.precision].push_back(
        {sum_operators(list_kernels(graph, e.workload)), measured->second, e.network, e.family});
  }
  if (left_out > 0)
    std::fprintf(stderr, "%zu rows left out: latency of inference with batch 1 is what a platform is adapted to\n",
                 left_out);
  if (by_precision.empty()) return bad_input(options.measurements + ": no measured latency of batch 1 to adapt with");
  const EdgePlatforms shipped = EdgePlatforms::shipped();
  for (const auto& [precision, rows] : by_precision) {
    const AdaptedRates adapted = adapt_rates(rows, known_rates(shipped, precision, options.text));
    platform.rates.emplace(precision, adapted.rates);
    std::printf(
        "%s: %zu rows, %s%s%s: off by %.0f %% on folds of networks (the nearest platform as it is: %.0f %%), within "
        "±%.0f %% (90 %%)\n",
        std::string(name_of(precision)).c_str(), rows.size(), adapted.chosen.c_str(), adapted.base.empty() ? "" : " ",
        adapted.base.c_str(), 100 * std::expm1(adapted.cv_error), 100 * std::expm1(adapted.nearest_error),
        100 * std::expm1(adapted.rates.half_width));
  }
  const std::string text = to_json(platform);
  FORERUN_CHECK(parse_edge_platform(text, "--id"));
  fs::path path = options.out;
  if (options.out.empty()) {
    const fs::path own = user_folder();
    if (own.empty()) return bad_input("neither HOME nor XDG_CONFIG_HOME is set: say where to write with --out");
    std::error_code failed;
    fs::create_directories(own / "edge", failed);
    path = own / "edge" / (platform.id + ".json");
  }
  FORERUN_CHECK(write_text_file(path.string(), text));
  std::printf("%s: forerun predict --device %s uses it from now on; remove the file to undo\n", path.c_str(),
              platform.id.c_str());
  return ok();
}

}  // namespace forerun
