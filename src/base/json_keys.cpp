#include "base/json_keys.hpp"

#include <unordered_set>
#include <vector>

namespace forerun {

std::optional<std::string> find_duplicate_key(std::string_view text, std::size_t depth) {
  struct Level {
    bool is_object = false;
    bool expects_key = false;
    std::unordered_set<std::string_view> keys;
  };
  std::vector<Level> levels;
  std::size_t deeper = 0;  // levels below the last one that is looked at
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t start = ++i;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      if (deeper > 0 || levels.empty() || !levels.back().expects_key) continue;
      levels.back().expects_key = false;
      const std::string_view key = text.substr(start, i - start);
      if (!levels.back().keys.insert(key).second) return std::string(key);
    } else if (c == '{' || c == '[') {
      if (deeper > 0 || levels.size() >= depth)
        ++deeper;
      else
        levels.push_back({c == '{', c == '{', {}});
    } else if (c == '}' || c == ']') {
      if (deeper > 0)
        --deeper;
      else if (!levels.empty())
        levels.pop_back();
    } else if (c == ',' && deeper == 0 && !levels.empty()) {
      levels.back().expects_key = levels.back().is_object;
    }
  }
  return std::nullopt;
}

}  // namespace forerun
