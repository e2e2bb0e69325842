// Admission (routes, methods, token, content type) and dispatch; answers.cpp has the answers.
#include "server/api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "server/multipart.hpp"
#include "server/pages.hpp"

namespace forerun::server {
namespace {

constexpr std::array kRoutes = {
    Route{.method = "POST",
          .path = "/v1/predict",
          .answer = &Api::answer_predict,
          .summary = "Latency, throughput, memory, energy, power and advice on each device",
          .request_schema = "PredictRequest",
          .answer_schema = "PredictReport",
          .computes = true},
    Route{.method = "POST",
          .path = "/v1/advise",
          .answer = &Api::answer_advise,
          .summary = "What to change, and what each change is worth",
          .request_schema = "AdviseRequest",
          .answer_schema = "AdviseReport",
          .computes = true},
    Route{.method = "POST",
          .path = "/v1/serve",
          .answer = &Api::answer_serve,
          .summary = "A language model in a serving engine under load: percentiles of latency, rates, KV use",
          .request_schema = "PredictRequest",
          .answer_schema = "PredictReport",
          .computes = true},
    Route{.method = "POST",
          .path = "/v1/plan",
          .answer = &Api::answer_plan,
          .summary = "The fastest layouts on several devices, or with `serve` the cheapest deployments for a load",
          .request_schema = "PlanRequest",
          .answer_schema = "PlanReport",
          .computes = true},
    Route{.method = "POST",
          .path = "/v1/inspect",
          .answer = &Api::answer_inspect,
          .summary = "What a network consists of and costs, on any device",
          .request_schema = "InspectRequest",
          .answer_schema = "InspectReport",
          .computes = true},
    Route{
        .method = "GET", .path = "/v1/devices", .answer = &Api::answer_devices, .summary = "The catalogue of devices"},
    Route{
        .method = "GET", .path = "/v1/networks", .answer = &Api::answer_networks, .summary = "Networks known by name"},
    Route{.method = "GET",
          .path = "/v1/predictors",
          .answer = &Api::answer_predictors,
          .summary = "Predictors with the reports of their accuracy",
          .computes = true},
    Route{.method = "GET",
          .path = "/v1/metrics",
          .answer = &Api::answer_metric_table,
          .summary = "What is answered: each metric's unit, meaning and direction"},
    Route{.method = "GET",
          .path = "/v1/regions",
          .answer = &Api::answer_regions,
          .summary = "Regions whose electricity's carbon intensity is known"},
    Route{.method = "GET",
          .path = "/v1/measurements",
          .answer = &Api::answer_measurements,
          .summary = "Measurements from the server's store",
          .query = "device,network,campaign,status,limit",
          .computes = true},
    Route{.method = "GET",
          .path = "/healthz",
          .answer = &Api::answer_health,
          .summary = "Whether the server answers",
          .is_open = true},
    Route{.method = "GET",
          .path = "/metrics",
          .answer = &Api::answer_metrics,
          .summary = "Counters and timings in Prometheus' text format",
          .content_type = "text/plain; version=0.0.4"},
    Route{.method = "GET",
          .path = "/openapi.json",
          .answer = &Api::answer_openapi,
          .summary = "This description",
          .is_open = true},
};

constexpr std::size_t kMostHostBytes = 256;    // of a Host header that is quoted
constexpr std::size_t kQuickBytes = 64 << 10;  // longer requests are looked up by a worker

const Route* find_route(std::string_view path) {
  const auto found =
      std::find_if(kRoutes.begin(), kRoutes.end(), [&](const Route& route) { return route.path == path; });
  return found == kRoutes.end() ? nullptr : &*found;
}

// Takes the same time whatever the difference.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

bool has_token(const RequestHead& head, const std::string& token) {
  constexpr std::string_view kScheme = "bearer ";
  std::string_view sent = head.header("authorization");
  if (lower_case(sent.substr(0, kScheme.size())) != kScheme) return false;
  sent.remove_prefix(kScheme.size());
  while (sent.starts_with(' ')) sent.remove_prefix(1);
  return same_secret(sent, token);
}

}  // namespace

std::span<const Route> all_routes() { return kRoutes; }

std::string question_of(const Request& request) { return request.head.path + " " + request.body; }

bool is_local_option(std::string_view name) { return name == "device-file" || name == "store"; }

std::string json_key(const Option& option) {
  std::string key(option.kind == OptionKind::Dims ? std::string_view("dims") : option.name);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::BadInput: return 400;
    case ErrorKind::NotFound: return 404;
    case ErrorKind::TooLarge: return 413;
    case ErrorKind::TooCostly: return 422;
    case ErrorKind::Interrupted: return 503;
    case ErrorKind::Deadline: return 504;
    case ErrorKind::Io:
    case ErrorKind::Internal: return 500;
  }
  return 500;
}

