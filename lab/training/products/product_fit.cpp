#include "training/products/product_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>

#include "dataset/splits.hpp"
#include "devices/architecture.hpp"
#include "features/kernel_physics.hpp"
#include "training/coordinate_search.hpp"
#include "training/products/searched_constants.hpp"

namespace forerun {
namespace {

// Errors are shares of the measured time, summed over devices.
constexpr double kLargestError = 1;  // a wild row counts no more than this
constexpr double kWorth = 3e-4;      // a change that gains less is none
constexpr double kWorthARound = 5e-3;
constexpr double kPull = 1e-3;  // what a constant must gain for each step away from a textbook's value
constexpr int kRounds = 4;      // at most, with steps of one size
constexpr double kSizes[] = {1, 0.5, 0.25, 0.12, 0.06},
                 kFinerSizes[] = {0.5, 0.25, 0.12, 0.06};  // rounds of the search: multiples of a constant's first step
constexpr int kHops = 40, kHopped = 5;                     // so many constants at once
constexpr std::uint64_t kSampleSeed = 7;

double moved(const SearchedConstant& constant, double size) {
  const double now = *constant.value;
  return std::clamp(constant.change == Change::Add ? now + size * constant.step : now * std::pow(constant.step, size),
                    constant.low, constant.high);
}
double pull(const SearchedConstant& constant, double value) {
  const double steps = constant.change == Change::Add ? (value - constant.neutral) / constant.step
                                                      : std::log(value / constant.neutral) / std::log(constant.step);
  return kPull * std::abs(steps);
}

}  // namespace

bool is_matrix_operator(const OperatorExample& e) {
  const auto is_product = [](const Kernel& k) { return k.macs > 0; };
  return std::any_of(e.kernels.begin(), e.kernels.end(), is_product) &&
         std::all_of(e.kernels.begin(), e.kernels.end(),
                     [&](const Kernel& k) { return !is_product(k) || is_matrix_product(k.kernel_class); });
}

ProductFit::ProductFit(std::span<const OperatorExample> examples, const Catalogue& catalogue,
                       std::size_t rows_per_device) {
  const auto is_usable = [](const OperatorExample& e) { return is_matrix_operator(e) && !e.at_floor(); };
  std::map<std::string, std::size_t> there, taken;
  for (const OperatorExample& e : examples) there[e.device] += is_usable(e) ? 1 : 0;
  for (const OperatorExample& e : examples) {
    if (!is_usable(e) || !is_chosen(e.source + e.row_id, rows_per_device, there[e.device], kSampleSeed)) continue;
    const auto [found, is_new] = devices_.try_emplace(e.device);
    if (is_new) {
      if (auto device = catalogue.find(e.device)) found->second = std::move(*device);
    }
    if (!found->second) continue;
    rows_.push_back({&e, &*found->second, 1});
    ++taken[e.device];
  }
  for (Row& row : rows_) row.weight = 1.0 / double(taken[row.example->device]);
}

double ProductFit::error(const Row& row, const ProductConstants& constants) {
  const OperatorExample& e = *row.example;
  double us = 0;
  for (const Kernel& kernel : e.kernels) {
    us += kernel_physics(kernel, *row.device, e.setting, constants).total_us * kernel.runs;
  }
  return std::min(kLargestError, std::abs(as_timed(e, us) / (e.latency_ms * 1e3) - 1));
}

// The constants as they are now, and each row's error under them.
class ProductFit::Search {
 public:
  explicit Search(std::vector<const Row*> rows)
      : rows_(std::move(rows)),
        searched_(searched_constants(constants_)),
        errors_(rows_.size()),
        all_(rows_.size()),
        touched_(searched_.size()) {
    std::iota(all_.begin(), all_.end(), 0U);
    note_known();
  }

  // From large steps to small ones. `widely`: all rows are looked at, not only those that a constant was seen to
  // change.
  void descend(std::span<const double> sizes, bool widely) {
    judge_all();
    looks_widely_ = widely;
    forerun::descend(*this, {.sizes = sizes, .rounds = kRounds, .worth_a_step = kWorth, .worth_a_round = kWorthARound},
                     [](double, int, double) {});
    judge_all();
  }

