// Bandwidth by working set. Shared sweep: every multiprocessor reads one buffer with loads that pass L1 by (ld.cg).
// Private sweep: one block per multiprocessor rereads its own small buffer with loads that use L1 (ld.ca).
#include "profiler/cuda/device_timer.hpp"
#include "profiler/cuda/rates.hpp"

namespace forerun::cuda {
namespace {

constexpr int kUnroll = 8;

__device__ float4 load_past_l1(const float4* p) {
  float4 v;
  asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
  return v;
}

__device__ float4 load_through_l1(const float4* p) {
  float4 v;
  asm volatile("ld.global.ca.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
  return v;
}

// REQUIRES: count is a power of two (in float4), so that wrapping is a mask.
__global__ void read_shared(const float4* data, size_t count, size_t loads_per_thread, float* out) {
  const size_t threads = size_t(gridDim.x) * blockDim.x;
  size_t at = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  float sum = 0;
  for (size_t i = 0; i < loads_per_thread; i += kUnroll) {
    float4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) v[u] = load_past_l1(data + ((at + u * threads) & (count - 1)));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) sum += v[u].x + v[u].y + v[u].z + v[u].w;
    at += kUnroll * threads;
  }
  if (sum == 123456.0f) *out = sum;
}

// REQUIRES: count (float4 per block) is a multiple of blockDim.x.
__global__ void read_private(const float4* data, int count, int passes, float* out) {
  const float4* own = data + size_t(blockIdx.x) * count;
  float sum = 0;
  for (int p = 0; p < passes; ++p) {
#pragma unroll 4
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      const float4 v = load_through_l1(own + i);
      sum += v.x + v.y + v.z + v.w;
    }
  }
  if (sum == 123456.0f) *out = sum;
}

__global__ void write_all(float4* data, size_t count) {
  const size_t threads = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    data[i] = make_float4(1.0f, 2.0f, 3.0f, float(i));
  }
}

void sweep_shared(const DeviceBuffer& buffer, float* out, Characterization& result) {
  DeviceTimer timer;
  const int blocks = result.multiprocessors * 8;
  const int threads = 256;
  for (size_t bytes = size_t(1) << 18; bytes <= buffer.bytes(); bytes *= 2) {
    // enough bytes to run a millisecond from L2, and at least one pass over the buffer
    const double target = std::max(8e9, double(bytes));
    size_t loads = size_t(target / 16.0 / blocks / threads);
    loads = (loads + kUnroll - 1) / kUnroll * kUnroll;
    const double seconds = timer.median_s(5, [&] {
      read_shared<<<blocks, threads>>>(static_cast<const float4*>(buffer.data()), bytes / 16, loads, out);
    });
    result.shared_sweep.push_back({double(bytes), double(loads) * 16.0 * blocks * threads / seconds / 1e9});
  }
}

// Finer steps around the L2 size: three quarters and five quarters are not powers of two, so whole passes are read instead.
__global__ void read_passes(const float4* data, size_t count, int passes, float* out) {
  const size_t threads = size_t(gridDim.x) * blockDim.x;
  float sum = 0;
  for (int p = 0; p < passes; ++p) {
#pragma unroll 8
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
      const float4 v = load_past_l1(data + i);
      sum += v.x + v.y + v.z + v.w;
    }
  }
  if (sum == 123456.0f) *out = sum;
}

void sweep_around_l2(const DeviceBuffer& buffer, float* out, Characterization& result) {
  DeviceTimer timer;
  for (int megabytes : {6, 10, 12, 20, 24, 28, 36, 40, 44, 48, 52, 56, 60, 72, 80, 96, 112, 160, 192, 384, 768}) {
    const size_t bytes = size_t(megabytes) << 20;
    if (bytes > buffer.bytes()) break;
    const int passes = std::max(2, int(8e9 / double(bytes)));
    const double seconds = timer.median_s(5, [&] {
      read_passes<<<result.multiprocessors * 8, 256>>>(static_cast<const float4*>(buffer.data()), bytes / 16, passes, out);
    });
    result.shared_sweep.push_back({double(bytes), double(bytes) * passes / seconds / 1e9});
  }
  std::sort(result.shared_sweep.begin(), result.shared_sweep.end(),
            [](const BandwidthPoint& a, const BandwidthPoint& b) { return a.working_set_bytes < b.working_set_bytes; });
}

void sweep_private(const DeviceBuffer& buffer, float* out, Characterization& result) {
  DeviceTimer timer;
  const int threads = 1024;
  for (int kilobytes : {16, 32, 48, 64, 96, 128, 160, 192, 208, 224, 256, 320, 384, 512, 768, 1024}) {
    const int count = kilobytes * 64;  // float4 per block
    if (size_t(count) * 16 * result.multiprocessors > buffer.bytes()) break;
    const int passes = std::max(4, 65536 / kilobytes);
    const double seconds = timer.median_s(5, [&] {
      read_private<<<result.multiprocessors, threads>>>(static_cast<const float4*>(buffer.data()), count, passes, out);
    });
    const double bytes = double(count) * 16.0 * passes * result.multiprocessors;
    result.private_sweep.push_back({double(kilobytes) * 1024.0, bytes / seconds / 1e9});
  }
}

}  // namespace

void measure_memory(const CharacterizeOptions& options, Characterization& result) {
  size_t bytes = size_t(1) << 20;
  while (double(bytes) * 2 <= std::min(options.largest_buffer_bytes * 1.1, result.memory_bytes * 0.4)) bytes *= 2;
  DeviceBuffer buffer(bytes);
  DeviceBuffer other(bytes);
  DeviceBuffer out(256);
  DeviceTimer timer;
  const auto write = [&] { write_all<<<result.multiprocessors * 8, 512>>>(static_cast<float4*>(buffer.data()), bytes / 16); };
  result.write_gb_per_s = double(bytes) / timer.median_s(5, write) / 1e9;
  result.copy_gb_per_s = 2.0 * double(bytes) / timer.median_s(5, [&] {
    check(cudaMemcpyAsync(other.data(), buffer.data(), bytes, cudaMemcpyDeviceToDevice), "cudaMemcpyAsync");
  }) / 1e9;
  sweep_shared(buffer, static_cast<float*>(out.data()), result);
  sweep_around_l2(buffer, static_cast<float*>(out.data()), result);
  sweep_private(buffer, static_cast<float*>(out.data()), result);
}

}  // namespace forerun::cuda
