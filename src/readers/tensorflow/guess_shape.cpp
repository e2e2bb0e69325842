#include "readers/tensorflow/guess_shape.hpp"

#include <algorithm>

#include "readers/tensorflow/translator.hpp"

namespace forerun::tensorflow {
namespace {

// A tensor on the way from the operand, with the axes that were added to it.
struct Reached {
  bool is_reached = false;
  std::vector<std::int64_t> added;
};

// Of an image of the convolution's rank, channels last.
GuessedShape image_shape(OperatorSet operators, const OperatorRow& row, const Operation& operation,
                         const Dims& kernel) {
  GuessedShape shape{.dims = Dims(4, kUnknownDim), .names = {"batch", "height", "width", "channels"}};
  if (kernel.size() >= 3) {
    const std::size_t rank = kernel.size();
    shape.dims.assign(rank, kUnknownDim);
    if (rank == 5) shape.names.insert(shape.names.begin() + 1, "depth");
    if (rank == 3) shape.names = {"batch", "sequence", "channels"};
    const bool channels_are_last = operators == OperatorSet::TensorFlowLite || row.image == 2;
    shape.dims.back() = channels_are_last ? kernel.back() : kernel[rank - 2];
  }
  if (states_channels_first(operation)) {
    const auto order = to_first(shape.dims.size());
    shape.dims = permute(shape.dims, order);
    std::vector<std::string> names;
    for (const std::int64_t axis : order) names.push_back(shape.names[std::size_t(axis)]);
    shape.names = std::move(names);
  }
  return shape;
}

void remove_axis(GuessedShape& shape, std::int64_t axis) {
  const auto rank = std::int64_t(shape.dims.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return;
  shape.dims.erase(shape.dims.begin() + axis);
  shape.names.erase(shape.names.begin() + axis);
  // One dimension of space is a sequence.
  const auto is_side = [](const std::string& name) { return name == "height" || name == "width"; };
  if (std::count_if(shape.names.begin(), shape.names.end(), is_side) == 1)
    *std::find_if(shape.names.begin(), shape.names.end(), is_side) = "sequence";
}

}  // namespace

bool states_channels_first(const Operation& operation) {
  return std::any_of(operation.attributes.begin(), operation.attributes.end(), [](const Attribute& one) {
    const auto* text = std::get_if<std::string>(&one.value);
    return one.name == "data_format" && text != nullptr && text->starts_with("NC");
  });
}

GuessedShape guess_shape(OperatorSet operators, const Function& function, TensorId tensor) {
  std::vector<Reached> reached(function.tensors.size());
  std::vector<TensorId> origin(function.tensors.size());  // through identities
  for (std::size_t i = 0; i < origin.size(); ++i) origin[i] = TensorId(i);
  reached[std::size_t(tensor)].is_reached = true;
  for (const Operation& operation : function.operations) {
    const OperatorRow* row = find_operator(operators, operation.type);
    if (row == nullptr || operation.inputs.empty()) continue;
    if (operation.type == "Identity" && operation.outputs.size() == 1 && operation.inputs[0] != kNoTensor &&
        operation.outputs[0] != kNoTensor)
      origin[std::size_t(operation.outputs[0])] = origin[std::size_t(operation.inputs[0])];
    const bool is_image = row->wants == Wants::ChannelsFirst;
    if (!is_image && row->wants != Wants::Either) continue;
    const Reached* from = nullptr;
    for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
      if (operation.inputs[i] == kNoTensor || (is_image && i != row->image)) continue;
      if (reached[std::size_t(operation.inputs[i])].is_reached) from = &reached[std::size_t(operation.inputs[i])];
    }
    if (from == nullptr) continue;
    const TensorId second = operation.inputs.size() > 1 ? operation.inputs[1] : kNoTensor;
    if (is_image) {
      const Dims none;
      const bool has_kernel = second != kNoTensor;
      GuessedShape shape =
          image_shape(operators, *row, operation,
                      has_kernel ? function.tensors[std::size_t(origin[std::size_t(second)])].dims : none);
      for (auto axis = from->added.rbegin(); axis != from->added.rend(); ++axis) remove_axis(shape, *axis);
      return shape;
    }
    Reached next = *from;
    if (operation.type == "ExpandDims" || operation.type == "EXPAND_DIMS") {
      const auto* literal = second == kNoTensor ? nullptr : &function.tensors[std::size_t(second)].literal;
      const bool known = literal != nullptr && literal->has_value() && (*literal)->ints.size() == 1;
      if (next.added.size() < kMaxRank) next.added.push_back(known ? (*literal)->ints[0] : 1);
    }
    for (const TensorId id : operation.outputs) {
      if (id != kNoTensor) reached[std::size_t(id)] = next;
    }
  }
  return {.dims = {kUnknownDim}, .names = {"batch"}};
}

}  // namespace forerun::tensorflow
