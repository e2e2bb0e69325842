#include "predictors/gnn/product.hpp"

namespace forerun {

#if defined(__x86_64__)
namespace {

using Lanes = float __attribute__((vector_size(32)));
// Eight floats at any address.
struct [[gnu::packed, gnu::may_alias]] Unaligned {
  Lanes lanes;
};
constexpr Eigen::Index kLanes = 8;

struct Sizes {
  Eigen::Index depth, columns;
};

// A block of the result, `kRows` by `kVectors` vectors, stays in registers.
template <int kRows, int kVectors>
[[gnu::target("avx2,fma")]] void add_block(const float* x, const float* w, float* y, Sizes sizes) {
  Lanes sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      sums[r][v] = reinterpret_cast<const Unaligned*>(y + r * sizes.columns + v * kLanes)->lanes;
  }
  for (Eigen::Index k = 0; k < sizes.depth; ++k, w += sizes.columns) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        sums[r][v] += x[r * sizes.depth + k] * reinterpret_cast<const Unaligned*>(w + v * kLanes)->lanes;
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      reinterpret_cast<Unaligned*>(y + r * sizes.columns + v * kLanes)->lanes = sums[r][v];
  }
}

template <int kRows>
void add_rows(const float* x, const float* w, float* y, Sizes sizes) {
  Eigen::Index c = 0;
  for (; c + 3 * kLanes <= sizes.columns; c += 3 * kLanes) add_block<kRows, 3>(x, w + c, y + c, sizes);
  for (; c + kLanes <= sizes.columns; c += kLanes) add_block<kRows, 1>(x, w + c, y + c, sizes);
  for (; c < sizes.columns; ++c) {
    for (int r = 0; r < kRows; ++r) {
      for (Eigen::Index k = 0; k < sizes.depth; ++k)
        y[r * sizes.columns + c] += x[r * sizes.depth + k] * w[k * sizes.columns + c];
    }
  }
}

}  // namespace

void add_product(const Matrix& x, const Matrix& w, Matrix& y) {
  static const bool kFast = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (!kFast || w.cols() < kLanes) {
    y.noalias() += x * w;
    return;
  }
  const Sizes sizes{x.cols(), w.cols()};
  Eigen::Index row = 0;
  for (; row + 4 <= x.rows(); row += 4)
    add_rows<4>(x.data() + row * sizes.depth, w.data(), y.data() + row * sizes.columns, sizes);
  for (; row < x.rows(); ++row)
    add_rows<1>(x.data() + row * sizes.depth, w.data(), y.data() + row * sizes.columns, sizes);
}
#else
void add_product(const Matrix& x, const Matrix& w, Matrix& y) { y.noalias() += x * w; }
#endif

}  // namespace forerun
