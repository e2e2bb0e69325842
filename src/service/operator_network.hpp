// One operator as a network, written on the command line: "conv:h=128,w=96,c=112,filters=56,kernel=3,stride=3".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "readers/reader.hpp"

namespace forerun {

// KIND:KEY=N[,KEY=N…]. docs/roofline.md lists kinds and keys.
struct OperatorText {
  std::string kind;
  std::vector<std::pair<std::string, std::int64_t>> sizes;
  [[nodiscard]] std::string text() const;
};
Result<OperatorText> parse_operator(std::string_view text);
// Sets a size that the operator's kind knows; an error names those it does.
Status set_size(OperatorText& op, std::string_view key, std::int64_t value);
Status set_size(OperatorText& op, std::string_view key, std::string_view value);
Result<std::shared_ptr<const Network>> operator_network(const OperatorText& op);

// "batch=16,32,64"
struct SweepText {
  std::string key;
  std::vector<std::string> values;
};
Result<SweepText> parse_sweep(std::string_view text);

}  // namespace forerun
