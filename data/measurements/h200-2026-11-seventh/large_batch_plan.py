"""Writes the plan of the seventh campaign: training steps of earlier campaigns' networks at larger batches, where the GPU decides and not the host. Networks in random order: any prefix is an even sample.

python3 data/measurements/h200-2026-11-seventh/large_batch_plan.py OUT.jsonl CAMPAIGN_FOLDER...   folders with a vision_training.csv whose rows carry their network (spec)"""
import csv
import json
import os
import random
import sys

SETTINGS = dict(quiet=True, share=True, iterations=10, limit_s=1.5, warmup_s=0.03, skip_over_s=0.5, graph=False, energy_window_s=0.45)
MOST_MB, SHORTEST_MS, LONGEST_MS = 18000, 25, 220  # if time and memory grow with the batch from the network's largest step on


def main():
    out, folders = sys.argv[1], sys.argv[2:]
    r = random.Random(7)
    networks = {}
    for folder in folders:
        for row in csv.DictReader(open(os.path.join(folder, "vision_training.csv"))):
            if row["peak_allocated_mb"] and row["latency_ms_median"]:
                networks.setdefault((row["arch"], row["resolution"]), []).append(row)
    rows = []
    for (arch, resolution), known in networks.items():
        largest = max(known, key=lambda row: int(row["batch"]))
        base, ms, mb = int(largest["batch"]), float(largest["latency_ms_median"]), float(largest["peak_allocated_mb"])
        wanted = r.uniform(SHORTEST_MS, LONGEST_MS)
        batches = [b for b in (8, 16, 32, 64, 128, 256) if b >= 2 * base and b / base * mb < MOST_MB and b / base * ms < LONGEST_MS]
        if not batches:
            continue
        batch = min(batches, key=lambda b: abs(b / base * ms - wanted))
        precision, optimizer = r.choice(("fp32", "amp_bf16")), r.choice(("sgd", "adam", "adamw"))
        rows.append(dict(id=f"{arch}.t7.b{batch}.{precision}.{optimizer}", group=arch, mode="training", network=json.loads(largest["spec"]), resolution=int(resolution), batch=batch,
                         precision=precision, optimizer=optimizer, settings=SETTINGS))
    r.shuffle(rows)
    with open(out, "w") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    print(len(rows), "rows")


if __name__ == "__main__":
    main()
