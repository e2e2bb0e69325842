// Gradient sums over LibTorch's own process groups: NCCL between GPUs, Gloo between hosts' memories. Which of them
// exist is known when this is built.
#include "training/gnn/process_group.hpp"

#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#ifdef FORERUN_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
#ifdef FORERUN_NCCL  // found at build time; LibTorch's own USE_C10D_… say what it has, not whether their headers are
                     // there
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

namespace forerun {
namespace {

c10::intrusive_ptr<c10d::Store> meeting_place(const ProcessPlace& place) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.port);
  options.isServer = place.rank == 0;
  options.numWorkers = static_cast<std::size_t>(place.world);
  return c10::make_intrusive<c10d::TCPStore>(place.address, options);
}

// Group: what allreduce() is called on. device: where its tensors must be.
template <class Group>
class SummingGroup : public ProcessGroup {
 public:
  SummingGroup(const ProcessPlace& place, c10::intrusive_ptr<Group> group, const torch::Device& device)
      : place_(place), group_(std::move(group)), device_(device) {}
  ~SummingGroup() override {
    if constexpr (requires { group_->shutdown(); }) {
      try {
        group_->shutdown();
      } catch (const std::exception&) {  // the others are gone already
      }
    }
  }
  Status sum(torch::Tensor& values) override {
    try {
      std::vector<torch::Tensor> tensors = {values.to(device_)};
      group_->allreduce(tensors)->wait();
      if (values.device() != tensors.front().device()) values.copy_(tensors.front());
    } catch (const std::exception& error) {
      return Error{ErrorKind::Io, std::string("another training process is gone: ") + error.what()};
    }
    return ok();
  }
  [[nodiscard]] int rank() const override { return place_.rank; }
  [[nodiscard]] int world() const override { return place_.world; }

 private:
  ProcessPlace place_;
  c10::intrusive_ptr<Group> group_;
  torch::Device device_;
};

Result<std::unique_ptr<ProcessGroup>> joined(const ProcessPlace& place, [[maybe_unused]] const torch::Device& device) {
#ifdef FORERUN_NCCL
  if (device.is_cuda()) {
    return std::unique_ptr<ProcessGroup>(std::make_unique<SummingGroup<c10d::ProcessGroupNCCL>>(
        place, c10::make_intrusive<c10d::ProcessGroupNCCL>(meeting_place(place), place.rank, place.world), device));
  }
#endif
#ifdef FORERUN_GLOO
  auto options = c10d::ProcessGroupGloo::Options::create();
  const bool local = place.address == "127.0.0.1" || place.address == "localhost";
  options->devices.push_back(local ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                   : c10d::ProcessGroupGloo::createDefaultDevice());
  return std::unique_ptr<ProcessGroup>(std::make_unique<SummingGroup<c10d::ProcessGroupGloo>>(
      place, c10::make_intrusive<c10d::ProcessGroupGloo>(meeting_place(place), place.rank, place.world, options),
      torch::kCPU));
#else
  return bad_input(
      "this build's processes can only join on GPUs, or not at all: build it where Gloo's headers are installed "
      "(Debian: libgloo-dev)");
#endif
}

}  // namespace

bool can_join_processes() {
#ifdef FORERUN_GLOO
  return true;
#else
  return false;
#endif
}

Result<std::unique_ptr<ProcessGroup>> join_processes(const ProcessPlace& place, const torch::Device& device) {
  try {
    return joined(place, device);
  } catch (const std::exception& error) {
    return Error{ErrorKind::Io, "cannot join the training processes at " + place.address + ": " + error.what()};
  }
}

}  // namespace forerun
