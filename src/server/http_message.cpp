// Status phrases and problem details.
#include "server/http_message.hpp"

#include <array>
#include <nlohmann/json.hpp>

namespace forerun::server {

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string media_type(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  return lower_case(type);
}

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
      Phrase{421, "Misdirected Request"},
      Phrase{422, "Unprocessable Content"},
      Phrase{429, "Too Many Requests"},
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
  constexpr std::size_t kMostDetail = 2048;  // messages quote the request, which may be megabytes
  const nlohmann::ordered_json body = {{"type", "about:blank"},
                                       {"title", reason_phrase(status)},
                                       {"status", status},
                                       {"detail", detail.substr(0, kMostDetail)}};
  return respond(status, "application/problem+json",
                 body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace forerun::server
