"""Runs a plan (JSON lines) through one or more workers and appends their answers to a JSON-lines file; resumes where it stopped.

A worker that dies is replaced and its row recorded as crashed. Rows of one network go to one worker, in order."""
import argparse
import collections
import json
import os
import select
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Worker:
    def __init__(self, arguments, number):
        command = [sys.executable, os.path.join(HERE, "worker.py"), "--device", arguments.device]
        if arguments.dry:
            command.append("--dry")
        if arguments.workers > 1 or arguments.gpu_lock:
            command += ["--gpu-lock", arguments.gpu_lock or arguments.out + ".lock"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=arguments.log, text=True, bufsize=1)
        self.rows, self.current, self.since, self.number = collections.deque(), None, time.time(), number

    def send(self, row):
        self.current, self.since = row, time.time()
        try:
            self.process.stdin.write(json.dumps({k: v for k, v in row.items() if k != "note"}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("out")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dry", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--budget-s", type=float, default=1e9)
    parser.add_argument("--row-timeout-s", type=float, default=40)
    parser.add_argument("--limit", type=int, default=10**9)
    parser.add_argument("--gpu-lock", default="", help="default with several workers: OUT.lock; one file for plans that run side by side")
    parser.add_argument("--log", default="")
    a = parser.parse_args()
    a.log = open(a.log, "a") if a.log else sys.stderr
    begin = time.time()
    plan = [json.loads(line) for line in open(a.plan) if line.strip()][:a.limit]
    done = {json.loads(line).get("id") for line in open(a.out)} if os.path.exists(a.out) else set()
    groups = collections.OrderedDict()
    for row in plan:
        if row["id"] not in done:
            groups.setdefault(row.get("group", row["id"]), []).append(row)
    groups = collections.deque(groups.values())
    out = open(a.out, "a")
    counts, total = collections.Counter(), sum(map(len, groups))
    workers = [Worker(a, i) for i in range(a.workers)]
    shown = begin

    def record(row, result):
        if "kernels" in result:
            with open(a.out + ".kernels.jsonl", "a") as f:
                f.write(json.dumps({"id": row["id"], "kernels": result.pop("kernels")}) + "\n")
        result["request"] = {k: v for k, v in row.items() if k != "settings"}
        counts[result["status"]] += 1
        out.write(json.dumps(result) + "\n")
        out.flush()

    def next_row(worker):
        if not worker.rows and groups and time.time() - begin < a.budget_s:
            worker.rows.extend(groups.popleft())
        if worker.rows and time.time() - begin < a.budget_s:
            worker.send(worker.rows.popleft())
        else:
            worker.current = None

    def replace(worker, why):
        if worker.current:
            record(worker.current, {"id": worker.current["id"], "status": "crashed", "message": why})
        worker.process.kill()
        worker.process.wait()
        fresh = Worker(a, worker.number)
        fresh.rows = worker.rows
        workers[workers.index(worker)] = fresh

    waiting = set(range(a.workers))  # workers whose hello has not come
    while waiting or any(w.current for w in workers):
        ready, _, _ = select.select([w.process.stdout for w in workers if w.number in waiting or w.current], [], [], 1.0)
        for worker in list(workers):
            if worker.process.stdout in ready:
                line = worker.process.stdout.readline()
                if not line:
                    replace(worker, f"worker ended with status {worker.process.wait()}")
                    waiting.add(worker.number)
                    if counts["crashed"] > max(25, total // 5):
                        sys.exit("too many crashes")
                    continue
                result = json.loads(line)
                if "hello" in result:
                    waiting.discard(worker.number)
                    out.write(json.dumps(result) + "\n")
                    if result["status"] != "ok":
                        sys.exit(result["message"])
                else:
                    record(worker.current, result)
                next_row(worker)
            elif worker.current and time.time() - worker.since > a.row_timeout_s:
                replace(worker, f"no answer in {a.row_timeout_s} s")
                waiting.add(worker.number)
        if time.time() - shown > 15:
            shown = time.time()
            n = sum(counts.values())
            rate = n / (shown - begin)
            print(f"{n}/{total} rows, {dict(counts)}, {rate:.2f} rows/s, {(total - n) / max(rate, 1e-9):.0f} s left", flush=True)
    for worker in workers:
        worker.process.stdin.close()
        worker.process.wait()
    print(f"finished {sum(counts.values())}/{total} rows in {time.time() - begin:.0f} s: {dict(counts)}", flush=True)


if __name__ == "__main__":
    main()
