#include "readers/safetensors/safetensors_reader.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/checked.hpp"
#include "readers/json_text.hpp"
#include "readers/printable.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMaxHeaderBytes = std::size_t{100} << 20;  // the format's own limit
constexpr std::size_t kMaxTensors = std::size_t{1} << 20;
constexpr std::size_t kMaxShards = 4096;

struct TypeRow {
  std::string_view name;
  DType dtype;
};
constexpr std::array kTypes = {
    TypeRow{"F64", DType::Float64},        TypeRow{"F32", DType::Float32},
    TypeRow{"F16", DType::Float16},        TypeRow{"BF16", DType::BFloat16},
    TypeRow{"I64", DType::Int64},          TypeRow{"I32", DType::Int32},
    TypeRow{"I16", DType::Int16},          TypeRow{"I8", DType::Int8},
    TypeRow{"U8", DType::UInt8},           TypeRow{"U16", DType::UInt16},
    TypeRow{"U32", DType::UInt32},         TypeRow{"U64", DType::UInt64},
    TypeRow{"BOOL", DType::Bool},          TypeRow{"F8_E4M3", DType::Float8E4M3FN},
    TypeRow{"F8_E5M2", DType::Float8E5M2}, TypeRow{"F8_E8M0", DType::Float8E8M0},
    TypeRow{"F4", DType::Float4E2M1},      TypeRow{"C64", DType::Complex64},
};

std::uint64_t little_endian_64(std::string_view bytes) {
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[std::size_t(i)]);
  return value;
}

// A whole number of at most kSizeLimit; -1 for anything else.
std::int64_t whole(const Json& json) {
  if (!json.is_number_integer() && !json.is_number_unsigned()) return -1;
  if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::uint64_t(kSizeLimit)) return -1;
  const std::int64_t value = json.get<std::int64_t>();
  return value >= 0 && value <= kSizeLimit ? value : -1;
}

Result<StoredTensor> read_entry(const std::string& name, const Json& entry, std::int64_t& begin,
                                const std::string& what) {
  const auto wrong = [&](const char* why) { return bad_input(what + ": tensor " + in_quotes(name) + " " + why); };
  if (!entry.is_object()) return wrong("is not described by an object");
  const auto type = entry.find("dtype");
  const auto shape = entry.find("shape");
  const auto offsets = entry.find("data_offsets");
  if (type == entry.end() || !type->is_string() || shape == entry.end() || !shape->is_array() ||
      offsets == entry.end() || !offsets->is_array() || offsets->size() != 2) {
    return wrong("lacks dtype, shape or data_offsets");
  }
  StoredTensor tensor;
  tensor.name = name;
  const auto& type_name = type->get_ref<const std::string&>();
  for (const TypeRow& row : kTypes) {
    if (row.name == type_name) tensor.dtype = row.dtype;
  }
  if (shape->size() > 64) return wrong("has more than 64 dimensions");
  for (const Json& dim : *shape) {
    const std::int64_t value = whole(dim);
    if (value < 0) return wrong("has a dimension that is not a whole number");
    tensor.shape.push_back(value);
  }
  begin = whole((*offsets)[0]);
  const std::int64_t end = whole((*offsets)[1]);
  if (begin < 0 || end < begin) return wrong("has data_offsets that make no sense");
  tensor.bytes = end - begin;
  if (tensor.dtype != DType::Undefined && bytes_of(tensor.dtype, checked_product(tensor.shape)) != tensor.bytes) {
    return wrong("does not fill its data_offsets");
  }
  return tensor;
}

}  // namespace

