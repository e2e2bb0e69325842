// Fits the roofline's constants to measured rows: coordinate descent on the mean absolute logarithmic error, without
// randomness. Kernels that occur many times are timed once, and a constant re-times only the classes it touches.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "predictors/roofline/kernel_time.hpp"
#include "training/roofline/measured_rows.hpp"

namespace forerun {

inline constexpr std::size_t kFitClasses = std::size_t(KernelClass::Count);

class RooflineFit {
 public:
  // Rows that measured on `left_out` are not used. REQUIRES: `rows` outlives this.
  RooflineFit(const MeasuredRows& rows, const std::string& left_out);

  // Always from the same start. `say` reports the loss.
  [[nodiscard]] RooflineConstants run(int rounds, const std::function<void(const std::string&)>& say);

 private:
  class Search;
  struct Unique {
    Kernel kernel;
    std::size_t device;
    KernelTime time;
  };
  struct Part {  // of a row: so many of this kernel
    std::uint32_t unique;
    float count;
  };
  struct Sums {
    double time_us = 0, compute_us = 0, memory_us = 0;
  };
  struct Row {
    std::array<std::vector<Part>, kFitClasses> parts;
    std::array<Sums, kFitClasses> sums{};
    double host_ops = 0, timing_us = 0, weight = 1;
    const NetworkRow* network = nullptr;  // null: an operator
    double latency_us = 0;
    std::size_t device = 0;
  };

  std::size_t device_index(const Device* device);
  void add_kernels(Row& row, const std::vector<Kernel>& kernels);
  void retime(const RooflineConstants& constants, std::uint32_t classes);
  [[nodiscard]] double loss(const RooflineConstants& constants) const;

  std::vector<const Device*> devices_;
  std::vector<Unique> uniques_;
  std::array<std::vector<std::uint32_t>, kFitClasses> by_class_;
  std::map<std::string, std::uint32_t> index_;
  std::vector<Row> rows_;
};

// An operator as it was timed: its kernels and what the timing adds.
[[nodiscard]] double time_of(const OperatorRow& row, const RooflineConstants& constants);

}  // namespace forerun
