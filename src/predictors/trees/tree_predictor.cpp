#include "predictors/trees/tree_predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "features/kernel_facts.hpp"
#include "features/transfer_facts.hpp"
#include "predictors/trees/tree_schemas.hpp"

namespace forerun {
namespace {

using Json = nlohmann::json;

template <typename E>
std::optional<E> parse_name(const std::string& name) {
  for (std::size_t i = 0; i < std::size_t(E::Count); ++i) {
    if (name_of(E(i)) == name) return E(i);
  }
  return std::nullopt;
}

Result<std::vector<float>> floats_of(const Bundle& bundle, const std::string& section, std::size_t multiple) {
  FORERUN_TRY(const std::string_view bytes, bundle.section(section));
  std::vector<float> values(bytes.size() / sizeof(float));
  if (bytes.size() % (multiple * sizeof(float)) != 0)
    return bad_input(bundle.file_name() + ": section " + section + " has a broken size");
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TreeInterval interval_of(const Json& json) { return {json.at("known").get<double>(), json.at("unlike").get<double>()}; }

Estimate estimate(double value, const TreeInterval& interval, double unlikeness, const std::string& name) {
  const double half = interval.known + unlikeness * std::max(0.0, interval.unlike - interval.known);
  return {value, value * std::exp(-half), value * std::exp(half), Basis::Learned, name};
}

void sort_by_effect(Explanation& explanation) {
  std::sort(explanation.contributions.begin(), explanation.contributions.end(),
            [](const Contribution& a, const Contribution& b) {
              return std::abs(std::log(a.factor)) > std::abs(std::log(b.factor));
            });
}

}  // namespace

double mix_distance(const std::array<float, kKernelClasses>& a, const std::array<float, kKernelClasses>& b,
                    double most) {
  double sum = 0;
  for (std::size_t c = 0; c < kKernelClasses && sum < 2 * most; ++c) sum += std::abs(a[c] - b[c]);
  return sum / 2;
}

double unlikeness(const TreeFamiliarity& familiarity, const TreeInput& input) {
  double nearest = 1;
  for (const auto& mix : familiarity.mixes) nearest = std::min(nearest, mix_distance(mix, input.class_share, nearest));
  return std::clamp((nearest - familiarity.usual) / std::max(1e-6, familiarity.unusual - familiarity.usual), 0.0, 1.0);
}

Result<TreePredictor> TreePredictor::load(const Bundle& bundle) {
  if (bundle.manifest().kind != "trees")
    return bad_input(bundle.file_name() + ": a bundle of kind " + bundle.manifest().kind + ", not trees");
  FORERUN_CHECK(bundle.check_schema(tree_schema()));
  TreePredictor predictor(bundle);
  predictor.name_ = bundle.manifest().name;
  try {
    FORERUN_TRY(const std::string_view text, bundle.part("trees"));
    const Json json = Json::parse(text);
    FORERUN_CHECK(check_tree_hashes(json, bundle.file_name()));
    FORERUN_TRY(predictor.kernel_forest_, Forest::from_bundle(predictor.bundle_, "kernels", kernel_fact_count()));
    predictor.kernel_interval_ = {interval_of(json.at("kernel_interval").at("graph")),
                                  interval_of(json.at("kernel_interval").at("eager"))};
    if (const auto transfer = json.find("transfer"); transfer != json.end()) {
      predictor.transfer_.kinds = transfer->at("kinds").get<std::set<std::string>>();
      FORERUN_TRY(predictor.transfer_.forest,
                  Forest::from_bundle(predictor.bundle_, "transfer", transfer_fact_count()));
    }
    if (json.contains("kernel_power")) {
      FORERUN_TRY(predictor.power_forest_, Forest::from_bundle(predictor.bundle_, "power", power_fact_names().size()));
    }
    if (json.contains("known_kernels")) {
      FORERUN_TRY(const std::string_view bytes, bundle.section("known"));
      auto known = KnownKernels::from_bytes(bytes);
      if (!known) return bad_input(bundle.file_name() + ": " + known.error().message);
      predictor.known_kernels_ = std::move(*known);
    }
    predictor.kernels_id_ =
        fmt::format("{:08x}{:08x}", bundle.section_checksum("kernels.nodes"), bundle.section_checksum("known"));
    if (json.contains("grouped_host")) {
      FORERUN_TRY(predictor.host_forest_, Forest::from_bundle(predictor.bundle_, "host", kernel_fact_count()));
    }
    if (json.contains("network_kernels")) {
      FORERUN_TRY(predictor.network_forest_, Forest::from_bundle(predictor.bundle_, "networks", kernel_fact_count()));
      predictor.network_interval_ = interval_of(json.at("network_kernels").at("interval"));
      predictor.network_devices_ = json.at("network_kernels").at("devices").get<std::set<std::string>>();
    }
    predictor.devices_ = json.at("devices").get<std::set<std::string>>();
    predictor.precisions_ = json.at("precisions").get<std::set<std::string>>();
    const std::size_t width = tree_column_names().size();
    for (const Json& entry : json.at("models")) {
      const auto domain = parse_name<RunKind>(entry.at("domain"));
      const auto metric = parse_name<RunMetric>(entry.at("metric"));
      if (!domain || !metric) return bad_input(bundle.file_name() + ": a model of an unknown domain or metric");
      const std::string section = entry.at("forest");
      Model model;
      if (!is_drawn(*metric)) {
        FORERUN_TRY(model.forest, Forest::from_bundle(predictor.bundle_, section, width));
      }
      model.interval = interval_of(entry);
      FORERUN_TRY(const std::vector<float> range, floats_of(bundle, section + ".range", 2 * width));
      if (range.size() != 2 * width)
        return bad_input(bundle.file_name() + ": section " + section + ".range has a broken size");
      model.lowest.assign(range.begin(), range.begin() + std::ptrdiff_t(width));
      model.highest.assign(range.begin() + std::ptrdiff_t(width), range.end());
      predictor.models_.emplace(std::pair(*domain, *metric), std::move(model));
    }
    for (const Json& entry : json.at("familiarity")) {
      const auto domain = parse_name<RunKind>(entry.at("domain"));
      if (!domain) return bad_input(bundle.file_name() + ": an unknown domain");
      TreeFamiliarity& familiarity = predictor.familiarity_[*domain];
      familiarity.usual = entry.at("usual");
      familiarity.unusual = entry.at("unusual");
      FORERUN_TRY(const std::vector<float> mixes, floats_of(bundle, entry.at("mixes"), kKernelClasses));
      familiarity.mixes.resize(mixes.size() / kKernelClasses);
      if (!mixes.empty()) std::memcpy(familiarity.mixes.data(), mixes.data(), mixes.size() * sizeof(float));
    }
  } catch (const Json::exception& error) {
    return bad_input(bundle.file_name() + ": part trees: " + error.what());
  }
  return predictor;
}

const TreePredictor::Model* TreePredictor::find(RunKind domain, RunMetric metric) const {
  const auto found = models_.find({domain, metric});
  return found == models_.end() ? nullptr : &found->second;
}

std::vector<TreeAnswers> TreePredictor::answers_to(std::span<const TreeInput> inputs,
                                                   std::span<const float> rows) const {
  std::vector<TreeAnswers> all(inputs.size());
  const std::size_t width = tree_column_names().size();
  // Inputs of one kind of run, one after the other, take the trees of a metric together.
  for (std::size_t first = 0, end = 0; first < inputs.size(); first = end) {
    while (end < inputs.size() && inputs[end].domain == inputs[first].domain) ++end;
    for (std::size_t m = 0; m < std::size_t(RunMetric::Count); ++m) {
      const Model* model = is_drawn(RunMetric(m)) ? nullptr : find(inputs[first].domain, RunMetric(m));
      if (model == nullptr) continue;
      std::vector<float> scores(end - first, 0);
      model->forest.predict(rows.subspan(first * width, scores.size() * width), width, scores);
      for (std::size_t i = first; i < end; ++i)
        all[i][m] = tree_base(inputs[i], RunMetric(m)) * std::exp(double(scores[i - first]));
    }
  }
  if (!power_forest_) return all;
  const std::vector<double> busy_w = busy_powers_w(inputs, *power_forest_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t m = 0; m < std::size_t(RunMetric::Count); ++m) {
      if (!is_drawn(RunMetric(m)) || find(inputs[i].domain, RunMetric(m)) == nullptr) continue;
      if (const auto pass = pass_of(inputs[i], all[i], RunMetric(m))) all[i][m] = drawn(RunMetric(m), *pass, busy_w[i]);
    }
  }
  return all;
}

std::vector<TreeAnswers> TreePredictor::answers_many(std::span<const TreeInput> inputs) const {
  std::vector<TreeAnswers> all;
  for (std::size_t first = 0; first < inputs.size(); first += kInputsAtOnce) {
    const auto some = inputs.subspan(first, std::min(kInputsAtOnce, inputs.size() - first));
    std::vector<float> rows;
    for (const TreeInput& input : some) {
      const std::vector<float> row = tree_row(input);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    const std::vector<TreeAnswers> found = answers_to(some, rows);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

std::optional<CountedPass> TreePredictor::pass_of(const TreeInput& input, const TreeAnswers& answers,
                                                  RunMetric metric) {
  const auto latency = answers[std::size_t(latency_metric(input.domain, metric))];
  if (!latency) return std::nullopt;
  return counted_pass(input, metric, *latency, answers[std::size_t(RunMetric::LatencyGraph)].value_or(0));
}

Status TreePredictor::covers(const PredictorInput& in, const std::string& name) const {
  if (!knows(in.device)) {
    return bad_input("predictor '" + name + "' knows no measurements of " + in.device.id +
                     "; take 'kernels' or 'roofline'");
  }
  const RunKind kind = run_kind_of(in.graph, in.workload);
  const auto metric = run_metric_of(Metric::Latency, in.workload);
  if (find(kind, *metric) != nullptr) return ok();
  return bad_input("predictor '" + name + "' was trained on no runs of kind " + std::string(name_of(kind)) + " on " +
                   in.device.id + "; take 'kernels' or 'roofline'");
}

TreeInput TreePredictor::summed(const PredictorInput& in) const {
  TreeInput input = make_tree_input(in.graph, in.totals, in.kernels, in.workload, in.device, in.roofline, in.groups);
  sum(input);
  return input;
}

Answer TreePredictor::predict(const PredictorInput& in, const TreeInput& input) const {
  const std::vector<float> row = tree_row(input);
  const auto familiar = familiarity_.find(input.domain);
  double unlike =
      familiar == familiarity_.end() || familiar->second.mixes.empty() ? 1 : unlikeness(familiar->second, input);
  Answer prediction;
  if (unlike >= 1)
    prediction.warnings.push_back("the mix of operators is unlike any network that was measured: intervals are wider");
  const std::string precision(name_of(in.workload.precision));
  if (!precisions_.contains(precision)) {
    prediction.warnings.push_back("no network was measured in precision " + precision);
    unlike = 1;
  }
  bool said_range = false;
  const TreeAnswers found = answers(input, row);
  for (const Metric key : kTreeMetrics) {
    const auto metric = run_metric_of(key, in.workload);
    if (!metric) continue;
    const Model* model = find(input.domain, *metric);
    if (model == nullptr) continue;
    double widened = unlike;
    // The column furthest outside what was measured, in units of the measured range.
    double furthest = 0;
    std::size_t column = 0;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const double span = std::max(0.1, double(model->highest[c]) - model->lowest[c]);
      const double outside = std::max(double(model->lowest[c]) - row[c], double(row[c]) - model->highest[c]) / span;
      if (outside > furthest) {
        furthest = outside;
        column = c;
      }
    }
    if (furthest > 0.1) {
      widened = 1;
      if (!said_range)
        prediction.warnings.push_back(
            fmt::format("outside what was measured: {} is {:.3g}", tree_column_names()[column], row[column]));
      said_range = true;
    }
    if (const auto value = found[std::size_t(*metric)])
      prediction.estimates.set(key, estimate(*value, model->interval, widened, name_));
  }
  return prediction;
}

bool TreePredictor::sums_by_networks(const TreeInput& input, const Workload& workload, const Device& device) const {
  // Decode steps were measured on no other device.
  return network_forest_ && !knows(device) && device.maker == "NVIDIA" && input.domain == RunKind::LanguageInference &&
         workload.binding.phase != Phase::Decode;
}

KernelTimer TreePredictor::kernel_timer() const {
  return [this](std::span<const Kernel* const> kernels, const Device& device) {
    const std::size_t width = kernel_fact_count();
    std::vector<float> facts(kernels.size() * width);
    std::vector<double> ideal_us;
    std::vector<std::uint64_t> keys;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      extract_kernel_facts(*kernels[i], device, false, std::span(facts).subspan(i * width, width));
      ideal_us.push_back(ideal_kernel_us(*kernels[i], device));
      keys.push_back(known_kernel_key(*kernels[i], device));
    }
    return learned_kernel_us(facts, ideal_us, keys, kernel_forest_, known_kernels_);
  };
}

KernelTimer TreePredictor::kernel_timer(const PredictorInput& input, const TreeInput& summed) {
  const std::vector<KernelGroup> made =
      input.groups.empty() ? group_kernels(input.kernels) : std::vector<KernelGroup>();
  const std::span<const KernelGroup> groups = input.groups.empty() ? made : input.groups;
  std::unordered_map<std::uint64_t, double> run_us;
  for (std::size_t i = 0; i < groups.size(); ++i)
    run_us[kernel_key(*groups[i].kernel)] = groups[i].runs > 0 ? summed.kernel_us[i] / groups[i].runs : 0;
  return [run_us = std::move(run_us)](std::span<const Kernel* const> kernels, const Device&) {
    std::vector<double> us;
    for (const Kernel* kernel : kernels) us.push_back(run_us.at(kernel_key(*kernel)));
    return us;
  };
}

void TreePredictor::sum(TreeInput& input, const Workload& workload, const Device& device) const {
  if (sums_by_networks(input, workload, device)) {
    sum_network_kernels(input, *network_forest_);
  } else if (basis_of(device) == KernelBasis::Transfer) {
    sum_transferred(input, transfer_);
  } else {
    sum(input);
  }
}

TreeInput TreePredictor::summed_by_kernels(const PredictorInput& in) const {
  TreeInput input = make_tree_input(in.graph, in.totals, in.kernels, in.workload, in.device, in.roofline, in.groups,
                                    basis_of(in.device));
  sum(input, in.workload, in.device);
  return input;
}

Answer TreePredictor::predict_by_kernels(const PredictorInput& in, const TreeInput& input) const {
  const bool networks = sums_by_networks(input, in.workload, in.device);
  const bool graph = in.workload.runtime == Runtime::Graph && !in.workload.training;
  const double value = tree_base(input, graph ? RunMetric::LatencyGraph : RunMetric::LatencyEager);
  TreeInterval interval = kernel_interval_[graph ? 0 : 1];
  if (!host_may_decide(input)) interval.unlike = kernel_interval_[0].unlike;
  const bool was_measured = knows(in.device) && covers(in, name_).has_value();
  double unlike = was_measured || (devices_.contains(in.device.id) && !in.device.slice.empty()) ? 0 : 1;
  if (networks) {
    // One family of networks taught these kernels: for all others even the devices it ran on count as unlike. Eager
    // passes also depend on the host, which is as well known as on any device.
    interval.unlike = graph ? network_interval_.unlike : std::max(interval.known, network_interval_.unlike);
    unlike = 1;
  }
  Answer prediction;
  prediction.estimates.set(Metric::Latency,
                           estimate(value, interval, unlike, name_ + (networks ? "-networks" : "-kernels")));
  if (networks && !network_devices_.contains(in.device.id)) {
    prediction.warnings.push_back("no network was measured on " + in.device.id +
                                  ": the answer is the sum of its kernels, learned from networks on other devices");
  } else if (!networks && !knows(in.device)) {
    prediction.warnings.push_back("no network was measured on " + in.device.id +
                                  ": the answer is the sum of its kernels");
  }
  if (knows(in.device) && !was_measured) {
    prediction.warnings.push_back(fmt::format("no {} run was measured on {}: the answer is the sum of its kernels",
                                              name_of(input.domain), in.device.id));
  }
  return prediction;
}

// The way from the usual power to the answer, split exactly: log(P / P0) is the sum over kernels of the logarithmic
// mean of their watts now and at the usual score, over that of the pass, times what moved their score.
Explanation TreePredictor::explain_drawn(const TreeInput& input, RunMetric metric, const CountedPass& pass) const {
  const auto log_mean = [](double a, double b) { return std::abs(a - b) < 1e-9 * b ? b : (a - b) / std::log(a / b); };
  const std::vector<float> facts = power_facts(input);
  const std::size_t width = power_fact_names().size();
  const double in_pass = pass.kernel_ms / std::max(pass.kernel_ms, pass.period_ms) / (1e3 * input.kernel_ms);
  std::vector<double> effects(width, 0), means(width, 0), own(width);
  double base = 0;
  for (std::size_t k = 0; k < input.kernel_us.size(); ++k) {
    const auto row = std::span(facts).subspan(k * width, width);
    std::fill(own.begin(), own.end(), 0);
    base = 0;
    power_forest_->add_contributions(row, own, base);
    double score = base;
    for (const double part : own) score += part;
    const double usual = kUsualPowerW * input.kernel_us[k] * in_pass;
    const double weight = log_mean(usual * std::exp(score), usual * std::exp(base));
    for (std::size_t c = 0; c < width; ++c) {
      effects[c] += weight * own[c];
      means[c] += double(row[c]) * input.kernel_us[k] / (1e3 * input.kernel_ms);
    }
  }
  const double usual_w = pass_power_w(pass, kUsualPowerW * std::exp(base));
  const double whole = log_mean(pass_power_w(pass, busy_power_w(input, *power_forest_)), usual_w);
  Explanation explanation;
  explanation.base = drawn(metric, pass, kUsualPowerW * std::exp(base));
  for (std::size_t c = 0; c < width; ++c) {
    if (effects[c] != 0)
      explanation.contributions.push_back({power_fact_names()[c], float(means[c]), std::exp(effects[c] / whole)});
  }
  sort_by_effect(explanation);
  return explanation;
}

std::optional<Explanation> TreePredictor::explain(const PredictorInput& in, Metric key) const {
  const auto metric = run_metric_of(key, in.workload);
  if (!metric) return std::nullopt;
  TreeInput input = make_tree_input(in.graph, in.totals, in.kernels, in.workload, in.device, in.roofline, in.groups);
  const Model* model = find(input.domain, *metric);
  if (model == nullptr) return std::nullopt;
  sum(input);
  const std::vector<float> row = tree_row(input);
  if (is_drawn(*metric)) {
    const auto pass = power_forest_ ? pass_of(input, answers(input, row), *metric) : std::nullopt;
    return pass ? std::optional(explain_drawn(input, *metric, *pass)) : std::nullopt;
  }
  std::vector<double> parts(row.size(), 0);
  double base = 0;
  model->forest.add_contributions(row, parts, base);
  Explanation explanation;
  explanation.base = tree_base(input, *metric) * std::exp(base);
  for (std::size_t c = 0; c < parts.size(); ++c) {
    if (parts[c] != 0) explanation.contributions.push_back({tree_column_names()[c], row[c], std::exp(parts[c])});
  }
  sort_by_effect(explanation);
  return explanation;
}

}  // namespace forerun
