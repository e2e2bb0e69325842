// TemporaryPostgres's code; its name keeps it out of the library.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "store/temporary_postgres.hpp"

namespace forerun {
namespace {

namespace fs = std::filesystem;

// The newest /usr/lib/postgresql/*/bin, or empty.
std::string find_programs() {
  std::string best;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    const fs::path programs = entry.path() / "bin";
    if (fs::exists(programs / "initdb") && programs.string() > best) best = programs.string();
  }
  return best;
}

int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

// PostgreSQL refuses to run as root.
std::string as_server_user(const std::string& command) {
  return ::geteuid() == 0 ? fmt::format("runuser -u postgres -- {}", command) : command;
}

int quietly(const std::string& command) { return std::system((command + " > /dev/null 2>&1").c_str()); }

}  // namespace

std::unique_ptr<TemporaryPostgres> TemporaryPostgres::start(std::string& why) {
  std::unique_ptr<TemporaryPostgres> server(new TemporaryPostgres);
  server->programs_ = find_programs();
  if (server->programs_.empty()) {
    why = "PostgreSQL's server is not installed (/usr/lib/postgresql/*/bin/initdb): install the package postgresql";
    return nullptr;
  }
  std::string folder = "/tmp/forerun-postgres-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    why = "cannot make a folder in /tmp";
    return nullptr;
  }
  server->folder_ = folder;
  if (::geteuid() == 0) quietly(fmt::format("chown postgres {}", folder));
  const std::string data = folder + "/data";
  const int port = free_port();
  const std::string init =
      fmt::format("{}/initdb --no-sync -A trust -U forerun -E UTF8 --locale=C.UTF-8 -D {}", server->programs_, data);
  server->options_ = fmt::format("-p {} -k {} -c listen_addresses=127.0.0.1 -c fsync=off", port, folder);
  if (quietly("cd / && " + as_server_user(init)) != 0 || !server->restart()) {
    why = "PostgreSQL is installed but did not start";
    return nullptr;
  }
  server->url_ = fmt::format("postgresql://forerun@127.0.0.1:{}/postgres", port);
  return server;
}

bool TemporaryPostgres::restart() {
  return quietly("cd / && " + as_server_user(fmt::format("{0}/pg_ctl -w -t 60 -D {1}/data -l {1}/log -o '{2}' start",
                                                         programs_, folder_, options_))) == 0;
}

bool TemporaryPostgres::stop_immediately() {
  return quietly("cd / && " +
                 as_server_user(fmt::format("{}/pg_ctl -w -m immediate -D {}/data stop", programs_, folder_))) == 0;
}

TemporaryPostgres::~TemporaryPostgres() {
  if (folder_.empty()) return;
  (void)stop_immediately();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace forerun
