#!/usr/bin/env python3
"""The same network through every framework's file: the same MACs as its ONNX file, and latency within 3 % of it. Where
a framework writes a network with other operators, OTHER_OPERATORS says which; those latencies are printed, not judged.

    python tests/parity_check.py build/forerun
"""
import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path("tests/fixtures/parity")
LIMIT = 0.03
DEVICES = ("h200-sxm", "t4")
SAVED = (".savedmodel.pb", ".graphdef.pb")
KERAS = (".keras", ".h5")
PADDLE = (".pdmodel", ".paddle.json")
OTHER_OPERATORS = {
    ("gru", SAVED): "two layers are two operators, with a transposition of their sequence between them",
    ("vit", SAVED): "patches are copied into tokens once; PyTorch's stay strided and are copied where they are read",
    ("cnn", KERAS): "explicit padding layers are kernels",
    ("detector", KERAS): "explicit padding layers are kernels",
    ("mobile", KERAS): "explicit padding layers are kernels",
    ("separable", KERAS): "explicit padding layers are kernels",
    ("lstm", KERAS): "one bias vector, the last state needs no gather",
    ("gru", KERAS): "one bias vector, the last state needs no gather",
    ("vit", KERAS): "fewer copies around attention",
    ("mobile", (".tflite",)): "batch normalisations are folded away",
    ("separable", (".tflite",)): "batch normalisations are folded away",
    ("unet", (".tflite",)): "batch normalisations are folded away",
}


def reason_for(file):
    name, suffix = file.name.split(".", 1)
    return next((why for (network, suffixes), why in OTHER_OPERATORS.items() if network == name and f".{suffix}" in suffixes), None)


def main():
    program = sys.argv[1]
    files = sorted(f for f in FOLDER.iterdir() if f.suffix != ".md" and not f.name.startswith("counts_") and (FOLDER / f"{f.name.split('.')[0]}.onnx").exists())
    requests = [{"model": str(f), "device": d, "runtime": r} for f in files for d in DEVICES for r in ("eager", "graph")]
    run = subprocess.run([program, "predict", "-"], input="\n".join(map(json.dumps, requests)), capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(answers) == len(requests), run.stderr
    reference, faults, compared = {}, 0, 0
    for wanted_onnx in (True, False):
        for request, answer in zip(requests, answers):
            file = pathlib.Path(request["model"])
            if (file.name.count(".") == 1 and file.suffix == ".onnx") != wanted_onnx:
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
            reason = reason_for(file)
            if reason and macs == reference[key][1]:
                if key[1:] == (DEVICES[0], "graph"):
                    print(f"{file.name} {100 * difference:+.1f} % ({reason})")
            elif abs(difference) > LIMIT or macs != reference[key][1]:
                print(file.name, *key[1:], f"{100 * difference:+.1f} %, MACs {macs} and {reference[key][1]}")
                faults += 1
    print(f"{compared} answers compared, {faults} faults")
    return 1 if faults or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
