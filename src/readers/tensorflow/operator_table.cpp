#include "readers/tensorflow/operator_table.hpp"

#include <algorithm>

namespace forerun::tensorflow {

const OperatorRow* find_operator(OperatorSet set, std::string_view name) {
  const std::span<const OperatorRow> rows =
      set == OperatorSet::TensorFlow ? tensorflow_operators() : tflite_operators();
  const auto found =
      std::lower_bound(rows.begin(), rows.end(), name,
                       [](const OperatorRow& row, std::string_view wanted) { return row.name < wanted; });
  return found != rows.end() && found->name == name ? &*found : nullptr;
}

}  // namespace forerun::tensorflow
