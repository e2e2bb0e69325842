// The web page's files, compiled into the program (web/dist).
#pragma once

#include <optional>
#include <string_view>

#include "server/http_message.hpp"

namespace forerun::server {

// The file at `path` ("/" is the page itself), or nothing. `known_tag` is the client's If-None-Match.
std::optional<Response> find_page(std::string_view path, std::string_view known_tag);
[[nodiscard]] bool is_page(std::string_view path);

}  // namespace forerun::server
