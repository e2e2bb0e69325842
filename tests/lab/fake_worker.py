"""Speaks the worker's protocol without a GPU and does what each request asks for, so that tests see every kind of trouble.

Behaviour of the whole process comes from --hello: ok, no_cuda, no_torch, no_energy, wrong_protocol, not_a_greeting, silent.
Behaviour per row comes from the request's "fake": ok, oom, error, crash, kill, hang, garbage, wrong_id; "crash_once" crashes
unless the file named by "marker" exists. Each start appends a line to --starts."""
import argparse
import json
import os
import signal
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--hello", default="ok")
parser.add_argument("--starts", default="")
arguments, _ = parser.parse_known_args()


def answer(line):
    sys.stdout.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
    sys.stdout.flush()


if arguments.starts:
    with open(arguments.starts, "a") as starts:
        starts.write(f"{os.getpid()}\n")
hello = {"hello": "forerun-worker", "protocol": 1, "status": "ok", "pid": os.getpid(), "modes": ["fake", "operator"],
         "environment": {"device": "NVIDIA H200", "torch": "2.11.0", "driver": "580.1", "cudnn": 91900, "energy_counter": True, "context_mb": 512.5}}
if arguments.hello == "no_torch":
    sys.exit("ModuleNotFoundError: No module named 'torch'")
if arguments.hello == "no_cuda":
    answer({"hello": "forerun-worker", "protocol": 1, "status": "error", "message": "PyTorch sees no CUDA device"})
    sys.exit(2)
if arguments.hello == "silent":
    time.sleep(600)
if arguments.hello == "no_energy":
    hello["environment"]["energy_counter"] = False
if arguments.hello == "wrong_protocol":
    hello["protocol"] = 7
if arguments.hello == "not_a_greeting":
    hello = {"welcome": True}
answer(hello)

for line in sys.stdin:
    request = json.loads(line)
    if request.get("command") == "quit":
        break
    kind = request.get("fake", "ok")
    if kind == "crash_once":
        if os.path.exists(request["marker"]):
            kind = "ok"
        else:
            open(request["marker"], "w").close()
            kind = "crash"
    if kind == "crash":
        print("RuntimeError: fake trouble", file=sys.stderr, flush=True)
        os._exit(3)
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "hang":
        time.sleep(600)
    if kind == "garbage":
        answer("this is not JSON")
        continue
    result = {"id": request["id"], "status": kind, "seconds": 0.01, "environment": {"sm_mhz": 1980, "temp_c": 40}}
    if kind == "wrong_id":
        result.update(id="somebody else", status="ok")
    if kind == "ok":
        time.sleep(request.get("sleep_s", 0))
        result["metrics"] = {"latency_ms_median": request.get("latency_ms", 1.5), "energy_j": None, "timing": "graph", "split": {"forward_ms": 0.5}}
    if kind == "oom":
        result["message"] = "CUDA out of memory"
    if kind == "error":
        result["message"] = "ValueError: bad shape"
    answer(result)
