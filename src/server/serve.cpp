// Puts the pieces together and turns SIGTERM and SIGINT into a graceful stop.
#include "server/serve.hpp"

#include <fmt/format.h>

#include <atomic>
#include <csignal>

#include "store/store.hpp"

namespace forerun::server {
namespace {

// A signal's handler sees only globals; one server runs at a time.
std::atomic<HttpServer*> running_server{nullptr};

void on_signal(int) {
  if (HttpServer* server = running_server.load()) server->stop();
}

class SignalScope {
 public:
  explicit SignalScope(HttpServer& server) {
    running_server = &server;
    struct sigaction action {};
    action.sa_handler = on_signal;
    ::sigaction(SIGTERM, &action, &old_term_);
    ::sigaction(SIGINT, &action, &old_int_);
  }
  ~SignalScope() {
    ::sigaction(SIGTERM, &old_term_, nullptr);
    ::sigaction(SIGINT, &old_int_, nullptr);
    running_server = nullptr;
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  struct sigaction old_term_ {};
  struct sigaction old_int_ {};
};

}  // namespace

Status serve(const Service& service, const ServeOptions& options,
             const std::function<void(const std::string& url)>& on_ready) {
  FORERUN_TRY(AccessLog log, AccessLog::open(options.access_log));
  if (!options.api.store_url.empty()) {
    // A store that cannot be opened is an error at start, not at the first request.
    const Result<std::unique_ptr<Store>> store = open_store(options.api.store_url, OpenMode::Read);
    if (!store) return store.error();
  }
  Api api(service, options.api, log);
  FORERUN_TRY(const std::unique_ptr<HttpServer> server, HttpServer::listen(options.listen, api));
  api.watch([&] {
    return Metrics::Gauges{server->open_connections(), server->waiting_requests(), options.listen.limits.max_waiting};
  });
  const SignalScope signals(*server);
  const bool is_ipv6 = options.listen.host.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + options.listen.host + "]" : options.listen.host;
  on_ready(fmt::format("http://{}:{}/", host, server->port()));
  server->run();
  return ok();
}

}  // namespace forerun::server
