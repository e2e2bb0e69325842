// The event loop. Only run()'s thread touches connections; workers get requests and give answers through two queues.
#include "server/http_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace forerun::server {
namespace {

constexpr std::uint64_t kListenerId = 0;
constexpr std::uint64_t kWakeId = 1;
constexpr int kTickMs = 200;                          // how often deadlines are looked at
constexpr std::chrono::milliseconds kJoinTime{1000};  // of the time to stop, for work in progress to notice
constexpr std::size_t kReservedFiles = 128;
constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n";

std::string address_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* source = address.ss_family == AF_INET6
                           ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr)
                           : static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  const char* result = ::inet_ntop(address.ss_family, source, text.data(), text.size());
  return result != nullptr ? result : "";
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

// As many files as the system lets us, and no more connections than that.
std::size_t raise_file_limit(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t target = std::min<rlim_t>(limit.rlim_max, wanted + kReservedFiles);
  if (limit.rlim_cur < target) {
    limit.rlim_cur = target;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur > kReservedFiles * 2 ? std::min<std::size_t>(wanted, limit.rlim_cur - kReservedFiles) : wanted;
}

}  // namespace

HttpServer::HttpServer(const ListenOptions& options, HttpHandler& handler)
    : limits_(options.limits),
      handler_(handler),
      worker_count_(options.workers != 0 ? options.workers : std::max(2U, std::thread::hardware_concurrency())) {
  limits_.max_connections = raise_file_limit(limits_.max_connections);
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(const ListenOptions& options, HttpHandler& handler) {
  std::unique_ptr<HttpServer> server(new HttpServer(options, handler));
  FORERUN_CHECK(server->open(options.host, options.port));
  FORERUN_TRY(UploadFolder folder, UploadFolder::create());
  server->upload_folder_ = std::make_unique<UploadFolder>(std::move(folder));
  server->budget_.upload_folder = server->upload_folder_.get();
  return server;
}

HttpServer::~HttpServer() {
  clients_.clear();
  for (const int fd : {listener_, epoll_, wake_}) {
    if (fd >= 0) ::close(fd);
  }
}

Status HttpServer::open(const std::string& host, int port) {
  const auto failed = [&](const char* what) {
    return Error{ErrorKind::Io, fmt::format("cannot {} {} port {}: {}", what, host, port, std::strerror(errno))};
  };
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
    return bad_input(fmt::format("host {}: {}", host, ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  listener_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener_ < 0) return failed("open a socket for");
  const int yes = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(listener_, found->ai_addr, found->ai_addrlen) != 0) return failed("bind to");
  if (::listen(listener_, SOMAXCONN) != 0) return failed("listen on");
  port_ = port_of(listener_);
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (epoll_ < 0 || wake_ < 0) return failed("watch");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kListenerId;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
  event.data.u64 = kWakeId;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  return ok();
}

void HttpServer::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
}

void HttpServer::stop() noexcept {
  stop_asked_.store(true);
  wake();
}

void HttpServer::run() {
  for (std::size_t i = 0; i < worker_count_; ++i) workers_.emplace_back([this] { work(); });
  std::array<epoll_event, 256> events{};
  Clock::time_point last_check = Clock::now();
  Clock::time_point give_up{};
  while (!stopping_ || !clients_.empty()) {
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), kTickMs);
    if (count < 0 && errno != EINTR) break;
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 == kListenerId) {
        accept_clients();
      } else if (event.data.u64 == kWakeId) {
        std::uint64_t ignored = 0;
        [[maybe_unused]] const ssize_t size = ::read(wake_, &ignored, sizeof ignored);
      } else {
        serve_event(event.data.u64, event.events);
      }
    }
    collect_answers();
    if (stop_asked_.load() && !stopping_) {
      begin_stop();
      give_up = Clock::now() + std::max(limits_.stop_timeout - kJoinTime, limits_.stop_timeout / 2);
    }
    const Clock::time_point now = Clock::now();
    if (now - last_check >= std::chrono::milliseconds(kTickMs)) {
      check_deadlines();
      last_check = now;
    }
    if (stopping_ && now >= give_up) break;
  }
  {
    const std::lock_guard lock(jobs_mutex_);
    workers_stop_ = true;
    jobs_.clear();
  }
  jobs_ready_.notify_all();
  give_up_clients();  // their work in progress stops, too
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void HttpServer::accept_clients() {
  while (true) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = ::accept4(listener_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EMFILE || errno == ENFILE) {
        // Out of file descriptors: stop accepting until the next tick instead of spinning.
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, listener_, nullptr);
        accepting_ = false;
      }
      return;
    }
    if (clients_.size() >= limits_.max_connections) {
      (void)::send(fd, kFull.data(), kFull.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      ::close(fd);
      continue;
    }
    const int yes = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const std::uint64_t id = next_id_++;
    Client client{std::make_unique<Connection>(fd, address_text(address), limits_, handler_, budget_), EPOLLIN};
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = id;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) continue;
    clients_.emplace(id, std::move(client));
    open_connections_ = clients_.size();
  }
}

