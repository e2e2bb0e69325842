// What it costs to start work: kernel launches, graph nodes, graph launches; and copies between host and device.
#include <chrono>
#include <cstring>

#include "profiler/cuda/device_timer.hpp"
#include "profiler/cuda/rates.hpp"

namespace forerun::cuda {
namespace {

__global__ void empty_kernel() {}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename Work>
double best_host_s(int repeats, Work work) {
  work();
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const double begin = seconds_now();
    work();
    best = std::min(best, seconds_now() - begin);
  }
  return best;
}

cudaGraphExec_t chain_of(int nodes, cudaStream_t stream) {
  cudaGraph_t graph{};
  cudaGraphExec_t executable{};
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int i = 0; i < nodes; ++i) empty_kernel<<<1, 32, 0, stream>>>();
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return executable;
}

}  // namespace

void measure_launches(Characterization& result) {
  cudaStream_t stream{};
  check(cudaStreamCreate(&stream), "cudaStreamCreate");
  const int many = 1000;
  const auto launch_many = [&] {
    for (int i = 0; i < many; ++i) empty_kernel<<<1, 32, 0, stream>>>();
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  };
  result.kernel_launch_us = best_host_s(10, launch_many) / many * 1e6;
  const auto launch_one = [&] {
    empty_kernel<<<1, 32, 0, stream>>>();
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  };
  result.launch_and_wait_us = best_host_s(200, launch_one) * 1e6;

  const auto replay = [&](cudaGraphExec_t graph, int repeats) {
    const double seconds = best_host_s(repeats, [&] {
      check(cudaGraphLaunch(graph, stream), "cudaGraphLaunch");
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    });
    check(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
    return seconds;
  };
  result.graph_launch_us = replay(chain_of(1, stream), 200) * 1e6;
  const double long_chain = replay(chain_of(2 * many, stream), 20);
  const double short_chain = replay(chain_of(many, stream), 20);
  result.graph_kernel_us = (long_chain - short_chain) / many * 1e6;  // the difference leaves the launch itself out
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

void measure_host_copies(Characterization& result) {
  const size_t bytes = size_t(512) << 20;
  DeviceBuffer device(bytes);
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, bytes), "cudaMallocHost");
  std::memset(pinned, 1, bytes);
  DeviceTimer timer;
  const auto rate = [&](void* to, const void* from, cudaMemcpyKind kind) {
    return double(bytes) / timer.median_s(5, [&] { check(cudaMemcpyAsync(to, from, bytes, kind), "cudaMemcpyAsync"); }) / 1e9;
  };
  result.host_to_device_gb_per_s = rate(device.data(), pinned, cudaMemcpyHostToDevice);
  result.device_to_host_gb_per_s = rate(pinned, device.data(), cudaMemcpyDeviceToHost);
  check(cudaFreeHost(pinned), "cudaFreeHost");
  std::vector<char> pageable(bytes, 1);
  result.pageable_to_device_gb_per_s = rate(device.data(), pageable.data(), cudaMemcpyHostToDevice);
}

}  // namespace forerun::cuda
