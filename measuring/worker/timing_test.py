"""python3 -m unittest discover -s measuring/worker -p '*_test.py'   (needs torch)"""
import os
import random
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
try:
    import torch
    from quiet import Quiet
    from timing import Clock, passed
except ImportError:
    torch = None


class Counter:
    """An energy counter at 300 W that moves every 100 ms and takes 4 ms to read."""

    def __init__(self):
        self.begin = time.perf_counter()

    def energy_mj(self):
        time.sleep(0.004)
        return int((time.perf_counter() - self.begin) / 0.1) * 30_000


class NoCounter:
    def energy_mj(self):
        return None


@unittest.skipIf(torch is None, "needs torch")
class Energy(unittest.TestCase):
    def test_power_and_energy_agree_with_the_counter(self):
        periods = []

        def step():
            start = time.perf_counter()
            time.sleep(0.002)
            periods.append(time.perf_counter() - start)
        seen = Clock("cpu", Counter()).energy(step, 0.6)
        self.assertAlmostEqual(seen["power_w"], 300, delta=12)
        self.assertGreaterEqual(seen["energy_window_s"], 0.6)
        self.assertLess(seen["energy_window_s"], 0.8)
        mean = sum(periods) / len(periods)
        self.assertAlmostEqual(seen["energy_j"] / seen["power_w"], mean, delta=0.15 * mean)

    def test_reading_the_counter_does_not_stretch_the_timed_iterations(self):
        device, wall, energy = Clock("cpu", Counter()).iterations(lambda: time.sleep(0.001), 30, 0.6, 1.0, 0.001)
        self.assertEqual(device["n"], 30)
        self.assertLess(wall["median"], 3)
        self.assertIn("energy_j", energy)

    def test_without_the_counter_or_the_permission_rows_are_complete_but_for_energy(self):
        device, _, energy = Clock("cpu", NoCounter()).iterations(lambda: None, 5, 0.6, 1.0, 0.001)
        self.assertEqual((device["n"], energy), (5, {}))

    def test_iterations_under_way_count_by_their_share(self):
        self.assertAlmostEqual(passed([0.0, 1.0, 2.0, 4.0], 3.0), 2.5)
        self.assertEqual(passed([0.0, 1.0], 5.0), 1.0)


@unittest.skipIf(torch is None, "needs torch")
class QuietMoments(unittest.TestCase):
    def clock(self, host):
        clock = Clock("cpu", Counter())
        clock.quiet = Quiet(host.probe, range(16))
        clock.quiet.move = host.move
        return clock

    def test_iterations_beside_a_slow_probe_are_left_out(self):
        class Host:  # three moves in four end on a disturbed core, where all takes three times as long
            moves, slow = 0, False

            def move(self):
                self.moves += 1
                self.slow = self.moves % 4 != 0

            def probe(self):
                return 0.0009 if self.slow else 0.0003

            def step(self):
                time.sleep(0.006 if self.slow else 0.002)
                if random.random() < 0.3:
                    self.slow = True
        random.seed(1)
        host = Host()
        device, _, energy = self.clock(host).quiet_iterations(host.step, 12, 0, 5.0, 0.002)
        self.assertEqual(device["n"], 12)
        self.assertLess(device["p90"], 5)
        self.assertAlmostEqual(energy["host_probe_us"], 300)

    def test_workers_tell_each_other_the_quiet_core(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = [Quiet(cores=range(16), shared=os.path.join(folder, "core")) for _ in range(2)]
            for quiet in (first, second):
                quiet.go = lambda cores: None
                quiet.probe = lambda quiet=quiet: 0.0003 if quiet.core == 5 else 0.0005
            while not first.settle():
                pass
            tried = []
            second.seen = [0.0005] * 160  # never was on the quiet core, and takes the others for undisturbed
            second.go = tried.append
            self.assertTrue(second.settle())
            self.assertEqual((first.core, second.core, tried), (5, 5, [{5}]))
            second.move(6)
            self.assertFalse(second.now())

    def test_a_host_never_quiet_gives_no_time(self):
        class Host:
            calls = 0

            def move(self):
                pass

            def probe(self):  # quiet only at first, when it is learned what quiet is
                self.calls += 1
                time.sleep(0.0003)
                return 0.0003 if self.calls < 100 else 0.0009
        device, wall, energy = self.clock(Host()).quiet_iterations(lambda: time.sleep(0.001), 12, 0, 0.3, 0.001)
        self.assertEqual((device, wall, energy), (None, None, {}))


if __name__ == "__main__":
    unittest.main()
