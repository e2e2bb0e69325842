"""Writes a plan of mode "workspace": the convolutions of a campaign's generated networks, at the batches and precisions they were measured with.

python3 data/measurements/h200-2026-11-workspaces/workspace_plan.py OUT.jsonl data/measurements/h200-2026-11-second [...] [--points 8000]"""
import argparse
import csv
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "measuring", "networks"))
import families


def convolutions(spec, resolution):
    builder = families.build(spec, resolution)
    for op in builder.operations:
        a = op.attributes
        if op.kind not in ("conv", "deconv"):
            continue
        source = list(builder.shapes[op.inputs[0]])
        side = len(source) - 1
        every = lambda v: list(v) if isinstance(v, (tuple, list)) else [v] * side
        transposed, groups = op.kind == "deconv", a.get("groups", 1)
        channels = [a["cin"], op.shape[0]] if transposed else [op.shape[0], a["cin"] // groups]
        yield source, dict(w=channels + every(a["kernel"]), stride=every(a["stride"]), padding=every(a["padding"]), dilation=every(a.get("dilation", 1)), groups=groups,
                           transposed=transposed)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("campaigns", nargs="+")
    parser.add_argument("--points", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=5)
    a = parser.parse_args()
    found = {}
    for folder in a.campaigns:
        for table, directions in (("vision_inference.csv", ["forward"]), ("vision_training.csv", ["forward", "input", "weight"])):
            for row in csv.DictReader(open(os.path.join(folder, table))):
                for source, operator in convolutions(json.loads(row["spec"]), int(row["resolution"])):
                    point = dict(mode="workspace", operator=dict(operator, x=[int(row["batch"])] + source), precision=row["precision"].replace("amp_", ""), directions=directions)
                    found[json.dumps(point, sort_keys=True)] = point
    points = [found[k] for k in sorted(found)]
    random.Random(a.seed).shuffle(points)
    with open(a.out, "w") as f:
        for i, point in enumerate(points[:a.points]):
            f.write(json.dumps(dict(point, id=f"w{i:05d}")) + "\n")
    print(min(len(points), a.points), "points")


if __name__ == "__main__":
    main()
