"""Training of the U-Net as NVML sees it (GPU use, memory rate, power, temperature), and the share of kernel time on tensor cores."""
import json
import sys
import time

import networks
import torch
from nvml import Nvml

OUT, DRY = sys.argv[1], "--dry" in sys.argv
DEVICE = networks.DEVICE
SECONDS = 0.2 if DRY else 1.2


def rates(nvml):
    import ctypes

    class Use(ctypes.Structure):
        _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]
    value = nvml._read("nvmlDeviceGetUtilizationRates", Use())
    return (None, None) if value is None else (value.gpu, value.memory)


def main():
    nvml, results = Nvml(), []
    for mode in ("training", "inference"):
        for batch in (64,) if mode == "inference" else (64, 32):
            for precision in ("fp32", "amp_fp16"):
                module = networks.unet().to(DEVICE).train(mode == "training")
                optimizer = torch.optim.Adam(module.parameters())
                x = torch.randn(batch, 3, 96, 128, device=DEVICE)
                targets = [torch.randn(batch, 1, 96, 128, device=DEVICE) for _ in range(2)]

                def step():
                    with torch.autocast(DEVICE, torch.float16 if DEVICE == "cuda" else torch.bfloat16, enabled=precision == "amp_fp16"), torch.set_grad_enabled(mode == "training"):
                        out = module(x)
                    if mode == "training":
                        optimizer.zero_grad(set_to_none=True)
                        sum((a.float() - b).square().mean() for a, b in zip(out, targets)).backward()
                        optimizer.step()
                for _ in range(2 if DRY else 8):
                    step()
                sync = torch.cuda.synchronize if DEVICE == "cuda" else lambda: None
                sync()
                samples, begin, count, energy = [], time.perf_counter(), 0, nvml.energy_mj()
                while time.perf_counter() - begin < SECONDS:
                    for _ in range(1 if DRY else 10):
                        step()
                        count += 1
                    sync()
                    samples.append((*rates(nvml), nvml.power_w(), nvml.temperature_c()))
                seconds = time.perf_counter() - begin
                joules = None if energy is None else (nvml.energy_mj() - energy) / 1000
                last = [s for s in samples[len(samples) // 2:]]
                mean = lambda i: None if last[0][i] is None else sum(s[i] for s in last) / len(last)
                row = dict(mode=mode, batch=batch, precision=precision, step_ms=seconds / count * 1e3, gpu_use=mean(0), memory_rate=mean(1), power_w=None if joules is None else joules / seconds,
                           power_sampled_w=mean(2), temperature_c=mean(3), parameters=sum(p.numel() for p in module.parameters()))
                if DEVICE == "cuda":
                    from torch.profiler import ProfilerActivity, profile
                    with profile(activities=[ProfilerActivity.CUDA]) as seen:
                        step()
                        sync()
                    kernels = {}
                    for e in seen.events():
                        if str(e.device_type).endswith("CUDA"):
                            entry = kernels.setdefault(e.name, [0, 0.0])
                            entry[0] += 1
                            entry[1] += e.time_range.elapsed_us()
                    row["kernels"] = sorted(([k, *v] for k, v in kernels.items()), key=lambda r: -r[2])[:60]
                results.append(row)
                json.dump(results, open(OUT, "w"))
                del module, optimizer, step


main()
