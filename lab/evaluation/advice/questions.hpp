// Questions that the pages about advice ask of the program, as users would.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "advice/optimise/graph_edits.hpp"
#include "service/service.hpp"

namespace forerun {

class Questions {
 public:
  static Result<Questions> open();
  // `request`: as for `forerun predict -`. One device. `edit`: applied to the network first.
  [[nodiscard]] Result<DeviceResult> predict(const nlohmann::json& request, const GraphEdit* edit = nullptr) const;
  [[nodiscard]] Result<RooflineReport> roofline(const nlohmann::json& request) const;
  [[nodiscard]] const Device* device(const std::string& id) const;

 private:
  std::shared_ptr<Service> service_;
};

// "0.87", "-" where one is missing: predicted / published.
[[nodiscard]] std::string ratio_cell(double predicted, double published);
[[nodiscard]] std::string number_cell(double value, int digits = 3);

}  // namespace forerun
