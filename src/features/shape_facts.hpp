// What both sets of facts say of a kernel's shape.
#pragma once

#include <algorithm>
#include <cmath>

#include "features/kernel_facts.hpp"

namespace forerun {

inline double log_of(double value) { return std::log(std::max(value, 1e-3)); }

template <typename Put>
void visit_shape_facts(const Kernel& k, Put put) {
  const double groups = std::max(1.0, k.groups);
  put("log_batch", log_of(k.batch));
  put("log_m", log_of(k.m));
  put("log_n", log_of(k.n));
  put("log_k", log_of(k.k));
  put("kernel_area", k.kernel_area);
  put("stride", k.stride);
  put("log_groups", log_of(groups));
  put("log_input_channels", log_of(k.input_channels / groups));
  put("log_output_channels", log_of(k.output_channels / groups));
  put("log_spatial", log_of(k.spatial));
  put("log_inner", log_of(k.inner));
  put("divides_m", divisibility(k.m));
  put("divides_n", divisibility(k.n));
  put("divides_k", divisibility(k.k));
  put("divides_input_channels", divisibility(k.input_channels / groups));
  put("divides_inner", divisibility(k.inner));
}

}  // namespace forerun
