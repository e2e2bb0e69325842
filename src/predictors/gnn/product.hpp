// Matrix products of the engine. Uses AVX2 where the CPU has it; the rest of the program is compiled for any x86-64.
#pragma once

#include <Eigen/Core>

namespace forerun {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// y += x w. REQUIRES: sizes that fit.
void add_product(const Matrix& x, const Matrix& w, Matrix& y);

}  // namespace forerun
