// Reports as text for people.
#pragma once

#include <string>

#include "cli/view.hpp"
#include "devices/device.hpp"
#include "service/improve.hpp"
#include "service/nodes.hpp"
#include "service/plan_serving.hpp"
#include "service/report.hpp"

namespace forerun {

[[nodiscard]] std::string render_table(const InspectReport& report);
[[nodiscard]] std::string render_table(const NodesReport& report);
[[nodiscard]] std::string render_summary(const InspectReport& report);  // inspect --text
// An error names the columns there are, where --columns asks for others.
[[nodiscard]] Result<std::string> render_table(const PredictReport& report, const View& view);
[[nodiscard]] std::string render_table(const AdviseReport& report);
[[nodiscard]] std::string render_table(const LayoutReport& report);
[[nodiscard]] std::string render_table(const ServingPlan& plan);
[[nodiscard]] std::string render_svg(const ServingPlan& plan);
[[nodiscard]] std::string render_table(const MigReport& report);
[[nodiscard]] std::string render_chart(const RooflineReport& report);
[[nodiscard]] std::string render_svg(const RooflineReport& report);
[[nodiscard]] std::string render_device(const Device& device);

// 1234567 -> "1.23 M"; bytes -> "1.18 MB" (binary)
[[nodiscard]] std::string human_count(double value);
[[nodiscard]] std::string human_bytes(double bytes);

}  // namespace forerun
