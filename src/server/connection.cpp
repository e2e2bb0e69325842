// The states of a connection: head → body → handling → writing → head …, or draining → closed after a refusal.
#include "server/connection.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace forerun::server {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::size_t kKeptCapacity = 32 * 1024;  // a buffer that grew beyond this is given back between requests
constexpr std::chrono::milliseconds kDrainTime{2000};
constexpr std::chrono::milliseconds kProbeDelay{500};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

Connection::Connection(int fd, std::string peer, const HttpLimits& limits, HttpHandler& handler, Budget& budget)
    : fd_(fd), peer_(std::move(peer)), limits_(limits), handler_(handler), budget_(budget) {
  extend(limits_.idle_timeout);
}

Connection::~Connection() {
  release();
  ::close(fd_);
}

void Connection::release() {
  cancel_.cancel();  // no effect on an answer that is complete
  cancel_ = CancelToken();
  budget_.buffered_bytes -= std::exchange(held_bytes_, 0);
  if (std::exchange(holds_upload_, false)) --budget_.uploads;
}

bool Connection::wants_read() const {
  if (peer_closed_) return false;
  // While an answer is being made, up to one head of the next request is taken in, no more.
  return state_ == State::Head || state_ == State::Body || state_ == State::Draining ||
         in_.size() < limits_.max_head_bytes;
}

void Connection::on_readable() {
  std::array<char, kReadBytes> buffer;
  const ssize_t size = ::recv(fd_, buffer.data(), buffer.size(), 0);
  if (size < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) state_ = State::Closed;
    return;
  }
  if (size == 0) {
    peer_closed_ = true;
    // A client may close its sending side and wait for the answer; without a request in progress it is gone.
    if (state_ != State::Handling && state_ != State::Writing) state_ = State::Closed;
    if (state_ == State::Handling) probe_at_ = Clock::now() + kProbeDelay;
    return;
  }
  if (state_ == State::Draining) return;
  if (state_ == State::Head && in_.empty()) {
    started_ = Clock::now();
    extend(limits_.head_timeout);
  }
  in_.append(buffer.data(), static_cast<std::size_t>(size));
  if (state_ == State::Head || state_ == State::Body) advance();
}

void Connection::advance() {
  while ((state_ == State::Head && read_head()) || (state_ == State::Body && read_body())) {
  }
}

bool Connection::read_head() {
  if (in_.empty()) return false;
  HeadOutcome outcome = parse_head(in_, limits_.max_head_bytes);
  if (outcome.refusal) {
    refuse(outcome.refusal->status, outcome.refusal->detail);
    return false;
  }
  if (outcome.consumed == 0) return false;
  in_.erase(0, outcome.consumed);
  request_ = std::make_unique<Request>();
  request_->head = std::move(outcome.head);
  request_->peer = peer_;
  record_ = {peer_, request_->head.method, request_->head.path, 0, outcome.consumed, 0, 0};
  keep_alive_ = request_->head.keep_alive && !stopping_;
  is_http_1_0_ = request_->head.minor_version == 0;
  const bool has_body = request_->head.chunked || request_->head.content_length > 0;
  Admission admission = handler_.admit(request_->head);
  if (!admission.refusal && has_body && !admission.takes_body)
    admission.refusal = problem(413, "this request takes no body");
  if (admission.refusal) {
    // The body is not read, so a following request could not be separated from it.
    if (has_body) keep_alive_ = false;
    send(std::move(*admission.refusal));
    return state_ == State::Head;
  }
  begin_body();
  return state_ == State::Body;
}

