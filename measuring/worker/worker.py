"""The measuring worker: one JSON request per line on stdin, one JSON result per line on stdout (PROTOCOL.md).

Diagnostics go to stderr. With --gpu-lock two workers can share a device: one builds its next network while the other measures."""
import argparse
import contextlib
import fcntl
import gc
import json
import os
import sys
import time
import traceback
import warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "networks"))

import torch

from nvml import Nvml
from timing import Clock

PROTOCOL = 1


class GpuLock:
    """Held while this process uses the device; also keeps the account of this process's own share of the device's memory.

    Rows that share the device (settings.share) hold it in two ways: preparing() beside others that prepare, measuring() alone. Nobody begins to
    prepare while somebody waits to measure: what several prepared side by side is then measured one after the other, on a machine that does nothing else."""

    def __init__(self, path, nvml):
        self.file, self.waiting_file = (open(path, "w"), open(path + ".waiting", "w")) if path else (None, None)
        self.nvml, self.own_mb, self.shared = nvml, 0.0, False

    def __enter__(self):
        if self.file:
            fcntl.flock(self.file, fcntl.LOCK_EX)
        self.used_at_entry = None if self.shared else self.nvml.used_mb()
        return self

    def process_mb(self):
        used = None if self.shared else self.nvml.used_mb()
        return None if used is None else self.own_mb + used - self.used_at_entry

    def __exit__(self, *_):
        share = self.process_mb()
        self.own_mb = share if share is not None else 0.0
        if self.file:
            fcntl.flock(self.file, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def held(self, file, how):
        if file:
            fcntl.flock(file, how)
        try:
            yield
        finally:
            if file:
                fcntl.flock(file, fcntl.LOCK_UN)

    @contextlib.contextmanager
    def preparing(self, share):
        """What comes before the passes that count. Not sharing: the whole row. Sharing, this process's share of the device's memory is no longer known."""
        self.shared = self.shared or share
        if not share:
            with self:
                yield
            return
        with contextlib.ExitStack() as held:
            with self.held(self.waiting_file, fcntl.LOCK_EX):  # nobody waits to measure
                held.enter_context(self.held(self.file, fcntl.LOCK_SH))
            yield

    @contextlib.contextmanager
    def measuring(self, share):
        if not share:  # preparing() still holds it
            yield
            return
        with self.held(self.waiting_file, fcntl.LOCK_SH), self.held(self.file, fcntl.LOCK_EX):
            yield


def environment(device):
    result = {"torch": torch.__version__, "device": "cpu", "python": sys.version.split()[0]}
    for name in ("torchvision", "transformers"):
        with contextlib.suppress(Exception):
            from importlib.metadata import version
            result[name] = version(name)
    if device == "cuda":
        p = torch.cuda.get_device_properties(0)
        result.update(device=p.name, memory_mb=p.total_memory / 2**20, multiprocessors=p.multi_processor_count,
                      compute_capability=f"{p.major}.{p.minor}", cuda=torch.version.cuda, cudnn=torch.backends.cudnn.version())
    return result


def state(nvml):
    return {"sm_mhz": nvml.clock_mhz(1), "memory_mhz": nvml.clock_mhz(2), "temp_c": nvml.temperature_c()}


def usable():
    """After an asynchronous CUDA error every later call fails: the process must leave, and the driver starts another."""
    try:
        torch.cuda.synchronize()
        return float(torch.ones(1, device="cuda").sum()) == 1.0
    except Exception:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--dry", action="store_true", help="small buffers, for trying plans without a GPU")
    parser.add_argument("--gpu-lock", default="")
    arguments = parser.parse_args()
    device = arguments.device
    answers = os.fdopen(os.dup(1), "w")  # whatever a library prints goes to stderr
    os.dup2(2, 1)

    def answer(line):
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    if device == "cuda" and not torch.cuda.is_available():
        answer({"hello": "forerun-worker", "protocol": PROTOCOL, "status": "error",
                "message": "PyTorch sees no CUDA device; use --device cpu --dry to try a plan"})
        return 2
    nvml = Nvml()
    lock = GpuLock(arguments.gpu_lock, nvml)
    with lock:
        if device == "cuda":
            torch.zeros(1, device="cuda")
            torch.cuda.synchronize()
        clock = Clock(device, nvml, arguments.gpu_lock)
        torch.backends.cudnn.benchmark = False
        info = dict(environment(device), driver=nvml.driver(), energy_counter=nvml.energy_mj() is not None,
                    context_mb=lock.process_mb())
    torch.set_num_threads(1)
    import modes
    gc.disable()
    gc.collect()
    gc.freeze()
    answer({"hello": "forerun-worker", "protocol": PROTOCOL, "status": "ok", "pid": os.getpid(), "environment": info,
            "modes": sorted(modes.MODES)})

    session = modes.Session(device, arguments.dry, clock, lock)
    for line in sys.stdin:
        if not line.strip():
            continue
        request, started = {}, time.perf_counter()
        try:
            request = json.loads(line)
            if request.get("command") == "quit":
                break
            metrics = modes.MODES[request["mode"]](session, request)
            kernels = metrics.pop("kernels", None)
            result = {"id": request["id"], "status": "ok", "metrics": metrics, "environment": state(nvml), **({"kernels": kernels} if kernels else {})}
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            oom = isinstance(error, MemoryError) or "out of memory" in text.lower()
            status = "oom" if oom else "skipped" if type(error).__name__ == "Skipped" else "error"
            result = {"id": request.get("id"), "status": status, "message": text[:300]}
            if status == "error":
                traceback.print_exc()
            error = None  # its traceback holds tensors
            with lock:
                session.drop()
        result["seconds"] = round(time.perf_counter() - started, 4)
        answer(result)
        if result["status"] == "error" and device == "cuda" and not usable():
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
