"""Writes a campaign's plan: inference and training of every family, LLM phases of many configs; shuffled, so any prefix is balanced.

python3 measuring/plans/network_plan.py OUT_FOLDER [--edition second|third|fourth|fifth]   each edition has its own seed; the same seed gives the same plan"""
import argparse
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "networks"))
import families
import llm_configs
import sampler
import third_edition

SEEDS = {"second": 7, "third": 31, "fourth": 53, "fifth": 71}

PUBLISHED = [  # the networks people know, beside the sampled ones
    (dict(family="resnet", block="basic", layers=[2, 2, 2, 2]), 224), (dict(family="resnet", block="bottleneck", layers=[3, 4, 6, 3]), 224),
    (dict(family="resnet", block="bottleneck", layers=[3, 4, 6, 3], groups=32, width=4), 224), (dict(family="vgg", cfg=[64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"], bn=False), 224),
    (dict(family="mobilenet_v2"), 224), (dict(family="mobilenet_v3"), 224), (dict(family="efficientnet"), 224), (dict(family="densenet"), 224),
    (dict(family="vit"), 224), (dict(family="swin"), 224), (dict(family="convnext"), 224), (dict(family="unet"), 96),
    (dict(family="inception"), 299), (dict(family="googlenet"), 224), (dict(family="squeezenet"), 224), (dict(family="alexnet"), 224)]


def cost(builder):
    """(multiply-accumulates, activation elements) of one sample; only to choose batches."""
    macs = elements = 0
    for op in builder.operations:
        n = 1
        for d in op.shape:
            n *= d
        elements += n
        a = op.attributes
        if op.kind in ("conv", "deconv"):
            k = 1
            for d in a["kernel"] if isinstance(a["kernel"], tuple) else (a["kernel"],) * 2:
                k *= d
            macs += n * k * a["cin"] // a.get("groups", 1)
        elif op.kind == "linear":
            macs += n * a["cin"]
        elif op.kind == "attention":
            macs += 2 * n * op.shape[0]
        elif op.kind == "window_attention":
            macs += n * (4 * a["features"] + 2 * a["window"] ** 2)
    return macs, elements


def networks(r, per_family):
    found, seen = [], set()
    for family in sampler.FAMILIES:
        made = [n for n in PUBLISHED if n[0]["family"] == family]
        while len(made) < per_family:
            spec, resolution = sampler.sample(family, r)
            try:
                macs, elements = cost(families.build(spec, resolution))
            except ValueError:
                continue
            if macs < 6e10 and elements < 2.5e8:
                made.append((spec, resolution))
        for spec, resolution in made:
            key = json.dumps([spec, resolution])
            if key not in seen:
                seen.add(key)
                found.append((spec, resolution))
    return found


def fitting(r, choices, per_sample, limits, count):
    ok = [b for b in choices if all(b * c <= l for c, l in zip(per_sample, limits))] or [choices[0]]
    return r.sample(ok, min(count, len(ok)))


def vision_rows(r, found, training_share):
    for i, (spec, resolution) in enumerate(found):
        name = f"n{i:04d}"
        c = cost(families.build(spec, resolution))
        rows = []
        batches = fitting(r, [1, 2, 4, 8, 16, 32, 64], c, (3e11, 1.2e9), 2)
        for j, batch in enumerate(batches):
            for precision in (("fp32", "fp16", "bf16") if j == 0 else r.sample(["fp32", "fp16", "bf16"], 2)):
                rows.append(dict(id=f"{name}.b{batch}.{precision}", group=name, mode="inference", network=spec, resolution=resolution,
                                 batch=batch, precision=precision, settings=dict(limit_s=0.25, skip_over_s=0.25)))
        r.choice(rows)["settings"]["energy_window_s"] = 0.6
        yield rows
        if r.random() < training_share:
            least = 2 if spec["family"] in ("segmentation", "detection") else 4
            rows = []
            choices = [b for b in (2, 4, 8, 16, 32, 64) if b >= least]
            for batch in fitting(r, choices, c, (1e11, 5e8), 1) * 3:
                k = len(rows)
                precision = ("fp32", "amp_bf16", r.choice(["fp32", "amp_bf16"]))[k]
                if k == 2:
                    batch = fitting(r, choices, c, (1e11, 5e8), 1)[0]
                optimizer = ("sgd", "adam", "adamw")[(i + k) % 3]
                rows.append(dict(id=f"{name}.t{k}.b{batch}.{precision}.{optimizer}", group=name + "t", mode="training", network=spec,
                                 resolution=resolution, batch=batch, precision=precision, optimizer=optimizer,
                                 settings=dict(limit_s=0.35, skip_over_s=0.35, warmup_s=0.05)))
            r.choice(rows)["settings"]["energy_window_s"] = 0.6
            yield rows


def llm_rows(r):
    configs = dict(llm_configs.CAUSAL, **llm_configs.ENCODERS, **llm_configs.variations(r, 2))
    for name, config in configs.items():
        p = llm_configs.parameters_estimate(config)
        causal = config["forerun_task"] == "causal"
        precisions = r.sample(["fp32", "fp16", "bf16"] if p < 2.5e9 else ["fp16", "bf16"], 2 if p < 6e9 else 1)
        for precision in precisions:
            rows = []
            seen = set()
            tokens = 4e12 / p if precision != "fp32" else 6e11 / p
            for phase in (["prefill", "prefill", "decode", "decode"] if causal else ["forward"] * 3):
                for _ in range(30):
                    batch = r.choice([1, 1, 2, 4, 8, 16, 32])
                    sequence = r.choice([128, 256, 512, 1024, 2048] if causal else [32, 64, 128, 256, 384, 512])
                    if batch * sequence <= min(tokens, 32768) and (phase, batch, sequence) not in seen:
                        break
                seen.add((phase, batch, sequence))
                rows.append(dict(id=f"{name}.{phase}.b{batch}.s{sequence}.{precision}", group=f"{name}.{precision}", mode="llm", model=name,
                                 network=dict(config=config), phase=phase, batch=batch, sequence=sequence, precision=precision,
                                 settings=dict(limit_s=0.25, skip_over_s=0.3)))
            r.choice(rows)["settings"]["energy_window_s"] = 0.6
            yield rows


def second_groups(seed, per_family, training_share):
    r = random.Random(seed)
    found = networks(r, per_family)
    return r, found, list(vision_rows(r, found, training_share)) + list(llm_rows(r))


def third_groups(seed):
    known = networks(random.Random(SEEDS["second"]), 9)
    r = random.Random(seed)
    found = list(third_edition.networks(r, sampler.sample, cost, known))
    return r, found, list(third_edition.vision_rows(r, found, cost, fitting)) + list(third_edition.llm_rows(r, seed))


def unknown_networks(r, per_family, fourth_too=True):
    """So many of each family, none of them in the second, third or (unless it is the one being made) fourth edition."""
    known = networks(random.Random(SEEDS["second"]), 9)
    known += third_edition.networks(random.Random(SEEDS["third"]), sampler.sample, cost, known)
    if fourth_too:
        known += unknown_networks(random.Random(SEEDS["fourth"]), 12, False)
    return list(third_edition.networks(r, sampler.sample, cost, known, {family: per_family for family in sampler.FAMILIES}))


def fourth_groups(seed, per_family):
    """Inference of networks that no earlier plan holds: few iterations of each run, many runs."""
    r = random.Random(seed)
    found = unknown_networks(r, per_family, False)
    groups = []
    for i, (spec, resolution) in enumerate(found):
        batches = fitting(r, [1, 2, 4, 8, 16, 32, 64, 128], cost(families.build(spec, resolution)), (3e11, 1.2e9), 3)
        runs = [(b, p) for b in batches for p in ("fp32", "fp16", "bf16")]
        groups.append([dict(id=f"q{i:04d}.b{b}.{p}", group=f"q{i:04d}", mode="inference", network=spec, resolution=resolution, batch=b, precision=p,
                            settings=dict(warmup_s=0.03, iterations=12, limit_s=0.12, skip_over_s=0.15, graph_iterations=10, graph_limit_s=0.1))
                       for b, p in r.sample(runs, min(5, len(runs)))])
    return r, found, groups


QUIET = dict(quiet=True, iterations=12, limit_s=0.8, warmup_s=0.03, skip_over_s=0.2, graph_iterations=10, graph_limit_s=0.1)
QUIET_ENERGY = dict(energy_window_s=0.45, graph_energy_window_s=0.45)


def fifth_groups(seed, per_family):
    """Inference, training and LLM phases, all timed in moments in which nobody else slows the host, energy of a third to a half of the rows."""
    r = random.Random(seed)
    found = unknown_networks(r, per_family)
    groups = []
    for i, (spec, resolution) in enumerate(found):
        name, c = f"r{i:04d}", cost(families.build(spec, resolution))
        common = dict(mode="inference", network=spec, resolution=resolution)
        batches = fitting(r, [1, 2, 4, 8, 16, 32, 64, 128], c, (3e11, 1.2e9), 3)
        runs = r.sample([(b, p) for b in batches for p in ("fp32", "fp16", "bf16")], 3)
        groups.append([dict(common, id=f"{name}.b{b}.{p}", group=name, batch=b, precision=p, settings=dict(QUIET, **(QUIET_ENERGY if k == 0 else {})))
                       for k, (b, p) in enumerate(runs)])
        if i % 2 == 0:
            common["mode"] = "training"
            rows = []
            for k, precision in enumerate(("fp32", "amp_bf16")):
                least = 2 if spec["family"] in ("segmentation", "detection", "cnn3d") else 4
                batch = fitting(r, [b for b in (2, 4, 8, 16, 32, 64) if b >= least], c, (1e11, 5e8), 1)[0]
                optimizer = ("sgd", "adam", "adamw")[(i // 2 + k) % 3]
                rows.append(dict(common, id=f"{name}.t{k}.b{batch}.{precision}.{optimizer}", group=name + "t", batch=batch, precision=precision, optimizer=optimizer,
                                 settings=dict(QUIET, limit_s=1.5, energy_window_s=0.45)))
            groups.append(rows)
    for rows in third_edition.llm_rows(r, seed):
        if ".eager." not in rows[0]["id"]:
            for k, row in enumerate(rows):
                row["settings"] = dict(QUIET, limit_s=1.0, skip_over_s=0.3, **(QUIET_ENERGY if k % 2 == 0 else {}))
            groups.append(rows)
    return r, found, groups


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out_folder")
    parser.add_argument("--edition", choices=SEEDS, default="second")
    parser.add_argument("--seed", type=int, help="default: the edition's own")
    parser.add_argument("--per-family", type=int, default=9, help="second, fourth and fifth edition: networks of each family")
    parser.add_argument("--training-share", type=float, default=0.53, help="second edition")
    a = parser.parse_args()
    seed = a.seed if a.seed is not None else SEEDS[a.edition]
    r, found, groups = {"second": lambda: second_groups(seed, a.per_family, a.training_share), "third": lambda: third_groups(seed), "fourth": lambda: fourth_groups(seed, a.per_family), "fifth": lambda: fifth_groups(seed, a.per_family)}[a.edition]()
    r.shuffle(groups)
    os.makedirs(a.out_folder, exist_ok=True)
    write = lambda name, rows: open(os.path.join(a.out_folder, name), "w").write("".join(json.dumps(x) + "\n" for x in rows))
    write("networks.jsonl", [row for rows in groups for row in rows])
    # the repeat check: rows with energy of the first quarter, balanced over modes, measured again in a fresh process
    early = [row for rows in groups[: len(groups) // 3] for row in rows if row["settings"].get("energy_window_s")]
    repeat = [x for mode, n in (("inference", 20), ("training", 9), ("llm", 11)) for x in [y for y in early if y["mode"] == mode][:n]]
    write("repeat.jsonl", repeat)
    probe = {}
    for rows in groups:
        probe.setdefault((rows[0]["mode"], rows[0]["network"].get("family", "")[:0] or rows[0].get("phase")), rows)
    write("network_probe.jsonl", [dict(x, group="p" + x["group"]) for rows in list(probe.values()) for x in rows[:4]])
    counts = {}
    for rows in groups:
        counts[rows[0]["mode"]] = counts.get(rows[0]["mode"], 0) + len(rows)
    print(len(found), "networks", counts, len(repeat), "repeated", sum(1 for g in groups for x in g if x["settings"].get("energy_window_s")), "with energy")


if __name__ == "__main__":
    main()
