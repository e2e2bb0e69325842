// Matrix products through cuBLASLt, M = N = K: the best of the library's first four suggestions, on random data.
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <chrono>

#include "profiler/cuda/device_timer.hpp"
#include "profiler/cuda/rates.hpp"

namespace forerun::cuda {
namespace {

struct GemmKind {
  const char* name;
  cudaDataType_t input;
  cudaDataType_t output;
  cudaDataType_t scale;
  cublasComputeType_t compute;
  int largest;
};

constexpr GemmKind kGemmKinds[] = {
    GemmKind{"fp16_tensor", CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 16384},
    GemmKind{"bf16_tensor", CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 16384},
    GemmKind{"tf32_tensor", CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 16384},
    GemmKind{"fp8_tensor", CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 16384},
    GemmKind{"int8_tensor", CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I, 16384},
    GemmKind{"fp32", CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 16384},
    GemmKind{"fp64_tensor", CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, 16384},
};

void check_lt(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) throw CudaFailure(std::string(what) + ": " + cublasLtGetStatusString(status));
}

size_t element_bytes(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F: return 8;
    case CUDA_R_32F:
    case CUDA_R_32I: return 4;
    case CUDA_R_8I:
    case CUDA_R_8F_E4M3: return 1;
    default: return 2;
  }
}

__device__ float random_value(size_t i) {  // a hash in [-1, 1): zeros would run faster than data does
  unsigned h = static_cast<unsigned>(i) * 2654435761u + static_cast<unsigned>(i >> 32);
  h = (h ^ (h >> 15)) * 2246822519u;
  h ^= h >> 13;
  return static_cast<float>(h & 0xffff) / 32768.0f - 1.0f;
}

__global__ void fill_random(void* data, size_t count, cudaDataType_t type) {
  const size_t step = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const float v = random_value(i);
    switch (type) {
      case CUDA_R_64F: static_cast<double*>(data)[i] = v; break;
      case CUDA_R_32F: static_cast<float*>(data)[i] = v; break;
      case CUDA_R_16F: static_cast<__half*>(data)[i] = __float2half(v); break;
      case CUDA_R_16BF: static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16(v); break;
      case CUDA_R_8F_E4M3: static_cast<__nv_fp8_e4m3*>(data)[i] = __nv_fp8_e4m3(v); break;
      default: static_cast<signed char*>(data)[i] = static_cast<signed char>(v * 100.0f);
    }
  }
}

// One square product with its descriptors and buffers; run() enqueues it.
class Gemm {
 public:
  Gemm(cublasLtHandle_t handle, const GemmKind& kind, int n)
      : handle_(handle),
        a_(size_t(n) * n * element_bytes(kind.input)),
        b_(size_t(n) * n * element_bytes(kind.input)),
        d_(size_t(n) * n * element_bytes(kind.output)),
        workspace_(size_t(64) << 20),
        integer_(kind.scale == CUDA_R_32I),
        double_(kind.scale == CUDA_R_64F) {
    fill_random<<<2048, 256>>>(a_.data(), size_t(n) * n, kind.input);
    fill_random<<<2048, 256>>>(b_.data(), size_t(n) * n, kind.input);
    check_lt(cublasLtMatmulDescCreate(&operation_, kind.compute, kind.scale), "cublasLtMatmulDescCreate");
    const cublasOperation_t transposed = CUBLAS_OP_T;  // fp8 and int8 exist only as A^T B
    check_lt(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed)), "TRANSA");
    check_lt(cublasLtMatrixLayoutCreate(&in_, kind.input, n, n, n), "layout");
    check_lt(cublasLtMatrixLayoutCreate(&out_, kind.output, n, n, n), "layout");
    cublasLtMatmulPreference_t preference{};
    check_lt(cublasLtMatmulPreferenceCreate(&preference), "preference");
    const size_t limit = workspace_.bytes();
    check_lt(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof(limit)), "workspace");
    const auto status = cublasLtMatmulAlgoGetHeuristic(handle_, operation_, in_, in_, out_, out_, preference,
                                                       kAlgorithms, algorithms_, &count_);
    cublasLtMatmulPreferenceDestroy(preference);
    check_lt(status, "cublasLtMatmulAlgoGetHeuristic");
  }
  ~Gemm() {
    cublasLtMatrixLayoutDestroy(in_);
    cublasLtMatrixLayoutDestroy(out_);
    cublasLtMatmulDescDestroy(operation_);
  }
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  [[nodiscard]] int algorithms() const { return count_; }

  void run(int algorithm) {
    const float one = 1.0f, zero = 0.0f;
    const int one_i = 1, zero_i = 0;
    const double one_d = 1.0, zero_d = 0.0;
    const void* alpha = integer_ ? static_cast<const void*>(&one_i) : double_ ? static_cast<const void*>(&one_d) : &one;
    const void* beta = integer_ ? static_cast<const void*>(&zero_i) : double_ ? static_cast<const void*>(&zero_d) : &zero;
    check_lt(cublasLtMatmul(handle_, operation_, alpha, a_.data(), in_, b_.data(), in_, beta, d_.data(), out_, d_.data(), out_,
                            &algorithms_[algorithm].algo, workspace_.data(), workspace_.bytes(), nullptr),
             "cublasLtMatmul");
  }

 private:
  cublasLtHandle_t handle_;
  DeviceBuffer a_, b_, d_, workspace_;
  bool integer_, double_;
  cublasLtMatmulDesc_t operation_{};
  cublasLtMatrixLayout_t in_{}, out_{};
  static constexpr int kAlgorithms = 4;
  cublasLtMatmulHeuristicResult_t algorithms_[kAlgorithms] = {};
  int count_ = 0;
};

