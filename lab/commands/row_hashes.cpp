#include "commands/row_hashes.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "analysis/analyze.hpp"
#include "readers/huggingface/huggingface_reader.hpp"
#include "store/workload_hash.hpp"

namespace forerun {
namespace {

using Request = nlohmann::ordered_json;

std::optional<std::string> text(const Request& object, const char* name) {
  if (!object.is_object() || !object.contains(name) || !object[name].is_string()) return std::nullopt;
  return object[name].get<std::string>();
}

std::optional<std::int64_t> number(const Request& object, const char* name) {
  if (!object.contains(name) || !object[name].is_number_integer()) return std::nullopt;
  return object[name].get<std::int64_t>();
}

// The same reading of a row as when it is loaded from a campaign's tables.
Result<Workload> workload_of(const Request& request) {
  Workload workload;
  const auto precision = parse_precision(text(request, "precision").value_or("fp32"));
  if (!precision) return bad_input("a precision that Forerun does not know");
  workload.precision = workload.binding.precision = *precision;
  workload.binding.batch = number(request, "batch");
  workload.binding.seq = number(request, "sequence");
  workload.training = workload.binding.training = text(request, "mode") == "training";
  if (workload.training) {
    const auto optimizer = parse_optimizer(text(request, "optimizer").value_or("sgd"));
    if (!optimizer) return bad_input("an optimizer that Forerun does not know");
    workload.optimizer = *optimizer;
  }
  if (const auto phase = text(request, "phase")) {
    workload.binding.phase = parse_phase(*phase);
    if (!workload.binding.phase) return bad_input("a phase that Forerun does not know");
  }
  return workload;
}

}  // namespace

Result<const Network*> RowHashes::network_of(const Request& request, const Measurement& row) {
  const Request network = request.value("network", Request::object());
  std::string path;
  if (const auto file = text(network, "onnx")) path = *file;
  if (const auto file = text(network, "torch_export")) path = *file;
  const bool is_config = path.empty() && network.is_object() && network.contains("config");
  if (path.empty() && !is_config && !row.graph.empty() && !graphs_.empty())
    path = (std::filesystem::path(graphs_) / row.graph).string();
  if (path.empty() && !is_config) return nullptr;
  const std::string key = is_config ? network["config"].dump() : path;
  if (key == key_) return network_.get();
  key_.clear();
  if (is_config) {
    FORERUN_TRY(network_, make_huggingface_network(Json::parse(key), row.network, "huggingface"));
  } else {
    FORERUN_TRY(network_, read_network(path));
  }
  key_ = key;
  return network_.get();
}

Result<std::string> RowHashes::hash_of(const Request& request, const Measurement& row) {
  FORERUN_TRY(const Network* const network, network_of(request, row));
  if (network == nullptr) return std::string();
  FORERUN_TRY(const Workload workload, workload_of(request));
  FORERUN_TRY(const Graph graph, analyze(*network, workload.binding));
  return workload_hash(graph, workload);
}

}  // namespace forerun
