// Any bytes as a request of a client: parsed with every option, as the server does and as the batch interface does. It
// must return, without a sanitizer report.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/json_mutator.hpp"
#include "service/options.hpp"

namespace {

struct Vocabulary {
  std::vector<std::string> keys = {"model", "network", "config"}, words = {"gpt2", "h200-sxm", "all", "N=1e3"};
  std::vector<std::string_view> key_views, word_views;
  Vocabulary() {
    for (const forerun::Option& option : forerun::all_options()) {
      std::string key(option.name);
      std::replace(key.begin(), key.end(), '-', '_');
      keys.push_back(key);
      keys.push_back(key + "s");
      std::string_view rest = option.choices;
      while (!rest.empty()) {
        const std::size_t bar = std::min(rest.find('|'), rest.size());
        words.emplace_back(rest.substr(0, bar));
        rest.remove_prefix(std::min(rest.size(), bar + 1));
      }
    }
    key_views.assign(keys.begin(), keys.end());
    word_views.assign(words.begin(), words.end());
  }
};

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  static const Vocabulary kVocabulary;
  return forerun::JsonMutator(kVocabulary.key_views, kVocabulary.word_views).mutate(data, size, max_size, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)forerun::parse_request(bytes, false);
  (void)forerun::parse_request(bytes, true);
  return 0;
}
