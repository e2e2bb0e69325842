"""Writes the plan that measures eager runs of earlier campaigns again, in moments in which nobody else slows the host; networks in random order, so any prefix is an even sample.

python3 data/measurements/h200-2026-11-again/again_plan.py OUT.jsonl CAMPAIGN_FOLDER... [--builders FILE.py] [--done AGAIN.csv...] [--energy]   rows are named CAMPAIGN/ID; energy where the row had it, or everywhere"""
import argparse
import csv
import json
import os
import random

QUIET = dict(quiet=True, share=True, iterations=10, skip_over_s=2.0, graph=False)
LIMIT_S = {"inference": 0.6, "training": 1.2, "llm": 1.0}
TABLES = {"inference": "vision_inference.csv", "training": "vision_training.csv", "llm": "llm_inference.csv"}


def network_of(row, folder, builders):
    if "config" in row:
        return dict(config=json.load(open(os.path.join(folder, "configs", row["config"]))))
    spec, resolution = json.loads(row["spec"]), int(row["resolution"])
    if not builders:
        return spec
    if spec["family"] == "vit":
        spec["res"] = resolution
    shape = {"video": (3, 16, resolution, resolution), "nasbench201": (3, 32, 32), "unet": (3, 96, 128)}.get(spec["family"], (3, resolution, resolution))
    return dict(python=builders + ":vision", arguments=[spec], shape=shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("campaigns", nargs="+")
    parser.add_argument("--builders", help="the Python file that built the campaigns' vision networks; without: measuring/networks")
    parser.add_argument("--modes", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--done", nargs="*", default=[], help="again.csv files whose rows are left out, where they have all that is asked for")
    parser.add_argument("--energy", action="store_true", help="measure energy of rows that had none, too")
    a = parser.parse_args()
    groups = {}
    done = {(r["campaign"] + "/" + r["id"], r["table"] + ".csv"): bool(r["energy_j"]) for path in a.done for r in csv.DictReader(open(path))}
    for folder in a.campaigns:
        campaign = os.path.basename(os.path.normpath(folder))
        for mode in a.modes:
            path = os.path.join(folder, TABLES[mode])
            for row in csv.DictReader(open(path)) if os.path.exists(path) else ():
                made = dict(id=f"{campaign}/{row['id']}", mode=mode, network=network_of(row, folder, a.builders), batch=int(row["batch"]), precision=row["precision"],
                            settings=dict(QUIET, limit_s=LIMIT_S[mode], energy_window_s=0.35 if a.energy or row.get("energy_j") else 0.0))
                if mode == "llm":
                    made.update(model=row["model"], phase=row["phase"], sequence=int(row["sequence"]), group=f"{campaign}/{row['config']}.{row['precision']}")
                else:
                    made.update(resolution=int(row["resolution"]), optimizer=row.get("optimizer"), group=f"{campaign}/{row['arch']}.{row['resolution']}.{mode}")
                if (made["id"], TABLES[mode]) not in done or made["settings"]["energy_window_s"] and not done[made["id"], TABLES[mode]]:
                    groups.setdefault(made["group"], []).append(made)
    order = list(groups.values())
    random.Random(7).shuffle(order)
    with open(a.out, "w") as f:
        f.writelines(json.dumps(row) + "\n" for rows in order for row in rows)
    print(len(order), "networks,", sum(map(len, order)), "rows,", sum(bool(row["settings"]["energy_window_s"]) for rows in order for row in rows), "with energy")


if __name__ == "__main__":
    main()
