// Mutates JSON as JSON, so that inputs get past the parser: values are replaced, keys renamed, entries copied and
// erased.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace forerun {

class JsonMutator {
 public:
  // `keys` and `words`: names and texts that the reader under test knows.
  JsonMutator(std::span<const std::string_view> keys, std::span<const std::string_view> words)
      : keys_(keys), words_(words) {}

  std::size_t mutate(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) const {
    using Json = nlohmann::json;
    std::minstd_rand random(seed);
    Json json = Json::parse(data, data + size, nullptr, false);
    if (json.is_discarded() || random() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
    for (unsigned edits = 1 + random() % 3; edits > 0; --edits) edit(json, random);
    const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
    std::memcpy(data, text.data(), text.size());
    return text.size();
  }

 private:
  using Json = nlohmann::json;
  using Random = std::minstd_rand;

  void edit(Json& root, Random& random) const {
    Json* place = &root;
    for (int depth = 0; depth < 6 && place->is_structured() && !place->empty(); ++depth) {
      if (depth > 0 && random() % 3 == 0) break;
      place = &*std::next(place->begin(), std::ptrdiff_t(random() % place->size()));
    }
    switch (random() % 5) {
      case 0:
        if (place->is_object()) {
          (*place)[key(random)] = value(random);
          return;
        }
        [[fallthrough]];
      case 1:
        if (place->is_array() && place->size() < 64) {
          place->push_back(place->empty() ? value(random) : place->front());
          return;
        }
        [[fallthrough]];
      case 2:
        if (place->is_structured() && !place->empty()) {
          place->erase(std::next(place->begin(), std::ptrdiff_t(random() % place->size())));
          return;
        }
        [[fallthrough]];
      case 3:
        if (place->is_number_integer()) {
          *place = place->get<std::int64_t>() / 2 + std::int64_t(random() % 5) - 2;
          return;
        }
        [[fallthrough]];
      default: *place = value(random);
    }
  }

  std::string key(Random& random) const { return keys_.empty() ? "key" : std::string(keys_[random() % keys_.size()]); }

  Json value(Random& random) const {
    static const std::vector<Json> kValues = {nullptr,
                                              true,
                                              false,
                                              0,
                                              1,
                                              2,
                                              3,
                                              4,
                                              7,
                                              8,
                                              64,
                                              65,
                                              128,
                                              1024,
                                              -1,
                                              1e300,
                                              0.5,
                                              -0.0,
                                              1e-300,
                                              "",
                                              INT64_MAX,
                                              65536,
                                              1e9,
                                              1e18,
                                              "1",
                                              1.25,
                                              UINT64_MAX,
                                              "null",
                                              4294967296LL,
                                              Json::array(),
                                              Json::object(),
                                              Json::array({1, 2}),
                                              INT64_MIN};
    if (!words_.empty() && random() % 3 == 0) return words_[random() % words_.size()];
    return kValues[random() % kValues.size()];
  }

  std::span<const std::string_view> keys_, words_;
};

}  // namespace forerun
