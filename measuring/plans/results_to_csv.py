"""Turns the JSON lines of `forerun-lab measure` (its --out file) or of run_plan.py into the campaign's tables.

python3 measuring/plans/results_to_csv.py networks OUT_FOLDER RESULTS.jsonl... [--repeat REPEAT.jsonl]
python3 measuring/plans/results_to_csv.py operators OUT.csv RESULTS.jsonl
python3 measuring/plans/results_to_csv.py again OUT.csv RESULTS.jsonl...          of a plan by again_plan.py
python3 measuring/plans/results_to_csv.py compiled OUT.csv RESULTS.jsonl...       of a plan by compiled_plan.py"""
import argparse
import csv
import json
import os

TIMES = ["latency_ms_median", "latency_ms_mean", "latency_ms_p10", "latency_ms_p90", "wall_ms_median", "power_w", "energy_j", "iterations", "host_probe_us"]
STATE = ["sm_mhz", "temp_c"]
GRAPH = ["graph_replay_ms_median", "graph_replay_ms_p10", "graph_replay_ms_p90"]
GRAPH_ENERGY = ["graph_power_w", "graph_energy_j"]
MEMORY = ["peak_allocated_mb", "peak_reserved_mb", "process_mb"]
COMPILED = ["compiled_replay_ms_median", "compiled_replay_ms_p10", "compiled_replay_ms_p90", "compiled_power_w", "compiled_energy_j", "compiled_energy_window_s",
            "compiled_peak_allocated_mb", "compiled_graphs", "compile_s", "compiled_step_ms_median", "compiled_step_ms_p10", "compiled_step_ms_p90", "compiled_iterations",
            "compiled_forward_ms", "compiled_backward_ms", "compiled_optimizer_ms"]
VISION = ["id", "arch", "family", "graph", "batch", "resolution", "precision"]
TABLES = {
    "inference": ("vision_inference.csv", VISION + TIMES + STATE + ["parameters"] + GRAPH + GRAPH_ENERGY + MEMORY + ["energy_window_s", "part", "spec"]),
    "training": ("vision_training.csv", VISION + ["optimizer"] + TIMES + STATE + ["parameters", "forward_ms", "backward_ms", "optimizer_ms"] + MEMORY + ["energy_window_s", "part", "spec"]),
    "llm": ("llm_inference.csv", ["id", "model", "family", "task", "config", "phase", "batch", "sequence", "precision"] + TIMES + STATE + ["parameters"] + MEMORY + GRAPH + GRAPH_ENERGY + ["tied", "energy_window_s", "part"])}
OPERATOR = ["id", "op", "function", "direction", "precision", "batch", "in_channels", "out_channels", "depth", "height", "width", "kernel_d", "kernel_h", "kernel_w",
            "stride_d", "stride", "padding_h", "padding_w", "dilation", "groups", "bias", "channels_last", "m", "n", "k", "heads", "kv_heads", "head_dim", "query_len", "kv_len", "causal",
            "rows", "cols", "axis", "elements", "tensors", "inputs", "scale", "out_size", "shape", "order", "latency_us", "latency_us_p10", "latency_us_p90",
            "timing", "repeats", "samples", "weight_copies", "workspace_bytes", "host_us", "power_w", "energy_j", "sm_mhz", "temp_c"]


def short(value):
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return f"{value:.5g}"
    return value


def read(path):
    return [journal_row(r) if "row_id" in r else r for r in map(json.loads, open(path)) if "request" in r or "row_id" in r]


def journal_row(r):
    """A line of `forerun-lab measure` in the form of run_plan.py's."""
    s = r["settings"]
    request = dict({k: s.get(k) for k in ("mode", "precision", "phase", "optimizer")}, model=r["network"], network=json.loads(s["spec"]), graph=r["graph"],
                   **{k: int(s[k]) for k in ("batch", "resolution", "sequence") if k in s})
    request["group"] = r["row_id"].split(".")[0] + request["mode"]
    metrics = {k: int(v) if v == int(v) else v for k, v in r["metrics"].items()}  # counts are whole
    return dict(id=r["row_id"], status=r["status"], request=request, metrics=metrics, environment={})


def flat(row, part):
    q, m = row["request"], dict(row["metrics"])
    out = dict(row["environment"], **m, id=row["id"], part=part, batch=q["batch"], precision=q["precision"])
    out["peak_allocated_mb"] = m.get("peak_allocated_mb", 0) - m.get("residue_mb", 0)  # what earlier rows had left allocated
    if m.get("residue_mb", 0) > 1:  # reserved and process memory cannot be corrected the same way
        out["peak_reserved_mb"] = out["process_mb"] = None
    if q["mode"] == "llm":
        c = q["network"]["config"]
        out.update(model=q["model"], family=c["model_type"], task=c["forerun_task"], config=q.get("graph") or q["model"] + ".json", phase=q["phase"], sequence=q["sequence"])
    else:
        arch = row["id"].split(".")[0]
        out.update(arch=arch, family=q["network"]["family"], graph=f"{arch}_{q['resolution']}.onnx", resolution=q["resolution"],
                   optimizer=q.get("optimizer"), spec=json.dumps(q["network"]))
    return out


def carried_optimizer(rows):
    """Ids of training rows that may hold the state of their process's first optimizer: rows after the first of the earliest groups."""
    groups = {}
    for r in rows:
        if r["request"]["mode"] == "training":
            groups.setdefault(r["request"]["group"], []).append(r["id"])
    return {i for ids in list(groups.values())[:4] for i in ids[1:]}


