// Figures of the published benchmarking study: K. Panner Selvam, Performance Prediction Models for Deep Learning, PhD
// thesis, University of Luxembourg, PhD-FSTM-2025-034, chapter 3.
#pragma once

#include <array>
#include <string_view>

namespace forerun::published {

inline constexpr const char* kV100 = "v100-sxm-16gb";
inline constexpr const char* kA100 = "a100-sxm-40gb";
inline constexpr double kSamples = 20496, kEpochs = 70;

struct CeilingRow {
  const char *device, *unit, *key;  // key of Device::peak_tflops; "": a bandwidth
  double data_sheet, measured;      // TFLOP/s or GB/s; 0: not printed
};
inline constexpr std::array kCeilings = {
    CeilingRow{kV100, "fp32", "fp32", 15.7, 15.5},
    CeilingRow{kV100, "fp16", "fp16", 0, 29.6},
    CeilingRow{kV100, "tensor", "fp16_tensor", 125, 101.2},
    CeilingRow{kV100, "memory", "", 0, 818.5},
    CeilingRow{kV100, "L2", "", 0, 2142.8},
    CeilingRow{kV100, "L1", "", 0, 13230.4},
    CeilingRow{kA100, "fp32", "fp32", 19.5, 18.5},
    CeilingRow{kA100, "fp16", "fp16", 0, 58.8},
    CeilingRow{kA100, "tensor", "fp16_tensor", 312, 292.2},
    CeilingRow{kA100, "memory", "", 0, 1346},
    CeilingRow{kA100, "L2", "", 0, 3877.6},
    CeilingRow{kA100, "L1", "", 0, 19287.3},
};

struct TrainingRow {
  const char* device;
  int batch;
  bool mixed;
  double epoch_s, run_s, loading_s, gpu_use, memory_rate, temperature_c, power_w;
};
inline constexpr std::array kTraining = {
    TrainingRow{kV100, 32, false, 40.07, 2847, 8.87, 90.53, 63.24, 59.9, 259.1},
    TrainingRow{kV100, 32, true, 26.34, 1892, 17.29, 81.86, 44.41, 57.5, 244.1},
    TrainingRow{kV100, 64, false, 38.66, 2756, 13.42, 91.38, 66.13, 58.5, 252.4},
    TrainingRow{kV100, 64, true, 24.78, 1779, 12.02, 83.55, 47.52, 57.7, 238.5},
    TrainingRow{kA100, 32, false, 21.53, 1530, 5.08, 22.38, 14.06, 51.0, 116.0},
    TrainingRow{kA100, 32, true, 18.52, 1319, 5.14, 19.27, 7.25, 48.5, 98.7},
    TrainingRow{kA100, 64, false, 20.39, 1450, 5.05, 22.46, 14.94, 50.9, 117.0},
    TrainingRow{kA100, 64, true, 16.98, 1212, 5.58, 22.02, 10.72, 47.9, 107.5},
};
// Kernel time on tensor cores, mixed, batch 64.
struct TensorRow {
  const char* device;
  int gpus;
  double percent;
};
inline constexpr std::array kTensorUse = {TensorRow{kV100, 1, 89.5}, TensorRow{kA100, 1, 31.7},
                                          TensorRow{kV100, 4, 81.8}, TensorRow{kA100, 4, 26.9}};

struct DistributedRow {
  const char* device;
  int gpus;
  double epoch_s;
};
inline constexpr std::array kDistributed = {DistributedRow{kV100, 1, 32.8}, DistributedRow{kV100, 4, 22.3},
                                            DistributedRow{kA100, 1, 22.88}, DistributedRow{kA100, 2, 19.3},
                                            DistributedRow{kA100, 4, 18.94}};

struct InferenceRow {
  const char* device;
  bool mixed;
  double ms, tensor_use, gpu_use;  // percent; 0: not printed
};
inline constexpr std::array kInference = {
    InferenceRow{kV100, false, 90, 0, 8.1}, InferenceRow{kV100, true, 51, 58.7, 3.2},
    InferenceRow{kA100, false, 100, 16.1, 2.6}, InferenceRow{kA100, true, 37, 6.4, 1.1}};
inline constexpr double kCpuInferenceS = 5.15;  // 16 cores, Xeon Platinum 8275CL

struct CostRow {
  const char *cloud, *instance, *device;
  int gpus;
  double usd_per_hour, usd_total;
};
// Ten trainings: 6.38 h on one V100, 4.34 h on four, 4.45 h on one A100, 3.69 h on four.
struct TenTrainings {
  const char* device;
  int gpus;
  double hours;
};
inline constexpr std::array kTenTrainings = {TenTrainings{kV100, 1, 6.38}, TenTrainings{kV100, 4, 4.34},
                                             TenTrainings{kA100, 1, 4.45}, TenTrainings{kA100, 4, 3.69}};
inline constexpr std::array kCosts = {
    CostRow{"AWS", "p4d.24xlarge", kA100, 4, 32.77, 120.92}, CostRow{"AWS", "p3.2xlarge", kV100, 1, 3.06, 19.52},
    CostRow{"AWS", "p3.8xlarge", kV100, 4, 12.24, 53.12},    CostRow{"GCP", "A100 x 1", kA100, 1, 2.93, 13.03},
    CostRow{"GCP", "A100 x 4", kA100, 4, 11.74, 43.32},      CostRow{"GCP", "V100 x 1", kV100, 1, 2.48, 15.82},
    CostRow{"GCP", "V100 x 4", kV100, 4, 9.92, 43.05},       CostRow{"Azure", "NC6s v3", kV100, 1, 3.06, 19.52},
    CostRow{"Azure", "NC24rs v3", kV100, 4, 13.46, 58.41},   CostRow{"Azure", "NC24ads v4", kA100, 1, 3.67, 16.33},
    CostRow{"Azure", "NC96ads v4", kA100, 4, 14.69, 54.20}};
inline constexpr double kTenThousandA100Usd = 0.301, kTenThousandCpuUsd = 9.724, kA100UsdPerHour = 2.93;

}  // namespace forerun::published
