// Static files, in memory with their ETags. Clients may cache them but must revalidate, because names do not change
// with the version.
#include "server/pages.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/embedded.hpp"

namespace forerun {
std::span<const EmbeddedFile> web_files();
std::span<const EmbeddedFile> embedded_docs();
}  // namespace forerun

namespace forerun::server {
namespace {

struct Page {
  std::string content_type;
  std::string tag;
  std::shared_ptr<const std::string> body;
};

std::string content_type_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTypes = {{
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".md", "text/markdown; charset=utf-8"},
  }};
  for (const auto& [extension, type] : kTypes) {
    if (name.ends_with(extension)) return std::string(type);
  }
  return "application/octet-stream";
}

// FNV-1a: distinguishes versions; need not be secure.
std::string tag_of(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("\"{:016x}\"", hash);
}

Page make_page(const EmbeddedFile& file) {
  return {content_type_of(file.name), tag_of(file.bytes), std::make_shared<const std::string>(file.bytes)};
}

// "/" and "/docs" are the page and the documents, "/docs/serving.md" one document.
const std::map<std::string, Page, std::less<>>& pages() {
  static const auto kPages = [] {
    std::map<std::string, Page, std::less<>> result;
    for (const EmbeddedFile& file : web_files()) {
      const std::string path = file.name == "index.html"  ? "/"
                               : file.name == "docs.html" ? "/docs"
                                                          : "/" + std::string(file.name);
      result[path] = make_page(file);
    }
    for (const EmbeddedFile& file : embedded_docs()) result["/docs/" + std::string(file.name)] = make_page(file);
    return result;
  }();
  return kPages;
}

}  // namespace

bool is_page(std::string_view path) { return pages().contains(path); }

std::optional<Response> find_page(std::string_view path, std::string_view known_tag) {
  const auto found = pages().find(path);
  if (found == pages().end()) return std::nullopt;
  const Page& page = found->second;
  Response response{known_tag == page.tag ? 304 : 200, page.content_type, page.body, {}};
  response.headers = {
      {"ETag", page.tag},
      {"Cache-Control", "no-cache"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action "
       "'none'; "
       "base-uri 'none'; frame-ancestors 'none'"},
  };
  return response;
}

}  // namespace forerun::server
