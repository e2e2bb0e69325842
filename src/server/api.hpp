// The HTTP API: a table of routes, each translated into a call of the service. Nothing is computed here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "server/access_log.hpp"
#include "server/http_handler.hpp"
#include "server/metrics.hpp"
#include "server/origin.hpp"
#include "server/rate_limit.hpp"
#include "server/response_cache.hpp"
#include "server/routes.hpp"
#include "service/options.hpp"
#include "service/service.hpp"

namespace forerun::server {

// Options that name files or databases of the machine they run on: not taken over HTTP.
[[nodiscard]] bool is_local_option(std::string_view name);
// The option's key in JSON: "max-latency-ms" → "max_latency_ms".
[[nodiscard]] std::string json_key(const Option& option);

struct ApiOptions {
  std::string token = {};      // empty: none is asked for
  std::string store_url = {};  // empty: /v1/measurements has nothing to show
  std::size_t cache_bytes = 64ULL << 20;
  HostList hosts = {};         // names it answers to
  OriginList origins = {};     // pages of other sites that may ask
  double questions_per_s = 0;  // of one client; 0: no limit
  double burst = 20;           // questions that a client may ask at once
  double most_work = 20e6;     // kernel timings that one request may cause
};

class Api : public HttpHandler {
 public:
  // All references must outlive the Api.
  Api(const Service& service, ApiOptions options, AccessLog& log);

  Admission admit(const RequestHead& head) override;
  std::optional<Response> answer_at_once(const Request& request) override;
  Response handle(const Request& request) override;
  void finished(const ExchangeRecord& record) override;

  // Where /metrics reads the front's state; called before serving starts.
  void watch(std::function<Metrics::Gauges()> gauges) { gauges_ = std::move(gauges); }

  Response answer_advise(const Request& request) const;
  Response answer_predict(const Request& request) const;
  Response answer_serve(const Request& request) const;
  Response answer_plan(const Request& request) const;
  Response answer_mig(const Request& request) const;
  Response answer_roofline(const Request& request) const;
  Response answer_inspect(const Request& request) const;
  Response answer_nodes(const Request& request) const;
  Response answer_devices(const Request& request) const;
  Response answer_device(const Request& request) const;
  Response answer_networks(const Request& request) const;
  Response answer_predictors(const Request& request) const;
  Response answer_metric_table(const Request& request) const;
  Response answer_regions(const Request& request) const;
  Response answer_measurements(const Request& request) const;
  Response answer_health(const Request& request) const;
  Response answer_ready(const Request& request) const;
  Response answer_metrics(const Request& request) const;
  Response answer_openapi(const Request& request) const;

 private:
  using Question = std::function<Result<std::string>(const forerun::Request&)>;
  Result<std::shared_ptr<const Network>> shipped_network(const std::string& name) const;
  Result<forerun::Request> to_service_request(const Request& request) const;
  Result<forerun::Request> named_network(forerun::Request asked) const;
  Result<std::string> predict(const forerun::Request& asked) const;
  Response answer_batch(const Request& request) const;
  Admission decide(const RequestHead& head) const;
  Response answer(const Request& request) const;
  Response answer_question(const Request& request, const Question& ask) const;

  const Service& service_;
  const ApiOptions options_;
  AccessLog& log_;
  std::function<Metrics::Gauges()> gauges_;
  Metrics metrics_;
  mutable ResponseCache cache_;
  RateLimit rate_;
  mutable std::mutex shelf_mutex_;
  mutable std::map<std::string, std::shared_ptr<const Network>> shelf_;  // shipped networks requested so far
  std::shared_ptr<const std::string> devices_;
  std::shared_ptr<const std::string> networks_;
  std::shared_ptr<const std::string> regions_;
  std::shared_ptr<const std::string> openapi_;
};

// NDJSON for NDJSON, else JSON.
[[nodiscard]] std::string_view answer_type(const Request& request);
// The key of a request in the cache of answers; an upload's content is not part of it.
[[nodiscard]] std::string question_of(const Request& request);

// The one place where an error becomes an HTTP status.
[[nodiscard]] int status_of(ErrorKind kind);

}  // namespace forerun::server
