#include "readers/tensorflow/tflite.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/checked.hpp"
#include "readers/tensorflow/flatbuffer.hpp"
#include "readers/tensorflow/tflite_operators.hpp"

namespace forerun::tensorflow {
namespace {

// Slots of the schema's tables.
enum ModelSlot : unsigned { kVersion, kOperatorCodes, kSubgraphs, kDescription, kBuffers };
enum CodeSlot : unsigned { kOldCode, kCustomCode, kCodeVersion, kCode };
enum SubgraphSlot : unsigned { kTensors, kInputs, kOutputs, kOperators, kSubgraphName };
enum TensorSlot : unsigned {
  kShape,
  kType,
  kBuffer,
  kTensorName,
  kQuantization,
  kIsVariable,
  kSparsity,
  kSignature,
  kHasRank
};
enum OperatorSlot : unsigned { kOpcode, kOpInputs, kOpOutputs, kOptionsType, kOptions, kOptions2 = 12 };
constexpr unsigned kQuantizationScale = 2;
constexpr std::string_view kIdentifier = "TFL3";
constexpr std::uint32_t kVersionRead = 3;

constexpr std::array kTypes = {  // by TensorType
    DType::Float32,   DType::Float16,   DType::Int32, DType::UInt8,    DType::Int64,      DType::String, DType::Bool,
    DType::Int16,     DType::Complex64, DType::Int8,  DType::Float64,  DType::Complex128, DType::UInt64,
    DType::Undefined,  // a resource
    DType::Undefined,  // a variant
    DType::UInt32,    DType::UInt16,    DType::Int4,  DType::BFloat16, DType::Int2,       DType::UInt4};

struct OperatorCode {
  std::string name;
  std::int64_t code = 0;
  bool is_custom = false;
};

class TfliteReader {
 public:
  TfliteReader(std::string_view bytes, Budget& budget) : bytes_(bytes), buffer_(bytes), budget_(budget) {}

  Result<Program> run() {
    const FlatTable model(buffer_, buffer_.load<std::uint32_t>(0));
    if (const auto version = model.number<std::uint32_t>(kVersion); version != kVersionRead && !buffer_.damaged()) {
      return bad_input("TensorFlow Lite schema version " + std::to_string(version) + " is not known; " +
                       std::to_string(kVersionRead) + " is read");
    }
    FORERUN_CHECK(read_codes(model.vector(kOperatorCodes)));
    buffers_ = model.vector(kBuffers);
    buffer_count_ = buffers_.size(4);
    Program program;
    program.format = "tflite";
    program.exporter = printable(model.text(kDescription).substr(0, 200));
    program.operators = OperatorSet::TensorFlowLite;
    const FlatVector subgraphs = model.vector(kSubgraphs);
    const std::size_t count = subgraphs.size(4);
    FORERUN_CHECK(check());
    if (count == 0) return bad_input("not a valid TensorFlow Lite file: it has no subgraph");
    subgraphs_ = count;
    for (std::size_t i = 0; i < count; ++i) {
      FORERUN_TRY(Function function, read_subgraph(subgraphs.table(i)));
      program.functions.push_back(std::move(function));
    }
    program.name = program.functions.front().name;
    return program;
  }

 private:
  Status check() const {
    if (!buffer_.damaged()) return ok();
    return bad_input("not a valid TensorFlow Lite file: cut short or damaged near byte " +
                     std::to_string(std::min<std::uint64_t>(buffer_.damaged_at(), bytes_.size())));
  }

  Status read_codes(FlatVector codes) {
    const std::size_t count = codes.size(4);
    FORERUN_CHECK(budget_.charge(std::int64_t(count) * 64));
    for (std::size_t i = 0; i < count; ++i) {
      const FlatTable table = codes.table(i);
      OperatorCode code;
      // Codes above 126 are in the newer field alone; older files have the older one alone.
      code.code = std::max<std::int64_t>(table.number<std::int8_t>(kOldCode), table.number<std::int32_t>(kCode));
      code.name = tflite_operator_name(code.code);
      const std::string_view custom = table.text(kCustomCode);
      FORERUN_CHECK(Budget::check_name(custom));
      FORERUN_CHECK(check());
      code.is_custom = code.name == "CUSTOM";
      if (code.is_custom) code.name = custom.empty() ? "CUSTOM" : printable(custom);
      if (code.name.empty()) code.name = "BUILTIN_" + std::to_string(code.code);
      FORERUN_CHECK(budget_.charge(std::int64_t(code.name.size())));
      codes_.push_back(std::move(code));
    }
    return ok();
  }

