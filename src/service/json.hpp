// The one JSON codec of the reports.
#pragma once

#include <string>

#include "base/json_writer.hpp"
#include "service/report.hpp"

namespace forerun {

// One line each.
// Names, types and shapes as a member `key`; an unknown shape is null.
void write_workload(JsonWriter& json, const WorkloadInfo& workload);
void write_tensors(JsonWriter& json, std::string_view key, const std::vector<TensorInfo>& list);
void write_verdict(JsonWriter& json, const Verdict& verdict);
void write_limits(JsonWriter& json, const LimitReport& limits);
void write_assertions(JsonWriter& json, const std::vector<Checked>& assertions);

void write_serving_metrics(JsonWriter& json, const std::vector<ServingMetric>& metrics);

[[nodiscard]] std::string to_json(const InspectReport& report);
[[nodiscard]] std::string to_json(const PredictReport& report);
[[nodiscard]] std::string to_json(const MigReport& report);
[[nodiscard]] std::string to_json(const RooflineReport& report);
// `id`, `line`: of the request, where it has them.
[[nodiscard]] std::string error_json(const Error& error, const std::string& id = {}, std::int64_t line = 0);
// An object with the asker's id as its first member; "": as it is.
[[nodiscard]] std::string with_id(const std::string& id, std::string object);

}  // namespace forerun
