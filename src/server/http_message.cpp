// Status phrases and problem details.
#include "server/http_message.hpp"

#include <array>
#include <nlohmann/json.hpp>

namespace forerun::server {

std::string_view reason_phrase(int status) {
  struct Phrase {
    int status;
    std::string_view text;
  };
  static constexpr std::array kPhrases = {
      Phrase{200, "OK"},
      Phrase{204, "No Content"},
      Phrase{304, "Not Modified"},
      Phrase{400, "Bad Request"},
      Phrase{401, "Unauthorized"},
      Phrase{403, "Forbidden"},
      Phrase{404, "Not Found"},
      Phrase{405, "Method Not Allowed"},
      Phrase{408, "Request Timeout"},
      Phrase{411, "Length Required"},
      Phrase{413, "Content Too Large"},
      Phrase{414, "URI Too Long"},
      Phrase{415, "Unsupported Media Type"},
      Phrase{422, "Unprocessable Content"},
      Phrase{431, "Request Header Fields Too Large"},
      Phrase{500, "Internal Server Error"},
      Phrase{501, "Not Implemented"},
      Phrase{503, "Service Unavailable"},
      Phrase{504, "Gateway Timeout"},
      Phrase{505, "HTTP Version Not Supported"},
      Phrase{507, "Insufficient Storage"},
  };
  for (const Phrase& phrase : kPhrases) {
    if (phrase.status == status) return phrase.text;
  }
  return "Unknown";
}

Response problem(int status, std::string_view detail) {
  const nlohmann::ordered_json body = {
      {"type", "about:blank"}, {"title", reason_phrase(status)}, {"status", status}, {"detail", detail}};
  return respond(status, "application/problem+json",
                 body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace forerun::server
