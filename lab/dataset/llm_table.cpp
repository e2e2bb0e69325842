#include "dataset/llm_table.hpp"

#include <array>
#include <limits>
#include <optional>
#include <string_view>

#include "readers/huggingface/kv_cache.hpp"

namespace forerun {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kMib = 1024.0 * 1024.0;

struct Inputs {
  const Graph& graph;
  const Totals& totals;
  const Binding& binding;
  const Device& device;
};

double fact(const Inputs& in, std::int64_t TransformerFacts::*size) {
  return in.graph.transformer ? double((*in.graph.transformer).*size) : kMissing;
}

// Batch and sequence as the graph has them: the first input's first two dimensions; decode counts the cached tokens.
double input_dim(const Inputs& in, std::size_t axis) {
  for (const ValueId id : in.graph.main().inputs) {
    const Value& value = in.graph.values[std::size_t(id)];
    if (value.name == "input_ids" || value.name == "decoder_input_ids")
      return axis < value.dims.size() ? double(value.dims[axis]) : kMissing;
  }
  return kMissing;
}

double optional(const std::optional<double>& value) { return value ? *value : kMissing; }
double optional(const std::optional<int>& value) { return value ? double(*value) : kMissing; }

double peak(const Device& device, const char* key) {
  const auto it = device.peak_tflops.find(key);
  return it == device.peak_tflops.end() ? kMissing : it->second;
}

struct Column {
  std::string_view name, unit;
  double (*value)(const Inputs&);
};

constexpr std::array<Column, kLlmNetworkColumns + kLlmDeviceColumns> kColumns = {{
    {"batch", "sequences",
     [](const Inputs& in) { return in.binding.batch ? double(*in.binding.batch) : input_dim(in, 0); }},
    {"sequence", "tokens",
     [](const Inputs& in) { return in.binding.seq ? double(*in.binding.seq) : input_dim(in, 1); }},
    {"quantisation", "bits per weight",
     [](const Inputs& in) {
       return in.totals.parameters > 0 ? 8.0 * double(in.totals.weight_bytes) / double(in.totals.parameters) : kMissing;
     }},
    {"nodes", "operators", [](const Inputs& in) { return double(in.totals.nodes); }},
    {"edges", "tensors", [](const Inputs& in) { return double(in.totals.edges); }},
    {"macs", "multiply-accumulates", [](const Inputs& in) { return double(in.totals.macs); }},
    {"parameters", "elements", [](const Inputs& in) { return double(in.totals.parameters); }},
    {"memory", "MiB",  // weights, cache and the peak of activations
     [](const Inputs& in) {
       return (double(in.totals.weight_bytes) + double(kv_cache_bytes(in.graph)) +
               double(in.totals.activation_peak_bytes)) /
              kMib;
     }},
    {"max_positions", "tokens", [](const Inputs& in) { return fact(in, &TransformerFacts::max_positions); }},
    {"layers", "layers", [](const Inputs& in) { return fact(in, &TransformerFacts::layers); }},
    {"heads", "heads", [](const Inputs& in) { return fact(in, &TransformerFacts::heads); }},
    {"hidden_size", "elements", [](const Inputs& in) { return fact(in, &TransformerFacts::hidden_size); }},
    {"vocabulary", "tokens", [](const Inputs& in) { return fact(in, &TransformerFacts::vocabulary); }},
    {"type_vocabulary", "types", [](const Inputs& in) { return fact(in, &TransformerFacts::type_vocabulary); }},

    {"device_peak_fp32", "TFLOP/s", [](const Inputs& in) { return peak(in.device, "fp32"); }},
    {"device_memory_bandwidth", "GB/s", [](const Inputs& in) { return in.device.memory_bandwidth_gb_per_s; }},
    {"device_compute_capability", "version", [](const Inputs& in) { return optional(in.device.compute_capability); }},
    {"device_max_threads_per_sm", "threads", [](const Inputs& in) { return optional(in.device.max_threads_per_sm); }},
    {"device_max_threads_per_block", "threads",
     [](const Inputs& in) { return optional(in.device.max_threads_per_block); }},
    {"device_registers_per_sm", "32-bit registers",
     [](const Inputs& in) { return optional(in.device.registers_per_sm); }},
    {"device_shared_memory_per_sm", "KiB",
     [](const Inputs& in) { return optional(in.device.shared_memory_kib_per_sm); }},
    {"device_shared_memory_per_block", "KiB",
     [](const Inputs& in) { return optional(in.device.shared_memory_kib_per_block); }},
    {"device_sm_count", "multiprocessors", [](const Inputs& in) { return double(in.device.sm_count); }},
    {"device_cores_per_sm", "cores", [](const Inputs& in) { return optional(in.device.cores_per_sm); }},
    {"device_tensor_cores_per_sm", "cores", [](const Inputs& in) { return optional(in.device.tensor_cores_per_sm); }},
    {"device_l1_per_sm", "KiB", [](const Inputs& in) { return optional(in.device.l1_kib_per_sm); }},
    {"device_l2", "MiB", [](const Inputs& in) { return optional(in.device.l2_mib); }},
    {"device_memory", "GiB", [](const Inputs& in) { return in.device.memory_gib; }},
    {"device_clock_base", "MHz", [](const Inputs& in) { return optional(in.device.clock_base_mhz); }},
    {"device_clock_boost", "MHz", [](const Inputs& in) { return optional(in.device.clock_boost_mhz); }},
    {"device_power_limit", "W", [](const Inputs& in) { return in.device.power_limit_w; }},
    {"host_cpu_clock", "MHz", [](const Inputs& in) { return optional(in.device.host_cpu_clock_mhz); }},
    {"host_cpu_cores", "cores", [](const Inputs& in) { return optional(in.device.host_cpu_cores); }},
    {"host_ram", "GiB", [](const Inputs& in) { return optional(in.device.host_ram_gib); }},
}};

}  // namespace

const TableSchema& llm_table_schema() {
  static const TableSchema kSchema = [] {
    TableSchema schema;
    schema.name = "llm";
    schema.hash = 1469598103934665603ULL;  // FNV-1a over the columns' names and units
    for (const Column& column : kColumns) {
      schema.columns.push_back({std::string(column.name), std::string(column.unit), 0});
      for (const std::string_view text : {column.name, column.unit}) {
        for (const unsigned char c : text) schema.hash = (schema.hash ^ c) * 1099511628211ULL;
        schema.hash = (schema.hash ^ 0xff) * 1099511628211ULL;
      }
    }
    return schema;
  }();
  return kSchema;
}

std::vector<float> extract_llm_table(const Graph& graph, const Totals& totals, const Binding& binding,
                                     const Device& device) {
  const Inputs inputs{graph, totals, binding, device};
  std::vector<float> row;
  row.reserve(kColumns.size());
  for (const Column& column : kColumns) row.push_back(static_cast<float>(column.value(inputs)));
  return row;
}

}  // namespace forerun
