// Recurrent cells that one native operator runs over a sequence.
#include <algorithm>

#include "base/checked.hpp"
#include "readers/tensorflow/builders.hpp"

namespace forerun::tensorflow {
namespace {

// Several stored matrices as the one that our operator takes: their rows below each other.
ValueId stacked(Call& call, const std::vector<std::size_t>& parts, const std::string& name) {
  Tensor whole;
  std::int64_t rows = 0, columns = 0;
  bool any = false, is_vector = false;
  for (const std::size_t i : parts) {
    const auto dims = call.shape(i);
    if (!call.has(i) || !dims || dims->empty() || dims->size() > 2) continue;
    any = true;
    is_vector = dims->size() == 1;
    rows = checked_add(rows, dims->front());
    columns = is_vector ? 1 : dims->back();
    whole.dtype = call.dtype(i);
    whole.has_scale = whole.has_scale || call.tensor(i).has_scale;
  }
  if (!any) return kNoValue;
  whole.name = call.scope().prefix + call.operation().name + "/" + name;
  whole.dims = is_vector ? Dims{1, rows} : Dims{1, rows, columns};
  return call.translator().made_constant(std::move(whole));
}

struct Direction {
  std::size_t gates;  // the first of the four input matrices
  std::size_t recurrent, bias, projection;
};

struct Cell {
  ValueId input, recurrent, bias;
  std::int64_t hidden;
};

std::optional<Cell> lstm_cell(Call& call, const Direction& at, const std::string& name) {
  const auto dims = call.shape(at.gates + 1);  // the forget gate's weights: an LSTM may be without an input gate
  if (!dims || dims->size() != 2) return std::nullopt;
  const auto four = [](std::size_t from) { return std::vector<std::size_t>{from, from + 1, from + 2, from + 3}; };
  return Cell{stacked(call, four(at.gates), name + "_input_weights"),
              stacked(call, four(at.recurrent), name + "_recurrent_weights"),
              stacked(call, four(at.bias), name + "_bias"), dims->front()};
}

// Quantised sequences are counted as floating-point ones: same recurrence, same MACs.
ValueId real_input(Call& call, std::size_t i, bool& quantised) {
  quantised = is_integer(call.dtype(i)) && call.tensor(i).has_scale;
  Translator& t = call.translator();
  if (!quantised) return call.plain(i);
  return call.node(OpKind::DequantizeLinear,
                   {call.plain(i), t.quantisation(DType::Float32), t.quantisation(call.dtype(i))});
}

// [steps, batch, in] for our operators: layout 1 takes the batch first.
ValueId run_cell(Call& call, OpKind kind, ValueId x, const Cell& cell, bool time_major, std::string direction,
                 std::size_t axis_of_directions) {
  std::vector<ValueId> inputs = {x, cell.input, cell.recurrent};
  if (cell.bias != kNoValue) inputs.push_back(cell.bias);
  const ValueId all = call.node(kind, std::move(inputs),
                                {{"hidden_size", cell.hidden},
                                 {"direction", std::move(direction)},
                                 {"layout", std::int64_t{time_major ? 0 : 1}}});
  return call.node(OpKind::Squeeze, {all, call.integer_list({std::int64_t(axis_of_directions)})});
}

ValueId requantised(Call& call, ValueId y, bool quantised) {
  const Tensor* to = call.output_tensor(0);
  if (!quantised || to == nullptr) return y;
  Translator& t = call.translator();
  return call.node(OpKind::QuantizeLinear, {y, t.quantisation(DType::Float32), t.quantisation(to->dtype)});
}

ValueId project(Call& call, ValueId y, const Direction& at) {
  if (!call.has(at.projection)) return y;
  ValueId projected = call.node(OpKind::MatMul, {y, call.permuted(at.projection, {1, 0})});
  if (call.has(at.projection + 1)) projected = call.node(OpKind::Add, {projected, call.plain(at.projection + 1)});
  return projected;
}

}  // namespace

// input, 4 input matrices, 4 recurrent, 3 peepholes, 4 biases, projection and its bias, 2 states, 4 normalisations
void build_sequence_lstm(Call& call) {
  constexpr Direction kPlaces{.gates = 1, .recurrent = 5, .bias = 12, .projection = 16};
  const auto cell = lstm_cell(call, kPlaces, "lstm");
  if (!cell) return call.unknown();
  bool quantised = false;
  const ValueId x = real_input(call, 0, quantised);
  const bool time_major = call.integer("time_major") != 0;
  const ValueId y = run_cell(call, OpKind::LSTM, x, *cell, time_major, "forward", time_major ? 1 : 2);
  call.result(0, requantised(call, project(call, y, kPlaces), quantised));
}

// The same twice: input, 17 of the forward direction, 17 of the backward, states, auxiliary inputs.
void build_bidirectional_lstm(Call& call) {
  constexpr Direction kForward{.gates = 1, .recurrent = 5, .bias = 12, .projection = 16};
  constexpr Direction kBackward{.gates = 18, .recurrent = 22, .bias = 29, .projection = 33};
  const bool time_major = call.integer("time_major") != 0;
  bool quantised = false;
  const ValueId x = real_input(call, 0, quantised);
  std::vector<ValueId> results;
  for (const Direction& direction : {kForward, kBackward}) {
    const bool forward = results.empty();
    const auto cell = lstm_cell(call, direction, forward ? "forward" : "backward");
    if (!cell) return call.unknown();
    const ValueId y =
        run_cell(call, OpKind::LSTM, x, *cell, time_major, forward ? "forward" : "reverse", time_major ? 1 : 2);
    results.push_back(project(call, y, direction));
  }
  if (call.integer("merge_outputs") != 0) {
    return call.result(0,
                       requantised(call, call.node(OpKind::Concat, results, {{"axis", std::int64_t{-1}}}), quantised));
  }
  call.result(0, requantised(call, results[0], quantised));
  call.result(1, results[1]);
}

// input, input matrix, recurrent matrix, bias, state
void build_sequence_rnn(Call& call) {
  const auto dims = call.shape(1);
  if (!dims || dims->size() != 2) return call.unknown();
  const Cell cell{stacked(call, {1}, "input_weights"), stacked(call, {2}, "recurrent_weights"),
                  stacked(call, {3}, "bias"), dims->front()};
  const bool time_major = call.integer("time_major") != 0;
  bool quantised = false;
  const ValueId x = real_input(call, 0, quantised);
  const ValueId y = run_cell(call, OpKind::RNN, x, cell, time_major, "forward", time_major ? 1 : 2);
  call.result(0, requantised(call, y, quantised));
}

// BlockLSTM: seq_len_max, x [steps, batch, in], cs, h, w [in + hidden, 4 hidden], wci, wcf, wco, b
void build_block_lstm(Call& call) {
  const auto weights = call.shape(4);
  const auto state = call.shape(2);
  const auto x = call.shape(1);
  if (!weights || !state || !x || weights->size() != 2 || state->size() != 2 || x->size() != 3) return call.unknown();
  const std::int64_t hidden = state->back();
  Tensor input;
  input.name = call.operation().name + "/input_weights";
  input.dtype = call.dtype(4);
  input.dims = {1, checked_mul(4, hidden), x->back()};
  Tensor recurrent = input;
  recurrent.name = call.operation().name + "/recurrent_weights";
  recurrent.dims = {1, checked_mul(4, hidden), hidden};
  const Cell cell{call.translator().made_constant(std::move(input)),
                  call.translator().made_constant(std::move(recurrent)), stacked(call, {8}, "bias"), hidden};
  const ValueId y = run_cell(call, OpKind::LSTM, call.plain(1), cell, true, "forward", 1);
  for (std::size_t i = 0; i < call.outputs(); ++i) {
    if (i == 6 || call.output_tensor(i) == nullptr) call.result(i, y);
  }
}

}  // namespace forerun::tensorflow
