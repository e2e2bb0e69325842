// A network as sums over its operators: arithmetic, bytes and number of kernels of eight classes. What a linear model
// of a device's latency multiplies with the device's rates.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "analysis/kernels.hpp"

namespace forerun {

enum class OperatorClass : std::uint8_t {
  SpatialConv,
  PointwiseConv,
  GroupedConv,
  Product,
  Norm,
  Elementwise,
  Pool,
  Move,
  Count
};
inline constexpr std::size_t kOperatorClasses = std::size_t(OperatorClass::Count);
inline constexpr std::array<std::string_view, kOperatorClasses> kOperatorClassNames = {
    "spatial_conv", "pointwise_conv", "grouped_conv", "product", "norm", "elementwise", "pool", "move"};
[[nodiscard]] OperatorClass operator_class_of(const Kernel& kernel);

// Per class 10^9 multiply-accumulates, 10^6 bytes and kernels; then 1.
inline constexpr std::size_t kOperatorSums = 3 * kOperatorClasses + 1;
using OperatorSums = std::array<double, kOperatorSums>;
[[nodiscard]] OperatorSums sum_operators(std::span<const Kernel> kernels);

[[nodiscard]] inline double gmacs_of(const OperatorSums& sums, std::size_t operator_class) {
  return sums[3 * operator_class];
}
[[nodiscard]] double gmacs_of(const OperatorSums& sums);

}  // namespace forerun
