#include "search/search.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "base/csv.hpp"

namespace forerun {
namespace {

constexpr std::array<std::string_view, 2> kAlgorithms = {"random", "evolutionary"};

Error unknown_column(std::string_view name) {
  return bad_input("'" + std::string(name) +
                   "' is no column of an answer; as in latency_ms, device_memory_mb, energy_j, usd_per_million, "
                   "parameters, macs");
}

// A candidate and how well it does. `violation`: how far it is over its limits, as a share; failures are infinitely
// far.
struct Individual {
  Genes genes;
  Objectives objectives;
  double violation = 0;
};

class Searching {
 public:
  Searching(const Service& service, const QuestionSpace& space, const SearchOptions& options)
      : service_(service), space_(space), options_(options), random_(options.seed) {
    report_.algorithm = options.algorithm;
    report_.objectives = options.objectives;
  }

  Result<SearchReport> run() {
    const auto start = std::chrono::steady_clock::now();
    std::vector<Individual> population;
    while (report_.evaluated < options_.budget) {
      const auto wanted = std::size_t(std::min(options_.population, options_.budget - report_.evaluated));
      const bool breeds = options_.algorithm == SearchAlgorithm::Evolutionary && !population.empty();
      std::vector<Genes> proposed = breeds ? breed(population, wanted) : draw(wanted);
      if (proposed.empty()) break;  // the whole space is known
      std::vector<Individual> next = evaluate(std::move(proposed));
      FORERUN_CHECK(options_.cancel.check());
      if (options_.progress) options_.progress(report_.evaluated);
      if (options_.algorithm == SearchAlgorithm::Evolutionary) {
        std::move(population.begin(), population.end(), std::back_inserter(next));
        population = select(std::move(next));
      }
    }
    if (report_.failed == report_.evaluated)
      return bad_input("no candidate could be answered; the first one: " + report_.first_error);
    mark_front();
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  static constexpr int kTries = 50;  // for a candidate that was not proposed before

  Genes random_genes() {
    Genes genes(space_.axes().size());
    for (std::size_t i = 0; i < genes.size(); ++i) genes[i] = random_gene(i);
    return genes;
  }
  std::uint16_t random_gene(std::size_t axis) {
    return std::uint16_t(random_() % space_.axes()[axis].fragments.size());
  }

  std::vector<Genes> draw(std::size_t count) {
    std::vector<Genes> list;
    for (int tries = 0; list.size() < count && tries < kTries;) {
      Genes genes = random_genes();
      if (known_.insert(genes).second) {
        list.push_back(std::move(genes));
        tries = 0;
      } else {
        ++tries;
      }
    }
    return list;
  }

  // The better of two drawn at random: within limits first, then front, then free space.
  const Individual& tournament(const std::vector<Individual>& population) {
    const std::size_t a = random_() % population.size(), b = random_() % population.size();
    return population[std::min(a, b)];  // select() left them sorted
  }

  // Children take each gene from one of two parents; one gene in all, on average, changes.
  std::vector<Genes> breed(const std::vector<Individual>& population, std::size_t count) {
    std::vector<Genes> children;
    const double mutation = 1.0 / double(std::max<std::size_t>(1, space_.axes().size()));
    std::uniform_real_distribution<double> uniform(0, 1);
    for (int tries = 0; children.size() < count && tries < kTries;) {
      const Genes& mother = tournament(population).genes;
      Genes child = tournament(population).genes;
      for (std::size_t i = 0; i < child.size(); ++i) {
        if (random_() % 2 == 0) child[i] = mother[i];
        if (uniform(random_) < mutation) child[i] = random_gene(i);
      }
      if (known_.insert(child).second) {
        children.push_back(std::move(child));
        tries = 0;
      } else {
        ++tries;
      }
    }
    if (children.empty()) return draw(count);
    return children;
  }

  std::vector<Individual> evaluate(std::vector<Genes> proposed) {
    std::vector<std::string> questions;
    for (const Genes& genes : proposed) questions.push_back(space_.question(genes));
    std::vector<AnswerRow> rows =
        answer_questions(service_, questions, report_.evaluated, options_.threads, options_.cancel);
    std::vector<Individual> individuals(proposed.size());
    for (std::size_t i = 0; i < proposed.size(); ++i) individuals[i].genes = std::move(proposed[i]);
    for (AnswerRow& row : rows) {
      const auto at = std::size_t(row.question - report_.evaluated);
      judge(std::move(row), questions[at], individuals[at]);
    }
    report_.evaluated += std::int64_t(proposed.size());
    return individuals;
  }

  void judge(AnswerRow row, const std::string& question, Individual& individual) {
    const auto fail = [&](std::string why) {
      individual.objectives.assign(options_.objectives.size(), std::numeric_limits<double>::max());
      individual.violation = std::numeric_limits<double>::infinity();
      ++report_.failed;
      if (report_.first_error.empty()) report_.first_error = std::move(why);
    };
    if (!row.error.empty()) return fail(row.error);
    individual.objectives.clear();
    individual.violation = 0;
    for (const Objective& objective : options_.objectives) {
      const double value = row.numbers[objective.column];
      if (std::isnan(value)) return fail(objective.name() + " cannot be estimated: " + row.warnings);
      individual.objectives.push_back(objective.is_lower_better ? value : -value);
    }
    for (const SearchLimit& limit : options_.limits) {
      const double value = row.numbers[limit.column];
      if (std::isnan(value)) return fail(answer_columns()[limit.column].name + " cannot be estimated: " + row.warnings);
      const double over = limit.is_most ? value - limit.limit : limit.limit - value;
      if (over > 0) individual.violation += over / std::abs(limit.limit);
    }
    if (individual.violation > 0) {
      ++report_.over_limits;
    } else {
      report_.feasible.push_back({question, std::move(row)});
    }
  }

  // The best of them, best first.
  std::vector<Individual> select(std::vector<Individual> all) const {
    std::vector<Objectives> points;
    for (const Individual& one : all) points.push_back(one.objectives);
    const std::vector<std::size_t> fronts = rank_fronts(points);
    const std::vector<double> crowding = crowding_of(points, fronts);
    std::vector<std::size_t> order(all.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (all[a].violation != all[b].violation) return all[a].violation < all[b].violation;
      if (fronts[a] != fronts[b]) return fronts[a] < fronts[b];
      return crowding[a] > crowding[b];
    });
    order.resize(std::min(order.size(), std::size_t(options_.population)));
    std::vector<Individual> kept;
    for (const std::size_t i : order) kept.push_back(std::move(all[i]));
    return kept;
  }

