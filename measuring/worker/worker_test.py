"""python3 -m unittest discover -s measuring/worker -p '*_test.py'   (needs torch; runs the worker on the CPU)"""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TINY = {"family": "resnet", "block": "basic", "layers": [1, 1, 1, 1], "base": 8}
QUICK = {"iterations": 5, "warmup_s": 0.0, "skip_over_s": 60}

sys.path.insert(0, HERE)
try:
    import torch
    from worker import GpuLock
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "needs torch")
class Worker(unittest.TestCase):
    def ask(self, *requests, arguments=("--device", "cpu", "--dry")):
        lines = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in requests)
        run = subprocess.run([sys.executable, os.path.join(HERE, "worker.py"), *arguments], input=lines, capture_output=True, text=True, timeout=300)
        return run.returncode, [json.loads(line) for line in run.stdout.splitlines()]

    def test_says_hello_and_measures_in_order(self):
        status, lines = self.ask(
            {"id": "a", "mode": "inference", "network": TINY, "resolution": 32, "batch": 2, "precision": "fp32", "settings": QUICK},
            {"id": "b", "mode": "training", "network": TINY, "resolution": 32, "batch": 2, "precision": "fp32", "optimizer": "adam", "settings": QUICK},
            {"id": "c", "mode": "operator", "operator": {"op": "linear", "m": 4, "n": 8, "k": 16, "bias": 1}, "precision": "fp32"})
        self.assertEqual(status, 0)
        self.assertEqual((lines[0]["hello"], lines[0]["protocol"], lines[0]["status"]), ("forerun-worker", 1, "ok"))
        self.assertEqual([(x["id"], x["status"]) for x in lines[1:]], [("a", "ok"), ("b", "ok"), ("c", "ok")])
        self.assertGreater(lines[1]["metrics"]["latency_ms_median"], 0)
        self.assertIn("optimizer_ms", lines[2]["metrics"])
        self.assertEqual(lines[1]["metrics"]["parameters"], lines[2]["metrics"]["parameters"])

    def test_a_bad_row_is_answered_and_the_next_one_runs(self):
        good = {"id": "d", "mode": "inference", "network": TINY, "resolution": 32, "batch": 1, "precision": "fp32", "settings": QUICK}
        status, lines = self.ask(dict(good, id="a", network={"family": "nope"}), "not json", dict(good, id="b", precision="fp3"), dict(good, id="c", mode="dance"), good)
        self.assertEqual(status, 0)
        self.assertEqual([(x["id"], x["status"]) for x in lines[1:]], [("a", "error"), (None, "error"), ("b", "error"), ("c", "error"), ("d", "ok")])
        self.assertIn("fp3", lines[3]["message"])

    def test_measures_what_a_function_of_a_python_file_returns(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.py")
            with open(path, "w") as f:
                f.write("import torch\ndef net(width):\n    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, width))\n")
            network = {"python": path + ":net", "arguments": [5], "shape": [3, 2, 2]}
            status, lines = self.ask({"id": "a", "mode": "inference", "network": network, "batch": 2, "precision": "fp32", "settings": QUICK})
        self.assertEqual((status, lines[1]["status"], lines[1]["metrics"]["parameters"]), (0, "ok", 65))

    def test_without_eager_iterations_nothing_is_timed(self):
        status, lines = self.ask({"id": "a", "mode": "inference", "network": TINY, "resolution": 32, "batch": 1, "precision": "fp32", "settings": dict(QUICK, eager=False)})
        self.assertEqual((status, lines[1]["status"]), (0, "ok"))
        self.assertNotIn("latency_ms_median", lines[1]["metrics"])

    def test_quits_when_told_and_skips_what_is_too_slow(self):
        slow = {"id": "a", "mode": "inference", "network": TINY, "resolution": 64, "batch": 4, "precision": "fp32", "settings": {"skip_over_s": 0}}
        status, lines = self.ask(slow, {"command": "quit"}, slow)
        self.assertEqual((status, [x.get("status") for x in lines]), (0, ["ok", "skipped"]))

    @unittest.skipIf(torch is not None and torch.cuda.is_available(), "there is a GPU here")
    def test_without_a_gpu_it_says_so(self):
        status, lines = self.ask(arguments=())
        self.assertEqual(status, 2)
        self.assertEqual(lines[0]["status"], "error")
        self.assertIn("CUDA", lines[0]["message"])

    def test_run_plan_resumes(self):
        with tempfile.TemporaryDirectory() as folder:
            plan, out = os.path.join(folder, "plan.jsonl"), os.path.join(folder, "out.jsonl")
            with open(plan, "w") as f:
                for i in range(3):
                    f.write(json.dumps({"id": f"o{i}", "mode": "operator", "operator": {"op": "bmm", "batch": 1, "m": 4, "n": 4, "k": 4 + i}, "precision": "fp32"}) + "\n")
            command = [sys.executable, os.path.join(HERE, "run_plan.py"), plan, out, "--device", "cpu", "--dry"]
            subprocess.run(command + ["--limit", "2"], check=True, capture_output=True, timeout=300)
            subprocess.run(command, check=True, capture_output=True, timeout=300)
            with open(out) as f:
                ids = [r["id"] for r in map(json.loads, f) if "id" in r]
            self.assertEqual(sorted(ids), ["o0", "o1", "o2"])

    def test_rows_that_share_prepare_side_by_side_and_measure_alone(self):
        order, prepared = [], threading.Barrier(2, timeout=20)
        with tempfile.TemporaryDirectory() as folder:
            def row():
                lock = GpuLock(os.path.join(folder, "lock"), None)
                with lock.preparing(True):
                    prepared.wait()
                with lock.measuring(True):
                    order.append("measures")
                    time.sleep(0.2)
                    order.append("measured")
                with lock.preparing(True):  # the next row
                    order.append("prepares")
            threads = [threading.Thread(target=row) for _ in range(2)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual(order, ["measures", "measured"] * 2 + ["prepares"] * 2)


if __name__ == "__main__":
    unittest.main()