def write(path, columns, rows):
    with open(path, "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(columns)
        for r in rows:
            w.writerow(["" if r.get(c) is None else short(r[c]) for c in columns])
    print(path, len(rows), "rows")


def networks(a):
    os.makedirs(os.path.join(a.out, "configs"), exist_ok=True)
    tables, first = {k: [] for k in TABLES}, {}
    for part, path in enumerate(a.results, 1):
        rows = read(path)
        doubtful = carried_optimizer(rows) if a.carried_optimizer else set()
        for row in rows:
            if row["status"] != "ok":
                continue
            r = flat(row, part)
            if row["id"] in doubtful:
                for c in MEMORY:
                    r[c] = None
            tables[row["request"]["mode"]].append(r)
            first[row["id"]] = r
            if row["request"]["mode"] == "llm":
                with open(os.path.join(a.out, "configs", r["config"]), "w") as f:
                    json.dump(row["request"]["network"]["config"], f, indent=1)
                    f.write("\n")
    for mode, (name, columns) in TABLES.items():
        write(os.path.join(a.out, name), columns, sorted(tables[mode], key=lambda r: r["id"]))
    if a.repeat:
        compared = ["graph_replay_ms_median", "latency_ms_median", "power_w", "energy_j"] + GRAPH_ENERGY + MEMORY
        rows = []
        for row in read(a.repeat):
            r, x = flat(row, 0), first.get(row["id"])
            if row["status"] == "ok" and x:
                rows.append(dict(id=row["id"], mode=row["request"]["mode"], **{c + "_first": x.get(c) for c in compared}, **{c + "_second": r.get(c) for c in compared}))
        write(os.path.join(a.out, "repeat.csv"), ["id", "mode"] + [c + s for c in compared for s in ("_first", "_second")], rows)
        for c in compared:
            d = sorted(abs(r[c + "_second"] / r[c + "_first"] - 1) for r in rows if r[c + "_first"] and r[c + "_second"])
            print(f"{c}: {len(d)} rows, median difference {100 * d[len(d) // 2]:.2f} %, 90th percentile {100 * d[int(0.9 * len(d))]:.2f} %")


def operators(a):
    rows = []
    for row in read(a.results[0]):
        if row["status"] == "ok":
            q = row["request"]
            r = dict(q["operator"], **row["metrics"], **row["environment"], id=row["id"], direction=q["direction"], precision=q["precision"])
            for c in ("shape", "order"):
                if c in r:
                    r[c] = "x".join(map(str, r[c]))
            rows.append(r)
    write(a.out, OPERATOR, sorted(rows, key=lambda r: r["id"]))


def compiled(a):
    """Rows named CAMPAIGN/ID, whose network and settings are the earlier row's; timm's own are NAME_SIZE.onnx of data/graphs/timm.tar.xz."""
    rows = {}
    for path in a.results:
        for row in read(path):
            q = row["request"]
            campaign, name = row["id"].split("/", 1)
            m = dict(row.get("metrics", {}))
            if row["status"] != "ok" or ("compiled_replay_ms_median" not in m and "compiled_step_ms_median" not in m):
                continue
            table = "timm" if campaign == "timm" else TABLES[q["mode"]][0].removesuffix(".csv")
            if "peak_allocated_mb" in m:
                m["peak_allocated_mb"] -= m.get("residue_mb", 0)
            rows[table, campaign, name] = dict(row["environment"], **m, campaign="" if table == "timm" else campaign, table=table, id=name, graph=q.get("graph"),
                                               batch=q["batch"], precision=q["precision"])
    write(a.out, ["campaign", "table", "id", "graph", "batch", "precision"] + COMPILED + GRAPH + ["peak_allocated_mb"] + STATE, [rows[k] for k in sorted(rows)])


def again(a):
    rows, factor, factors = {}, None, dict(f.split("=") for f in a.host_factor)
    for path in a.results:
        for row in read(path):
            factor = factors.get(row["id"], factor)
            campaign, name = row["id"].split("/", 1)
            if row["status"] == "ok" and row["metrics"].get("iterations") and campaign in (a.campaigns or [campaign]):
                table = TABLES[row["request"]["mode"]][0].removesuffix(".csv")
                made = dict(row["environment"], **row["metrics"], campaign=campaign, table=table, id=name,
                            host_factor=round(row["metrics"]["host_probe_us"] / a.probe_us, 4) if a.probe_us else factor)
                if "energy_j" in made or "energy_j" not in rows.get((campaign, table, name), {}):
                    rows[campaign, table, name] = made
    columns = ["campaign", "table", "id"] + TIMES + STATE + ["energy_window_s"] + (["host_factor"] if factors or a.probe_us else [])
    write(a.out, columns, [rows[k] for k in sorted(rows)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["networks", "operators", "again", "compiled"])
    parser.add_argument("out")
    parser.add_argument("results", nargs="+")
    parser.add_argument("--repeat")
    parser.add_argument("--carried-optimizer", action="store_true", help="results of a worker that did not yet collect cycles (second campaign)")
    parser.add_argument("--campaigns", nargs="+", help="again: only their rows")
    parser.add_argument("--host-factor", nargs="+", default=[], metavar="ROW=FACTOR", help="again: from ROW on, in the order measured, the host took FACTOR times as long as campaign.json says")
    parser.add_argument("--probe-us", type=float, help="again: the host took as many times as long as campaign.json says as its probe took this")
    a = parser.parse_args()
    {"networks": networks, "operators": operators, "again": again, "compiled": compiled}[a.kind](a)


if __name__ == "__main__":
    main()