namespace {

// `bytes` may be the start of a file of `size` bytes, its header included.
Result<std::vector<StoredTensor>> read_header(std::string_view bytes, std::uint64_t size, const std::string& what,
                                              std::vector<std::string>& warnings) {
  if (bytes.size() < 8) return bad_input(what + ": too short for a safetensors header");
  const std::uint64_t length = little_endian_64(bytes);
  if (length > kMaxHeaderBytes)
    return Error{ErrorKind::TooLarge,
                 what + ": a safetensors header of " + std::to_string(length) + " bytes is over the limit of 100 MB"};
  if (length > bytes.size() - 8) return bad_input(what + ": the safetensors header is cut off");
  FORERUN_TRY(const Json header, parse_json_text(bytes.substr(8, std::size_t(length)), what, kMaxHeaderBytes));
  if (!header.is_object()) return bad_input(what + ": the safetensors header is not a JSON object");
  if (header.size() > kMaxTensors) return Error{ErrorKind::TooLarge, what + ": more than a million tensors"};
  std::vector<StoredTensor> tensors;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    std::int64_t begin = 0;
    FORERUN_TRY(StoredTensor tensor, read_entry(name, entry, begin, what));
    if (tensor.dtype == DType::Undefined) warnings.push_back("tensor " + in_quotes(name) + " is of an unknown type");
    ranges.emplace_back(begin, checked_add(begin, tensor.bytes));
    tensors.push_back(std::move(tensor));
  }
  std::sort(ranges.begin(), ranges.end());
  std::int64_t end = 0;
  for (const auto& [from, to] : ranges) {
    if (from != end)
      return bad_input(what + ": tensors overlap or leave a gap at byte " + std::to_string(end) + " of the data");
    end = to;
  }
  const auto data = static_cast<std::int64_t>(size - 8 - length);
  if (data > end)
    return bad_input(what + ": " + std::to_string(data - end) + " bytes follow the last tensor: the file is damaged");
  if (data < end)
    warnings.push_back("the file ends " + std::to_string(end - data) +
                       " bytes before its last tensor does: sizes are the header's");
  return tensors;
}

}  // namespace

Result<std::vector<StoredTensor>> read_safetensors_header(std::string_view bytes, const std::string& what,
                                                          std::vector<std::string>& warnings) {
  return read_header(bytes, bytes.size(), what, warnings);
}

Result<std::vector<StoredTensor>> read_safetensors_file(const Folder& folder, const std::string& name,
                                                        std::vector<std::string>& warnings) {
  FORERUN_TRY(const FileBytes start, folder.head(name, 8));
  const std::uint64_t length = start.view().size() < 8 ? 0 : little_endian_64(start.view());
  FORERUN_TRY(const FileBytes header, folder.head(name, 8 + std::min<std::uint64_t>(length, kMaxHeaderBytes)));
  return read_header(header.view(), folder.size_of(name).value_or(0), folder.path_of(name), warnings);
}

Result<std::vector<StoredTensor>> read_safetensors_shards(std::string_view index, const std::string& what,
                                                          const Folder& folder, std::vector<std::string>& warnings) {
  FORERUN_TRY(const Json json, parse_json_text(index, what));
  const auto map = json.is_object() ? json.find("weight_map") : json.end();
  if (map == json.end() || !map->is_object()) return bad_input(what + ": a safetensors index without a weight_map");
  std::set<std::string> shards;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) return bad_input(what + ": the weight_map gives no file for tensor " + in_quotes(tensor));
    const auto& name = file.get_ref<const std::string&>();
    // Only files beside the index: a name with a folder in it could point anywhere.
    if (name.empty() || std::filesystem::path(name).filename().string() != name) {
      return bad_input(what + ": the weight_map names a file outside its folder: " + in_quotes(name));
    }
    shards.insert(name);
    if (shards.size() > kMaxShards) return Error{ErrorKind::TooLarge, what + ": more than 4096 shards"};
  }
  std::vector<StoredTensor> tensors;
  for (const std::string& shard : shards) {
    if (!folder.has(shard)) {
      return bad_input(what + ": names " + std::to_string(map->size()) + " tensors in " +
                       std::to_string(shards.size()) + " files, but " + in_quotes(shard) +
                       " is not beside it: sizes do not follow from the index alone");
    }
    FORERUN_TRY(auto part, read_safetensors_file(folder, shard, warnings));
    tensors.insert(tensors.end(), std::make_move_iterator(part.begin()), std::make_move_iterator(part.end()));
  }
  return tensors;
}

