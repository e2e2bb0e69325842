#include "predictors/gnn/product.hpp"

#include <gtest/gtest.h>

namespace forerun {
namespace {

TEST(Product, MatchesEigenForEverySize) {
  for (const int rows : {1, 3, 4, 9}) {
    for (const int depth : {1, 7, 115}) {
      for (const int columns : {1, 7, 8, 24, 35, 96}) {
        const Matrix x = Matrix::Random(rows, depth), w = Matrix::Random(depth, columns),
                     begin = Matrix::Random(rows, columns);
        Matrix y = begin;
        add_product(x, w, y);
        EXPECT_LT((y - begin - x * w).cwiseAbs().maxCoeff(), 1e-5F) << rows << ' ' << depth << ' ' << columns;
      }
    }
  }
}

}  // namespace
}  // namespace forerun
