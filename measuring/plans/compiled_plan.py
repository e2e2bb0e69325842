"""Writes the plans that measure networks of earlier campaigns as torch.compile runs them, with the graph replay of the same row beside it.

python3 measuring/plans/compiled_plan.py OUT_FOLDER CAMPAIGN_FOLDER... [--timm NAMES.txt --python FILE.py]     (a line of NAMES: NAME SIZE)

Rows are named CAMPAIGN/ID. Every family has as many rows; networks of few operators are drawn more often, for they compile faster. The rows
are interleaved at random, so any prefix is an even sample. main.jsonl; kernels.jsonl: other rows, of which the kernels are recorded as well."""
import argparse
import csv
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "networks"))
import families

SETTINGS = dict(share=True, eager=False, compiled=True, warmup_s=0.02, skip_over_s=0.15, graph_iterations=10, graph_limit_s=0.1, compile_limit_s=45)
TRAINING = dict(iterations=8, limit_s=0.3, skip_over_s=0.3, graph=False)
SHARES = {"inference": 11, "training": 3, "llm": 2, "timm": 4}
TABLES = {"inference": "vision_inference.csv", "training": "vision_training.csv", "llm": "llm_inference.csv"}


def operations(spec, resolution, known={}):
    key = json.dumps([spec, resolution])
    if key not in known:
        try:
            known[key] = len(families.build(spec, resolution).operations)
        except (ValueError, KeyError, TypeError):
            known[key] = 0  # of an earlier builder
    return known[key]


def rows_of(folder, mode):
    path, campaign = os.path.join(folder, TABLES[mode]), os.path.basename(os.path.normpath(folder))
    for r in csv.DictReader(open(path)) if os.path.exists(path) else ():
        row = dict(id=f"{campaign}/{r['id']}", mode=mode, batch=int(r["batch"]), precision=r["precision"])
        if mode == "llm":
            config = json.load(open(os.path.join(folder, "configs", r["config"])))
            if r["phase"] == "forward" and r["task"] == "encoder" and config.get("num_hidden_layers", 12) <= 12:
                yield r["family"], campaign + r["model"], 12, dict(row, phase="forward", sequence=int(r["sequence"]), network=dict(config=config))
            continue
        spec, resolution = json.loads(r["spec"]), int(r["resolution"])
        count = operations(spec, resolution)
        replay = float(r.get("graph_replay_ms_median") or r["latency_ms_median"] or 1)
        if 0 < count <= (170 if mode == "training" else 320) and replay < 60 and row["batch"] <= 64:
            yield r["family"], campaign + r["arch"], count, dict(row, network=spec, resolution=resolution, **({"optimizer": r["optimizer"]} if mode == "training" else {}))


def even(r, rows):
    """Round after round one row of each family, of a network that had none; networks of n operators with weight n^-0.7."""
    pools = {}
    for family, network, count, row in rows:
        pools.setdefault(family, {}).setdefault(network, (count, []))[1].append(row)
    while pools:
        for family in r.sample(sorted(pools), len(pools)):
            networks = pools[family]
            name = r.choices(list(networks), [n ** -0.7 for n, _ in networks.values()])[0]
            yield r.choice(networks.pop(name)[1])
            if not networks:
                del pools[family]


def timm_rows(r, names, file):
    for name, size in names:
        batch, precision = r.choice([1, 2, 4, 8, 16, 32]), r.choice(["fp32", "fp16"])
        yield dict(id=f"timm/{name}_{size}.b{batch}.{precision}", mode="inference", network=dict(python=file + ":make", arguments=[name, int(size)], shape=[3, int(size), int(size)]),
                   graph=f"{name}_{size}.onnx", batch=batch, precision=precision)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("campaigns", nargs="+")
    parser.add_argument("--timm", help="names and sizes, the more wanted first")
    parser.add_argument("--python", default="timm_networks.py", help="the file whose make(name, size) builds them")
    parser.add_argument("--rows", type=int, default=700)
    parser.add_argument("--kernel-rows", type=int, default=120)
    parser.add_argument("--seed", type=int, default=29)
    a = parser.parse_args()
    r = random.Random(a.seed)
    queues = {mode: even(r, [row for folder in a.campaigns for row in rows_of(folder, mode)]) for mode in TABLES}
    queues["timm"] = timm_rows(r, [line.split() for line in open(a.timm)] if a.timm else [], a.python)
    rows = []
    while len(rows) < a.rows + a.kernel_rows:
        drawn = [row for mode, n in SHARES.items() for _ in range(n) for row in [next(queues[mode], None)] if row]
        if not drawn:
            break
        r.shuffle(drawn)
        for row in drawn:
            energy = r.random() < 0.3
            row["settings"] = dict(SETTINGS, **(TRAINING if row["mode"] == "training" else {}), **(dict(compiled_energy_window_s=0.4) if energy else {}))
        rows += drawn
    of_kernels = set(r.sample(range(len(rows)), min(a.kernel_rows, len(rows) // 4)))
    os.makedirs(a.out, exist_ok=True)
    for name, chosen in (("main", False), ("kernels", True)):
        with open(os.path.join(a.out, name + ".jsonl"), "w") as f:
            for i, row in enumerate(rows):
                if (i in of_kernels) == chosen:
                    f.write(json.dumps(dict(row, settings=dict(row["settings"], kernels=True)) if chosen else row) + "\n")
    print(len(rows), "rows,", len(of_kernels), "with kernels")


if __name__ == "__main__":
    main()
