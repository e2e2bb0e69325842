#!/usr/bin/env python3
"""The same network through every framework's file: latency within 3 % of its ONNX file's, and the same MACs.

    python tests/parity_check.py build/forerun
"""
import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path("tests/fixtures/parity")
LIMIT = 0.03
DEVICES = ("h200-sxm", "t4")


def main():
    program = sys.argv[1]
    files = sorted(f for f in FOLDER.iterdir() if f.suffix not in (".md", ".json") and (FOLDER / f"{f.name.split('.')[0]}.onnx").exists())
    requests = [{"model": str(f), "device": d, "runtime": r} for f in files for d in DEVICES for r in ("eager", "graph")]
    run = subprocess.run([program, "predict", "-"], input="\n".join(map(json.dumps, requests)), capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(answers) == len(requests), run.stderr
    reference, faults, compared = {}, 0, 0
    for wanted_onnx in (True, False):
        for request, answer in zip(requests, answers):
            file = pathlib.Path(request["model"])
            if (file.suffix == ".onnx") != wanted_onnx:
                continue
            if "error" in answer:
                print(file.name, answer["error"]["message"])
                faults += 1
                continue
            key = (file.name.split(".")[0], request["device"], request["runtime"])
            latency = answer["results"][0]["estimates"]["latency_ms"]["value"]
            macs = answer["workload"]["macs"]
            if wanted_onnx:
                reference[key] = (latency, macs)
                continue
            compared += 1
            difference = latency / reference[key][0] - 1
            if abs(difference) > LIMIT or macs != reference[key][1]:
                print(file.name, *key[1:], f"{100 * difference:+.1f} %, MACs {macs} and {reference[key][1]}")
                faults += 1
    print(f"{compared} answers compared, {faults} faults")
    return 1 if faults or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
