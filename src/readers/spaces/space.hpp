// A search space: the fields that describe one of its candidates, and the rule that builds the candidate's graph.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "graph/graph.hpp"

namespace forerun::spaces {

// A field of a description: `count` words or numbers, given as a list; a single one where `count` is 1.
struct Field {
  std::string_view key;
  std::size_t count = 1;
  std::span<const std::string_view> words = {};  // the choices; empty where numbers are asked for
  std::span<const std::int64_t> numbers = {};    // the choices of the published space; others are built too
  std::int64_t fallback = 0;                     // where the field is left out; 0: it may not be
  std::int64_t most = 4096;                      // largest number that is built
};

// A candidate's values, by the place of the field in its space.
struct Description {
  std::vector<std::vector<std::string_view>> words;  // views of the space's own choices
  std::vector<std::vector<std::int64_t>> numbers;
};

struct Space {
  std::string_view name;  // "model_type" of a description
  std::span<const Field> fields;
  Result<Graph> (*build)(const Description& candidate, std::int64_t batch);
  std::size_t side;  // place of the field with the image's side
};

// The rows of the table in spaces.cpp.
extern const Space kNasBench201, kFbnet, kOnceForAll, kResnet;

}  // namespace forerun::spaces
