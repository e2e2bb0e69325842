#include "cli/serve_command.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

namespace forerun {
namespace {

// From the file, else from $FORERUN_TOKEN: a token on the command line could be read by every user of the machine.
Result<std::string> find_token(const std::string& file) {
  if (file.empty()) {
    const char* token = std::getenv("FORERUN_TOKEN");
    if (token == nullptr) return std::string();
    if (*token == '\0')
      return bad_input("FORERUN_TOKEN is set but empty: set it to the token, or unset it to serve without one");
    return std::string(token);
  }
  std::ifstream stream(file);  // may be a pipe: --token-file <(command)
  std::string token;
  std::getline(stream, token);
  if (token.ends_with('\r')) token.pop_back();
  if (token.empty()) return bad_input("--token-file: " + file + " has no token on its first line");
  return token;
}

}  // namespace

CLI::App* add_serve_command(CLI::App& app, ServeArguments& arguments) {
  server::HttpLimits& limits = arguments.options.listen.limits;
  CLI::App* serve = app.add_subcommand("serve", "answer over HTTP, with a web page");
  serve->add_option("--host", arguments.options.listen.host, "address to listen on (default 127.0.0.1)")
      ->type_name("HOST");
  serve->add_option("--port", arguments.options.listen.port, "port (default 8080; 0: any free one)")
      ->type_name("N")
      ->check(CLI::Range(0, 65535));
  serve->add_option("--store", arguments.options.api.store_url, "measurements that /v1/measurements shows")
      ->type_name("URL");
  serve->add_option("--device-file", arguments.device_files, "a device description of your own; may be repeated")
      ->type_name("FILE")
      ->take_all();
  serve
      ->add_option("--token-file", arguments.token_file,
                   "file whose first line clients must send as bearer token (or set FORERUN_TOKEN)")
      ->type_name("FILE");
  serve
      ->add_option("--access-log", arguments.options.access_log,
                   "file to append JSON lines to; -: stderr (default); off")
      ->type_name("FILE");
  serve->add_option("--workers", arguments.options.listen.workers, "threads that compute (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  serve->add_option("--max-upload-mb", arguments.max_upload_mb, "largest model file taken (default 2048)")
      ->type_name("MB")
      ->check(CLI::Range(1, 1 << 20));
  serve->add_option("--max-connections", limits.max_connections, "clients at once (default 4096)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 20));
  serve
      ->add_option("--allow-host", arguments.allowed_hosts,
                   "name this server answers to besides localhost and --host; may be repeated")
      ->type_name("NAME")
      ->take_all();
  serve
      ->add_option(
          "--allow-origin", arguments.allowed_origins,
          "origin of a page of another site that may ask, as in https://dashboard.example.org; may be repeated")
      ->type_name("ORIGIN")
      ->take_all();
  serve
      ->add_option("--rate-limit", arguments.options.api.questions_per_s,
                   "questions a second that one client's address may ask (default: no limit)")
      ->type_name("X")
      ->check(CLI::Range(0.001, 1e6));
  serve->add_option("--burst", arguments.options.api.burst, "with --rate-limit: questions at once (default 20)")
      ->type_name("N")
      ->check(CLI::Range(1.0, 1e6));
  serve
      ->add_option("--max-work", arguments.max_work_millions,
                   "million kernel timings one request may cause (kernels x devices x passes; default 20)")
      ->type_name("N")
      ->check(CLI::Range(0.001, 1e9));
  serve->add_option("--timeout", arguments.timeout_s, "seconds to compute one answer (default 60)")
      ->type_name("S")
      ->check(CLI::Range(0.1, 86400.0));
  return serve;
}

Status run_serve(const Service& service, const ServeArguments& arguments, std::ostream& err) {
  server::ServeOptions options = arguments.options;
  FORERUN_TRY(options.api.token, find_token(arguments.token_file));
  options.api.hosts = server::HostList(options.listen.host, arguments.allowed_hosts);
  FORERUN_TRY(options.api.origins, server::OriginList::from(arguments.allowed_origins));
  options.api.most_work = arguments.max_work_millions * 1e6;
  if (options.api.token.empty() && !server::is_loopback(server::host_of(options.listen.host))) {
    err << fmt::format(
        "forerun: warning: {} can be reached from other machines and no token is set: whoever reaches it "
        "may use it; set one with --token-file FILE\n",
        options.listen.host);
  }
  options.listen.limits.max_upload_bytes = arguments.max_upload_mb << 20;
  options.listen.limits.handle_timeout = std::chrono::milliseconds(std::int64_t(arguments.timeout_s * 1000));
  return server::serve(service, options,
                       [&](const std::string& url) { err << "forerun: listening on " << url << std::endl; });
}

}  // namespace forerun
