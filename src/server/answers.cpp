// The answers: requests become the service's, its reports become bodies.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <utility>

#include "readers/networks.hpp"
#include "readers/reader.hpp"
#include "server/api.hpp"
#include "server/batch.hpp"
#include "server/openapi.hpp"
#include "server/request_parser.hpp"
#include "service/catalogue_json.hpp"
#include "service/json.hpp"
#include "service/version.hpp"
#include "store/measurement_json.hpp"
#include "store/store.hpp"

namespace forerun::server {
namespace {

constexpr std::size_t kDefaultMeasurements = 100;
constexpr std::size_t kMostMeasurements = 1000;

Response fault(const Error& error) { return problem(status_of(error.kind), error.message); }

Response json_of(std::shared_ptr<const std::string> body) { return {200, "application/json", std::move(body), {}}; }

std::shared_ptr<const std::string> share(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

// Readers name the upload by its path; the client knows it by its file name.
Error rename_file(Error error, const Upload& upload) {
  const std::string& path = upload.file.path();
  for (std::size_t at = error.message.find(path); at != std::string::npos; at = error.message.find(path, at)) {
    error.message.replace(at, path.size(), upload.file_name);
    at += upload.file_name.size();
  }
  return error;
}

}  // namespace

Result<std::shared_ptr<const Network>> Api::shipped_network(const std::string& name) const {
  if (!is_shipped_network(name)) {
    return not_found(
        fmt::format("model: '{}' is not a shipped network; send a file or name one of /v1/networks", name));
  }
  const std::lock_guard lock(shelf_mutex_);
  std::shared_ptr<const Network>& network = shelf_[name];
  if (!network) {
    FORERUN_TRY(network, find_network(name));
  }
  return network;
}

Result<forerun::Request> Api::named_network(forerun::Request asked) const {
  if (!asked.device_file.empty()) return bad_input("device_file: files of the server are not read for a request");
  if (!asked.store.empty()) return bad_input("store: databases are not opened for a request");
  asked.most_work = options_.most_work;
  if (asked.network) {
    asked.is_transient = true;
    return asked;
  }
  if (asked.model.empty()) return bad_input("model: name a shipped network, send a config, or send a file");
  // Looked up here, so that the service never takes the name for a path.
  FORERUN_TRY(asked.network, shipped_network(asked.model));
  return asked;
}

Result<forerun::Request> Api::to_service_request(const Request& request) const {
  const bool is_upload = request.upload != nullptr;
  const std::string_view json =
      is_upload && request.body.empty() ? std::string_view("{}") : std::string_view(request.body);
  FORERUN_TRY(forerun::Request asked, parse_request(json, /*allow_paths=*/false));
  asked.cancel = request.cancel;
  if (is_upload) {
    if (!asked.model.empty() || asked.network)
      return bad_input("model: the network comes either as a file or in the request, not both");
    Result<std::unique_ptr<Network>> network =
        read_network(request.upload->file.path(), /*stands_alone=*/true, request.cancel);
    if (!network) return rename_file(network.error(), *request.upload);
    asked.network = std::move(*network);
    asked.model = request.upload->file_name;
  }
  return named_network(std::move(asked));
}

namespace {

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
    return percent_decode(pair.substr(equals + 1)).value_or("");
  }
  return {};
}

}  // namespace

Api::Api(const Service& service, ApiOptions options, AccessLog& log)
    : service_(service),
      options_(std::move(options)),
      log_(log),
      cache_(options_.cache_bytes),
      rate_(options_.questions_per_s, options_.burst),
      devices_(share(devices_json(service.catalogue()) + "\n")),
      networks_(share(networks_json() + "\n")),
      regions_(share(regions_json() + "\n")),
      openapi_(share(openapi_json())) {}

Response Api::answer_question(const Request& request, const Question& ask) const {
  const bool is_cacheable = request.upload == nullptr;
  const std::string question = is_cacheable ? question_of(request) : std::string();
  if (is_cacheable) {
    if (std::shared_ptr<const std::string> known = cache_.find(question)) return json_of(std::move(known));
  }
  const Result<forerun::Request> asked = to_service_request(request);
  if (!asked) return fault(asked.error());
  Result<std::string> report = ask(*asked);
  if (!report) return fault(request.upload ? rename_file(report.error(), *request.upload) : report.error());
  std::shared_ptr<const std::string> body = share(std::move(*report) + "\n");
  if (is_cacheable) cache_.insert(question, body);
  return json_of(std::move(body));
}

Result<std::string> Api::predict(const forerun::Request& asked) const {
  if (asked.devices.empty() && asked.parallel.system.empty()) return bad_input("device: name at least one, or \"all\"");
  FORERUN_TRY(const PredictReport report, service_.predict(asked));
  return to_json(report);
}

Response Api::answer_predict(const Request& request) const {
  if (answer_type(request) == kLinesType) return answer_batch(request);
  return answer_question(request, [this](const forerun::Request& asked) { return predict(asked); });
}

Response Api::answer_batch(const Request& request) const {
  const auto ask = [&](std::string_view line) -> Result<std::string> {
    FORERUN_TRY(forerun::Request asked, parse_request(line, /*allow_paths=*/false));
    asked.cancel = request.cancel;
    FORERUN_TRY(asked, named_network(std::move(asked)));
    return predict(asked);
  };
  Result<std::string> answers = answer_lines(request.body, ask);
  if (!answers) return fault(answers.error());
  std::shared_ptr<const std::string> body = share(std::move(*answers));
  if (!request.cancel.stopped()) cache_.insert(question_of(request), body);
  return {200, std::string(kLinesType), std::move(body), {}};
}