void Connection::begin_body() {
  const RequestHead& head = request_->head;
  const std::string boundary = multipart_boundary(head.header("content-type"));
  const bool is_upload = !boundary.empty();
  const std::uint64_t limit = is_upload ? limits_.max_upload_bytes : limits_.max_json_bytes;
  if (head.content_length > limit) return refuse(413, fmt::format("the body is larger than {} bytes", limit));
  decoder_.emplace(head, limit);
  multipart_.reset();
  part_ = PartKind::Other;
  if (is_upload) {
    if (budget_.uploads >= limits_.max_uploads) return refuse(503, "too many uploads at once; try again later");
    ++budget_.uploads;
    holds_upload_ = true;
    multipart_ = std::make_unique<MultipartParser>(
        boundary, [this](const Part& part) { return start_part(part); },
        [this](std::string_view bytes) { return take_part(bytes); });
  }
  state_ = State::Body;
  body_start_ = Clock::now();
  extend(limits_.body_timeout);
  if (head.expects_continue && !decoder_->done() && in_.empty()) {
    // 25 bytes into an empty send buffer; a client that does not get them sends its body after a timeout.
    (void)::send(fd_, kContinue.data(), kContinue.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

bool Connection::read_body() {
  BodyDecoder::Fed fed = decoder_->feed(in_, [this](std::string_view bytes) { return take_body(bytes); });
  if (fed.refusal) {
    refuse(fed.refusal->status, fed.refusal->detail);
    return false;
  }
  in_.erase(0, fed.consumed);
  record_.bytes_in += fed.consumed;
  if (decoder_->done()) {
    finish_body();
    return false;
  }
  const auto earned = std::chrono::milliseconds(decoder_->received() * 1000 / limits_.min_bytes_per_s);
  deadline_ = body_start_ + limits_.body_timeout + earned;
  return false;
}

std::optional<Refusal> Connection::take_body(std::string_view bytes) {
  if (multipart_) return multipart_->feed(bytes);
  part_ = PartKind::Request;
  return take_part(bytes);
}

std::optional<Refusal> Connection::start_part(const Part& part) {
  part_ = part.name == "request" ? PartKind::Request : part.name == "model" ? PartKind::Model : PartKind::Other;
  if (part_ == PartKind::Other) return Refusal{400, "a multipart body has the parts `request` and `model`, no others"};
  if (part_ == PartKind::Request && !request_->body.empty()) return Refusal{400, "the part `request` comes twice"};
  if (part_ == PartKind::Model) {
    if (part.file_name.empty()) return Refusal{400, "the part `model` needs a file name"};
    if (request_->upload) {  // several files are one folder
      const Status status = request_->upload->file.start_another(part.file_name);
      if (!status) return Refusal{status.error().kind == ErrorKind::BadInput ? 400 : 507, status.error().message};
      request_->upload->file_name = "upload";
      return std::nullopt;
    }
    Result<UploadFile> file = budget_.upload_folder->new_file(part.file_name);
    if (!file) return Refusal{507, file.error().message};
    request_->upload = std::make_unique<Upload>(Upload{part.file_name, std::move(*file)});
  }
  return std::nullopt;
}

std::optional<Refusal> Connection::take_part(std::string_view bytes) {
  if (part_ == PartKind::Model) {
    const Status status = request_->upload->file.append(bytes);
    if (!status) return Refusal{507, status.error().message};
    return std::nullopt;
  }
  if (request_->body.size() + bytes.size() > limits_.max_json_bytes)
    return Refusal{413, "the part `request` is too large"};
  if (budget_.buffered_bytes + bytes.size() > limits_.max_buffered_bytes)
    return Refusal{503, "the server is busy; try again later"};
  budget_.buffered_bytes += bytes.size();
  held_bytes_ += bytes.size();
  request_->body += bytes;
  return std::nullopt;
}

void Connection::finish_body() {
  if (multipart_ && !multipart_->done()) return refuse(400, "the multipart body ends before its closing boundary");
  decoder_.reset();
  multipart_.reset();
  state_ = State::Handling;
  extend(limits_.handle_timeout);
}

std::unique_ptr<Request> Connection::take_request() {
  if (state_ != State::Handling || !request_) return nullptr;
  cancel_ = request_->cancel = CancelToken::until(deadline_);
  return std::move(request_);
}

void Connection::complete(Response response) {
  if (state_ == State::Handling) send(std::move(response));
}

void Connection::refuse(int status, std::string_view detail) {
  if (record_.method.empty()) record_ = {peer_, "-", "-", 0, in_.size(), 0, 0};
  keep_alive_ = false;
  send(problem(status, detail));
}

void Connection::send(Response response) {
  keep_alive_ = keep_alive_ && !stopping_ && !peer_closed_;
  if (!response.body) response.body = std::make_shared<const std::string>();
  const bool has_body = record_.method != "HEAD" && response.status != 304 && response.status != 204;
  out_ = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", response.status,
                     reason_phrase(response.status), response.content_type, response.body->size());
  for (const auto& [name, value] : response.headers) out_ += fmt::format("{}: {}\r\n", name, value);
  if (!keep_alive_)
    out_ += "Connection: close\r\n";
  else if (is_http_1_0_)
    out_ += "Connection: keep-alive\r\n";
  out_ += "\r\n";
  out_body_ = has_body ? std::move(response.body) : std::make_shared<const std::string>();
  sent_ = 0;
  record_.status = response.status;
  state_ = State::Writing;
  request_.reset();
  decoder_.reset();
  multipart_.reset();
  release();
  extend(limits_.write_timeout);
  flush();
}

void Connection::on_writable() {
  if (state_ != State::Writing) return;
  flush();
  advance();
}

void Connection::flush() {
  while (sent_ < out_.size() + out_body_->size()) {
    std::array<iovec, 2> pieces{};
    std::size_t count = 0;
    if (sent_ < out_.size()) pieces[count++] = {out_.data() + sent_, out_.size() - sent_};
    const std::size_t body_sent = sent_ > out_.size() ? sent_ - out_.size() : 0;
    if (body_sent < out_body_->size()) {
      pieces[count++] = {const_cast<char*>(out_body_->data()) + body_sent, out_body_->size() - body_sent};
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    const ssize_t size = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (size < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) state_ = State::Closed;
      return;
    }
    sent_ += static_cast<std::size_t>(size);
    extend(limits_.write_timeout);
  }
  record_.bytes_out = sent_;
  record_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  handler_.finished(record_);
  next_request();
}

void Connection::next_request() {
  record_ = {};
  out_.clear();
  out_body_.reset();
  if (!keep_alive_) {
    if (peer_closed_) {
      state_ = State::Closed;
      return;
    }
    // Reading on for a moment lets the answer arrive before the connection is torn down.
    ::shutdown(fd_, SHUT_WR);
    state_ = State::Draining;
    in_ = std::string();
    extend(kDrainTime);
    return;
  }
  if (in_.empty() && in_.capacity() > kKeptCapacity) in_ = std::string();
  state_ = State::Head;
  started_ = Clock::now();
  extend(in_.empty() ? limits_.idle_timeout : limits_.head_timeout);
}

void Connection::on_tick(Clock::time_point now) {
  if (state_ != State::Handling || now < probe_at_) return;
  probe_at_ = Clock::time_point::max();
  // Whether a client that has finished sending is still there shows when something is sent: one that closed both sides
  // answers with a reset, which epoll reports.
  if (!is_http_1_0_) (void)::send(fd_, kContinue.data(), kContinue.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Connection::on_timeout() {
  switch (state_) {
    case State::Head:
      if (in_.empty())
        state_ = State::Closed;
      else
        refuse(408, "the request's head did not arrive in time");
      break;
    case State::Body: refuse(408, "the request's body did not arrive in time"); break;
    case State::Handling:
      cancel_.cancel(StopReason::Deadline);
      refuse(504, "the answer took too long to compute and was given up");
      break;
    default: state_ = State::Closed;
  }
}

void Connection::abandon() {
  if (state_ == State::Handling) refuse(503, "the server is stopping");
}

void Connection::stop() {
  stopping_ = true;
  if (state_ == State::Head && in_.empty()) state_ = State::Closed;
}

}  // namespace forerun::server
