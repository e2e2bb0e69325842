// One native operator while it is translated, and the table of operators.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "readers/graph_writer.hpp"
#include "readers/paddle/program.hpp"

namespace forerun::paddle {

class Call;
using Build = Status (*)(Call&);

// ProgramDesc names its operands, PIR orders them: `inputs` and `outputs` list the names in PIR's order.
struct Operator {
  std::string_view type;
  std::string_view inputs, outputs;  // names separated by commas
  Build build;
  OpKind kind = OpKind::Unknown;  // for a `build` that serves several kinds: the kind to make
};
[[nodiscard]] const Operator* find_operator(std::string_view type);

class Translator {
 public:
  explicit Translator(const Program& native) : program(native), ids_(native.values.size()) {}

  const Program& program;
  GraphWriter w;

  Result<Graph> run();
  Status translate_block(const NativeBlock& block, int depth);
  // The IR's value of a native one, made when it is first asked for; of a list, its members.
  ValueId id_of(std::int32_t native);
  const std::vector<ValueId>& list_of(std::int32_t native);
  void alias(std::int32_t native, std::vector<ValueId> ids) {
    if (native != kNone) ids_[std::size_t(native)] = std::move(ids);
  }
  // The native value is `id`; false when it has a value of its own already.
  bool alias_unmade(std::int32_t native, ValueId id) {
    if (native == kNone || !ids_[std::size_t(native)].empty()) return false;
    ids_[std::size_t(native)] = {id};
    return true;
  }
  [[nodiscard]] std::int32_t uses_of(ValueId id) const;

  int depth = 0;

 private:
  Status translate_op(const NativeOp& op);
  void count_uses();

  std::vector<std::vector<ValueId>> ids_;
  std::vector<std::int32_t> native_uses_;
  std::vector<std::int32_t> native_of_;  // by value of the IR
};

class Call {
 public:
  Call(Translator& translator, const NativeOp& native, const Operator& row)
      : t(translator), w(translator.w), op(native), row_(row) {}

  Translator& t;
  GraphWriter& w;
  const NativeOp& op;

  [[nodiscard]] OpKind kind() const { return row_.kind; }
  [[nodiscard]] std::vector<std::int32_t> natives(std::string_view input) const;
  [[nodiscard]] std::vector<ValueId> all(std::string_view input) const;  // without those left out
  [[nodiscard]] ValueId in(std::string_view input) const;                // kNoValue when it is left out
  [[nodiscard]] bool has(std::string_view input) const { return in(input) != kNoValue; }
  // nullopt when nothing says it.
  [[nodiscard]] std::optional<Dims> dims(ValueId id) const;
  [[nodiscard]] std::optional<std::size_t> rank(ValueId id) const;
  [[nodiscard]] DType dtype(ValueId id) const { return id == kNoValue ? DType::Undefined : w.value(id).dtype; }

  [[nodiscard]] ValueId out(std::size_t i = 0) const;
  [[nodiscard]] std::vector<ValueId> outs(std::size_t i) const;
  [[nodiscard]] std::int32_t native_out(std::size_t i) const;
  [[nodiscard]] bool is_used(std::size_t output) const;

  [[nodiscard]] const NativeAttribute* attribute(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t fallback) const;
  [[nodiscard]] double real(std::string_view name, double fallback) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view fallback) const;
  [[nodiscard]] std::vector<std::int64_t> ints(std::string_view name) const;  // a single number is a list of one
  [[nodiscard]] std::vector<double> reals(std::string_view name) const;
  // The contents of an operand that is stored or follows from stored ones.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> contents(std::string_view input) const;
  // From the operand when its contents are known, else from the attribute.
  [[nodiscard]] std::vector<std::int64_t> ints_of(std::string_view input, std::string_view name) const;
  // A shape or a list of axes as a value: one operand, a list of scalars, or the attribute.
  ValueId shape_value(std::string_view input, std::string_view list, std::string_view name);

  // The node that makes output 0.
  void emit(OpKind kind, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {});
  // x in the layout the IR has, when `format` puts channels last; and the way back to output 0.
  ValueId channels_first(ValueId x, bool last);
  void emit_layout(OpKind kind, std::vector<ValueId> inputs, std::vector<Attribute> attributes, bool channels_last);
  Status unknown();
  [[nodiscard]] Error fail(const std::string& what) const;

 private:
  [[nodiscard]] static std::size_t place_of(std::string_view names, std::string_view name);

  const Operator& row_;
};

[[nodiscard]] std::vector<std::int64_t> iota(std::int64_t from, std::int64_t to);

// Builders, by file.
// elementwise.cpp
Status unary(Call&);
Status binary(Call&);
Status comparison(Call&);
Status scale(Call&);
Status cast(Call&);
Status clip(Call&);
Status hard_sigmoid(Call&);
Status leaky(Call&);
Status gelu(Call&);
Status prelu(Call&);
Status rsqrt(Call&);
Status square(Call&);
Status log1p(Call&);
Status power(Call&);
Status log_sigmoid(Call&);
Status swiglu(Call&);
Status where(Call&);
Status identity(Call&);
Status sum_list(Call&);
Status cumulative_sum(Call&);
Status softmax(Call&);
// layers.cpp
Status conv(Call&);
Status conv_transpose(Call&);
Status deformable_conv(Call&);
Status pool(Call&);
Status max_pool_with_index(Call&);
Status batch_norm(Call&);
Status layer_norm(Call&);
Status group_norm(Call&);
Status instance_norm(Call&);
Status rms_norm(Call&);
Status interpolate(Call&);
Status embedding(Call&);
Status pixel_shuffle(Call&);
Status grid_sample(Call&);
Status roi_align(Call&);
Status local_response_norm(Call&);
// products.cpp
Status matmul(Call&);
Status mul(Call&);
Status addmm(Call&);
Status fully_connected(Call&);
Status einsum(Call&);
Status attention(Call&);
Status recurrent(Call&);
// data.cpp
Status reshape(Call&);
Status flatten(Call&);
Status transpose(Call&);
Status squeeze(Call&);
Status unsqueeze(Call&);
Status concat(Call&);
Status split(Call&);
Status stack(Call&);
Status unbind(Call&);
Status slice(Call&);
Status expand(Call&);
Status expand_as(Call&);
Status tile(Call&);
Status pad(Call&);
Status gather(Call&);
Status gather_nd(Call&);
Status gather_elements(Call&);
Status scatter(Call&);
Status one_hot(Call&);
Status triangle(Call&);
Status flip(Call&);
Status roll(Call&);
Status meshgrid(Call&);
Status non_zero(Call&);
// reduce.cpp
Status reduce(Call&);
Status norm(Call&);
Status l2_normalize(Call&);
Status arg_reduce(Call&);
Status top_k(Call&);
Status arg_sort(Call&);
// constants.cpp
Status full(Call&);
Status full_like(Call&);
Status full_int_array(Call&);
Status assign_value(Call&);
Status arange(Call&);
Status shape(Call&);
Status combine(Call&);
Status take_apart(Call&);
Status list_member(Call&);
Status feed(Call&);
Status fetch(Call&);
Status data(Call&);
Status nothing(Call&);
// control.cpp
Status if_else(Call&);
Status while_loop(Call&);

}  // namespace forerun::paddle
