#include "service/target.hpp"

#include "service/edge_answer.hpp"

namespace forerun {
namespace {

constexpr std::size_t kMostTargets = 512;
constexpr std::size_t kMostKnown = 4096;  // spellings of names kept

std::vector<Device> larger_than(const Device& slice, const Catalogue& catalogue) {
  std::vector<Device> larger;
  if (slice.slice.empty()) return larger;
  const auto card = catalogue.find(slice.id.substr(0, slice.id.rfind(':')));
  if (!card) return larger;
  for (MigSlice& other : list_slices(*card)) {
    const Device& device = other.device;
    if (device.id != slice.id && device.sm_count >= slice.sm_count && device.memory_gib >= slice.memory_gib &&
        device.memory_bandwidth_gb_per_s >= slice.memory_bandwidth_gb_per_s)
      larger.push_back(std::move(other.device));
  }
  larger.push_back(*card);
  return larger;
}

std::shared_ptr<const Target> make_target(Device device, const Catalogue& catalogue) {
  auto target = std::make_shared<Target>();
  if (auto note = catalogue.note_of(device)) target->notes.push_back(*std::move(note));
  target->notes.insert(target->notes.end(), catalogue.problems().begin(), catalogue.problems().end());
  target->slices = list_slices(device);
  target->larger = larger_than(device, catalogue);
  target->device = std::move(device);
  return target;
}

}  // namespace

Result<std::shared_ptr<const Target>> TargetFinder::find_one(const std::string& name) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
  }
  FORERUN_TRY(Device device, catalogue_.find(name));
  auto target = make_target(std::move(device), catalogue_);
  const std::scoped_lock lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_[name] = target;
  return target;
}

Result<Targets> TargetFinder::find(const Request& request) {
  Targets targets;
  Catalogue extended;
  const bool is_extended = !request.device_file.empty() || !request.device_spec.empty();
  if (is_extended) extended = catalogue_;
  if (!request.device_file.empty()) FORERUN_CHECK(extended.add_file(request.device_file));
  if (!request.device_spec.empty()) FORERUN_CHECK(extended.add(request.device_spec, "device_spec"));
  const auto add = [&](const std::string& name) -> Status {
    if (is_extended) {
      FORERUN_TRY(Device device, extended.find(name));
      targets.push_back(make_target(std::move(device), extended));
    } else {
      FORERUN_TRY(auto target, find_one(name));
      targets.push_back(std::move(target));
    }
    if (targets.size() > kMostTargets)
      return Error{ErrorKind::TooLarge, "--device: more than 512 devices in one request"};
    return ok();
  };
  FORERUN_TRY(const EdgePlatform* edge, edge_platform_of(request));
  if (edge != nullptr)
    return bad_input("device '" + edge->id + "' is known by its latency alone: only forerun predict answers about it");
  std::vector<std::string> names = request.devices;
  if (names.empty() && !request.parallel.system.empty()) {
    FORERUN_TRY(const System system, find_system(request.parallel.system));
    names.push_back(system.device);
  }
  for (const std::string& name : names) {
    if (name != "all") {
      FORERUN_CHECK(add(name));
      continue;
    }
    for (const Device& device : (is_extended ? extended : catalogue_).devices()) {
      if (device.kind != "cpu") FORERUN_CHECK(add(device.id));
    }
  }
  if (targets.empty()) return bad_input("no device given: --device ID, or --device all (forerun devices lists them)");
  return targets;
}

}  // namespace forerun
