// Every option of a request, declared once: the command line, JSON requests, /openapi.json and the manual come from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"
#include "service/request.hpp"

namespace forerun {

enum class OptionKind : std::uint8_t {
  Integer,
  Real,
  Text,
  Flag,
  List,
  Dims,
  Shapes
};  // Dims: NAME=N, Shapes: NAME=2x16; both repeatable

// Which commands take it (bits).
inline constexpr unsigned kInspect = 1, kPredict = 2, kMig = 4, kRoofline = 8, kAdvise = 16;
// forerun advise takes what predict takes, but for what only a table of answers shows.
inline constexpr unsigned kPredictOnly = 32;
// forerun plan takes what predict takes, and what only a search has.
inline constexpr unsigned kPlan = 64;
inline constexpr unsigned kPredictAll = kPredict | kPredictOnly, kAdviseAll = kPredict | kAdvise,
                          kPlanAll = kPredict | kPlan;
inline constexpr unsigned kAllEstimates = kPredict | kMig | kRoofline;

// What a number may be. The default is what a size can be: nothing larger fits into memory or a year.
struct OptionRange {
  double least = 1;
  double most = double(std::int64_t{1} << 40);
};

struct Option {
  std::string_view name;  // "max-latency-ms": --max-latency-ms on the command line, "max_latency_ms" in JSON
  OptionKind kind;
  unsigned commands;
  std::string_view placeholder;  // "N", "ID[,ID…|all]"
  std::string_view help;
  std::string_view choices;  // "eager|graph"; empty when free
  // `text` is the value as written on the command line ("" for a flag).
  Status (*apply)(Request& request, std::string_view text);
  OptionRange range = {};  // of Integer and Real options, and of the numbers in Dims and Shapes
};

[[nodiscard]] std::span<const Option> all_options();

// A request from one JSON object; keys are the options' names with '_' plus "model" and, for configurations given
// directly, "config". Unknown keys are errors. `allow_paths` false: "model" must be a shipped network's name.
Result<Request> parse_request(std::string_view json, bool allow_paths = true);

}  // namespace forerun
