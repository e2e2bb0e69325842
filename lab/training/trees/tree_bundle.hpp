// A trained set of trees as the bundle that ships.
#pragma once

#include <map>
#include <set>
#include <string>

#include "bundle/bundle.hpp"
#include "training/trees/tree_trainer.hpp"

namespace forerun {

struct TrainedMetric {
  TreeNodes trees;
  TreeInterval interval;
  std::vector<float> lowest, highest;  // of each column over the training rows
};

struct TrainedTrees {
  std::string name = "trees";
  TreeNodes kernels;
  KnownKernels known;
  TreeNodes transfer;                    // for devices that were not measured
  std::set<std::string> transfer_kinds;  // of kernels it was trained on; empty: there is none
  TreeInterval kernel_graph, kernel_eager;
  // Kernels taught by whole networks on several devices (network_kernels.hpp). `known`: on these devices; `unfamiliar`:
  // on others.
  TreeNodes networks;
  TreeInterval network_interval;
  std::set<std::string> network_devices;
  TreeNodes power;  // of kernels: what is_energy_or_power() metrics are made of
  TreeNodes host;   // of convolutions in groups
  std::map<std::pair<RunKind, RunMetric>, TrainedMetric> metrics;
  std::map<RunKind, TreeFamiliarity> familiarity;
  std::set<std::string> devices, precisions;
  bool set_aside = false;  // nothing was learned from the networks that judge bundles (dataset/splits.hpp)
  std::string provenance = "{}", evaluation = "{}";  // JSON
};

Result<std::string> make_tree_bundle(const TrainedTrees& trained);

}  // namespace forerun
