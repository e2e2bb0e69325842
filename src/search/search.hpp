// Looks for the best candidates of a space: propose, predict, select. Several objectives at once, under constraints.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "search/answers.hpp"
#include "search/pareto.hpp"
#include "search/space.hpp"

namespace forerun {

struct Objective {
  std::size_t column = 0;  // of answer_columns()
  bool is_lower_better = true;
  // "latency_ms", "parameters", "parameters:min": without a direction, that of the table of metrics; a network's size
  // stands for its quality and is best large.
  static Result<Objective> parse(std::string_view text);
  [[nodiscard]] const std::string& name() const { return answer_columns()[column].name; }
};

struct SearchLimit {
  std::size_t column = 0;
  bool is_most = true;
  double limit = 0;
  static Result<SearchLimit> parse(std::string_view text);  // "latency_ms<=5"
};

enum class SearchAlgorithm : std::uint8_t { Random, Evolutionary };
[[nodiscard]] std::optional<SearchAlgorithm> parse_search_algorithm(std::string_view name);
[[nodiscard]] std::string_view name_of(SearchAlgorithm algorithm);

struct SearchOptions {
  SearchAlgorithm algorithm = SearchAlgorithm::Evolutionary;
  std::vector<Objective> objectives = {};
  std::vector<SearchLimit> limits = {};
  std::int64_t budget = 1000;     // candidates to predict
  std::int64_t population = 100;  // of a generation
  std::uint64_t seed = 1;
  unsigned threads = 0;
  std::function<void(std::int64_t done)> progress = {};
  CancelToken cancel = {};
};

struct SearchCandidate {
  std::string question;
  AnswerRow row;
  bool is_on_front = false;
};

struct SearchReport {
  SearchAlgorithm algorithm = SearchAlgorithm::Evolutionary;
  std::vector<Objective> objectives;
  std::int64_t evaluated = 0, failed = 0, over_limits = 0;
  std::string first_error;                // of a candidate that failed
  std::vector<SearchCandidate> feasible;  // in the order they were proposed
  double seconds = 0;
  [[nodiscard]] std::vector<const SearchCandidate*> front() const;  // by the first objective, the best first
};

// REQUIRES: objectives. A question of the space is about one device.
Result<SearchReport> run_search(const Service& service, const QuestionSpace& space, const SearchOptions& options);

[[nodiscard]] std::string to_json(const SearchReport& report);
[[nodiscard]] std::string to_csv(const SearchReport& report);      // the front
[[nodiscard]] std::string render_svg(const SearchReport& report);  // the first two objectives

}  // namespace forerun
