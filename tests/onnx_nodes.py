#!/usr/bin/env python3
"""Shapes of ONNX's own backend node tests, without declared output shapes: ours against ONNX's inference and the results.

    pip install onnx                                      in an environment of your own
    python tests/onnx_nodes.py build/forerun [--work build/onnx_nodes] [--table]

Every case is written with its outputs' shapes removed, then read by `forerun serve` (one process for all of them). Exits 1
where ONNX's inference is right and we are wrong. --table prints the table of docs/robustness.md.
"""
import argparse
import collections
import http.client
import json
import pathlib
import re
import subprocess
import sys
import warnings

BOUNDARY = "----forerun-node-test"


def shape_of(value):
    """The shape of a result; None for optionals, maps and sequences."""
    return list(value.shape) if hasattr(value, "shape") else None


def declared(value_info):
    if not value_info.type.HasField("tensor_type") or not value_info.type.tensor_type.HasField("shape"):
        return None
    dims = value_info.type.tensor_type.shape.dim
    return [d.dim_value for d in dims] if all(d.HasField("dim_value") for d in dims) else None


def generate(folder):
    """Models without output shapes, and what is known of each: one line of JSON."""
    import onnx
    from onnx.backend.test.case.node import collect_testcases
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        inputs, outputs = case.data_sets[0]
        for info, value in zip(model.graph.input, inputs):  # static inputs
            if shape_of(value) is not None and info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
                for size in shape_of(value):
                    info.type.tensor_type.shape.dim.add().dim_value = size
        for info in model.graph.output:
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
        try:
            inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
            theirs = [declared(info) for info in inferred.graph.output]
        except Exception:  # onnx refuses some of its own cases
            theirs = [None] * len(model.graph.output)
        operators = sorted({node.op_type for node in model.graph.node})
        opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
        domains = sorted({o.domain for o in model.opset_import if o.domain not in ("", "ai.onnx")})
        onnx.save(model, folder / f"{case.name}.onnx")
        rows.append({"name": case.name, "operators": operators, "opset": opset, "domains": domains,
                     "names": [o.name for o in model.graph.output], "real": [shape_of(v) for v in outputs],
                     "onnx": theirs})
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


class Server:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "serve", "--port", "0", "--access-log", "off"],
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        self.connection = http.client.HTTPConnection("127.0.0.1", int(re.search(r":(\d+)", line.split("//")[1])[1]))

    def inspect(self, path):
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="model"; filename="{path.name}"\r\n\r\n'
        body = head.encode() + path.read_bytes() + f"\r\n--{BOUNDARY}--\r\n".encode()
        self.connection.request("POST", "/v1/inspect", body,
                                {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"})
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def stop(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait(20)
        self.process.stderr.close()


def judge(found, real):
    return "unknown" if found is None else "right" if found == real else "wrong"


def ours(report, row):
    """The shapes by output name; None where not known."""
    known = {o["name"]: o for o in report.get("outputs", [])}
    return [known[n]["shape"] if n in known and known[n].get("shape_known", True) and "bound" not in known[n] else None
            for n in row["names"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("build/onnx_nodes"))
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if not (arguments.work / "cases.jsonl").exists():
        generate(arguments.work)
    rows = [json.loads(line) for line in (arguments.work / "cases.jsonl").open()]
    counts = {who: collections.Counter() for who in ("forerun", "onnx")}
    whole = collections.Counter()
    uncovered, faults, wrong, refused = collections.Counter(), [], [], []
    server = Server(arguments.program)
    try:
        for row in rows:
            status, report = server.inspect(arguments.work / f"{row['name']}.onnx")
            if status != 200:
                refused.append((row["name"], report.get("detail", "")))
                report = {}
            elif report.get("coverage", 1) < 1:
                uncovered.update(row["operators"])
            static = [i for i, real in enumerate(row["real"]) if real is not None]
            found = ours(report, row)
            verdicts = {}
            for who, shapes in (("forerun", found), ("onnx", row["onnx"])):
                verdicts[who] = [judge(shapes[i], row["real"][i]) for i in static]
                counts[who].update(verdicts[who])
                whole[who] += bool(static) and all(v == "right" for v in verdicts[who])
            whole["cases"] += bool(static)
            for i, mine, theirs in zip(static, verdicts["forerun"], verdicts["onnx"]):
                if mine == "wrong":
                    line = f"{row['name']} {row['operators']}: {row['names'][i]} is {row['real'][i]}, we say {found[i]}"
                    (faults if theirs == "right" else wrong).append(line)
    finally:
        server.stop()
    for line in wrong:
        print("wrong:", line)
    for name, detail in refused:
        print("refused:", name, detail)
    for line in faults:
        print("wrong where ONNX is right:", line)
    print("| of the outputs | right | unknown | wrong | cases right |\n|---|---|---|---|---|")
    for who in ("forerun", "onnx"):
        c = counts[who]
        print(f"| {who} | {c['right']} | {c['unknown']} | {c['wrong']} | {whole[who]} of {whole['cases']} |")
    print(f"{len(rows)} cases, {len(refused)} refused, coverage below 1: {dict(uncovered)}")
    return 1 if faults or whole["forerun"] < whole["onnx"] else 0


if __name__ == "__main__":
    sys.exit(main())
