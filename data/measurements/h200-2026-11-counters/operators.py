"""Operators whose counters are read: their list, their kernels and times by PyTorch's profiler, and one run of each for Nsight Compute.

Run with ../h200-2026-11-advice, measuring/networks and measuring/worker on PYTHONPATH; run.sh does.

ops.py list OUT_FOLDER | ops.py times OPS.jsonl RESULT.json DEADLINE | ops.py run OPS.jsonl DONE.txt DEADLINE"""
import json
import os
import statistics
import sys
import time

import networks
import torch
import torch.nn as nn
import torch.nn.functional as F

DRY = "--dry" in sys.argv
DEVICE = networks.DEVICE
TYPES = {"fp16": torch.float16, "fp32": torch.float32, "bf16": torch.bfloat16, "tf32": torch.float32, "ieee_fp32": torch.float32}


# ---- the list ----
def published():
    base = dict(op="conv", x=[32, 112, 96, 128], filters=56, kernel=[3, 3], stride=[3, 3], padding=[1, 1], groups=1, bias=False, source="published")
    points = [{}] + [{"batch": b} for b in (16, 64)] + [{"stride": s} for s in (2, 4, 5)] + [{"kernel": k} for k in (5, 7)] + [{"filters": f} for f in (112, 224)]
    for point in points:
        for direction in ("forward", "backward"):
            for precision in ("fp32", "fp16"):
                op = dict(base, direction=direction, precision=precision)
                if "batch" in point:
                    op["x"] = [point["batch"], 112, 96, 128]
                if "stride" in point:
                    op["stride"] = [point["stride"]] * 2
                if "kernel" in point:
                    op["kernel"], op["padding"] = [point["kernel"]] * 2, [point["kernel"] // 2] * 2
                op["filters"] = point.get("filters", 56)
                yield op


def large():
    gemm = lambda m, n, k, p: dict(op="gemm", m=m, n=n, k=k, precision=p)
    for m, n, k, p in ((8192, 8192, 8192, "fp16"), (16384, 4096, 4096, "bf16"), (4096, 14336, 4096, "bf16"), (32768, 768, 3072, "fp16"), (8192, 4096, 4096, "tf32"), (4096, 4096, 4096, "ieee_fp32"),
                       (65536, 1024, 256, "fp16"), (256, 32768, 4096, "bf16")):
        yield gemm(m, n, k, p)
    for op in ("relu", "gelu", "add", "copy"):
        for p in ("fp16", "fp32"):
            yield dict(op=op, x=[64 << 20], precision=p)
    for p in ("fp16", "fp32"):
        yield dict(op="softmax", x=[65536, 1024], precision=p)
        yield dict(op="layer_norm", x=[65536, 1024], precision=p)
        yield dict(op="batch_norm", x=[64, 256, 56, 56], precision=p)
        yield dict(op="max_pool", x=[64, 64, 112, 112], kernel=[3, 3], stride=[2, 2], padding=[1, 1], precision=p)


def module_op(module, x):
    shape = list(x.shape)
    if isinstance(module, nn.Conv2d):
        return dict(op="conv", x=shape, filters=module.out_channels, kernel=list(module.kernel_size), stride=list(module.stride), padding=list(module.padding), groups=module.groups, bias=module.bias is not None)
    if isinstance(module, nn.ConvTranspose2d):
        return dict(op="conv_transpose", x=shape, filters=module.out_channels, kernel=list(module.kernel_size), stride=list(module.stride), bias=True)
    if isinstance(module, nn.Linear):
        m = 1
        for d in shape[:-1]:
            m *= d
        return dict(op="gemm", m=m, n=module.out_features, k=shape[-1], bias=module.bias is not None)
    if isinstance(module, nn.MaxPool2d):
        pair = lambda v: list(v) if isinstance(v, (tuple, list)) else [v, v]
        return dict(op="max_pool", x=shape, kernel=pair(module.kernel_size), stride=pair(module.stride), padding=pair(module.padding))
    for kind, name in ((nn.BatchNorm2d, "batch_norm"), (nn.LayerNorm, "layer_norm"), (nn.ReLU, "relu"), (nn.GELU, "gelu")):
        if isinstance(module, kind):
            return dict(op=name, x=shape)
    return None


def elements(op):
    if op["op"] == "gemm":
        return op["m"] * (op["n"] + op["k"]) + op["n"] * op["k"]
    n = 1
    for d in op["x"]:
        n *= d
    if op["op"] == "conv":
        s = op["x"][0] * op["filters"] * (op["x"][2] // op["stride"][0]) * (op["x"][3] // op["stride"][1])
        return n + s
    return 2 * n


def of_networks(each=13):
    from torchvision.models import resnet50
    import timm
    import families
    import torch_network
    makes = {
        "resnet50": (lambda: resnet50(), [64, 3, 224, 224]),
        "vit_b16": (lambda: timm.create_model("vit_base_patch16_224"), [64, 3, 224, 224]),
        "convnext_tiny": (lambda: timm.create_model("convnext_tiny"), [64, 3, 224, 224]),
        "bert_base": (lambda: networks.Bert(False, "gelu", 256), [64, 1]),
        "unet": (lambda: networks.unet(), [64, 3, 96, 128]),
        "mobilenet_v2": (lambda: torch_network.on_meta(families.build({"family": "mobilenet_v2"}, 224)), [64, 3, 224, 224]),
    }
    lists = []
    for name, (make, shape) in makes.items():
        seen = {}
        try:
            with torch.device("meta"):
                module = make().eval()
                hooks = [m.register_forward_pre_hook(lambda m, i: i and seen.setdefault(json.dumps(module_op(m, i[0])), module_op(m, i[0])) and None) for m in module.modules()]
                module(torch.empty(shape))
        except Exception as error:
            print("list:", name, error, file=sys.stderr)
        ops = sorted((op for op in seen.values() if op), key=elements, reverse=True)
        convs = [o for o in ops if o["op"] in ("conv", "gemm", "conv_transpose")]
        others = [o for o in ops if o not in convs]
        half = [*convs[:each - 4], *others[:4]]
        lists.append([dict(o, source=name, precision=p) for o in half for p in ("fp16",)])
    for i in range(each):
        for ops in lists:
            if i < len(ops):
                yield ops[i]


def make(op):
    """A function that runs the operator once."""
    p = op["precision"]
    torch.backends.cuda.matmul.allow_tf32 = p == "tf32"
    torch.backends.cudnn.allow_tf32 = p != "ieee_fp32"
    dtype = TYPES[p] if DEVICE == "cuda" else torch.float32
    r = lambda *shape: torch.randn(*shape, device=DEVICE, dtype=dtype)
    if op["op"] == "gemm":
        m, n, k = (op[v] // (64 if DRY else 1) or 1 for v in "mnk")
        a, b, bias = r(m, k), r(n, k), r(n) if op.get("bias") else None
        return lambda: F.linear(a, b, bias)
    shape = list(op["x"])
    if DRY:
        shape = [max(1, shape[0] // 64)] + [max(8, d // 4) for d in shape[1:]]
    x = r(*shape)
    if op["op"] in ("conv", "conv_transpose"):
        c = shape[1] if op.get("groups", 1) == 1 or not DRY else op["groups"]
        if DRY and op.get("groups", 1) != 1:
            x = r(shape[0], c, *shape[2:])
        if op["op"] == "conv_transpose":
            w, bias = r(c, op["filters"], *op["kernel"]), r(op["filters"])
            return lambda: F.conv_transpose2d(x, w, bias, op["stride"])
        w, bias = r(op["filters"], c // op["groups"], *op["kernel"]) * 0.1, r(op["filters"]) if op["bias"] else None
        if op.get("direction") == "backward":
            x.requires_grad_(), w.requires_grad_()
            y = F.conv2d(x, w, bias, op["stride"], op["padding"], 1, op["groups"])
            g = torch.randn_like(y)
            return lambda: torch.autograd.grad(y, (x, w), g, retain_graph=True)
        return lambda: F.conv2d(x, w, bias, op["stride"], op["padding"], 1, op["groups"])
    if op["op"] == "add":
        y = r(*shape)
        return lambda: x + y
    if op["op"] == "copy":
        y = torch.empty_like(x)
        return lambda: y.copy_(x)
    if op["op"] == "layer_norm":
        w, b = r(shape[-1]), r(shape[-1])
        return lambda: F.layer_norm(x, (shape[-1],), w, b)
    if op["op"] == "batch_norm":
        w, b, mean, var = r(shape[1]), r(shape[1]), r(shape[1]), r(shape[1]).abs() + 1
        return lambda: F.batch_norm(x, mean, var, w, b, False)
    if op["op"] == "max_pool":
        return lambda: F.max_pool2d(x, op["kernel"], op["stride"], op["padding"])
    if op["op"] == "softmax":
        return lambda: F.softmax(x, -1)
    return {"relu": lambda: F.relu(x), "gelu": lambda: F.gelu(x)}[op["op"]]


def sync():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def read(path):
    return [json.loads(line) for line in open(path)]


def run(ops, done, deadline):
    """Each operator once while the profiler listens, after one run that it does not see."""
    cudart = torch.cuda.cudart() if DEVICE == "cuda" else None
    with torch.no_grad(), open(done, "w") as f:
        for op in ops:
            if time.time() > deadline:
                break
            with torch.set_grad_enabled(op.get("direction") == "backward"):
                call = make(op)
                call()
            sync()
            if cudart:
                torch.cuda.nvtx.range_push("op:" + op["id"])
                cudart.cudaProfilerStart()
            begin = time.time()
            out = call()
            sync()
            if cudart:
                cudart.cudaProfilerStop()
                torch.cuda.nvtx.range_pop()
            f.write(f"{op['id']} {time.time() - begin:.3f}\n")
            f.flush()
            del call, out
            if DEVICE == "cuda":
                torch.cuda.empty_cache()


def times(ops, result, deadline):
    """Kernel names and median times of every operator: five warm runs, each apart from the next by a synchronisation."""
    from torch.profiler import ProfilerActivity, profile
    found = {}
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
    for start in range(0, len(ops), 24):
        if time.time() > deadline:
            break
        spans = []
        part = ops[start:start + 24]
        with profile(activities=activities) as seen:
            for op in part:
                with torch.set_grad_enabled(op.get("direction") == "backward"):
                    call = make(op)
                    for _ in range(3):
                        call()
                    sync()
                    for i in range(5):
                        with torch.profiler.record_function(f"op:{op['id']}:{i}"):
                            call()
                            sync()
                del call
                if DEVICE == "cuda":
                    torch.cuda.empty_cache()
        events = list(seen.events())
        for e in events:
            if e.name.startswith("op:") and str(e.device_type).endswith("CPU"):
                spans.append((e.time_range.start, e.time_range.end, e.name.split(":")[1]))
        spans.sort()
        kernels = sorted(((e.time_range.start, e.name, e.time_range.elapsed_us()) for e in events if str(e.device_type).endswith("CUDA") and not e.name.startswith("op:")))
        at = 0
        for begin, end, op in spans:
            names = []
            while at < len(kernels) and kernels[at][0] < begin:
                at += 1
            while at < len(kernels) and kernels[at][0] <= end:
                names.append(kernels[at][1:])
                at += 1
            found.setdefault(op, []).append(names)
        answer = {}
        for op, runs in found.items():
            whole = [r for r in runs if len(r) == len(runs[-1])]
            answer[op] = [[whole[-1][k][0], statistics.median(r[k][1] for r in whole)] for k in range(len(whole[-1]))]
        json.dump(answer, open(result, "w"))


def main():
    what = sys.argv[1]
    if what == "list":
        for name, ops in (("conv", published()), ("rest", [*large(), *of_networks()])):
            with open(os.path.join(sys.argv[2], f"ops_{name}.jsonl"), "w") as f:
                for i, op in enumerate(ops):
                    f.write(json.dumps(dict({"source": "large"}, id=f"{name}{i:03d}", **op)) + "\n")
        return
    ops = [op for path in sys.argv[2].split(",") for op in read(path)]
    (times if what == "times" else run)(ops[::7] if DRY else ops, sys.argv[3], float(sys.argv[4]))


main()