  Result<std::vector<std::int64_t>> ints(FlatVector vector) {
    const std::size_t count = vector.size(4);
    FORERUN_CHECK(budget_.charge(std::int64_t(count) * 8));
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = vector.at<std::int32_t>(i);
    return values;
  }

  Result<std::vector<TensorId>> tensor_ids(FlatVector vector, std::size_t tensors, const std::string& where) {
    FORERUN_TRY(const std::vector<std::int64_t> numbers, ints(vector));
    std::vector<TensorId> ids;
    ids.reserve(numbers.size());
    for (const std::int64_t number : numbers) {
      if (number < kNoTensor || number >= std::int64_t(tensors)) {
        return bad_input(where + " refers to tensor " + std::to_string(number) + ", which does not exist");
      }
      ids.push_back(TensorId(number));
    }
    return ids;
  }

  Result<Function> read_subgraph(const FlatTable& table) {
    Function function;
    FORERUN_CHECK(Budget::check_name(table.text(kSubgraphName)));
    function.name = printable(table.text(kSubgraphName));
    const FlatVector tensors = table.vector(kTensors);
    const std::size_t count = tensors.size(4);
    FORERUN_CHECK(check());
    FORERUN_CHECK(budget_.charge(std::int64_t(count * sizeof(Tensor))));
    function.tensors.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      FORERUN_TRY(Tensor tensor, read_tensor(tensors.table(i), i));
      function.tensors.push_back(std::move(tensor));
    }
    const std::string where = "subgraph " + in_quotes(function.name);
    FORERUN_TRY(function.inputs, tensor_ids(table.vector(kInputs), count, where));
    FORERUN_TRY(function.outputs, tensor_ids(table.vector(kOutputs), count, where));
    const FlatVector operators = table.vector(kOperators);
    const std::size_t operations = operators.size(4);
    for (std::size_t i = 0; i < operations; ++i) {
      FORERUN_CHECK(budget_.add_operation());
      FORERUN_TRY(Operation operation, read_operator(operators.table(i), function.tensors, i));
      function.operations.push_back(std::move(operation));
    }
    FORERUN_CHECK(check());
    return function;
  }

  Result<Tensor> read_tensor(const FlatTable& table, std::size_t index) {
    Tensor tensor;
    const std::string_view name = table.text(kTensorName);
    FORERUN_CHECK(Budget::check_name(name));
    tensor.name = name.empty() ? "tensor_" + std::to_string(index) : printable(name);
    const auto type = table.number<std::int8_t>(kType);
    tensor.dtype = type >= 0 && std::size_t(type) < kTypes.size() ? kTypes[std::size_t(type)] : DType::Undefined;
    FORERUN_TRY(tensor.dims, ints(table.vector(kShape)));
    FORERUN_TRY(const Dims signature, ints(table.vector(kSignature)));
    FORERUN_CHECK(check());
    tensor.is_variable = tensor.is_state = table.number<std::uint8_t>(kIsVariable) != 0;
    tensor.has_scale = table.table(kQuantization).vector(kQuantizationScale).size(4) > 0;
    const std::string_view data = data_of(table.number<std::uint32_t>(kBuffer), tensor.is_constant);
    // Without a shape the file says by has_rank whether this is a scalar; older files never do.
    tensor.has_shape = table.vector(kShape).present() || table.number<std::uint8_t>(kHasRank) != 0 ||
                       tensor.is_constant || table.vector(kSignature).present();
    if (signature.size() == tensor.dims.size() &&
        std::find(signature.begin(), signature.end(), -1) != signature.end()) {
      tensor.sizes = tensor.dims;
      tensor.dims = signature;
    }
    FORERUN_CHECK(check_dims(tensor.dims, tensor.dtype, tensor.name));
    FORERUN_CHECK(check_dims(tensor.sizes, tensor.dtype, tensor.name));
    const bool is_sparse = table.table(kSparsity).present();
    if (is_sparse) tensor.stored_bytes = std::int64_t(data.size());
    if (tensor.is_constant && !is_sparse) tensor.literal = read_literal(tensor.dtype, tensor.dims, data);
    FORERUN_CHECK(budget_.charge(std::int64_t(tensor.name.size() + 8 * tensor.dims.size())));
    if (tensor.literal)
      FORERUN_CHECK(budget_.charge(8 * std::int64_t(tensor.literal->ints.size() + tensor.literal->reals.size())));
    return tensor;
  }

