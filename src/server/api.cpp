// Admission (routes, methods, token, content type) and dispatch; answers.cpp has the answers.
#include "server/api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "server/batch.hpp"
#include "server/multipart.hpp"
#include "server/pages.hpp"

namespace forerun::server {
namespace {

constexpr std::size_t kMostHostBytes = 256;    // of a Host header that is quoted
constexpr std::size_t kQuickBytes = 64 << 10;  // longer requests are looked up by a worker

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

std::string_view answer_type(const Request& request) {
  return media_type(request.head.header("content-type")) == kLinesType ? kLinesType : "application/json";
}

std::string question_of(const Request& request) {
  return fmt::format("{} {} {}", request.head.path, answer_type(request), request.body);
}

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
  if (head.method == "OPTIONS") {
    if (std::optional<Response> preflight = options_.origins.answer_preflight(head))
      return {std::move(preflight), false};
  }
  Admission admission = decide(head);
  if (admission.refusal) options_.origins.allow(head, *admission.refusal);
  return admission;
}

Admission Api::decide(const RequestHead& head) const {
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
  if (const auto foreign = route->computes && !options_.origins.names(head.header("origin"))
                               ? cross_site_problem(head, options_.hosts)
                               : std::nullopt)
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
  const std::string media = media_type(type);
  if (media != "application/json" && multipart_boundary(type).empty() && !(route->takes_lines && media == kLinesType)) {
    return {problem(415, fmt::format("send application/json{} (curl: -H 'Content-Type: application/json'), or "
                                     "multipart/form-data with the parts `request` and `model`",
                                     route->takes_lines ? fmt::format(", {}", kLinesType) : "")),
            false};
  }
  return {std::nullopt, true};
}

std::optional<Response> Api::answer_at_once(const Request& request) {
  const Route* route = find_route(request.head.path);
  if (route == nullptr || !route->computes) return handle(request);
  if (const double wait_s = rate_.take(request.peer, Clock::now()); wait_s > 0) {
    Response refusal = problem(
        429, fmt::format("more than {:g} questions a second: ask again in {:.1f} s", options_.questions_per_s, wait_s));
    refusal.headers.emplace_back("Retry-After", std::to_string(std::int64_t(std::ceil(wait_s))));
    options_.origins.allow(request.head, refusal);
    return refusal;
  }
  if (request.upload || request.body.size() > kQuickBytes || route->request_schema.empty()) return std::nullopt;
  std::shared_ptr<const std::string> known = cache_.find(question_of(request));
  if (!known) return std::nullopt;
  Response response{200, std::string(answer_type(request)), std::move(known), {}};
  options_.origins.allow(request.head, response);
  return response;
}

Response Api::handle(const Request& request) {
  Response response = answer(request);
  options_.origins.allow(request.head, response);
  return response;
}

Response Api::answer(const Request& request) const {
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
