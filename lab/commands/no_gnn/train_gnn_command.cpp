// Stands where forerun-lab is built without LibTorch.
#include "commands/command.hpp"

namespace forerun {

namespace {

LabAction refuse(CLI::App& app) {
  app.allow_extras();
  return [] {
    return Status(
        bad_input("this forerun-lab was built without LibTorch and trains no graph networks (Debian: libtorch-dev)"));
  };
}

}  // namespace

LabAction declare_gnn(CLI::App& app) { return refuse(app); }
LabAction declare_published(CLI::App& app) { return refuse(app); }

}  // namespace forerun
