// Between LibTorch's tensors and Eigen's matrices.
#pragma once

#include "predictors/gnn/product.hpp"
#include "training/gnn/torch.hpp"

namespace forerun {

[[nodiscard]] inline torch::Tensor tensor_of(const Matrix& matrix) {
  return torch::from_blob(const_cast<float*>(matrix.data()), {matrix.rows(), matrix.cols()}).clone();
}
[[nodiscard]] inline torch::Tensor tensor_of(const Eigen::RowVectorXf& row) {
  return torch::from_blob(const_cast<float*>(row.data()), {row.size()}).clone();
}
// A vector becomes one row.
[[nodiscard]] inline Matrix matrix_of(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.detach().to(torch::kFloat).contiguous();
  const std::int64_t rows = plain.dim() == 2 ? plain.size(0) : 1, columns = plain.size(plain.dim() - 1);
  return Eigen::Map<const Matrix>(plain.data_ptr<float>(), rows, columns);
}

}  // namespace forerun