Graph graph_of_weights(const std::vector<StoredTensor>& tensors, std::string name, std::string format) {
  Graph graph;
  graph.name = std::move(name);
  graph.format = std::move(format);
  graph.origin.form = GraphForm::WeightsOnly;
  graph.blocks.resize(1);
  graph.values.reserve(tensors.size() * 2);
  graph.main().nodes.reserve(tensors.size());
  for (const StoredTensor& tensor : tensors) {
    Value& value = graph.values.emplace_back();
    value.name = printable(tensor.name);
    value.dtype = tensor.dtype;
    value.dims = tensor.shape;
    value.has_shape = true;
    const bool counts = is_floating(tensor.dtype) || is_quantized(tensor.dtype);
    value.role = counts ? ValueRole::Weight : ValueRole::Constant;
    value.stored_bytes = tensor.bytes;
    const auto id = static_cast<ValueId>(graph.values.size() - 1);
    // One Identity per tensor makes it a used parameter; it computes nothing.
    Value& held = graph.values.emplace_back();
    held.dtype = tensor.dtype;
    held.dims = tensor.shape;
    held.has_shape = true;
    Node& node = graph.main().nodes.emplace_back();
    node.kind = OpKind::Identity;
    node.op_type = "Identity";
    node.name = printable(tensor.name);
    node.inputs = {id};
    node.outputs = {id + 1};
    graph.main().outputs.push_back(id + 1);
  }
  graph.warnings.emplace_back(
      "weights only: the file holds no graph, so parameters and bytes are known, costs are not");
  return graph;
}

bool is_safetensors(const Source& source) {
  if (source.is_folder) {
    return source.folder.has("model.safetensors") && !source.folder.has("config.json");
  }
  if (source.bytes.size() < 10) return false;
  const std::uint64_t length = little_endian_64(source.bytes);
  return length >= 2 && length <= kMaxHeaderBytes && source.bytes[8] == '{';
}

Result<std::unique_ptr<Network>> read_safetensors_source(const Source& source) {
  std::vector<std::string> warnings;
  std::filesystem::path path = source.path;
  std::vector<StoredTensor> tensors;
  if (source.is_folder) {
    path /= "model.safetensors";
    FORERUN_TRY(tensors, read_safetensors_file(source.folder, "model.safetensors", warnings));
  } else {
    FORERUN_TRY(tensors, read_safetensors_header(source.bytes, path.string(), warnings));
  }
  Graph graph = graph_of_weights(tensors, path.stem().string(), "safetensors");
  graph.warnings.insert(graph.warnings.end(), warnings.begin(), warnings.end());
  FORERUN_CHECK(verify(graph));
  return make_fixed_network(std::move(graph));
}

bool is_safetensors_index(const Source& source) {
  const std::size_t first = source.bytes.find_first_not_of(" \t\r\n");
  return !source.is_folder && first != std::string_view::npos && source.bytes[first] == '{' &&
         source.bytes.find("\"weight_map\"") != std::string_view::npos;
}

Result<std::unique_ptr<Network>> read_safetensors_index_source(const Source& source) {
  std::vector<std::string> warnings;
  FORERUN_TRY(const auto tensors, read_safetensors_shards(source.bytes, source.path.string(), source.folder, warnings));
  Graph graph = graph_of_weights(tensors, source.path.stem().string(), "safetensors");
  graph.warnings.insert(graph.warnings.end(), warnings.begin(), warnings.end());
  FORERUN_CHECK(verify(graph));
  return make_fixed_network(std::move(graph));
}

}  // namespace forerun
