#include "evaluation/sections.hpp"

#include <array>

#include "evaluation/parallel/parallel_report.hpp"
#include "evaluation/trees/compiled_study.hpp"

namespace forerun {
namespace {

using Sections = Result<std::vector<ReportSection>>;

Sections one(Result<ReportSection> made) {
  FORERUN_TRY(ReportSection section, std::move(made));
  return std::vector{std::move(section)};
}

Result<const RooflineStudy*> roofline_of(Evaluation& e) {
  if (!e.roofline) {
    FORERUN_TRY(e.roofline, open_roofline_study({e.options.data, e.options.public_data, 400}));
  }
  return &*e.roofline;
}
Result<const TreeStudy*> trees_of(Evaluation& e) {
  if (!e.trees) {
    FORERUN_TRY(e.trees, open_study(e.options, e.progress));
  }
  return &*e.trees;
}

Sections roofline(Evaluation& e) {
  FORERUN_TRY(const RooflineStudy* study, roofline_of(e));
  return std::vector{report_roofline_networks(study->rows.networks, shipped_constants()),
                     report_roofline_operators(study->rows.operators, shipped_constants())};
}
Sections roofline_left_out(Evaluation& e) {
  FORERUN_TRY(const RooflineStudy* study, roofline_of(e));
  return std::vector{report_left_out(study->rows, 2, e.progress)};
}
Sections language(Evaluation& e) {
  FORERUN_TRY(const RooflineStudy* study, roofline_of(e));
  return report_language(*study);
}
Sections serving(Evaluation& e) {
  FORERUN_TRY(const RooflineStudy* study, roofline_of(e));
  return one(report_serving(*study, e.progress));
}

Sections several_devices(Evaluation& e) {
  FORERUN_TRY(ReportSection messages, report_collectives(e.options.public_data));
  FORERUN_TRY(ReportSection language, report_mpt(e.options.public_data));
  FORERUN_TRY(ReportSection vision, report_gavel(e.options.public_data));
  return std::vector{std::move(messages), std::move(language), std::move(vision)};
}

// The trees' sections that read the study, the options and say how far they are.
template <auto Report>
Sections of_trees(Evaluation& e) {
  FORERUN_TRY(const TreeStudy* study, trees_of(e));
  return one(Report(*study, e.report, e.progress));
}
Sections left_out_networks(Evaluation& e) {
  FORERUN_TRY(const TreeStudy* study, trees_of(e));
  return one(report_left_out(*study, e.progress));
}
Sections noise(Evaluation& e) {
  FORERUN_TRY(const TreeStudy* study, trees_of(e));
  return one(report_noise(*study, e.options.data));
}

Sections compiled(Evaluation& e) { return one(report_compiled(e.options, e.progress)); }
Sections published_trees(Evaluation& e) { return one(report_published_trees(e.options.data, e.progress)); }

constexpr std::array kSections = {
    EvaluationSection{"roofline", roofline},
    EvaluationSection{"roofline-left-out", roofline_left_out},
    EvaluationSection{"language", language},
    EvaluationSection{"serving", serving},
    EvaluationSection{"several-devices", several_devices},
    EvaluationSection{"networks", of_trees<report_networks>},
    EvaluationSection{"ablation", of_trees<report_ablation>},
    EvaluationSection{"operators", of_trees<report_operators>},
    EvaluationSection{"products", of_trees<report_products>},
    EvaluationSection{"left-out-networks", left_out_networks},
    EvaluationSection{"few-shot", of_trees<report_few_shot>},
    EvaluationSection{"gains", of_trees<report_gains>},
    EvaluationSection{"compiled", compiled},
    EvaluationSection{"noise", noise},
    EvaluationSection{"published-trees", published_trees, false},
};

}  // namespace

std::span<const EvaluationSection> evaluation_sections() { return kSections; }

const EvaluationSection* find_section(std::string_view name) {
  for (const EvaluationSection& section : kSections) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

std::string section_names() {
  std::string names;
  for (const EvaluationSection& section : kSections) names += (names.empty() ? "" : ", ") + std::string(section.name);
  return names;
}

}  // namespace forerun
