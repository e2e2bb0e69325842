"""Writes the plans: the U-Net's rows (unet.jsonl), the before/after rows (advice.jsonl) and which belong together (cases.json)."""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = sys.argv[1]
FILE = os.path.join(HERE, "networks.py")
LIGHT = {"iterations": 20, "limit_s": 0.3, "graph_iterations": 20, "graph_limit_s": 0.2, "skip_over_s": 2.0}
POWER = dict(LIGHT, energy_window_s=0.5, graph_energy_window_s=0.4)


def python(function, shape, *arguments):
    return {"python": f"{FILE}:{function}", "shape": list(shape), "arguments": list(arguments)}


def config_of(name, **more):
    config = json.load(open(os.path.join(HERE, "..", "..", "networks", name + ".json")))
    task = config["forerun"]["task"]
    return {"config": dict({k: v for k, v in config.items() if k not in ("forerun", "architectures")}, forerun_task=task, **more)}


rows, cases = {}, []


def row(network, batch, precision, mode="inference", settings=LIGHT, **more):
    body = dict(mode=mode, network=network, batch=batch, precision=precision, **more)
    key = json.dumps(body, sort_keys=True)
    if key not in rows:
        rows[key] = dict(body, id=f"a{len(rows):03d}", settings=settings)
    return rows[key]["id"]


def case(kind, name, ask, change, before, after, metric="graph"):
    """ask: the question before; change: the settings or edit that advise names."""
    cases.append(dict(kind=kind, network=name, ask=ask, change=change, before=before, after=after, metric=metric))


SPECS = {
    "resnet50": ({"family": "resnet"}, 224), "mobilenet_v2": ({"family": "mobilenet_v2"}, 224), "mobilenet_v3": ({"family": "mobilenet_v3"}, 224),
    "efficientnet_b0": ({"family": "efficientnet"}, 224), "densenet121": ({"family": "densenet"}, 224), "vit_b16": ({"family": "vit"}, 224),
    "convnext_tiny": ({"family": "convnext"}, 224), "resnet_base62": ({"family": "resnet", "base": 62}, 224),
    "resnet_kernel5": ({"family": "resnet", "kernel": 5}, 224), "convnext_kernel3": ({"family": "convnext", "kernel": 3}, 224),
    "unet_base52": ({"family": "unet", "base": 52}, 224), "vgg16": ({"family": "vgg", "cfg": [64, 64, "M", 128, 128, "M", 256, 256, 256, "M", 512, 512, 512, "M", 512, 512, 512, "M"]}, 224),
}


def family(name, edit=""):
    spec, resolution = SPECS[name]
    shape = (3, 96, 128) if spec["family"] == "unet" else (3, resolution, resolution)
    return python("family", shape, spec, resolution, edit)


def vision(name, batch, precision, edit=""):
    return row(family(name, edit), batch, precision)


def train(name, batch, precision, optimizer="adam"):
    return row(family(name), batch, precision, "training", optimizer=optimizer)


V = lambda b, p, r="graph": {"batch": b, "precision": p, "runtime": r}
# structural edits first, so that a short run has every kind
for name, b in (("resnet50", 32), ("mobilenet_v2", 64)):
    case("fold norms", name, V(b, "fp16"), "fold-norms", vision(name, b, "fp16"), vision(name, b, "fp16", "fold-norms"))
for name, b in (("resnet_base62", 32), ("unet_base52", 32)):
    case("aligned widths", name, V(b, "fp16"), "align-widths", vision(name, b, "fp16"), vision(name, b, "fp16", "align-widths"))
case("smaller windows", "resnet_kernel5", V(32, "fp16"), "shrink-windows", vision("resnet_kernel5", 32, "fp16"), vision("resnet50", 32, "fp16"))
case("smaller windows", "convnext_tiny", V(32, "fp16"), "shrink-windows", vision("convnext_tiny", 32, "fp16"), vision("convnext_kernel3", 32, "fp16"))
for name in ("vit_b16", "efficientnet_b0"):
    case("ReLU", name, V(32, "fp16"), "simplify-activations", vision(name, 32, "fp16"), vision(name, 32, "fp16", "simplify-activations"))
for b in (1, 8):
    hand = lambda joined: row(python("bert", (1,), joined, "gelu", 128), b, "fp16")
    case("joined products", "bert-base-uncased", dict(V(b, "fp16"), seq=128), "join-products", hand(False), hand(True))
