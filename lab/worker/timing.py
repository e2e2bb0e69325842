"""How time, energy and graph replay are measured. One Clock per process; on a CPU (dry runs) events become the host's clock."""
import time

import torch


def statistics(values):
    values = sorted(values)
    n = len(values)
    return {"mean": sum(values) / n, "median": values[n // 2] if n % 2 else (values[n // 2 - 1] + values[n // 2]) / 2,
            "p10": values[n // 10], "p90": values[min(n - 1, n * 9 // 10)], "n": n}


class EnergyWindow:
    """Counter edges seen while iterations run back to back: NVML's energy counter moves about every 100 ms."""

    def __init__(self, nvml, window_s):
        self.nvml, self.window_s = nvml, window_s
        self.last = nvml.energy_mj() if window_s > 0 else None
        self.start = self.polled = time.perf_counter()
        self.edges = []

    @property
    def wanted(self):
        """True until the first and last edge lie window_s apart (given up 1.5 s beyond that)."""
        if self.last is None or time.perf_counter() - self.start > self.window_s + 1.5:
            return False
        return len(self.edges) < 2 or self.edges[-1][0] - self.edges[0][0] < self.window_s

    def poll(self, iterations):
        if self.last is None:
            return
        now = time.perf_counter()
        if now - self.polled < 0.001:
            return
        self.polled = now
        energy = self.nvml.energy_mj()
        if energy is not None and energy != self.last:
            self.edges.append((now, energy, iterations))
            self.last = energy

    def result(self):
        if len(self.edges) < 2:
            return {}
        (t0, e0, i0), (t1, e1, i1) = self.edges[0], self.edges[-1]
        if i1 <= i0:
            return {}
        joules = (e1 - e0) / 1000
        return {"power_w": joules / (t1 - t0), "energy_j": joules / (i1 - i0), "energy_window_s": t1 - t0,
                "energy_edges": len(self.edges)}


class HostEvent:
    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, other):
        return (other.at - self.at) * 1e3


class Clock:
    def __init__(self, device, nvml):
        self.cuda = device == "cuda"
        self.nvml = nvml
        if self.cuda:
            self.side = torch.cuda.Stream()

    def event(self):
        return torch.cuda.Event(enable_timing=True) if self.cuda else HostEvent()

    def synchronize(self):
        if self.cuda:
            torch.cuda.synchronize()

    def iterations(self, step, warmup_s, count, energy_s, limit_s, first_s, after=None):
        """Timed iterations, the device synchronised after each; iterations go on while the energy window needs them.

        first_s: how long a warm iteration takes. limit_s caps the timed part of slow steps (never under 5 iterations)."""
        begin = time.perf_counter()
        done = 0
        while done < 3 or time.perf_counter() - begin < warmup_s:
            step()
            self.synchronize()
            done += 1
            if time.perf_counter() - begin > max(warmup_s, 0.1):
                break
        count = max(5, min(count, int(limit_s / max(first_s, 1e-6))))
        a, b = self.event(), self.event()
        device_ms, wall_ms = [], []
        energy = EnergyWindow(self.nvml, energy_s)
        n = 0
        while n < count or energy.wanted:
            start = time.perf_counter()
            a.record()
            step()
            b.record()
            self.synchronize()
            end = time.perf_counter()
            n += 1
            if len(device_ms) < 400:
                wall_ms.append((end - start) * 1e3)
                device_ms.append(a.elapsed_time(b))
                if after:
                    after()
            energy.poll(n)
        return statistics(device_ms), statistics(wall_ms), energy.result()

    def capture(self, step, repeats=1):
        """A CUDA graph of `repeats` steps on the one side stream (its library workspaces stay on that stream alone)."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(self.side):
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                for _ in range(repeats):
                    step()
            finally:
                graph.capture_end()
        return graph

    def replay_statistics(self, graph, count, limit_s, energy_s=0.0):
        """Replays one by one, the device synchronised after each."""
        for _ in range(2):
            graph.replay()
        self.synchronize()
        a, b = self.event(), self.event()
        times, begin = [], time.perf_counter()
        energy = EnergyWindow(self.nvml, energy_s)
        n = 0
        while n < count or energy.wanted:
            a.record()
            graph.replay()
            b.record()
            self.synchronize()
            n += 1
            if len(times) < 400:
                times.append(a.elapsed_time(b))
            energy.poll(n)
            if n >= 5 and not energy.wanted and time.perf_counter() - begin > limit_s:
                break
        return statistics(times), energy.result()
