"""Rows of the third campaign: networks not measured before, three rows each; LLM configs of new shapes, long caches, eager attention."""
import json

import families
import llm_configs

# How many new networks of each family: most where few had been measured, or where they are used most.
NETWORKS = {"visformer": 6, "inception": 5, "squeezenet": 3, "mobilenet_v1": 3, "segmentation": 5, "regnet": 4, "googlenet": 2, "shufflenet": 2,
            "alexnet": 1, "mnasnet": 2, "cnn3d": 5, "detection": 5, "unet": 4, "poolformer": 4, "vgg": 2, "nasbench201": 4, "densenet": 2,
            "mobilenet_v3": 2, "convnext": 4, "mobilenet_v2": 1, "swin": 4, "efficientnet": 1, "vit": 4, "resnet": 2}
TRAINED = {"cnn3d": 3, "inception": 3, "regnet": 3, "segmentation": 3, "visformer": 3, "poolformer": 2, "swin": 2, "unet": 1, "convnext": 1, "vit": 1,
           "detection": 2, "mobilenet_v1": 1, "googlenet": 1, "squeezenet": 1, "nasbench201": 1, "mnasnet": 1, "vgg": 1}
PUBLISHED_CAUSAL = ["llama-3.1-8b", "llama-3.2-1b", "qwen2.5-3b", "mistral-7b", "gpt2-medium", "gemma-2b", "qwen3-1.7b"]
PUBLISHED_ENCODERS = ["bert-base", "roberta-base", "xlm-roberta-base", "electra-base", "distilbert-base", "bert-large"]
ENERGY = {"energy_window_s": 0.6, "graph_energy_window_s": 0.6}


def networks(r, sample, cost, known, wanted=NETWORKS):
    """Specs that no earlier plan holds, so many of each family."""
    seen = {json.dumps(n) for n in known}
    for family, count in wanted.items():
        made = 0
        for _ in range(400):
            if made == count:
                break
            spec, resolution = sample(family, r)
            key = json.dumps((spec, resolution))
            try:
                macs, elements = cost(families.build(spec, resolution))
            except ValueError:
                continue
            if key not in seen and macs < 6e10 and elements < 2.5e8:
                seen.add(key)
                made += 1
                yield spec, resolution


def vision_rows(r, found, cost, fitting):
    trained = dict(TRAINED)
    for i, (spec, resolution) in enumerate(found):
        name = f"p{i:04d}"
        common = dict(network=spec, resolution=resolution, graph=f"{name}_{resolution}.onnx")
        c = cost(families.build(spec, resolution))
        precisions = r.sample(["fp32", "fp16", "bf16"], 3)
        batches = fitting(r, [1, 2, 4, 8, 16, 32, 64], c, (3e11, 1.2e9), 2)
        rows = [dict(id=f"{name}.b{b}.{p}", group=name, mode="inference", **common, batch=b, precision=p, settings=dict(limit_s=0.45, skip_over_s=0.4))
                for b, p in ((batches[0], precisions[0]), (batches[0], precisions[1]), (batches[-1], precisions[2]))]
        r.choice(rows)["settings"].update(ENERGY)
        yield rows
        if trained.get(spec["family"], 0) > 0:
            trained[spec["family"]] -= 1
            choices = [b for b in (2, 4, 8, 16, 32) if b >= (2 if spec["family"] in ("segmentation", "detection", "cnn3d") else 4)]
            rows = []
            for k, precision in enumerate(("fp32", "amp_bf16")):
                batch = fitting(r, choices, c, (1e11, 5e8), 1)[0]
                optimizer = ("sgd", "adam", "adamw")[(i + k) % 3]
                rows.append(dict(id=f"{name}.t{k}.b{batch}.{precision}.{optimizer}", group=name + "t", mode="training", **common, batch=batch,
                                 precision=precision, optimizer=optimizer, settings=dict(limit_s=0.6, skip_over_s=0.45, warmup_s=0.05)))
            r.choice(rows)["settings"]["energy_window_s"] = 0.6
            yield rows


def llm_row(name, config, phase, batch, sequence, precision, variant=""):
    return dict(id=f"{name}{variant}.{phase}.b{batch}.s{sequence}.{precision}", group=f"{name}{variant}.{precision}", mode="llm", model=name,
                graph=f"{name}{variant}.json", network=dict(config=config), phase=phase, batch=batch, sequence=sequence, precision=precision,
                settings=dict(limit_s=0.45, skip_over_s=0.4))


def causal_rows(r, name, config):
    p = llm_configs.parameters_estimate(config)
    positions = config.get("max_position_embeddings") or config.get("n_positions", 1024)
    precision = r.choice(["fp16", "bf16"] if p > 1e9 else ["fp16", "bf16", "bf16", "fp32"])
    tokens = min(16384, int((3e12 if precision != "fp32" else 4e11) / p))
    rows, seen = [], set()
    for phase, sequences in (("prefill", [128, 256, 512, 1024, 2048]), ("decode", [128, 512, 1024]), ("decode", [2048, 4096, 6144, 8064])):
        fits = [(b, s) for b in (1, 2, 4, 8, 16, 32) for s in sequences if b * s <= (tokens if phase == "prefill" else 32768) and s < positions]
        if fits:
            batch, sequence = r.choice(fits)
            if (phase, batch, sequence) not in seen:
                seen.add((phase, batch, sequence))
                rows.append(llm_row(name, config, phase, batch, sequence, precision))
    r.choice(rows)["settings"].update(ENERGY)
    return rows


def encoder_rows(r, name, config):
    """The same runs with PyTorch's fused attention (the default) and with attention written out."""
    precision = r.choice(["fp16", "bf16"])
    limit = config.get("max_position_embeddings", 512)
    runs = [(b, s) for b in (1, 2, 4, 8, 16, 32, 64) for s in (64, 128, 256, 384, 512) if s <= limit and b * s <= 8192]
    runs = r.sample(runs, 2)
    with_energy = r.choice(runs)
    for variant, own in (("", {}), (".eager", {"attn_implementation": "eager"})):
        rows = [llm_row(name, dict(config, **own), "forward", b, s, precision, variant) for b, s in runs]
        rows[runs.index(with_energy)]["settings"].update(ENERGY)
        yield rows


def llm_rows(r, seed):
    made = llm_configs.variations(r, 14, f"s{seed}-")
    causal = {n: c for n, c in made.items() if c["forerun_task"] == "causal"}
    encoders = {n: c for i, (n, c) in enumerate((n, c) for n, c in made.items() if c["forerun_task"] == "encoder") if i < 6}
    causal.update({n: llm_configs.CAUSAL[n] for n in PUBLISHED_CAUSAL})
    encoders.update({n: llm_configs.ENCODERS[n] for n in PUBLISHED_ENCODERS})
    for name, config in causal.items():
        yield causal_rows(r, name, config)
    for name, config in encoders.items():
        yield from encoder_rows(r, name, config)