void HttpServer::serve_event(std::uint64_t id, std::uint32_t events) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  Connection& connection = *found->second.connection;
  if ((events & EPOLLOUT) != 0) connection.on_writable();
  if (!connection.closed() && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    if ((events & EPOLLIN) == 0 && !connection.wants_read()) {
      clients_.erase(found);  // hung up while we only waited for the answer
      open_connections_ = clients_.size();
      return;
    }
    connection.on_readable();
  }
  settle(id, connection);
}

// After an event on a connection: dispatches its request, updates its epoll events, or closes it.
void HttpServer::settle(std::uint64_t id, Connection& connection) {
  while (true) {
    std::unique_ptr<Request> request = connection.closed() ? nullptr : connection.take_request();
    if (!request) break;
    if (std::optional<Response> answer = answer_at_once(*request)) {
      connection.complete(std::move(*answer));
      connection.resume();
      continue;
    }
    if (waiting_.load(std::memory_order_relaxed) >= limits_.max_waiting) {
      Response busy = problem(503, "too many requests are waiting; try again later");
      busy.headers.emplace_back("Retry-After", "1");
      connection.complete(std::move(busy));
      connection.resume();
      continue;
    }
    waiting_.fetch_add(1, std::memory_order_relaxed);
    {
      const std::lock_guard lock(jobs_mutex_);
      jobs_.push_back({id, std::move(request)});
    }
    jobs_ready_.notify_one();
  }
  if (connection.closed()) {
    clients_.erase(id);
    open_connections_ = clients_.size();
    return;
  }
  Client& client = clients_.at(id);
  const std::uint32_t interest = (connection.wants_read() ? EPOLLIN : 0U) | (connection.wants_write() ? EPOLLOUT : 0U);
  if (interest == client.interest) return;
  client.interest = interest;
  epoll_event event{};
  event.events = interest;
  event.data.u64 = id;
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd(), &event);
}

std::optional<Response> HttpServer::answer_at_once(const Request& request) {
  try {
    return handler_.answer_at_once(request);
  } catch (const std::exception& error) {
    return problem(500, fmt::format("our own fault: {}", error.what()));
  }
}

void HttpServer::collect_answers() {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(answers_mutex_);
    answers.swap(answers_);
  }
  waiting_.fetch_sub(answers.size(), std::memory_order_relaxed);
  for (Answer& answer : answers) {
    const auto found = clients_.find(answer.connection);
    if (found == clients_.end()) continue;
    Connection& connection = *found->second.connection;
    connection.complete(std::move(answer.response));
    connection.resume();
    settle(answer.connection, connection);
  }
}

void HttpServer::check_deadlines() {
  const Clock::time_point now = Clock::now();
  std::vector<std::uint64_t> late;
  for (const auto& [id, client] : clients_) {
    client.connection->on_tick(now);
    if (client.connection->deadline() <= now) late.push_back(id);
  }
  for (const std::uint64_t id : late) {
    Connection& connection = *clients_.at(id).connection;
    connection.on_timeout();
    settle(id, connection);
  }
  if (!accepting_ && !stopping_) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = kListenerId;
    accepting_ = ::epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event) == 0;
  }
}

void HttpServer::begin_stop() {
  stopping_ = true;
  ::close(std::exchange(listener_, -1));
  std::vector<std::uint64_t> ids;
  for (const auto& [id, client] : clients_) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    Connection& connection = *clients_.at(id).connection;
    connection.stop();
    settle(id, connection);
  }
}

void HttpServer::give_up_clients() {
  for (auto& [id, client] : clients_) client.connection->abandon();
  clients_.clear();
  open_connections_ = 0;
}

void HttpServer::work() {
  while (true) {
    Job job;
    {
      std::unique_lock lock(jobs_mutex_);
      jobs_ready_.wait(lock, [this] { return workers_stop_ || !jobs_.empty(); });
      if (workers_stop_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    Response response;
    try {
      // Nobody waits for a request that was given up in the queue: its answer goes nowhere.
      response =
          job.request->cancel.stopped() ? problem(504, "given up before it began") : handler_.handle(*job.request);
    } catch (const std::exception& error) {
      response = problem(500, fmt::format("our own fault: {}", error.what()));
    }
    job.request.reset();  // its upload is gone before the answer is sent
    bool is_first = false;
    {
      const std::lock_guard lock(answers_mutex_);
      is_first = answers_.empty();
      answers_.push_back({job.connection, std::move(response)});
    }
    if (is_first) wake();
  }
}

}  // namespace forerun::server
