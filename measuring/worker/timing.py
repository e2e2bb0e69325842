"""How time, energy and graph replay are measured. One Clock per process; on a CPU (dry runs) events become the host's clock."""
import bisect
import contextlib
import os
import threading
import time

import torch

from quiet import ALL_CORES, Launches, Quiet, fixed_work


def statistics(values):
    values = sorted(values)
    n = len(values)
    return {"mean": sum(values) / n, "median": values[n // 2] if n % 2 else (values[n // 2 - 1] + values[n // 2]) / 2,
            "p10": values[n // 10], "p90": values[min(n - 1, n * 9 // 10)], "n": n}


def summary(times):
    """Statistics of the device's and of the host's clock, the former with the medians of what after() said."""
    parts = {name: statistics([t[2][name] for t in times])["median"] for name in times[0][2]}
    return dict(statistics([t[0] for t in times]), parts=parts), statistics([t[1] for t in times])


class EnergyWatch(threading.Thread):
    """Finds two edges of NVML's energy counter, at least window_s apart, from a thread of its own.

    The counter moves about every 100 ms and one reading takes about 4 ms: read between iterations, it would stretch every short
    pass. So this thread reads it (ctypes lets the other threads go on meanwhile) until the first edge, sleeps, and reads again
    until the first edge beyond the window."""

    def __init__(self, nvml, window_s):
        super().__init__(daemon=True)
        self.nvml, self.window_s = nvml, window_s
        self.edges = []  # (time, millijoules)
        self.give_up_at = time.perf_counter() + window_s + 1.5

    def run(self):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, ALL_CORES)  # not only where the step runs
        self.find_edge()
        if self.edges:
            time.sleep(max(0.0, self.edges[0][0] + self.window_s - time.perf_counter()))
            self.find_edge()

    def find_edge(self):
        last = self.nvml.energy_mj()
        while last is not None and time.perf_counter() < self.give_up_at:
            energy = self.nvml.energy_mj()
            if energy is not None and energy != last:
                self.edges.append((time.perf_counter(), energy))
                return
            time.sleep(0.0005)


def passed(ends, at):
    """Iterations that had ended by the time `at`, the one under way by its share; ends: when each ended, the first the start."""
    i = bisect.bisect_right(ends, at)
    if i == 0 or i == len(ends):
        return float(max(0, i - 1))
    return i - 1 + (at - ends[i - 1]) / (ends[i] - ends[i - 1])


class HostEvent:
    def record(self):
        self.at = time.perf_counter()

    def elapsed_time(self, other):
        return (other.at - self.at) * 1e3


class Clock:
    def __init__(self, device, nvml, lock_path=""):
        self.cuda = device == "cuda"
        self.nvml = nvml
        self.quiet = Quiet(Launches() if self.cuda else fixed_work, shared=lock_path + ".core" if lock_path else None)
        if self.cuda:
            self.side = torch.cuda.Stream()

    def event(self):
        return torch.cuda.Event(enable_timing=True) if self.cuda else HostEvent()

    def synchronize(self):
        if self.cuda:
            torch.cuda.synchronize()

    def energy(self, step, window_s):
        """Power, and energy of one iteration, over iterations back to back, the device synchronised after each. {} without a counter."""
        if window_s <= 0 or self.nvml.energy_mj() is None:
            return {}
        watch = EnergyWatch(self.nvml, window_s)
        watch.start()
        ends = [time.perf_counter()]
        while watch.is_alive():
            step()
            self.synchronize()
            ends.append(time.perf_counter())
        if len(watch.edges) < 2:
            return {}
        (t0, e0), (t1, e1) = watch.edges
        count, joules = passed(ends, t1) - passed(ends, t0), (e1 - e0) / 1000
        if count < 1:
            return {}
        return {"power_w": joules / (t1 - t0), "energy_j": joules / count, "energy_window_s": t1 - t0, "energy_iterations": count}

    def warm_up(self, step, warmup_s):
        begin = time.perf_counter()
        done = 0
        while done < 3 or time.perf_counter() - begin < warmup_s:
            step()
            self.synchronize()
            done += 1
            if time.perf_counter() - begin > max(warmup_s, 0.1):
                break

    def timed(self, step, count, after=None):
        """(device ms, wall ms, what after() says) of each iteration, the device synchronised after each."""
        a, b = self.event(), self.event()
        times = []
        for _ in range(count):
            start = time.perf_counter()
            a.record()
            step()
            b.record()
            self.synchronize()
            end = time.perf_counter()
            times.append((a.elapsed_time(b), (end - start) * 1e3, after() if after else {}))
        return times

    def iterations(self, step, count, energy_s, limit_s, first_s, after=None):
        """Timed iterations, warm; then, apart from them, energy over at least energy_s.

        first_s: how long a warm iteration takes. limit_s caps the timed part of slow steps (never under 5 iterations)."""
        times = self.timed(step, max(5, min(count, int(limit_s / max(first_s, 1e-6)))), after)
        return *summary(times), self.energy(step, energy_s)

    def quiet_iterations(self, step, count, energy_s, limit_s, first_s, after=None):
        """The same, warm, of the moments in which nobody else slowed the host. None, None, {} where limit_s (the time of 8, if that is
        longer) held under 4 such iterations."""
        few, limit_s = max(1, min(3, int(0.02 / max(first_s, 1e-6)))), max(limit_s, 8 * first_s)
        warm = lambda: self.timed(step, few)
        times = sum(self.quiet.run(lambda: self.timed(step, few, after), limit_s, lambda kept: few * len(kept) >= count, warm), [])
        probe_us = self.quiet.probe_us()
        if len(times) < 4:
            self.quiet.leave()
            return None, None, {}
        device, wall = summary(times)
        as_timed = lambda seen: seen and abs(1e3 * seen["energy_window_s"] / seen["energy_iterations"] / wall["median"] - 1) < 0.1
        energy = self.quiet.run(lambda: self.energy(step, energy_s), 3 * energy_s, bool, warm, as_timed) if energy_s > 0 else []
        self.quiet.leave()
        return device, wall, dict(energy[0] if energy else {}, host_probe_us=probe_us)

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
        """Replays one by one, the device synchronised after each; then their energy."""
        for _ in range(2):
            graph.replay()
        self.synchronize()
        a, b = self.event(), self.event()
        times, begin = [], time.perf_counter()
        for n in range(count):
            a.record()
            graph.replay()
            b.record()
            self.synchronize()
            times.append(a.elapsed_time(b))
            if n >= 4 and time.perf_counter() - begin > limit_s:
                break
        return statistics(times), self.energy(graph.replay, energy_s)
