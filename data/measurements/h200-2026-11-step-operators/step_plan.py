"""Writes a plan for measuring/worker/step_profile.py: training steps of networks that no campaign holds, every family in turn, so that any prefix is balanced.

python3 data/measurements/h200-2026-11-step-operators/step_plan.py OUT.jsonl [--per-family 18] [--families NAME,…] [--seed N] CAMPAIGN_FOLDER...   folders whose vision tables name the networks already measured (spec)"""
import argparse
import csv
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "measuring", "plans"))
import network_plan
import sampler
import third_edition

LONGEST_MACS, MOST_ELEMENTS = 6e11, 2.5e9  # of a batch


def measured(folders):
    for folder in folders:
        for table in ("vision_inference.csv", "vision_training.csv"):
            path = os.path.join(folder, table)
            for row in csv.DictReader(open(path)) if os.path.exists(path) else ():
                if row.get("spec"):
                    yield json.loads(row["spec"]), int(row["resolution"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--per-family", type=int, default=18)
    parser.add_argument("--families", type=lambda text: text.split(","), default=list(sampler.FAMILIES))
    parser.add_argument("--seed", type=int, default=97)
    a = parser.parse_args()
    r = random.Random(a.seed)
    wanted = {family: a.per_family for family in a.families}
    by_family = {}
    for spec, resolution in third_edition.networks(r, sampler.sample, network_plan.cost, measured(a.folders), wanted):
        by_family.setdefault(spec["family"], []).append((spec, resolution))
    rows = []
    for i in range(a.per_family):
        for family, found in by_family.items():
            if i >= len(found):
                continue
            spec, resolution = found[i]
            cost = network_plan.cost(network_plan.families.build(spec, resolution))
            batch = network_plan.fitting(r, [2, 4, 8, 16, 32, 64, 128, 256], cost, (LONGEST_MACS, MOST_ELEMENTS), 1)[0]
            rows.append(dict(id=f"s{len(rows):04d}", network=spec, resolution=resolution, batch=batch, precision=r.choice(("fp32", "amp_bf16")),
                             optimizer=r.choice(("sgd", "adam", "adamw"))))
    with open(a.out, "w") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    print(len(rows), "rows")


if __name__ == "__main__":
    main()