namespace {

Status needs_one_device(const forerun::Request& asked) {
  return asked.devices.empty() ? Status(bad_input("device: name the one it runs on")) : ok();
}

}  // namespace

Response Api::answer_advise(const Request& request) const {
  return answer_question(request, [this](const forerun::Request& asked) -> Result<std::string> {
    FORERUN_CHECK(needs_one_device(asked));
    FORERUN_TRY(const AdviseReport report, service_.advise(asked));
    return to_json(report);
  });
}

Response Api::answer_serve(const Request& request) const {
  return answer_question(request, [this](const forerun::Request& given) -> Result<std::string> {
    forerun::Request asked = given;
    if (asked.devices.empty()) return bad_input("device: name at least one, or \"all\"");
    if (asked.engine.empty()) asked.engine = kDefaultEngine;  // also where no option of serving is given
    FORERUN_TRY(const PredictReport report, service_.predict(asked));
    return to_json(report);
  });
}

Response Api::answer_plan(const Request& request) const {
  return answer_question(request, [this](const forerun::Request& asked) -> Result<std::string> {
    if (!asked.serve && asked.devices.empty() && asked.parallel.system.empty())
      return bad_input("device: name the one it runs on, or a system");
    FORERUN_TRY(const PlanReport report, service_.plan(asked));
    return to_json(report);
  });
}

Response Api::answer_mig(const Request& request) const {
  return answer_question(request, [this](const forerun::Request& asked) -> Result<std::string> {
    FORERUN_CHECK(needs_one_device(asked));
    FORERUN_TRY(const MigReport report, service_.mig(asked));
    return to_json(report);
  });
}

Response Api::answer_roofline(const Request& request) const {
  return answer_question(request, [this](const forerun::Request& asked) -> Result<std::string> {
    FORERUN_CHECK(needs_one_device(asked));
    FORERUN_TRY(const RooflineReport report, service_.roofline(asked));
    return to_json(report);
  });
}

Response Api::answer_nodes(const Request& request) const {
  return answer_question(request, [this](const forerun::Request& asked) -> Result<std::string> {
    FORERUN_TRY(const NodesReport report, service_.nodes(asked));
    return to_json(report);
  });
}

Response Api::answer_inspect(const Request& request) const {
  return answer_question(request, [this](const forerun::Request& asked) -> Result<std::string> {
    FORERUN_TRY(const InspectReport report, service_.inspect(asked));
    return to_json(report);
  });
}

Response Api::answer_devices(const Request&) const { return json_of(devices_); }
Response Api::answer_device(const Request& request) const {
  const Result<Device> device = service_.catalogue().find(id_in(request.head.path));
  if (!device) return fault(device.error());
  return respond(200, "application/json", service_.catalogue().describe(*device) + "\n");
}

Response Api::answer_networks(const Request&) const { return json_of(networks_); }
Response Api::answer_regions(const Request&) const { return json_of(regions_); }
Response Api::answer_openapi(const Request&) const { return json_of(openapi_); }

Response Api::answer_predictors(const Request&) const {
  return respond(200, "application/json", predictors_json(service_) + "\n");
}

Response Api::answer_metric_table(const Request&) const {
  return respond(200, "application/json", metrics_json() + "\n");
}

Response Api::answer_measurements(const Request& request) const {
  if (options_.store_url.empty())
    return problem(404, "this server has no store of measurements; start it with --store URL");
  const std::string_view query = request.head.query;
  StoreFilter filter;
  filter.device = query_value(query, "device");
  filter.network = query_value(query, "network");
  filter.campaign = query_value(query, "campaign");
  filter.status = query_value(query, "status");
  filter.limit = kDefaultMeasurements;
  if (const std::string limit = query_value(query, "limit"); !limit.empty()) {
    const auto [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), filter.limit);
    if (error != std::errc() || end != limit.data() + limit.size() || filter.limit == 0 ||
        filter.limit > kMostMeasurements) {
      return problem(400, fmt::format("limit: a whole number from 1 to {}", kMostMeasurements));
    }
  }
  Result<std::unique_ptr<Store>> store = open_store(options_.store_url, OpenMode::Read);
  if (!store) return fault(store.error());
  std::string body = "{\"measurements\":[";
  const Status status = (*store)->visit(filter, [&](const Measurement& row) {
    if (body.back() != '[') body += ',';
    body += measurement_to_json(row);
    return ok();
  });
  if (!status) return fault(status.error());
  return respond(200, "application/json", body + "]}\n");
}

namespace {

std::string health_json(std::string_view status) {
  JsonWriter json;
  json.begin_object().field("status", status).field("version", program_version()).key("bundles").begin_object();
  for (const BundleId& id : shipped_bundles()) json.field(id.name, id.checksum);
  return json.end_object().end_object().take() + "\n";
}

}  // namespace

Response Api::answer_health(const Request&) const { return respond(200, "application/json", health_json("ok")); }

Response Api::answer_ready(const Request&) const {
  const Metrics::Gauges now = gauges_ ? gauges_() : Metrics::Gauges{};
  const bool is_ready = now.waiting_requests * 2 <= now.most_waiting;
  return respond(is_ready ? 200 : 503, "application/json", health_json(is_ready ? "ready" : "busy"));
}

Response Api::answer_metrics(const Request&) const {
  return respond(200, "text/plain; version=0.0.4", metrics_.to_text(gauges_ ? gauges_() : Metrics::Gauges{}));
}

}  // namespace forerun::server