  // Several constants changed at once, then searched again; kept where that ends lower.
  void hop(std::mt19937_64& random) {
    const double cost_before = cost();
    std::vector<double> before;
    for (const SearchedConstant& constant : searched_) before.push_back(*constant.value);
    for (int i = 0; i < kHopped; ++i) {
      const SearchedConstant& constant = searched_[random() % searched_.size()];
      *constant.value = moved(constant, double(random() % 401) / 100 - 2);
    }
    descend(kFinerSizes, false);
    if (cost() < cost_before) return;
    for (std::size_t c = 0; c < searched_.size(); ++c) *searched_[c].value = before[c];
    judge_all();
  }

  [[nodiscard]] const ProductConstants& constants() const { return constants_; }

  // The space of coordinate_search.hpp: one coordinate a constant.
  struct Trial {
    double gain = 0, value = 0;
    std::vector<std::pair<std::uint32_t, double>> errors;  // of the rows that it changes
  };
  [[nodiscard]] std::size_t count() const { return searched_.size(); }
  Trial try_step(std::size_t at, double size, bool is_up, int round) {
    const SearchedConstant& constant = searched_[at];
    const double old = *constant.value;
    Trial trial{.value = moved(constant, is_up ? size : -size), .errors = {}};
    if (trial.value == old) return trial;
    const bool widely = looks_widely_ && round == 0;
    *constant.value = trial.value;
    trial.gain = pull(constant, old) - pull(constant, trial.value);
    for (const std::uint32_t i : widely ? all_ : touched_[at]) {
      const double now = error(*rows_[i], constants_);
      if (now == errors_[i]) continue;
      trial.gain += rows_[i]->weight * (errors_[i] - now);
      trial.errors.emplace_back(i, now);
    }
    *constant.value = old;
    if (widely) note_touched(touched_[at], trial);
    return trial;
  }
  void apply(std::size_t at, const Trial& trial) {
    *searched_[at].value = trial.value;
    for (const auto& [i, now] : trial.errors) errors_[i] = now;
  }

 private:
  static void note_touched(std::vector<std::uint32_t>& touched, const Trial& trial) {
    for (const auto& [i, now] : trial.errors) touched.push_back(i);
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  }
  void judge_all() {
    for (std::size_t i = 0; i < rows_.size(); ++i) errors_[i] = error(*rows_[i], constants_);
  }
  [[nodiscard]] double cost() const {
    double sum = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) sum += rows_[i]->weight * errors_[i];
    for (const SearchedConstant& constant : searched_) sum += pull(constant, *constant.value);
    return sum;
  }
  void note_known() {
    ProductConstants::Known& known = constants_.known;
    known = {false, false, false, false, false, false};
    for (const Row* row : rows_) {
      const Architecture& architecture = architecture_of(*row->device);
      const PlainGemm gemm = architecture.plain_gemm;
      known.launch_scale = known.launch_scale || architecture.launch_scale != 1;
      for (const Kernel& k : row->example->kernels) {
        if (k.math != Math::Fp32 || !is_matrix_product(k.kernel_class)) continue;
        bool& generation = gemm == PlainGemm::Pascal           ? known.pascal
                           : gemm == PlainGemm::Volta          ? known.volta
                           : gemm == PlainGemm::Turing         ? known.turing
                           : row->example->setting.old_library ? known.old_ampere
                                                               : known.many_lanes;
        generation = true;
      }
    }
  }

  std::vector<const Row*> rows_;
  ProductConstants constants_;
  std::vector<SearchedConstant> searched_;  // of constants_
  std::vector<double> errors_;              // by row
  std::vector<std::uint32_t> all_;
  std::vector<std::vector<std::uint32_t>> touched_;  // by constant: rows that it was seen to change
  bool looks_widely_ = false;
};

ProductConstants ProductFit::run(const std::string& left_out) const {
  std::vector<const Row*> rows;
  for (const Row& row : rows_) {
    if (row.example->device != left_out) rows.push_back(&row);
  }
  Search search(std::move(rows));
  search.descend(kSizes, true);
  std::mt19937_64 random(1);
  for (int i = 0; i < kHops; ++i) search.hop(random);
  return search.constants();
}

std::map<std::string, double> ProductFit::errors(const ProductConstants& constants) const {
  std::map<std::string, double> by_device;
  for (const Row& row : rows_) by_device[row.example->device] += 100 * row.weight * error(row, constants);
  return by_device;
}

}  // namespace forerun
