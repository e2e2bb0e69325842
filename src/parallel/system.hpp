// Machines that hold several devices, and the networks between them: data/systems and data/fabrics.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "devices/device.hpp"

namespace forerun {

// One network card, and how nodes reach each other through it.
struct Fabric {
  std::string id, name, kind;  // kind: infiniband, roce, efa, ethernet
  double gb_per_s = 0;         // of one card, one direction
  double latency_us = 0;       // of one message between two nodes
};

struct InstancePrice {
  double usd_per_hour = 0;  // of a whole node
  std::string date, source;
};

struct System {
  std::string id, name, device;
  std::int64_t gpus_per_node = 8;
  std::string link;                // inside a domain: nvswitch, nvlink, xgmi, pcie
  std::int64_t link_domain = 8;    // devices that reach each other by it; may span nodes (NVL72)
  std::string fabric;              // between nodes; empty: none is known
  std::int64_t nics_per_node = 0;  // cards of the fabric
  std::int64_t most_nodes = 1;     // the largest installation its maker describes
  std::optional<InstancePrice> price;
};

[[nodiscard]] std::span<const System> all_systems();
[[nodiscard]] std::span<const Fabric> all_fabrics();
// Errors name the ids there are.
[[nodiscard]] Result<System> find_system(std::string_view id);
[[nodiscard]] Result<Fabric> find_fabric(std::string_view id);
// What is assumed of a device of which no system was named: a node of eight, its own links between them.
[[nodiscard]] System assumed_system(const Device& device);

// Devices working together: the system with the number of its nodes and its fabric.
struct Cluster {
  System system;
  std::int64_t nodes = 1;
  std::optional<Fabric> fabric;  // absent: one link domain
  bool is_assumed = false;       // no system was asked for: a usual one is assumed
  [[nodiscard]] std::int64_t devices() const { return nodes * system.gpus_per_node; }
};

}  // namespace forerun