for name, b, length in (("gpt2", 8, 512), ("llama-3.2-1b", 4, 1024)):
    ask = dict(V(b, "bf16"), seq=length, phase="prefill")
    case("last logits", name, ask, {"last-logits": ""}, row(python("prompt", (1,), name, length, False, "sdpa"), b, "bf16"),
         row(python("prompt", (1,), name, length, True, "sdpa"), b, "bf16"))
    case("attention kernel", name, ask, {"attention": "sdpa"}, row(python("prompt", (1,), name, length, False, "eager"), b, "bf16"),
         row(python("prompt", (1,), name, length, False, "sdpa"), b, "bf16"))
bert = lambda b, p, s=128, **more: row(config_of("bert-base-uncased", **more), b, p, "llm", phase="forward", sequence=s)
case("attention kernel", "bert-base-uncased", dict(V(8, "fp16"), seq=512), {"attention": "sdpa"}, bert(8, "fp16", 512, attn_implementation="eager"), bert(8, "fp16", 512, attn_implementation="sdpa"))
for p in ("tf32", "bf16"):
    case("precision", "bert-base-uncased", dict(V(8, "fp32"), seq=128), {"precision": p}, bert(8, "fp32"), bert(8, p))
case("CUDA graph", "bert-base-uncased", dict(V(1, "fp16", "eager"), seq=128), {"runtime": "graph"}, bert(1, "fp16"), bert(1, "fp16"), "runtime")
for name, b, p in (("resnet50", 8, "fp16"), ("resnet50", 64, "bf16"), ("efficientnet_b0", 32, "fp16"), ("vgg16", 32, "fp16"), ("densenet121", 32, "amp_bf16")):
    case("precision", name, V(b, "fp32"), {"precision": p}, vision(name, b, "fp32"), vision(name, b, p))
for name in ("resnet50", "mobilenet_v3"):
    case("CUDA graph", name, V(1, "fp16", "eager"), {"runtime": "graph"}, vision(name, 1, "fp16"), vision(name, 1, "fp16"), "runtime")
for name, b, more in (("resnet50", 8, 64), ("mobilenet_v2", 8, 64), ("vit_b16", 4, 32)):
    case("batch", name, V(b, "fp16"), {"batch": more}, vision(name, b, "fp16"), vision(name, more, "fp16"), "throughput")
llama = lambda b: row(config_of("llama-3.2-1b"), b, "bf16", "llm", phase="decode", sequence=1024)
case("batch", "llama-3.2-1b", dict(V(1, "bf16"), seq=1024, phase="decode"), {"batch": 16}, llama(1), llama(16), "throughput")
T = lambda b, p: {"batch": b, "precision": p, "train": True, "optimizer": "adam", "runtime": "eager"}
for name, b, p in (("resnet50", 64, "amp_bf16"), ("vit_b16", 32, "amp_bf16"), ("convnext_tiny", 32, "amp_bf16")):
    case("precision in training", name, T(b, "fp32"), {"precision": p}, train(name, b, "fp32"), train(name, b, p), "step")
case("batch in training", "resnet50", T(8, "amp_bf16"), {"batch": 64}, train("resnet50", 8, "amp_bf16"), train("resnet50", 64, "amp_bf16"), "step throughput")
for name, b in (("vit_b16", 8), ("resnet50", 8)):
    case("optimizer", name, T(b, "amp_bf16"), {"optimizer": "sgd"}, train(name, b, "amp_bf16"), train(name, b, "amp_bf16", "sgd"), "memory")

with open(os.path.join(OUT, "advice.jsonl"), "w") as f:
    f.writelines(json.dumps(r) + "\n" for r in rows.values())
json.dump({"cases": cases, "networks": {k: v for k, v in SPECS.items()}}, open(os.path.join(OUT, "cases.json"), "w"), indent=1)

unet = python("unet", (3, 96, 128))
plan = []
for b, p in ((64, "fp32"), (64, "amp_fp16"), (32, "fp32"), (32, "amp_fp16"), (64, "amp_bf16")):
    plan.append(dict(id=f"unet.train.b{b}.{p}", mode="training", network=unet, batch=b, precision=p, optimizer="adam", settings=dict(POWER, graph=False)))
for b, p in ((64, "fp32"), (64, "amp_fp16"), (64, "fp16"), (1, "fp32"), (1, "fp16"), (32, "fp32"), (32, "amp_fp16"), (32, "fp16")):
    plan.append(dict(id=f"unet.inference.b{b}.{p}", mode="inference", network=unet, batch=b, precision=p, settings=POWER))
with open(os.path.join(OUT, "unet.jsonl"), "w") as f:
    f.writelines(json.dumps(dict(r, group=r["id"].split(".b")[0])) + "\n" for r in plan)
print(len(rows), "rows", len(cases), "cases", len(plan), "U-Net rows")
