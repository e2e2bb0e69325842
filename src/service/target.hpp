// The devices a request names, with their MIG slices, found once and kept.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "advice/mig.hpp"
#include "base/result.hpp"
#include "devices/catalogue.hpp"
#include "service/request.hpp"

namespace forerun {

struct Target {
  Device device;
  std::vector<MigSlice> slices;    // smallest first; empty: no MIG
  std::vector<Device> larger;      // of a slice: the card's slices with at least its SMs and memory, and the card
  std::vector<std::string> notes;  // of the catalogue, for every answer about it
};
using Targets = std::vector<std::shared_ptr<const Target>>;

// Safe to use from several threads.
class TargetFinder {
 public:
  // REQUIRES: the catalogue outlives this and does not change.
  explicit TargetFinder(const Catalogue& catalogue) : catalogue_(catalogue) {}
  // Every device of the request; "all" is every GPU. Errors: an unknown one, too many, none.
  Result<Targets> find(const Request& request);

 private:
  Result<std::shared_ptr<const Target>> find_one(const std::string& name);
  const Catalogue& catalogue_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Target>> known_;  // by name as written
};

}  // namespace forerun
