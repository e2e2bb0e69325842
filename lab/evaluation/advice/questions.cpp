#include "evaluation/advice/questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "readers/networks.hpp"
#include "service/options.hpp"

namespace forerun {
namespace {

Result<std::shared_ptr<const Network>> network_of(const std::string& model) {
  const bool is_file = std::filesystem::exists(model);
  FORERUN_TRY(std::unique_ptr<Network> network, is_file ? read_network(model) : find_network(model));
  return std::shared_ptr<const Network>(std::move(network));
}

}  // namespace

Result<Questions> Questions::open() {
  FORERUN_TRY(std::unique_ptr<Service> service, Service::create());
  Questions questions;
  questions.service_ = std::move(service);
  return questions;
}

Result<DeviceResult> Questions::predict(const nlohmann::json& request, const GraphEdit* edit) const {
  FORERUN_TRY(Request asked, parse_request(request.dump()));
  if (edit != nullptr) {
    FORERUN_TRY(std::shared_ptr<const Network> network, network_of(asked.model));
    asked.network = edited(std::move(network), std::array{edit});
  }
  FORERUN_TRY(PredictReport report, service_->predict(asked));
  if (!report.results.front().estimates.contains(Metric::Latency))
    return bad_input(request.dump() + ": no latency is known");
  return std::move(report.results.front());
}

Result<RooflineReport> Questions::roofline(const nlohmann::json& request) const {
  FORERUN_TRY(const Request asked, parse_request(request.dump()));
  return service_->roofline(asked);
}

const Device* Questions::device(const std::string& id) const {
  const auto& devices = service_->catalogue().devices();
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const Device& d) { return d.id == id; });
  return found == devices.end() ? nullptr : &*found;
}

std::string ratio_cell(double predicted, double published) {
  return predicted > 0 && published > 0 ? fmt::format("{:.2f}", predicted / published) : "-";
}

std::string number_cell(double value, int digits) {
  if (!(value > 0)) return "-";
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.{}g}", value, digits);
}

}  // namespace forerun
