// One client's connection: bytes in, requests out, answers back. Independent of epoll and threads.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/http_handler.hpp"
#include "server/multipart.hpp"
#include "server/request_parser.hpp"

namespace forerun::server {

// Shared by all connections.
struct Budget {
  UploadFolder* upload_folder = nullptr;
  std::uint64_t buffered_bytes = 0;
  std::size_t uploads = 0;
};

class Connection {
 public:
  Connection(int fd, std::string peer, const HttpLimits& limits, HttpHandler& handler, Budget& budget);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void on_readable();
  void on_writable();
  void on_timeout();
  void on_tick(Clock::time_point now);  // every fraction of a second
  // Returns each complete request once; its answer is passed to complete().
  std::unique_ptr<Request> take_request();
  void complete(Response response);
  // Continues with bytes that arrived in the meantime.
  void resume() { advance(); }
  // The answer under way is the last one; an idle connection closes at once.
  void stop();
  // The server ends now: an answer still being made is given up.
  void abandon();

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool closed() const { return state_ == State::Closed; }
  [[nodiscard]] bool wants_read() const;
  [[nodiscard]] bool wants_write() const { return state_ == State::Writing; }
  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }

 private:
  enum class State { Head, Body, Handling, Writing, Draining, Closed };

  void advance();
  bool read_head();
  bool read_body();
  void begin_body();
  std::optional<Refusal> take_body(std::string_view bytes);
  std::optional<Refusal> start_part(const Part& part);
  std::optional<Refusal> take_part(std::string_view bytes);
  void finish_body();
  void refuse(int status, std::string_view detail);
  void send(Response response);
  void flush();
  void next_request();
  void release();
  void extend(std::chrono::milliseconds time) { deadline_ = Clock::now() + time; }

  int fd_;
  const std::string peer_;
  const HttpLimits& limits_;
  HttpHandler& handler_;
  Budget& budget_;

  State state_ = State::Head;
  std::string in_;
  bool peer_closed_ = false;
  bool keep_alive_ = true;
  bool is_http_1_0_ = false;
  bool stopping_ = false;
  Clock::time_point deadline_;

  std::unique_ptr<Request> request_;
  std::optional<BodyDecoder> decoder_;
  std::unique_ptr<MultipartParser> multipart_;
  enum class PartKind { Other, Request, Model } part_ = PartKind::Other;
  std::uint64_t held_bytes_ = 0;  // of budget_.buffered_bytes
  bool holds_upload_ = false;     // counted in budget_.uploads
  Clock::time_point body_start_;
  CancelToken cancel_;                                     // of the request being handled
  Clock::time_point probe_at_ = Clock::time_point::max();  // when to see whether its client is gone

  std::string out_;  // head of the answer
  std::shared_ptr<const std::string> out_body_;
  std::size_t sent_ = 0;
  ExchangeRecord record_;
  Clock::time_point started_;
};

}  // namespace forerun::server