  // The bytes of buffer `index`, as a view. Buffers above 2 GB lie behind the tables, at an offset.
  std::string_view data_of(std::uint32_t index, bool& is_stored) {
    if (index == 0 || index >= buffer_count_) return {};
    enum BufferSlot : unsigned { kData, kOffset, kSize };
    const FlatTable table = buffers_.table(index);
    const auto offset = table.number<std::uint64_t>(kOffset);
    if (offset > 1) {
      const auto size = table.number<std::uint64_t>(kSize);
      is_stored = size > 0;
      return buffer_.view(offset, size);
    }
    const std::string_view data = table.vector(kData).bytes();
    is_stored = !data.empty();
    return data;
  }

  Result<Operation> read_operator(const FlatTable& table, const std::vector<Tensor>& tensors, std::size_t index) {
    Operation operation;
    const auto opcode = table.number<std::uint32_t>(kOpcode);
    FORERUN_CHECK(check());
    const std::string where = "operator " + std::to_string(index);
    if (opcode >= codes_.size())
      return bad_input(where + " has the operator code " + std::to_string(opcode) + ", which does not exist");
    const OperatorCode& code = codes_[opcode];
    operation.type = code.name;
    operation.is_custom = code.is_custom;
    FORERUN_TRY(operation.inputs, tensor_ids(table.vector(kOpInputs), tensors.size(), where + " (" + code.name + ")"));
    FORERUN_TRY(operation.outputs,
                tensor_ids(table.vector(kOpOutputs), tensors.size(), where + " (" + code.name + ")"));
    for (const TensorId id : operation.outputs) {
      if (id != kNoTensor) operation.name = tensors[std::size_t(id)].name;
      if (id != kNoTensor) break;
    }
    FlatTable options = table.table(kOptions);
    if (!options.present()) options = table.table(kOptions2);
    if (!code.is_custom) FORERUN_CHECK(read_options(code.code, options, operation));
    FORERUN_CHECK(check());
    return operation;
  }

  Status read_options(std::int64_t code, const FlatTable& options, Operation& operation) {
    const auto fields = tflite_option_fields();
    const auto first =
        std::lower_bound(fields.begin(), fields.end(), code,
                         [](const OptionField& field, std::int64_t wanted) { return field.code < wanted; });
    for (auto field = first; field != fields.end() && field->code == code; ++field) {
      const std::string name(field->name);
      switch (field->type) {
        case FieldType::Byte:
          operation.attributes.push_back({name, std::int64_t{options.number<std::int8_t>(field->slot)}});
          break;
        case FieldType::Int:
        case FieldType::One: {
          const std::int32_t fallback = field->type == FieldType::One ? 1 : 0;
          operation.attributes.push_back({name, std::int64_t{options.number<std::int32_t>(field->slot, fallback)}});
          break;
        }
        case FieldType::Real: operation.attributes.push_back({name, double{options.number<float>(field->slot)}}); break;
        case FieldType::Boolean:
        case FieldType::True: {
          const std::uint8_t fallback = field->type == FieldType::True ? 1 : 0;
          const bool set = options.number<std::uint8_t>(field->slot, fallback) != 0;
          operation.attributes.push_back({name, std::int64_t{set}});
          break;
        }
        case FieldType::Ints: {
          FORERUN_TRY(std::vector<std::int64_t> values, ints(options.vector(field->slot)));
          if (!values.empty()) operation.attributes.push_back({name, std::move(values)});
          break;
        }
        case FieldType::Text: {
          FORERUN_CHECK(Budget::check_name(options.text(field->slot)));
          operation.attributes.push_back({name, printable(options.text(field->slot))});
          break;
        }
        case FieldType::Function: {
          const auto index = options.number<std::int32_t>(field->slot);
          if (index <= 0 || std::size_t(index) >= subgraphs_) {
            return bad_input("operator " + operation.type + " calls subgraph " + std::to_string(index) +
                             ", which does not exist");
          }
          operation.functions.emplace_back(name, index);
          break;
        }
      }
    }
    return budget_.charge(64 * std::int64_t(operation.attributes.size()));
  }

  std::string_view bytes_;
  FlatBuffer buffer_;
  Budget& budget_;
  std::vector<OperatorCode> codes_;
  FlatVector buffers_;
  std::size_t buffer_count_ = 0;
  std::size_t subgraphs_ = 0;
};

}  // namespace

bool has_tflite_identifier(std::string_view bytes) { return bytes.size() >= 8 && bytes.substr(4, 4) == kIdentifier; }

Result<Program> read_tflite_program(std::string_view bytes, Budget& budget) {
  return TfliteReader(bytes, budget).run();
}

}  // namespace forerun::tensorflow
