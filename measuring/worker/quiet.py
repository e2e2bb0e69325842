"""A host that others share is slow at times: a core whose sibling computes for somebody else takes up to 1.8 times as long for the same
work, for seconds, and with it every step that waits for its host. Quiet tells such moments by a probe, a little fixed work of the same kind
(Launches; without a GPU a loop), and moves the process to a core that has none."""
import bisect
import collections
import contextlib
import os
import pathlib
import random
import time

import torch

ALL_CORES = sorted(os.sched_getaffinity(0))


def fixed_work():
    """Seconds of about 0.3 ms of work."""
    start, total = time.perf_counter(), 0
    for i in range(5000):
        total += i * i
    return time.perf_counter() - start


class Launches:
    """Seconds of one pass of a small fixed network, which waits for its host alone: what the host takes for launches at the moment."""

    network = None

    def build(self):
        layers = [layer for _ in range(6) for layer in (torch.nn.Conv2d(8, 8, 3, padding=1, bias=False), torch.nn.BatchNorm2d(8), torch.nn.ReLU())]
        self.network, self.x = torch.nn.Sequential(*layers).eval().cuda(), torch.randn(1, 8, 8, 8, device="cuda")

    def __call__(self):
        if self.network is None:  # only where somebody asks: it takes memory
            self.build()
        with torch.inference_mode(), torch.autocast("cuda", enabled=False):
            self.network(self.x)  # what ran before has the caches
            torch.cuda.synchronize()
            start = time.perf_counter()
            self.network(self.x)
            torch.cuda.synchronize()
            return time.perf_counter() - start


class Quiet:
    SLOWER = 1.25  # than the fastest twentieth of the last probes: disturbed
    LAST = 3000

    def __init__(self, probe=fixed_work, cores=ALL_CORES, shared=None):
        """shared: a file in which workers that take turns tell each other which core was quiet last, and how fast the probe is when undisturbed."""
        self.probe, self.cores, self.shared = probe, cores, shared
        self.last, self.seen = collections.deque(), []  # the last probes as they came, and sorted
        self.others_s = float("inf")
        self.accepted = []
        self.core, self.moved = None, False

    def go(self, cores):
        for task in os.listdir("/proc/self/task"):  # autograd runs in a thread of its own
            with contextlib.suppress(OSError):
                os.sched_setaffinity(int(task), cores)

    def move(self, core=None):
        self.core, self.moved = random.choice(self.cores) if core is None else core, True
        self.go({self.core})
        for _ in range(2):  # the new core's caches and clock
            self.probe()

    def leave(self):
        self.go(self.cores)
        self.core = None

    def undisturbed_s(self):
        return self.seen[len(self.seen) // 20]

    def now(self):
        seconds = self.probe()
        bisect.insort(self.seen, seconds)
        self.last.append(seconds)
        if len(self.last) > self.LAST:
            self.seen.remove(self.last.popleft())
        quiet = seconds <= self.SLOWER * min(self.undisturbed_s(), self.others_s)
        if quiet:
            self.accepted.append(seconds)
        return quiet

    def settle(self, limit_s=0.25):
        """On a quiet core; False where none was found in the time."""
        while len(self.seen) < 10 * len(self.cores):  # what quiet is on this machine
            self.move()
            for _ in range(5):
                self.now()
        if self.shared and os.path.exists(self.shared):
            core, seconds = pathlib.Path(self.shared).read_text().split()
            self.others_s = float(seconds)
            if self.core != int(core):
                self.move(int(core))
        begin = time.perf_counter()
        while not (self.now() and self.now()):
            if time.perf_counter() - begin > limit_s:
                return False
            self.move()
        if self.shared:
            pathlib.Path(self.shared).write_text(f"{self.core} {self.undisturbed_s()}")
        return True

    def run(self, action, limit_s, enough, warm_up=lambda: None, quiet_after=None):
        """Calls action() again and again, warm_up() before it on a new core; keeps what it gave between two quiet moments (quiet_after: what tells the
        second), until enough(kept) or the time is over."""
        kept, begin = [], time.perf_counter()
        self.accepted = []
        while not enough(kept) and time.perf_counter() - begin < limit_s:
            if not self.settle():
                continue
            if self.moved:
                warm_up()
                self.moved = False
            given = action()
            if quiet_after(given) if quiet_after else self.now():
                kept.append(given)
        return kept

    def probe_us(self):
        return 1e6 * sorted(self.accepted)[len(self.accepted) // 2] if self.accepted else None
