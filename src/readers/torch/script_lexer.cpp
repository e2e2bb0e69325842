#include "readers/torch/script_lexer.hpp"

#include <array>
#include <cctype>

namespace forerun::pytorch {
namespace {

constexpr std::size_t kMaxTokens = 4'000'000;
constexpr std::size_t kMaxIndents = 100;
constexpr std::array<std::string_view, 14> kSigns = {
    "**", "//", "->", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=", "/=", ":="};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) {
      if (tokens_.size() > kMaxTokens) return Error{ErrorKind::TooLarge, "the code is too long"};
      if (starts_line_ && brackets_ == 0) {
        FORERUN_CHECK(indentation());
        if (at_ >= source_.size()) break;
      }
      FORERUN_CHECK(next());
    }
    if (!starts_line_) add(Token::Kind::NewLine, "");
    for (; indents_.size() > 1; indents_.pop_back()) add(Token::Kind::Dedent, "");
    add(Token::Kind::End, "");
    return std::move(tokens_);
  }

 private:
  void add(Token::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  [[nodiscard]] Error wrong(const std::string& what) const {
    return bad_input("line " + std::to_string(line_) + ": " + what);
  }

  Status indentation() {
    while (at_ < source_.size()) {
      const std::size_t start = at_;
      while (at_ < source_.size() && (source_[at_] == ' ' || source_[at_] == '\t')) ++at_;
      if (at_ >= source_.size()) return ok();
      if (source_[at_] == '\n' || source_[at_] == '\r' || source_[at_] == '#') {  // an empty line
        while (at_ < source_.size() && source_[at_] != '\n') ++at_;
        if (at_ < source_.size()) ++at_;
        ++line_;
        continue;
      }
      const std::size_t width = at_ - start;
      if (width > indents_.back()) {
        if (indents_.size() > kMaxIndents) return wrong("blocks are nested too deep");
        indents_.push_back(width);
        add(Token::Kind::Indent, "");
      }
      while (width < indents_.back()) {
        indents_.pop_back();
        add(Token::Kind::Dedent, "");
      }
      if (width != indents_.back()) return wrong("the indentation fits no block");
      starts_line_ = false;
      return ok();
    }
    return ok();
  }

  Status next() {
    const char c = source_[at_];
    if (c == '\n') {
      ++at_;
      if (brackets_ == 0) {
        add(Token::Kind::NewLine, "");
        starts_line_ = true;
      }
      ++line_;
      return ok();
    }
    if (c == ' ' || c == '\t' || c == '\r' || c == '\\') {
      ++at_;
      return ok();
    }
    if (c == '#') {
      while (at_ < source_.size() && source_[at_] != '\n') ++at_;
      return ok();
    }
    if (c == '"' || c == '\'') return text(c);
    if (is_digit(c) || (c == '.' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1]))) return number();
    if (is_word(c)) return word();
    return sign(c);
  }

  Status word() {
    const std::size_t start = at_;
    while (at_ < source_.size() && is_word(source_[at_])) ++at_;
    add(Token::Kind::Name, std::string(source_.substr(start, at_ - start)));
    return ok();
  }

  Status number() {
    const std::size_t start = at_;
    while (at_ < source_.size()) {
      const char c = source_[at_];
      const bool exponent_sign = (c == '-' || c == '+') && (source_[at_ - 1] == 'e' || source_[at_ - 1] == 'E');
      if (!is_word(c) && c != '.' && !exponent_sign) break;
      ++at_;
    }
    add(Token::Kind::Number, std::string(source_.substr(start, at_ - start)));
    return ok();
  }

  Status text(char quote) {
    std::string content;
    for (++at_; at_ < source_.size() && source_[at_] != quote; ++at_) {
      if (source_[at_] == '\n') return wrong("a text does not end");
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) {
        ++at_;
        content += source_[at_] == 'n' ? '\n' : source_[at_];
      } else {
        content += source_[at_];
      }
    }
    if (at_ >= source_.size()) return wrong("a text does not end");
    ++at_;
    add(Token::Kind::Text, std::move(content));
    return ok();
  }

  Status sign(char c) {
    for (const std::string_view one : kSigns) {
      if (source_.substr(at_, 2) != one) continue;
      at_ += 2;
      add(Token::Kind::Sign, std::string(one));
      return ok();
    }
    if (c == '(' || c == '[' || c == '{') ++brackets_;
    if (c == ')' || c == ']' || c == '}') brackets_ = brackets_ > 0 ? brackets_ - 1 : 0;
    ++at_;
    add(Token::Kind::Sign, std::string(1, c));
    return ok();
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  int brackets_ = 0;
  bool starts_line_ = true;
  std::vector<std::size_t> indents_ = {0};
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> split_script(std::string_view source) { return Lexer(source).run(); }

}  // namespace forerun::pytorch