double best_tflops(Gemm& gemm, int n) {
  DeviceTimer timer;
  const double flops = 2.0 * double(n) * n * n;
  int best = 0;
  double best_s = 1e30;
  for (int i = 0; i < gemm.algorithms(); ++i) {
    const double seconds = timer.median_s(2, [&] { gemm.run(i); });
    if (seconds < best_s) best_s = seconds, best = i;
  }
  // several products per timed region, so that short ones hide the launch
  const int each = std::max(1, int(2e-3 / best_s));
  const double seconds = timer.median_s(7, [&] {
    for (int i = 0; i < each; ++i) gemm.run(best);
  });
  return flops * each / seconds / 1e12;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Mean power between the first and last counter edge while `work` runs back to back.
template <typename Work>
double mean_power_w(const Nvml& nvml, double window_s, Work work) {
  double begin = seconds_now(), first_t = 0, first_e = 0, last_t = 0, last_e = 0;
  for (int i = 0; i < 20; ++i) work();
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  auto seen = nvml.energy_j();
  while (seen && seconds_now() - begin < window_s + 1.0) {
    work();
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const auto now = nvml.energy_j();
    if (now && *now != *seen) {
      if (first_t == 0) first_t = seconds_now(), first_e = *now;
      last_t = seconds_now(), last_e = *now;
      seen = now;
      if (last_t - first_t > window_s) break;
    }
  }
  return last_t > first_t ? (last_e - first_e) / (last_t - first_t) : 0;
}

}  // namespace

void measure_gemms(const CharacterizeOptions& options, Characterization& result) {
  cublasLtHandle_t handle{};
  check_lt(cublasLtCreate(&handle), "cublasLtCreate");
  for (const GemmKind& kind : kGemmKinds) {
    for (int n : {1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384}) {
      if (n > options.largest_gemm || n > kind.largest) break;
      try {
        Gemm gemm(handle, kind, n);
        result.gemms.push_back({kind.name, n, best_tflops(gemm, n)});
      } catch (const CudaFailure& failure) {
        result.notes.push_back(std::string(kind.name) + " matrix product of " + std::to_string(n) + ": " + failure.what());
        break;
      }
    }
  }
  cublasLtDestroy(handle);
}

void measure_loaded_power(const Nvml& nvml, Characterization& result) {
  if (!nvml.energy_j()) {
    result.notes.push_back("no permission for, or no, NVML energy counter: loaded power not measured");
    return;
  }
  cublasLtHandle_t handle{};
  check_lt(cublasLtCreate(&handle), "cublasLtCreate");
  {
    Gemm gemm(handle, kGemmKinds[0], 8192);
    result.loaded_power_w = mean_power_w(nvml, 2.0, [&] { for (int i = 0; i < 4; ++i) gemm.run(0); });
  }
  cublasLtDestroy(handle);
  const size_t bytes = size_t(2) << 30;
  DeviceBuffer from(bytes), to(bytes);
  fill_random<<<2048, 256>>>(from.data(), bytes / 4, CUDA_R_32F);
  result.memory_loaded_power_w = mean_power_w(nvml, 1.5, [&] {
    for (int i = 0; i < 4; ++i) check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice), "cudaMemcpyAsync");
  });
}

}  // namespace forerun::cuda
