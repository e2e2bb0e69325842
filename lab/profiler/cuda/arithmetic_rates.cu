// Plain fused multiply-add rates: eight independent chains per thread, enough warps to hide the latency of each.
#include <cuda_fp16.h>

#include "profiler/cuda/device_timer.hpp"
#include "profiler/cuda/rates.hpp"

namespace forerun::cuda {
namespace {

constexpr int kChains = 8;
constexpr int kThreads = 256;

__device__ float fma_of(float a, float b, float c) { return fmaf(a, b, c); }
__device__ double fma_of(double a, double b, double c) { return fma(a, b, c); }
__device__ __half2 fma_of(__half2 a, __half2 b, __half2 c) { return __hfma2(a, b, c); }
__device__ void set(float& to, float v) { to = v; }
__device__ void set(double& to, float v) { to = v; }
__device__ void set(__half2& to, float v) { to = __float2half2_rn(v); }
__device__ float to_float(float a) { return a; }
__device__ float to_float(double a) { return static_cast<float>(a); }
__device__ float to_float(__half2 a) { return __low2float(a); }

template <typename T>
__global__ void multiply_add(float* out, int rounds, T factor, T addend) {
  T chain[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) set(chain[i], float(threadIdx.x + i) * 1e-3f);
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int u = 0; u < 16; ++u) {
#pragma unroll
      for (int i = 0; i < kChains; ++i) chain[i] = fma_of(chain[i], factor, addend);
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) sum += to_float(chain[i]);
  if (sum == 123456.0f) out[0] = sum;  // keeps the chains alive
}

template <typename T>
double tflops(int multiprocessors, double flops_per_fma, T factor, T addend) {
  DeviceBuffer out(256);
  DeviceTimer timer;
  const int blocks = multiprocessors * 8;
  const int rounds = 2000;
  const double seconds = timer.median_s(7, [&] {
    multiply_add<T><<<blocks, kThreads>>>(static_cast<float*>(out.data()), rounds, factor, addend);
  });
  const double fmas = double(blocks) * kThreads * rounds * 16.0 * kChains;
  return fmas * flops_per_fma / seconds / 1e12;
}

}  // namespace

void measure_arithmetic(Characterization& result) {
  const int n = result.multiprocessors;
  result.plain_tflops["fp32"] = tflops<float>(n, 2, 0.999f, 1e-3f);
  result.plain_tflops["fp64"] = tflops<double>(n, 2, 0.999, 1e-3);
  result.plain_tflops["fp16"] = tflops<__half2>(n, 4, __float2half2_rn(0.99f), __float2half2_rn(1e-2f));
}

}  // namespace forerun::cuda
