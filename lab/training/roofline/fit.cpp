#include "training/roofline/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "training/coordinate_search.hpp"

namespace forerun {
namespace {

constexpr std::uint32_t bit(KernelClass c) { return std::uint32_t{1} << unsigned(c); }
constexpr std::uint32_t kAll = (std::uint32_t{1} << unsigned(KernelClass::Count)) - 1;
constexpr std::uint32_t kConvs = bit(KernelClass::Conv) | bit(KernelClass::ConvTranspose);
constexpr std::uint32_t kProducts =
    kConvs | bit(KernelClass::Linear) | bit(KernelClass::BatchedMatMul) | bit(KernelClass::Experts);
constexpr std::uint32_t kRows =
    bit(KernelClass::LayerNorm) | bit(KernelClass::Reduce) | bit(KernelClass::Softmax) | bit(KernelClass::BatchNorm);

// Which classes of kernels a constant touches; 0: it is not about kernels. Constants that are not here touch all.
std::uint32_t classes_of(const std::string& name) {
  for (std::size_t c = 0; c < kFitClasses; ++c) {
    if (name.starts_with(std::string(name_of(KernelClass(c))) + ".")) return std::uint32_t{1} << c;
  }
  if (name.starts_with("power_") || name.starts_with("host_")) return 0;
  if (name.starts_with("tile_") || name.starts_with("depth_") || name == "split_cost" || name == "misaligned")
    return kProducts;
  if (name.starts_with("winograd") || name.ends_with("_layout") || name == "layout_us" || name == "grouped")
    return kConvs;
  if (name.ends_with("_gradient")) return kConvs | bit(KernelClass::DepthwiseConv);
  if (name == "score_cost" || name == "attention_block_us" || name == "decode_block_us" ||
      name == "cache_block_speedup")
    return bit(KernelClass::Attention);
  if (name == "block_speedup") return kRows;
  return kAll;
}

// What time_kernel() reads of a kernel, as bytes: equal kernels take equal time.
std::string key_of(const Kernel& k, std::size_t device) {
  // clang-format off
  const double numbers[] = {double(device), double(k.kernel_class), double(k.stage), double(k.math), k.launches, k.macs, k.flops, k.read_bytes, k.write_bytes, k.weight_bytes,
                            k.output_elements, k.batch, k.m, k.n, k.k, k.kernel_area, k.stride, k.groups, k.input_channels, k.output_channels, k.spatial, k.inner, k.serial_steps, double(k.causal)};
  // clang-format on
  std::string key(reinterpret_cast<const char*>(numbers), sizeof numbers);
  if (k.stage == Stage::Backward || std::string_view(k.label) == kChannelsLastConv) key += k.label;
  return key;
}

struct Loss {
  double sum = 0, weight = 0;
  void add(double estimate, double measured, double w) {
    if (measured <= 0 || estimate <= 0) return;
    sum += w * std::min(2.0, std::abs(std::log(estimate / measured)));
    weight += w;
  }
  [[nodiscard]] double mean() const { return weight > 0 ? sum / weight : 0; }
};

struct Range {
  double low, high;
};
Range range_of(const std::string& name) {
  if (name.ends_with(".compute") || name.ends_with(".memory") || name.starts_with("unmeasured") ||
      name.starts_with("tile_") || name == "winograd")
    return {0.005, 1.2};
  if (name == "l2_speedup" || name == "misaligned" || name == "block_speedup" || name == "smoothness")
    return {1.0, 400.0};
  return {0.005, 400.0};
}

}  // namespace

double time_of(const OperatorRow& row, const RooflineConstants& constants) {
  double time_us = row.timing_us;
  for (const Kernel& kernel : row.kernels) time_us += time_kernel(kernel, *row.device, constants).time_us;
  return time_us;
}

std::size_t RooflineFit::device_index(const Device* device) {
  const auto found = std::find(devices_.begin(), devices_.end(), device);
  if (found != devices_.end()) return std::size_t(found - devices_.begin());
  devices_.push_back(device);
  return devices_.size() - 1;
}

void RooflineFit::add_kernels(Row& row, const std::vector<Kernel>& kernels) {
  std::map<std::uint32_t, double> counts;
  for (const Kernel& kernel : kernels) {
    const auto [at, fresh] = index_.try_emplace(key_of(kernel, row.device), std::uint32_t(uniques_.size()));
    if (fresh) {
      Unique unique{kernel, row.device, {}};
      unique.kernel.runs = 1;
      by_class_[std::size_t(kernel.kernel_class)].push_back(std::uint32_t(uniques_.size()));
      uniques_.push_back(std::move(unique));
    }
    counts[at->second] += kernel.runs;
    row.host_ops += kernel.host_ops * kernel.runs;
  }
  for (const auto& [unique, count] : counts)
    row.parts[std::size_t(uniques_[unique].kernel.kernel_class)].push_back({unique, float(count)});
}

RooflineFit::RooflineFit(const MeasuredRows& rows, const std::string& left_out) {
  for (const OperatorRow& o : rows.operators) {
    if (o.device->id == left_out) continue;
    Row row;
    row.device = device_index(o.device);
    row.timing_us = o.timing_us;
    row.latency_us = o.latency_us;
    row.weight = o.weight;
    add_kernels(row, o.kernels);
    rows_.push_back(std::move(row));
  }
  for (const NetworkRow& n : rows.networks) {
    if (n.device->id == left_out) continue;
    Row row;
    row.device = device_index(n.device);
    row.weight = n.weight;
    row.network = &n;
    add_kernels(row, n.kernels);
    rows_.push_back(std::move(row));
  }
}

void RooflineFit::retime(const RooflineConstants& constants, std::uint32_t classes) {
  if (classes == 0) return;
  std::vector<std::array<Ceilings, std::size_t(Math::Count)>> ceilings(devices_.size());
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    for (std::size_t m = 0; m < ceilings[d].size(); ++m) ceilings[d][m] = ceilings_of(*devices_[d], Math(m), constants);
  }
  for (std::size_t c = 0; c < kFitClasses; ++c) {
    if ((classes >> c & 1) == 0) continue;
    for (const std::uint32_t u : by_class_[c]) {
      Unique& unique = uniques_[u];
      unique.time = time_under(unique.kernel, *devices_[unique.device],
                               ceilings[unique.device][std::size_t(unit_of(unique.kernel))], constants);
    }
    for (Row& row : rows_) {
      Sums sums;
      for (const Part& part : row.parts[c]) {
        const KernelTime& time = uniques_[part.unique].time;
        sums.time_us += double(part.count) * time.time_us;
        sums.compute_us += double(part.count) * std::min(time.compute_us, time.time_us);
        sums.memory_us += double(part.count) * std::min(time.memory_us, time.time_us);
      }
      row.sums[c] = sums;
    }
  }
}

