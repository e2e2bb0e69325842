// The options that ask for limits and say which results to show.
#include <array>

#include "service/option_values.hpp"
#include "service/verdict.hpp"

namespace forerun {
namespace {

constexpr OptionRange kRate{1e-6, 1e12}, kUsd{1e-6, 1e9}, kUsers{1, double(1 << 20)}, kShown{1, 512};

Status set_sort(Request& r, std::string_view text) {
  if (!is_sort_key(text)) {
    return bad_input("--sort: " + in_quotes(text) +
                     " is neither device, usd_per_hour, usd_per_million, co2_g_per_million nor a metric "
                     "(latency_ms, throughput_per_s, device_memory_mb, energy_j, …: docs/metrics.md)");
  }
  r.sort = std::string(text);
  return ok();
}

Status add_assertion(Request& r, std::string_view text) {
  constexpr std::size_t kMostAssertions = 64;
  if (r.assertions.size() >= kMostAssertions) return bad_input("--assert: more than 64");
  FORERUN_TRY(Assertion assertion, parse_assertion(text));
  r.assertions.push_back(std::move(assertion));
  return ok();
}

using K = OptionKind;
constexpr std::array kLimitOptions = {
    Option{"min-throughput", K::Real, kPredictOnly, "X", "limit: samples (serving: tokens) a second, at least", "",
           SET_REAL("min-throughput", min_throughput), kRate},
    Option{"fps", K::Real, kPredictOnly, "X", "limit: frames a second, at least; not of language models", "",
           SET_REAL("fps", fps), kRate},
    Option{"max-usd-per-hour", K::Real, kPredictOnly, "X", "limit: rent of the devices of one answer", "",
           SET_REAL("max-usd-per-hour", max_usd_per_hour), kUsd},
    Option{"users", K::Integer, kPredictOnly, "N",
           "serving: people who wait for an answer at the same moment; without --slo-…: 2 s to the first token, then "
           "200 ms a token",
           "", SET_WHOLE("users", users), kUsers},
    Option{"assert", K::List, kPredictOnly, "KEY<X",
           "a statement that must hold on every device, as in latency_ms<5; may be repeated; if not: exit status 3", "",
           add_assertion},
    Option{"remedies", K::Flag, kPredictOnly, "",
           "name the nearest change with which a device keeps what it misses (the default on the command line)", "",
           SET_FLAG(remedies)},
    Option{"fits-only", K::Flag, kPredictOnly, "", "leave out devices that miss a limit or are too small", "",
           SET_FLAG(fits_only)},
    Option{"sort", K::Text, kPredictOnly, "KEY", "order of the devices: a metric's key, usd_per_hour, device, …", "",
           set_sort},
    Option{"top", K::Integer, kPredictOnly, "N", "show this many devices at most", "", SET_WHOLE("top", top), kShown},
};

}  // namespace

std::span<const Option> limit_options() { return kLimitOptions; }

}  // namespace forerun
