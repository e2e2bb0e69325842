#include "evaluation/platforms/report_platforms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "dataset/splits.hpp"
#include "training/platforms/platform_fit.hpp"

namespace forerun {
namespace {

constexpr std::array<std::size_t, 4> kShots = {10, 32, 100, 300};
constexpr std::size_t kLeastJudged = 8;

// One platform in one precision.
struct Unit {
  const PlatformSource* source = nullptr;
  Precision precision = Precision::Fp32;
  std::vector<PlatformFitRow> rows;
  OperatorSums ms{};  // fitted to all rows: what other platforms may build on
  [[nodiscard]] std::string label() const {
    return source->hub_name.empty() ? source->id : fmt::format("{} ({})", source->id, name_of(precision));
  }
};

std::vector<Unit> make_units(std::span<const PlatformSource> sources, std::span<const PlatformRow> rows) {
  std::map<std::pair<std::string, Precision>, std::vector<PlatformFitRow>> groups;
  for (const PlatformRow& row : rows)
    groups[{row.platform, row.precision}].push_back({row.sums, row.measured_ms, row.network, row.family});
  std::vector<Unit> units;
  for (const PlatformSource& source : sources) {
    for (auto& [key, group] : groups) {
      if (key.first != source.id) continue;
      Unit unit{&source, key.second, std::move(group), {}};
      unit.ms = fit_rates(unit.rows, tied_rates(unit.rows), 1e-2);
      units.push_back(std::move(unit));
    }
  }
  return units;
}

// What is known without rows of this platform: the others, of the same precision where there are such, the one whose
// description is nearest first.
std::vector<KnownRates> known_without(std::span<const Unit> units, const Unit& held_out) {
  std::vector<KnownRates> known;
  std::vector<std::string> descriptions;
  for (const bool same : {true, false}) {
    for (const Unit& unit : units) {
      if (unit.source->id == held_out.source->id || (unit.precision == held_out.precision) != same) continue;
      known.push_back({unit.label(), unit.ms});
      descriptions.push_back(unit.source->description);
    }
    if (!known.empty()) break;
  }
  std::swap(known.front(), known[nearest_description(held_out.source->description, descriptions)]);
  return known;
}

struct Score {
  double within = 0, mape = 0, standard_error = 0;  // percent
};
Score score(std::span<const PlatformFitRow* const> judged, const OperatorSums& ms) {
  Score s;
  std::vector<double> errors;
  for (const PlatformFitRow* row : judged) {
    const double predicted = std::inner_product(row->sums.begin(), row->sums.end(), ms.begin(), 0.0);
    errors.push_back(100 * std::abs(predicted / row->measured_ms - 1));
    s.mape += errors.back() / double(judged.size());
    s.within += errors.back() <= 10 ? 100.0 / double(judged.size()) : 0;
  }
  for (const double error : errors) s.standard_error += std::pow(error - s.mape, 2);
  s.standard_error = std::sqrt(s.standard_error / std::max(1.0, double(errors.size()) - 1) / double(errors.size()));
  return s;
}

struct Scores {
  std::vector<double> within, mape;
  void add(const Score& s) {
    within.push_back(s.within);
    mape.push_back(s.mape);
  }
  [[nodiscard]] std::string cell() const {
    if (mape.empty()) return "–";
    return fmt::format("{:.0f} / {:.1f} ± {:.1f}", repeated(within).mean, repeated(mape).mean, repeated(mape).spread);
  }
};

// How often `adapt` was worse than the answer without rows, and whether by more than noise.
struct Harm {
  std::size_t trials = 0, worse = 0, beyond_noise = 0;
  double most = 0;
  std::string where = "none";
  std::map<std::string, std::size_t> chosen;
  void add(const Score& without, const Score& with, const std::string& label, std::size_t shots) {
    ++trials;
    const double harm = with.mape - without.mape;
    if (harm <= 0) return;
    ++worse;
    if (harm > 2 * std::hypot(with.standard_error, without.standard_error)) ++beyond_noise;
    if (harm > most) most = harm, where = fmt::format("{}, {} rows", label, shots);
  }
};

// What a unit's rows give under one number of shots.
struct Line {
  std::map<std::size_t, Scores> linear, adapted;  // by shots
  Scores nearest, typical;
  std::size_t judged = 0;
};

Line study_unit(std::span<const Unit> units, const Unit& unit, const PlatformStudyOptions& options, Harm& harm) {
  Line line;
  const std::vector<KnownRates> known = known_without(units, unit);
  for (int seed = 1; seed <= options.seeds; ++seed) {
    std::vector<const PlatformFitRow*> order;
    for (const PlatformFitRow& row : unit.rows) order.push_back(&row);
    std::sort(order.begin(), order.end(), [&](const PlatformFitRow* a, const PlatformFitRow* b) {
      return mix_seed(a->network, std::uint64_t(seed)) < mix_seed(b->network, std::uint64_t(seed));
    });
    // Judged are the same rows for every number of shots: those behind the most that leaves enough.
    std::size_t most = 0;
    for (const std::size_t shots : kShots) {
      if (order.size() >= shots + kLeastJudged) most = shots;
    }
    if (most == 0) continue;
    const std::span judged =
        std::span<const PlatformFitRow* const>(order).subspan(most, std::min(options.judged, order.size() - most));
    line.judged = judged.size();
    const Score without = score(judged, known.front().ms);
    line.nearest.add(without);
    for (const std::size_t shots : kShots) {
      if (shots > most) break;
      std::vector<PlatformFitRow> few;
      for (std::size_t i = 0; i < shots; ++i) few.push_back(*order[i]);
      OperatorSums constant{};
      std::vector<double> times;
      for (const PlatformFitRow& row : few) times.push_back(row.measured_ms);
      constant.back() = quantile(times, 0.5);
      if (shots == std::min<std::size_t>(32, most)) line.typical.add(score(judged, constant));
      line.linear[shots].add(score(judged, fit_edge_rates(few).ms));
      const AdaptedRates adapted = adapt_rates(few, known);
      const Score with = score(judged, adapted.rates.ms);
      line.adapted[shots].add(with);
      harm.add(without, with, unit.label(), shots);
      ++harm.chosen[adapted.chosen];
    }
  }
  return line;
}

}  // namespace

ReportSection report_platforms(std::span<const PlatformSource> sources, std::span<const PlatformRow> rows,
                               const PlatformStudyOptions& options,
                               const std::function<void(const std::string&)>& progress) {
  const std::vector<Unit> units = make_units(sources, rows);
  Harm harm;
  ReportTable table{.caption = "Each cell: share within 10 % / MAPE ± spread, in percent",
                    .columns = {"platform", "kind", "rows", "judged", "median, 32 rows", "nearest description, 0 rows"},
                    .rows = {}};
  for (const std::size_t shots : kShots) table.columns.push_back(fmt::format("linear, {} rows", shots));
  for (const std::size_t shots : kShots) table.columns.push_back(fmt::format("adapt, {} rows", shots));
  for (const Unit& unit : units) {
    const Line line = study_unit(units, unit, options, harm);
    if (line.judged == 0) continue;
    std::vector<std::string> cells = {
        unit.label(),        unit.source->kind,  std::to_string(unit.rows.size()), std::to_string(line.judged),
        line.typical.cell(), line.nearest.cell()};
    for (const auto* found : {&line.linear, &line.adapted}) {
      for (const std::size_t shots : kShots) cells.push_back(found->contains(shots) ? found->at(shots).cell() : "–");
    }
    progress(fmt::format("{}", fmt::join(cells, "  ")));
    table.rows.push_back(std::move(cells));
  }
  std::string chosen;
  for (const auto& [name, times] : harm.chosen)
    chosen += fmt::format("{}{} {}", chosen.empty() ? "" : ", ", name, times);
  ReportSection section;
  section.id = "platforms";
  section.heading = "Platforms without a physical model";
  section.text = fmt::format(
      "{} rows of {} platform and precision pairs. A fit sees the networks of some rows and is judged on others, the "
      "same "
      "for every number of rows; {} seeds. Linear: non-negative rates of operator sums. Adapt: the candidate that five "
      "folds of the rows choose (chosen how often: {}); it may build on other platforms' rates, which were fitted to "
      "the "
      "same networks there. Without rows the platform with the nearest description "
      "answers. "
      "Of {} trials adapt was worse than that in {}, in {} beyond two standard errors; the most by {:.1f} points of "
      "MAPE "
      "({}).",
      rows.size(), units.size(), options.seeds, chosen, harm.trials, harm.worse, harm.beyond_noise, harm.most,
      harm.where);
  section.tables = {std::move(table)};
  return section;
}

}  // namespace forerun
