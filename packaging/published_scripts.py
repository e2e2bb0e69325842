"""The scripts that DIPPM's and TraPPM's publications print, with their literals; only the model's file is ours."""
import sys

import dippm
import trappm

model = sys.argv[1]
memory_mb, energy_j, latency_ms, mig = dippm.predict(model, batch=8, input="3,244,244", device="A100")
print(f"dippm: {memory_mb:.1f} MB, {energy_j:.3f} J, {latency_ms:.3f} ms, {mig}")
assert memory_mb > 0 and energy_j > 0 and latency_ms > 0 and mig.endswith("gb")
for device in ("GPU:A100-SXM4-40GB:1", "V100"):
    step_ms, memory_mb, power_w = trappm.predict({"model": model, "batch_size": 32, "device": device})
    print(f"trappm on {device}: {step_ms:.1f} ms, {memory_mb:.0f} MB, {power_w:.0f} W")
    assert step_ms > 0 and memory_mb > 0 and power_w > 0
