"""A host that others share is slow at times: a core whose sibling computes for somebody else takes up to 1.8 times as long for the same
work, for seconds, and with it every step that waits for its host. Quiet tells such moments by a short loop of fixed work, and moves the
process to a core that has none."""
import bisect
import contextlib
import os
import pathlib
import random
import time

ALL_CORES = sorted(os.sched_getaffinity(0))


def fixed_work():
    """Seconds of about 0.3 ms of work."""
    start, total = time.perf_counter(), 0
    for i in range(5000):
        total += i * i
    return time.perf_counter() - start


class Quiet:
    SLOWER = 1.1  # than the fastest twentieth of all probes: disturbed

    def __init__(self, probe=fixed_work, cores=ALL_CORES, shared=None):
        """shared: a file in which workers that take turns tell each other which core was quiet last, and how fast the loop is there."""
        self.probe, self.cores, self.shared = probe, cores, shared
        self.seen = []  # all probes, sorted
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
        for _ in range(4):  # the new core's caches and clock
            self.probe()

    def leave(self):
        self.go(self.cores)
        self.core = None

    def undisturbed_s(self):
        return min(self.seen[len(self.seen) // 20], self.others_s)

    def now(self):
        seconds = self.probe()
        bisect.insort(self.seen, seconds)
        quiet = seconds <= self.SLOWER * self.undisturbed_s()
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

    def run(self, action, limit_s, enough, warm_up=lambda: None, turn=None):
        """Calls action() again and again, warm_up() before it on a new core; keeps what it gave between two quiet moments, until enough(kept)
        or the time is over. With turn(), the device is held only inside it: waiting for it is not counted, and looking for a quiet core a quarter."""
        kept, spent = [], 0.0
        self.accepted = []
        while not enough(kept) and spent < limit_s:
            with turn() if turn else contextlib.nullcontext():
                begin = time.perf_counter()
                settled = self.settle(0.05 if turn else 0.25)
                found = time.perf_counter()
                if settled:
                    if self.moved or turn:
                        warm_up()
                        self.moved = False
                    given = action()
                    if self.now():
                        kept.append(given)
                spent += (found - begin) * (0.25 if turn else 1) + time.perf_counter() - found
            if turn and not settled:
                time.sleep(0.02)  # for the others
        return kept

    def probe_us(self):
        return 1e6 * sorted(self.accepted)[len(self.accepted) // 2] if self.accepted else None
