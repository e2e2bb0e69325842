// The identity of each row of a plan, found before it is measured: what `forerun predict` later finds the row by.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.hpp"
#include "readers/reader.hpp"
#include "records/measurement.hpp"

namespace forerun {

class RowHashes {
 public:
  // `graphs`: the folder with the ONNX graphs of generated networks, by the name that Measurement::graph says; may be
  // empty.
  explicit RowHashes(std::string graphs) : graphs_(std::move(graphs)) {}

  // The hash of a row's workload; empty where the plan describes no network (operators), or names no graph for it.
  // Errors: a graph that is missing or cannot be read, settings that no workload has.
  Result<std::string> hash_of(const nlohmann::ordered_json& request, const Measurement& row);

 private:
  Result<const Network*> network_of(const nlohmann::ordered_json& request, const Measurement& row);

  std::string graphs_;
  std::string key_;  // of the last network: rows of one network follow each other
  std::unique_ptr<Network> network_;
};

}  // namespace forerun
