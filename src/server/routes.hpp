// The table of routes: what answers where, and what the API's description says of it.
#pragma once

#include <span>
#include <string_view>

#include "server/http_message.hpp"

namespace forerun::server {

class Api;

struct Route {
  std::string_view method;
  std::string_view path;  // may end in "/{id}"
  Response (Api::*answer)(const Request& request) const;
  std::string_view operation;  // the name a generated client gives it
  std::string_view summary;
  std::string_view content_type = "application/json";
  std::string_view request_schema = {};  // of the body; empty: the route has no body
  std::string_view answer_schema = {};
  std::string_view query = {};  // names of its query parameters, with commas; "limit:integer" where it is no text
  bool is_open = false;         // answered without the token
  bool computes = false;        // takes a worker's time: not for pages of other sites
  bool takes_lines = false;     // the body may be NDJSON: one request per line
};

[[nodiscard]] std::span<const Route> all_routes();
// nullptr where nothing is; a path below "/{id}" has no further slash.
[[nodiscard]] const Route* find_route(std::string_view path);
// What stands for {id} in a path. REQUIRES: the route's path ends in it.
[[nodiscard]] std::string_view id_in(std::string_view path);

}  // namespace forerun::server
