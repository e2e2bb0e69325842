// Words of serialised TorchScript. Lines and indentation are words, too, outside of brackets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace forerun::pytorch {

struct Token {
  enum class Kind : std::uint8_t { Name, Number, Text, Sign, NewLine, Indent, Dedent, End };
  Kind kind = Kind::End;
  std::string text;
  int line = 0;
};

Result<std::vector<Token>> split_script(std::string_view source);

}  // namespace forerun::pytorch
