// Which requests are the user's own: the Host header against the names this server goes by, and Origin and
// Sec-Fetch-Site against pages of other sites, which a browser lets send requests here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "server/http_message.hpp"

namespace forerun::server {

// "[::1]:8080" → "::1", "Example.org.:80" → "example.org".
[[nodiscard]] std::string host_of(std::string_view authority);
// localhost, *.localhost, 127.0.0.0/8, ::1
[[nodiscard]] bool is_loopback(std::string_view host);
// An IPv4 or IPv6 address rather than a name. A page that had its own name resolve to this machine (DNS rebinding)
// sends that name, never an address.
[[nodiscard]] bool is_address(std::string_view host);

// The names a server answers to. Loopback names always; more from what it listens on and from --allow-host.
class HostList {
 public:
  HostList() = default;
  // `listening`: the value of --host. On other addresses than loopback, addresses and the machine's own name are
  // allowed.
  HostList(std::string_view listening, const std::vector<std::string>& also);

  [[nodiscard]] bool allows(std::string_view host_header) const;
  // Named with --allow-host: a proxy may serve the page under that name.
  [[nodiscard]] bool names(std::string_view host) const;

 private:
  std::vector<std::string> names_, named_;
  bool any_address_ = false;
};

// Pages of other sites that may ask and read the answers (CORS): origins as a browser sends them,
// "https://dashboard.example.org".
class OriginList {
 public:
  OriginList() = default;
  // Errors: what is no origin (a path, no scheme, "*").
  static Result<OriginList> from(const std::vector<std::string>& origins);

  [[nodiscard]] bool names(std::string_view origin) const;
  // The answer to a browser that asks whether it may ask; nullopt where the origin is not of the list.
  [[nodiscard]] std::optional<Response> answer_preflight(const RequestHead& head) const;
  // Lets the page that asked read the answer, if it is of the list.
  void allow(const RequestHead& head, Response& response) const;

 private:
  std::vector<std::string> origins_;
};

// Why a request that computes is refused: it comes from a page of another site. nullopt: it does not.
[[nodiscard]] std::optional<std::string> cross_site_problem(const RequestHead& head, const HostList& hosts);

}  // namespace forerun::server
