#include "service/nodes.hpp"

#include <fmt/format.h>

#include "analysis/data_sizes.hpp"
#include "base/checked.hpp"
#include "base/csv.hpp"
#include "base/json_writer.hpp"
#include "service/json.hpp"

namespace forerun {
namespace {

// Values that the file does not name are told apart by their number.
std::string label_of(const Graph& graph, ValueId id) {
  const std::string& name = graph.values[std::size_t(id)].name;
  return name.empty() ? "%" + std::to_string(id) : name;
}

std::vector<TensorInfo> describe(const Graph& graph, const std::vector<bool>& bounds, const std::vector<ValueId>& ids) {
  std::vector<TensorInfo> list;
  for (const ValueId id : ids) {
    if (id == kNoValue) continue;
    const Value& value = graph.values[std::size_t(id)];
    list.push_back(
        {label_of(graph, id), std::string(name_of(value.dtype)), value.dims, value.has_shape, bounds[std::size_t(id)]});
  }
  return list;
}

void write_one(JsonWriter& json, std::int64_t value) { json.whole(value); }
void write_one(JsonWriter& json, double value) { json.number(value); }
void write_one(JsonWriter& json, const std::string& value) { json.text(value); }

void write_attributes(JsonWriter& json, const std::vector<Attribute>& attributes) {
  json.begin_object();
  for (const Attribute& attribute : attributes) {
    json.key(attribute.name);
    std::visit(
        [&json](const auto& held) {
          if constexpr (requires { held.begin(); } && !std::is_same_v<std::decay_t<decltype(held)>, std::string>) {
            json.begin_array();
            for (const auto& one : held) write_one(json, one);
            json.end_array();
          } else {
            write_one(json, held);
          }
        },
        attribute.value);
  }
  json.end_object();
}

std::string joined(const std::vector<TensorInfo>& list, std::string (*part)(const TensorInfo&)) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : ";") + part(list[i]);
  return text;
}

std::string name_part(const TensorInfo& t) { return t.name; }
std::string type_part(const TensorInfo& t) { return t.dtype; }
std::string shape_part(const TensorInfo& t) {
  if (!t.shape_known) return "?";
  return t.shape.empty() ? "scalar" : fmt::format("{}{}", t.is_bound ? "<=" : "", fmt::join(t.shape, "x"));
}

}  // namespace

std::vector<NodeRow> describe_nodes(const Graph& graph) {
  std::vector<NodeRow> rows;
  const std::vector<bool> bounds = sizes_from_data(graph);
  for (const Block& block : graph.blocks) {
    for (const Node& node : block.nodes) {
      NodeRow& row = rows.emplace_back();
      row.name = node.name;
      row.op_type = node.op_type;
      row.inputs = describe(graph, bounds, node.inputs);
      row.outputs = describe(graph, bounds, node.outputs);
      row.attributes = node.attributes;
      row.cost_known = node.cost.known;
      row.macs = checked_mul(node.cost.macs, block.runs);
      row.flops = checked_mul(node.cost.flops, block.runs);
      row.bytes_moved = checked_mul(checked_add(node.cost.bytes_read, node.cost.bytes_written), block.runs);
      row.parameters = node.cost.parameters;
    }
  }
  return rows;
}

std::string to_json(const NodesReport& report) {
  JsonWriter json;
  json.begin_object().field("name", report.name).field("format", report.format).key("nodes").begin_array();
  for (const NodeRow& row : report.nodes) {
    json.begin_object().field("name", row.name).field("operator", row.op_type);
    write_tensors(json, "inputs", row.inputs);
    write_tensors(json, "outputs", row.outputs);
    json.key("attributes");
    write_attributes(json, row.attributes);
    for (const auto& [key, value] :
         {std::pair("macs", row.macs), {"flops", row.flops}, {"bytes_moved", row.bytes_moved}}) {
      json.key(key);
      row.cost_known ? json.whole(value) : json.null();
    }
    json.field("parameters", row.parameters).end_object();
  }
  json.end_array().texts("warnings", report.warnings).end_object();
  return json.take();
}

std::string to_csv(const NodesReport& report) {
  std::string text = csv_line({"name", "operator", "inputs", "input_shapes", "input_types", "outputs", "output_shapes",
                               "output_types", "attributes", "macs", "flops", "bytes_moved", "parameters"});
  for (const NodeRow& row : report.nodes) {
    JsonWriter attributes;
    write_attributes(attributes, row.attributes);
    const auto cost = [&row](std::int64_t value) { return row.cost_known ? std::to_string(value) : std::string(); };
    text += csv_line({row.name, row.op_type, joined(row.inputs, name_part), joined(row.inputs, shape_part),
                      joined(row.inputs, type_part), joined(row.outputs, name_part), joined(row.outputs, shape_part),
                      joined(row.outputs, type_part), attributes.take(), cost(row.macs), cost(row.flops),
                      cost(row.bytes_moved), std::to_string(row.parameters)});
  }
  return text;
}

}  // namespace forerun