double RooflineFit::loss(const RooflineConstants& constants) const {
  Loss graph, eager, step, watts, operators;
  for (const Row& row : rows_) {
    Sums all;
    for (const Sums& s : row.sums) {
      all.time_us += s.time_us;
      all.compute_us += s.compute_us;
      all.memory_us += s.memory_us;
    }
    if (row.network == nullptr) {
      operators.add(all.time_us + row.timing_us, row.latency_us, row.weight);
      continue;
    }
    const NetworkRow& n = *row.network;
    const RooflineEstimate estimate =
        sum_up(all.time_us, all.compute_us, all.memory_us, row.host_ops * constants.host_op_us, *n.device, constants);
    graph.add(estimate.latency_graph_ms, n.graph_ms, row.weight);
    eager.add(estimate.latency_eager_ms, n.eager_ms, row.weight);
    step.add(estimate.latency_eager_ms, n.step_ms, row.weight);
    watts.add(estimate.power_eager_w, n.power_w, row.weight);
  }
  return graph.mean() + 0.6 * eager.mean() + 0.6 * step.mean() + watts.mean() + 2 * operators.mean();
}

// The space of coordinate_search.hpp: one coordinate a constant that is not fixed.
class RooflineFit::Search {
 public:
  explicit Search(RooflineFit& fit) : fit_(fit) {
    constants_.classes.resize(kFitClasses);
    const std::set<std::string> fixed = {"overlap_power", "latency_width", "memory_width", "power_width",
                                         "energy_width"};
    for (const NamedConstant& constant : name_constants(constants_)) {
      if (!fixed.contains(constant.name)) searched_.push_back(constant);
    }
    fit_.retime(constants_, kAll);
    loss_ = fit_.loss(constants_);
  }

  struct Trial {
    double gain, value, loss;
  };
  [[nodiscard]] std::size_t count() const { return searched_.size(); }
  Trial try_step(std::size_t at, double factor, bool is_up, int /*round*/) {
    const NamedConstant& constant = searched_[at];
    const Range range = range_of(constant.name);
    const double old = *constant.value;
    *constant.value = std::clamp(old * (is_up ? factor : 1 / factor), range.low, range.high);
    const std::uint32_t classes = classes_of(constant.name);
    fit_.retime(constants_, classes | stale_);
    stale_ = classes;
    const double now = fit_.loss(constants_);
    const Trial trial{loss_ - now, *constant.value, now};
    *constant.value = old;
    return trial;
  }
  // REQUIRES: the last trial
  void apply(std::size_t at, const Trial& trial) {
    *searched_[at].value = trial.value;
    loss_ = trial.loss;
    stale_ = 0;
  }

  [[nodiscard]] double loss() const { return loss_; }
  [[nodiscard]] const RooflineConstants& constants() const { return constants_; }

 private:
  RooflineFit& fit_;
  RooflineConstants constants_;
  std::vector<NamedConstant> searched_;  // of constants_
  double loss_ = 0;
  std::uint32_t stale_ = 0;  // classes that are timed as in a trial that was not taken
};

RooflineConstants RooflineFit::run(int rounds, const std::function<void(const std::string&)>& say) {
  constexpr double kFactors[] = {1.6, 1.25, 1.1, 1.04};
  Search search(*this);
  descend(search,
          {.sizes = kFactors, .rounds = rounds, .worth_a_step = 1e-6, .worth_a_round = 5e-4, .takes_first = true},
          [&](double factor, int round, double gained) {
            say(fmt::format("factor {:.2f} round {}: loss {:.4f} -> {:.4f}", factor, round + 1, search.loss() + gained,
                            search.loss()));
          });
  return search.constants();
}

}  // namespace forerun
