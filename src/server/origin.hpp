// Which requests are the user's own: the Host header against the names this server goes by, and Origin and
// Sec-Fetch-Site against pages of other sites, which a browser lets send requests here.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

// Why a request that computes is refused: it comes from a page of another site. nullopt: it does not.
[[nodiscard]] std::optional<std::string> cross_site_problem(const RequestHead& head, const HostList& hosts);

}  // namespace forerun::server
