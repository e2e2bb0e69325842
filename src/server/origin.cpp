#include "server/origin.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace forerun::server {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string own_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? host_of(name.data()) : std::string();
}

}  // namespace

std::string host_of(std::string_view authority) {
  std::string_view host = authority;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    host = end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
  } else if (const std::size_t colon = host.find(':'); colon != std::string_view::npos && colon == host.rfind(':')) {
    host = host.substr(0, colon);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  return lower_case(host);
}

bool is_address(std::string_view host) {
  const std::string text(host);
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return ::inet_pton(AF_INET, text.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), ignored.data()) == 1;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || host == "::1" ||
         (host.starts_with("127.") && is_address(host));
}

HostList::HostList(std::string_view listening, const std::vector<std::string>& also) {
  for (const std::string& name : also) named_.push_back(host_of(name));
  const std::string host = host_of(listening);
  if (is_loopback(host)) return;
  any_address_ = true;
  names_ = {host, own_name()};
}

bool HostList::names(std::string_view host) const { return contains(named_, host); }

bool HostList::allows(std::string_view host_header) const {
  const std::string host = host_of(host_header);
  return !host.empty() &&
         (is_loopback(host) || names(host) || contains(names_, host) || (any_address_ && is_address(host)));
}

Result<OriginList> OriginList::from(const std::vector<std::string>& origins) {
  OriginList list;
  for (const std::string& origin : origins) {
    const std::size_t scheme = origin.find("://");
    const bool is_web = origin.starts_with("https://") || origin.starts_with("http://");
    const std::string_view authority = is_web ? std::string_view(origin).substr(scheme + 3) : std::string_view();
    if (authority.empty() || authority.find_first_of("/?#*, \"\r\n") != std::string_view::npos)
      return bad_input(fmt::format("--allow-origin: '{}' is no origin, as in https://dashboard.example.org", origin));
    list.origins_.push_back(lower_case(origin));
  }
  return list;
}

bool OriginList::names(std::string_view origin) const { return contains(origins_, lower_case(origin)); }

void OriginList::allow(const RequestHead& head, Response& response) const {
  if (origins_.empty()) return;
  response.headers.emplace_back("Vary", "Origin");
  const std::string_view origin = head.header("origin");
  if (!names(origin)) return;
  response.headers.emplace_back("Access-Control-Allow-Origin", origin);
  response.headers.emplace_back("Access-Control-Expose-Headers", "Retry-After");
}

std::optional<Response> OriginList::answer_preflight(const RequestHead& head) const {
  if (!names(head.header("origin")) || head.header("access-control-request-method").empty()) return std::nullopt;
  Response response = respond(204, "text/plain", "");
  allow(head, response);
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST");
  response.headers.emplace_back("Access-Control-Allow-Headers", "Authorization, Content-Type");
  response.headers.emplace_back("Access-Control-Max-Age", "600");
  return response;
}

std::optional<std::string> cross_site_problem(const RequestHead& head, const HostList& hosts) {
  constexpr std::string_view kRefusal = "a page of another site may not ask this server to compute";
  const std::string_view origin = head.header("origin");
  const std::string site = lower_case(head.header("sec-fetch-site"));
  if (site == "cross-site") return fmt::format("{} (Sec-Fetch-Site: {})", kRefusal, site);
  if (origin.empty()) {
    if (site == "same-site") return fmt::format("{} (Sec-Fetch-Site: {})", kRefusal, site);
    return std::nullopt;  // no browser, or a navigation of the user's own
  }
  const std::size_t scheme = origin.find("://");
  if (scheme != std::string_view::npos) {  // not "null"
    const std::string authority = lower_case(origin.substr(scheme + 3));
    if (authority == lower_case(head.header("host")) || hosts.names(host_of(authority))) return std::nullopt;
  }
  return fmt::format("{} (Origin: {}); where a proxy serves it under that name, start it with --allow-host", kRefusal,
                     origin.substr(0, 256));
}

}  // namespace forerun::server
