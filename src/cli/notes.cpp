// Notes of several devices as a person wants them: equal ones merged, what changes the answer first.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/render_parts.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMostNotes = 8, kDevicesNamed = 3;

// Words of a note and its place: the lower, the earlier. Notes of no row come between.
struct Weight {
  std::string_view words;
  int place;
};
constexpr std::array kWeights = {
    Weight{"not estimated", 0},   Weight{"coverage", 0},       Weight{"saturated", 0},
    Weight{"cannot be used", 0},  Weight{"left out", 1},       Weight{"has no effect", 1},
    Weight{"changes nothing", 1}, Weight{"given", 2},          Weight{"is assumed", 2},
    Weight{"no network was", 4},  Weight{"price is known", 4}, Weight{"differs from every", 4},
};
constexpr int kUsual = 3;

int place_of(const std::string& note) {
  const auto row = std::find_if(kWeights.begin(), kWeights.end(),
                                [&](const Weight& w) { return note.find(w.words) != std::string::npos; });
  return row == kWeights.end() ? kUsual : row->place;
}

constexpr std::string_view kDevice = "\x01";  // stands for a device's id

struct Shared {
  std::string text;
  std::vector<std::string> devices;
};

std::string spelled(const Shared& note) {
  const std::size_t at = note.text.find(kDevice);
  if (at == std::string::npos) return note.text;
  std::string names;
  const std::size_t named = note.devices.size() > kDevicesNamed + 1 ? kDevicesNamed : note.devices.size();
  for (std::size_t i = 0; i < named; ++i) names += (i == 0 ? "" : ", ") + note.devices[i];
  if (named < note.devices.size()) names += fmt::format(" and {} more", note.devices.size() - named);
  std::string text = note.text;
  return text.replace(at, kDevice.size(), names);
}

// That a network does not fit stands beside the device already.
bool is_shown_as_miss(const DeviceResult& result, const std::string& warning) {
  return result.limits && !result.advice.fits && warning.find("weights and one request") != std::string::npos;
}

}  // namespace

std::string merged_notes(const std::vector<const DeviceResult*>& results) {
  std::vector<Shared> notes;
  for (const DeviceResult* result : results) {
    for (const std::string& warning : result->warnings) {
      if (is_shown_as_miss(*result, warning)) continue;
      std::string text = warning;
      if (const std::size_t at = text.find(result->device); at != std::string::npos)
        text.replace(at, result->device.size(), kDevice);
      const auto same = std::find_if(notes.begin(), notes.end(), [&](const Shared& n) { return n.text == text; });
      if (same == notes.end()) {
        notes.push_back({text, {result->device}});
      } else {
        same->devices.push_back(result->device);
      }
    }
  }
  std::stable_sort(notes.begin(), notes.end(),
                   [](const Shared& a, const Shared& b) { return place_of(a.text) < place_of(b.text); });
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostNotes, notes.size()); ++i) text += "note: " + spelled(notes[i]) + "\n";
  if (notes.size() > kMostNotes)
    text += fmt::format("note: … and {} more (--json lists them)\n", notes.size() - kMostNotes);
  return text;
}

}  // namespace forerun