  void mark_front() {
    std::vector<Objectives> points;
    for (const SearchCandidate& candidate : report_.feasible) {
      Objectives point;
      for (const Objective& objective : options_.objectives)
        point.push_back(candidate.row.numbers[objective.column] * (objective.is_lower_better ? 1 : -1));
      points.push_back(std::move(point));
    }
    const std::vector<std::size_t> fronts = rank_fronts(points);
    for (std::size_t i = 0; i < fronts.size(); ++i) report_.feasible[i].is_on_front = fronts[i] == 0;
  }

  const Service& service_;
  const QuestionSpace& space_;
  const SearchOptions& options_;
  std::mt19937_64 random_;
  std::set<Genes> known_;
  SearchReport report_;
};

}  // namespace

Result<Objective> Objective::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto column = find_answer_column(text.substr(0, colon));
  if (!column) return unknown_column(text.substr(0, colon));
  Objective objective{*column, answer_columns()[*column].is_lower_better};
  if (colon == std::string_view::npos) return objective;
  const std::string_view direction = text.substr(colon + 1);
  if (direction != "min" && direction != "max")
    return bad_input("--objective: '" + std::string(direction) + "' is none of min|max");
  objective.is_lower_better = direction == "min";
  return objective;
}

Result<SearchLimit> SearchLimit::parse(std::string_view text) {
  const std::size_t sign = text.find_first_of("<>");
  const auto value = sign != std::string_view::npos && sign + 2 < text.size() && text[sign + 1] == '='
                         ? parse_number(text.substr(sign + 2))
                         : std::nullopt;
  if (!value || *value <= 0)
    return bad_input("--constraint: '" + std::string(text) + "' is not COLUMN<=X or COLUMN>=X, as in latency_ms<=20");
  const auto column = find_answer_column(text.substr(0, sign));
  if (!column) return unknown_column(text.substr(0, sign));
  return SearchLimit{*column, text[sign] == '<', *value};
}

std::optional<SearchAlgorithm> parse_search_algorithm(std::string_view name) {
  const auto found = std::find(kAlgorithms.begin(), kAlgorithms.end(), name);
  if (found == kAlgorithms.end()) return std::nullopt;
  return SearchAlgorithm(found - kAlgorithms.begin());
}

std::string_view name_of(SearchAlgorithm algorithm) { return kAlgorithms[std::size_t(algorithm)]; }

std::vector<const SearchCandidate*> SearchReport::front() const {
  std::vector<const SearchCandidate*> list;
  for (const SearchCandidate& candidate : feasible) {
    if (candidate.is_on_front) list.push_back(&candidate);
  }
  const Objective& first = objectives.front();
  std::stable_sort(list.begin(), list.end(), [&](const SearchCandidate* a, const SearchCandidate* b) {
    const double x = a->row.numbers[first.column], y = b->row.numbers[first.column];
    return first.is_lower_better ? x < y : x > y;
  });
  return list;
}

Result<SearchReport> run_search(const Service& service, const QuestionSpace& space, const SearchOptions& options) {
  if (options.objectives.empty()) return bad_input("a search needs an --objective, as in latency_ms");
  if (space.axes().empty()) return bad_input("the space has nothing to choose: give a field a list of values");
  return Searching(service, space, options).run();
}

}  // namespace forerun
