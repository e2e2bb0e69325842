#include "python/space_bindings.hpp"

#include <pybind11/stl.h>

#include <nlohmann/json.hpp>

#include "search/search.hpp"

namespace py = pybind11;

namespace forerun::python {
namespace {

template <typename T>
py::bytes bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Columns of the rows: numbers as the bytes of little-endian arrays, which Arrow takes over without copying.
py::dict columns_of(const std::vector<AnswerRow>& rows) {
  py::dict out, numbers;
  std::vector<std::int64_t> question;
  std::vector<std::uint8_t> fits;
  py::list device, warnings, error;
  for (const AnswerRow& row : rows) {
    question.push_back(row.question);
    fits.push_back(row.fits ? 1 : 0);
    const bool is_answer = row.error.empty();
    device.append(is_answer ? py::object(py::str(row.device)) : py::none());
    warnings.append(row.warnings.empty() ? py::object(py::none()) : py::str(row.warnings));
    error.append(is_answer ? py::object(py::none()) : py::str(row.error));
  }
  std::vector<double> column(rows.size());
  for (std::size_t c = 0; c < answer_columns().size(); ++c) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      column[i] = rows[i].numbers.empty() ? std::numeric_limits<double>::quiet_NaN() : rows[i].numbers[c];
    numbers[py::str(answer_columns()[c].name)] = bytes_of(column);
  }
  out["question"] = bytes_of(question);
  out["device"] = device;
  out["numbers"] = numbers;
  out["fits"] = bytes_of(fits);
  out["warnings"] = warnings;
  out["error"] = error;
  return out;
}

}  // namespace

void bind_spaces(py::module_& m, const Service& (*service)(), void (*fail)(const Error&)) {
  using Lines = std::vector<std::string>;
  const auto released = py::call_guard<py::gil_scoped_release>();
  py::class_<QuestionSpace>(m, "Space")
      .def(py::init([fail](const std::string& text, const std::string& name) {
             auto space = QuestionSpace::read(text, name);
             if (!space) fail(space.error());
             return std::move(*space);
           }),
           py::arg("text"), py::arg("name") = "space")
      .def("__len__", [](const QuestionSpace& space) { return std::size_t(space.size()); })
      .def(
          "questions",
          [](const QuestionSpace& space, std::int64_t first, std::int64_t last) {
            Lines lines;
            for (std::int64_t i = first; i < std::min(last, space.size()); ++i) lines.push_back(space.question(i));
            return lines;
          },
          py::arg("first"), py::arg("last"), released)
      .def("axes",
           [](const QuestionSpace& space) {
             std::vector<std::pair<std::string, Lines>> axes;
             for (const Axis& axis : space.axes()) axes.emplace_back(axis.name, axis.labels);
             return axes;
           })
      .def(
          "question",
          [fail](const QuestionSpace& space, const Genes& genes) {
            bool fits = genes.size() == space.axes().size();
            for (std::size_t i = 0; fits && i < genes.size(); ++i) fits = genes[i] < space.axes()[i].fragments.size();
            if (!fits) fail(bad_input("a choice for each axis of the space, as axes() lists them"));
            return space.question(genes);
          },
          py::arg("choices"));
  m.def(
      "answer",
      [service](const Lines& questions, std::int64_t first, unsigned threads) {
        std::vector<AnswerRow> rows;
        {
          const py::gil_scoped_release unheld;
          rows = answer_questions(service(), questions, first, threads);
        }
        return columns_of(rows);
      },
      py::arg("questions"), py::arg("first") = 0, py::arg("threads") = 0);
  m.def(
      "answer_lines",
      [service](const Lines& questions, std::int64_t first, unsigned threads) {
        std::string text;
        for (const AnswerRow& row : answer_questions(service(), questions, first, threads))
          text += to_json_line(row, questions[std::size_t(row.question - first)]);
        return text;
      },
      py::arg("questions"), py::arg("first") = 0, py::arg("threads") = 0, released);
  m.def("answer_columns", [] {
    std::vector<std::pair<std::string, bool>> columns;
    for (const AnswerColumn& column : answer_columns()) columns.emplace_back(column.name, column.is_lower_better);
    return columns;
  });
  m.def(
      "search",
      [service, fail](const QuestionSpace& space, const std::string& algorithm, const Lines& objectives,
                      const Lines& constraints, std::int64_t budget, std::int64_t population, std::uint64_t seed) {
        SearchOptions options{.budget = budget, .population = population, .seed = seed};
        const auto chosen = parse_search_algorithm(algorithm);
        if (!chosen) fail(bad_input("algorithm: '" + algorithm + "' is none of random, evolutionary, bayesian"));
        options.algorithm = *chosen;
        for (const std::string& text : objectives) {
          const auto objective = Objective::parse(text);
          if (!objective) fail(objective.error());
          options.objectives.push_back(*objective);
        }
        for (const std::string& text : constraints) {
          const auto limit = SearchLimit::parse(text);
          if (!limit) fail(limit.error());
          options.limits.push_back(*limit);
        }
        const auto report = run_search(service(), space, options);
        if (!report) fail(report.error());
        return to_json(*report);
      },
      py::arg("space"), py::arg("algorithm"), py::arg("objectives"), py::arg("constraints"), py::arg("budget"),
      py::arg("population"), py::arg("seed"), released);
}

}  // namespace forerun::python
