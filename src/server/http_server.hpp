// The HTTP/1.1 front: one thread moves bytes with epoll, a few workers make the answers.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "server/connection.hpp"
#include "server/http_handler.hpp"

namespace forerun::server {

struct ListenOptions {
  std::string host = "127.0.0.1";
  int port = 8080;          // 0: any free one
  std::size_t workers = 0;  // 0: one per core, at least two
  HttpLimits limits;
};

class HttpServer {
 public:
  // Binds and listens; nothing is accepted before run(). The handler must outlive the server.
  static Result<std::unique_ptr<HttpServer>> listen(const ListenOptions& options, HttpHandler& handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  // Serves until stop(); then finishes the requests in progress and returns.
  void run();
  // From any thread or from a signal's handler.
  void stop() noexcept;

  [[nodiscard]] std::size_t open_connections() const { return open_connections_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t waiting_requests() const { return waiting_.load(std::memory_order_relaxed); }

 private:
  struct Job {
    std::uint64_t connection = 0;
    std::unique_ptr<Request> request;
  };
  struct Answer {
    std::uint64_t connection = 0;
    Response response;
  };

  HttpServer(const ListenOptions& options, HttpHandler& handler);
  Status open(const std::string& host, int port);
  void accept_clients();
  void serve_event(std::uint64_t id, std::uint32_t events);
  void settle(std::uint64_t id, Connection& connection);
  std::optional<Response> answer_at_once(const Request& request);
  void collect_answers();
  void check_deadlines();
  void begin_stop();
  void give_up_clients();
  void work();
  void wake() noexcept;

  HttpLimits limits_;
  HttpHandler& handler_;
  std::size_t worker_count_;
  int port_ = 0;
  int listener_ = -1;
  int epoll_ = -1;
  int wake_ = -1;
  bool accepting_ = true;
  bool stopping_ = false;
  std::atomic<bool> stop_asked_{false};

  std::unique_ptr<UploadFolder> upload_folder_;
  Budget budget_;
  struct Client {
    std::unique_ptr<Connection> connection;
    std::uint32_t interest = 0;
  };
  std::unordered_map<std::uint64_t, Client> clients_;
  std::uint64_t next_id_ = 2;  // 0 and 1 name the listener and the wake-up in epoll's data
  std::atomic<std::size_t> open_connections_{0};
  std::atomic<std::size_t> waiting_{0};

  std::mutex jobs_mutex_;
  std::condition_variable jobs_ready_;
  std::deque<Job> jobs_;
  bool workers_stop_ = false;
  std::vector<std::thread> workers_;

  std::mutex answers_mutex_;
  std::vector<Answer> answers_;
};

}  // namespace forerun::server
