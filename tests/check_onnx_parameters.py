#!/usr/bin/env python3
"""Counts the parameters of ONNX files with the `onnx` package and compares them with what the program says.

    tests/check_onnx_parameters.py [build/forerun] [FILE or FOLDER...]

Default: tests/fixtures/onnx, and the data folder beside the project where there is one. Exits 0 when all agree; says so
and exits 0 when the onnx package is not installed.
"""
import json
import math
import pathlib
import subprocess
import sys
import tarfile
import tempfile

# A Constant's tensor of several elements is a parameter where one of these reads it, directly or rearranged; one made
# by ConstantOfShape where it stands for a weight. PyTorch's exports keep parameters in initialisers alone.
REARRANGING = set("Reshape Unsqueeze Squeeze Flatten Identity Transpose Cast Slice Split Concat Expand QuantizeLinear "
                  "DequantizeLinear".split())
WEIGHTED = set("Conv ConvTranspose ConvInteger Gemm MatMul MatMulInteger LSTM GRU RNN BatchNormalization "
               "InstanceNormalization LayerNormalization GroupNormalization".split())
ELEMENTWISE = set("Add Sub Mul Div Pow Max Min Sum Mean PRelu Where Equal Greater Less Gather".split())

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


def count_parameters(onnx, model):
    types = onnx.TensorProto
    names = ("FLOAT FLOAT16 DOUBLE BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ FLOAT4E2M1 "
             "FLOAT8E8M0 INT8 UINT8 INT4 UINT4 INT2 UINT2").split()
    counted = {getattr(types, name) for name in names if hasattr(types, name)}
    total = 0

    def bodies(node):
        return [graph for a in node.attribute for graph in ([a.g] if a.HasField("g") else []) + list(a.graphs)]

    def used(graph):
        """Names the nodes of a graph and of its bodies use, other than as batch-norm statistics."""
        found = set()
        for node in graph.node:
            statistics = (3, 4) if node.op_type == "BatchNormalization" else ()
            found.update(name for place, name in enumerate(node.input) if place not in statistics)
            for body in bodies(node):
                own = {t.name for t in body.initializer} | {i.name for i in body.input}
                found |= used(body) - own
        return found

    def reader_of(graph, name):
        """"weight", "operand" or "" for what the nodes of a graph make of a value, through those that rearrange it."""
        found = {""}
        for node in graph.node:
            for place, used_name in enumerate(node.input):
                if used_name != name:
                    continue
                if node.op_type in REARRANGING and (place == 0 or node.op_type == "Concat"):
                    found.update(reader_of(graph, output) for output in node.output)
                elif node.op_type in WEIGHTED and place > 0:
                    state = node.op_type in ("LSTM", "GRU", "RNN") and place in (4, 5, 6)
                    found.add("" if state else "weight")
                elif node.op_type in WEIGHTED | ELEMENTWISE | {"DequantizeLinear", "QuantizeLinear"}:
                    found.add("operand" if node.op_type != "Gather" or place == 0 else "")
            for body in bodies(node):
                found.add(reader_of(body, name))
        return max(found)  # "weight" after "operand" after ""

    def in_nodes(graph):
        """Parameters that nodes hold."""
        if model.producer_name.startswith("pytorch"):
            return 0
        held, names = 0, used(graph)
        stored = {t.name: t for t in graph.initializer} | {n.output[0]: a.t for n in graph.node for a in n.attribute
                                                           if n.op_type == "Constant" and a.name == "value"}
        for node in graph.node:
            if not node.output or node.output[0] not in names:
                continue
            reader = reader_of(graph, node.output[0])
            if node.op_type == "Constant":
                held += sum(math.prod(a.t.dims) for a in node.attribute if a.name == "value" and reader
                            and a.t.data_type in counted and math.prod(a.t.dims) > 1)
            elif node.op_type == "ConstantOfShape" and node.input[0] in stored:
                dims = onnx.numpy_helper.to_array(stored[node.input[0]]).tolist()
                kinds = [a.t.data_type for a in node.attribute if a.name == "value"] or [types.FLOAT]
                if kinds[0] in counted and (reader == "weight" or (reader == "operand" and len(dims) == 1)):
                    held += math.prod(dims)
        return held

    def walk(graph):
        nonlocal total
        names = used(graph)
        total += in_nodes(graph)
        stored = {t.name: t for t in graph.initializer}  # of two with one name the last counts
        total += sum(math.prod(t.dims) for t in stored.values() if t.data_type in counted and t.name in names)
        total += sum(math.prod(s.values.dims) for s in graph.sparse_initializer
                     if s.values.data_type in counted and s.values.name in names)
        for node in graph.node:
            for body in bodies(node):
                walk(body)

    walk(model.graph)
    for function in model.functions:
        for node in function.node:
            for body in bodies(node):
                walk(body)
    return total


def check(onnx, program, path):
    """None when both agree, or when both refuse; else what differs."""
    answer = subprocess.run([program, "inspect", str(path), "--json"], capture_output=True, text=True)
    if answer.returncode == 2:
        return None if path.name.startswith("bad_") or "outside the model's folder" in answer.stderr else answer.stderr
    if answer.returncode != 0:
        return f"exit status {answer.returncode}: {answer.stderr}"
    said = json.loads(answer.stdout)["parameters"]
    counted = count_parameters(onnx, onnx.load(str(path), load_external_data=False))
    return None if said == counted else f"the program says {said}, the onnx package {counted}"


def main():
    try:
        import onnx
    except ImportError:
        print("check_onnx_parameters: the onnx package is not installed; not checked")
        return 0
    program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/forerun")
    places = [pathlib.Path(p) for p in sys.argv[2:]]
    scratch = tempfile.TemporaryDirectory()
    if not places:
        places = [ROOT / "tests/fixtures/onnx", SHARED / "fixtures/onnx", SHARED / "fixtures/onnx_external"]
        archive = SHARED / "data/h200/graphs.tar.xz"
        if archive.exists():
            with tarfile.open(archive) as packed:
                packed.extractall(scratch.name, filter="data")
            places.append(pathlib.Path(scratch.name))
    files = [f for place in places for f in (sorted(place.glob("*.onnx")) if place.is_dir() else [place])
             if f.exists()]
    faults = 0
    for path in files:
        fault = check(onnx, program, path)
        if fault:
            faults += 1
            print(f"{path}: {fault.strip()}")
    print(f"check_onnx_parameters: {len(files)} files, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
