// `forerun serve`: the service behind HTTP until SIGTERM or SIGINT.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"
#include "server/api.hpp"
#include "server/http_server.hpp"

namespace forerun::server {

struct ServeOptions {
  ListenOptions listen;
  ApiOptions api;
  std::string access_log = "-";
};

// Blocks until stopped. `on_ready` gets the address once connections are accepted.
Status serve(const Service& service, const ServeOptions& options,
             const std::function<void(const std::string& url)>& on_ready);

}  // namespace forerun::server