Admission Api::admit(const RequestHead& head) {
  const Route* route = find_route(head.path);
  if (route == nullptr && !is_page(head.path)) return {problem(404, fmt::format("nothing is at {}", head.path)), false};
  const std::string_view method = route == nullptr ? "GET" : route->method;
  if (head.method != method && !(head.method == "HEAD" && method == "GET")) {
    Response refusal = problem(405, fmt::format("{} takes {}", head.path, method));
    refusal.headers.emplace_back("Allow", method == "GET" ? "GET, HEAD" : "POST");
    return {std::move(refusal), false};
  }
  if (route == nullptr) return {};
  // A browser always names its host; a client that names none is none.
  if (const std::string_view host = head.header("host");
      !route->is_open && !host.empty() && !options_.hosts.allows(host)) {
    return {problem(421, fmt::format("this server is not {}: start it with --allow-host NAME to answer to that name",
                                     host.substr(0, kMostHostBytes))),
            false};
  }
  if (const auto foreign = route->computes ? cross_site_problem(head, options_.hosts) : std::nullopt)
    return {problem(403, *foreign), false};
  if (!options_.token.empty() && !route->is_open && !has_token(head, options_.token)) {
    Response refusal = problem(401, "this server wants a token: Authorization: Bearer …");
    refusal.headers.emplace_back("WWW-Authenticate", "Bearer");
    return {std::move(refusal), false};
  }
  if (route->request_schema.empty()) return {};
  if (const std::string_view coding = head.header("content-encoding");
      !coding.empty() && lower_case(coding) != "identity") {
    return {problem(415, "send the body as it is: Content-Encoding is not supported"), false};
  }
  const std::string_view type = head.header("content-type");
  if (media_type(type) != "application/json" && multipart_boundary(type).empty()) {
    return {problem(415, "send application/json, or multipart/form-data with the parts `request` and `model`"), false};
  }
  return {std::nullopt, true};
}

std::optional<Response> Api::answer_at_once(const Request& request) {
  const Route* route = find_route(request.head.path);
  if (route == nullptr || !route->computes) return handle(request);
  if (request.upload || request.body.size() > kQuickBytes || route->request_schema.empty()) return std::nullopt;
  std::shared_ptr<const std::string> known = cache_.find(question_of(request));
  if (!known) return std::nullopt;
  return Response{200, "application/json", std::move(known), {}};
}

Response Api::handle(const Request& request) {
  const Route* route = find_route(request.head.path);
  if (route != nullptr) return (this->*route->answer)(request);
  std::optional<Response> page = find_page(request.head.path, request.head.header("if-none-match"));
  return page ? std::move(*page) : problem(404, "nothing is here");
}

void Api::finished(const ExchangeRecord& record) {
  const Route* route = find_route(record.path);
  metrics_.count(route != nullptr ? route->path : is_page(record.path) ? "page" : "other", record);
  log_.write(record);
}

}  // namespace forerun::server
