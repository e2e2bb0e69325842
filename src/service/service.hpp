// The one façade: requests in, reports out. Front ends translate and never compute. Safe to use from several threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "devices/catalogue.hpp"
#include "service/improve.hpp"
#include "service/nodes.hpp"
#include "service/plan_serving.hpp"
#include "service/report.hpp"
#include "service/request.hpp"

namespace forerun {

struct ServiceConfig {
  std::size_t cached_networks = 64;            // read files kept in memory
  std::size_t cached_analyses = 256;           // bound and costed graphs kept
  std::size_t cached_nodes = 4'000'000;        // of all of them together
  std::vector<std::string> device_files = {};  // added to the catalogue
};

class Service {
 public:
  static Result<std::unique_ptr<Service>> create(ServiceConfig config = {});
  ~Service();

  // REQUIRES of requests: `model` or `network`; for all but inspect at least one device.
  [[nodiscard]] Result<InspectReport> inspect(const Request& request) const;
  [[nodiscard]] Result<NodesReport> nodes(const Request& request) const;
  // A configuration of a network that generates text token by token.
  [[nodiscard]] Result<bool> is_language_model(const Request& request) const;
  [[nodiscard]] Result<PredictReport> predict(const Request& request) const;
  [[nodiscard]] Result<AdviseReport> advise(const Request& request) const;  // one device
  // Layouts of one device or system; with request.serve, deployments of any.
  [[nodiscard]] Result<PlanReport> plan(const Request& request) const;
  [[nodiscard]] Result<MigReport> mig(const Request& request) const;
  [[nodiscard]] Result<RooflineReport> roofline(const Request& request) const;  // one device

  [[nodiscard]] const Catalogue& catalogue() const;
  [[nodiscard]] std::vector<PredictorInfo> predictors() const;

 private:
  struct State;
  explicit Service(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace forerun
