// Gradient sums over LibTorch's Gloo back end.
#include "training/gnn/process_group.hpp"

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace forerun {
namespace {

class GlooGroup : public ProcessGroup {
 public:
  explicit GlooGroup(const ProcessPlace& place) : place_(place) {
    c10d::TCPStoreOptions store_options;
    store_options.port = static_cast<std::uint16_t>(place.port);
    store_options.isServer = place.rank == 0;
    store_options.numWorkers = static_cast<std::size_t>(place.world);
    auto store = c10::make_intrusive<c10d::TCPStore>(place.address, store_options);
    auto options = c10d::ProcessGroupGloo::Options::create();
    const bool local = place.address == "127.0.0.1" || place.address == "localhost";
    options->devices.push_back(local ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1") : c10d::ProcessGroupGloo::createDefaultDevice());
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.world, options);
  }
  Status sum(torch::Tensor& values) override {
    try {
      std::vector<torch::Tensor> tensors = {values.cpu()};
      group_->allreduce(tensors)->wait();
      values.copy_(tensors.front());
    } catch (const std::exception& error) {
      return Error{ErrorKind::Io, std::string("another training process is gone: ") + error.what()};
    }
    return ok();
  }
  [[nodiscard]] int rank() const override { return place_.rank; }
  [[nodiscard]] int world() const override { return place_.world; }

 private:
  ProcessPlace place_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

bool can_join_processes() { return true; }

Result<std::unique_ptr<ProcessGroup>> join_processes(const ProcessPlace& place) {
  try {
    return std::unique_ptr<ProcessGroup>(std::make_unique<GlooGroup>(place));
  } catch (const std::exception& error) {
    return Error{ErrorKind::Io, "cannot join the training processes at " + place.address + ": " + error.what()};
  }
}

}  // namespace forerun
