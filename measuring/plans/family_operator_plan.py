"""Writes an operator sweep: convolutions, linear layers and upsamplings as the generated families use them (other seeds than the campaigns').

With --all-kinds norms, activations, sums, pools and attention too; these are a quarter of the points. With --backward their gradients, as training steps run them."""
import argparse
import json
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "networks"))
import families
import sampler
from points import Points

MAX_MACS, MAX_ELEMENTS = 1.5e11, 1 << 27
UNUSUAL = {"regnet", "nasbench201", "cnn3d", "unet", "segmentation", "vit", "resnet", "densenet"}  # their shapes are rare in other sweeps: twice the points
KNOWN_ACTIVATIONS = {"relu", "gelu", "silu", "hardswish", "hardsigmoid", "sigmoid", "relu6", "tanh"}
BATCHES = [1, 2, 4, 8, 16, 16, 32, 32, 64, 64, 128]


def operator_of(op, builder):
    """The operation as the worker's operator without its batch, its multiply-accumulates, and its largest tensor; or nothing."""
    a, elements, source = op.attributes, math.prod(op.shape), builder.shapes[op.inputs[0]] if op.inputs else ()
    if op.kind == "conv":
        k = a["kernel"]
        macs = math.prod(k) * (elements * a["cin"] // a["groups"])
        common = dict(in_channels=a["cin"], out_channels=op.shape[0], height=source[-2], width=source[-1], groups=a["groups"], kernel_h=k[-2], kernel_w=k[-1], stride=a["stride"][-1])
        if len(k) == 3:
            if a["padding"] != tuple(d // 2 for d in k):
                return None
            return dict(op="conv3d", depth=source[1], kernel_d=k[0], stride_d=a["stride"][0], **common), macs, max(elements, math.prod(source))
        return (dict(op="conv2d", padding_h=a["padding"][0], padding_w=a["padding"][1], dilation=a["dilation"][0], bias=int(a["bias"]), **common), macs,
                max(elements, math.prod(source)))
    if op.kind == "deconv":
        return (dict(op="conv_transpose2d", in_channels=a["cin"], out_channels=op.shape[0], height=source[1], width=source[2], kernel_h=a["kernel"], kernel_w=a["kernel"],
                     stride=a["stride"], padding_h=a["padding"], padding_w=a["padding"], bias=int(a["bias"])), elements * a["cin"], elements)
    if op.kind == "linear":
        return dict(op="linear", rows_of_one=elements // op.shape[-1], n=op.shape[-1], k=a["cin"], bias=int(a["bias"])), elements * a["cin"], elements
    if op.kind == "upsample":
        return dict(op="upsample", scale=a["scale"], function=a["mode"], in_channels=source[0], height=source[1], width=source[2]), 0, elements
    return None


def other_operator_of(op, builder):
    """Those that --all-kinds adds, likewise; `elements`, `rows` and `m` are those of one sample."""
    a, elements, source = op.attributes, math.prod(op.shape), builder.shapes[op.inputs[0]] if op.inputs else ()
    if op.kind in ("bn", "group_norm", "max_pool", "avg_pool") and len(source) == 3:
        image = dict(in_channels=source[0], height=source[1], width=source[2])
        if op.kind == "bn":
            return dict(op="batch_norm", **image), 0, elements
        if op.kind == "group_norm":
            return dict(op="group_norm", groups=a["groups"], **image), 0, elements
        if len(set(a["kernel"])) == len(set(a["stride"])) == len(set(a["padding"])) == 1 and not a["ceil"]:
            return dict(op=op.kind + "2d", kernel_h=a["kernel"][0], stride=a["stride"][0], padding_h=a["padding"][0], **image), 0, math.prod(source)
    if op.kind == "layer_norm":
        return dict(op="layer_norm", rows=elements // op.shape[-1], cols=op.shape[-1]), 0, elements
    if op.kind == "act" and a["name"] in KNOWN_ACTIVATIONS:
        return dict(op="unary", function=a["name"], elements=elements), 0, elements
    if op.kind in ("add", "mul") and op.shape == source:
        return dict(op="binary", function=op.kind, elements=elements), 0, elements
    if op.kind == "attention":
        return (dict(op="attention", heads=a["heads"], kv_heads=a["heads"], head_dim=op.shape[1] // a["heads"], query_len=op.shape[0], kv_len=op.shape[0], causal=0),
                2 * elements * op.shape[0], 3 * elements)
    return None


def with_batch(spec, batch):
    spec = dict(spec, batch=batch)
    for name, of_one in (("m", "rows_of_one"), ("rows", "rows"), ("elements", "elements")):
        if of_one in spec:
            spec[name] = spec.pop(of_one) * spec.pop("batch")
    return spec


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--networks", type=int, default=10, help="of each family")
    parser.add_argument("--points", type=int, default=150, help="of each family")
    parser.add_argument("--all-kinds", action="store_true")
    parser.add_argument("--backward", action="store_true", help="gradients alone, in fp32 and bf16; depthwise 7×7 convolutions also channels last, as ConvNeXt's lie")
    parser.add_argument("--quick", action="store_true", help="shorter replays: more points in the same time")
    parser.add_argument("--letter", default="f", help="of the points' names")
    a = parser.parse_args()
    r = random.Random(a.seed)
    points = Points()
    for family in sampler.FAMILIES:
        found, others = {}, {}
        for _ in range(a.networks):
            spec, resolution = sampler.sample(family, r)
            try:
                builder = families.build(spec, resolution)
            except ValueError:
                continue
            for op in builder.operations:
                made = operator_of(op, builder)
                if made:
                    found[json.dumps(made[0], sort_keys=True)] = made
                made = other_operator_of(op, builder) if a.all_kinds else None
                if made:
                    others[json.dumps(made[0], sort_keys=True)] = made
        shapes, other_shapes = [found[k] for k in sorted(found)], [others[k] for k in sorted(others)]
        made = tries = 0
        wanted = a.points * (2 if family in UNUSUAL else 1)
        while shapes and made < wanted and tries < 20 * wanted:
            tries += 1
            spec, macs, elements = r.choice(other_shapes if other_shapes and r.random() < 0.25 else shapes)
            batch = r.choice(BATCHES)
            if macs * batch > MAX_MACS or elements * batch > MAX_ELEMENTS:
                continue
            spec = with_batch(spec, batch)
            if a.backward:
                if spec["op"] == "conv2d" and spec["groups"] == spec["in_channels"] and spec["kernel_h"] == 7 and r.random() < 0.5:
                    spec["channels_last"] = 1
                made += points.add(spec, "backward", r.choice(["fp32", "bf16"]))
                continue
            direction = "backward" if spec["op"] == "conv2d" and r.random() < 0.12 else "forward"
            made += points.add(spec, direction, r.choice(["fp32", "fp16", "bf16"]))
    points.write(a.out, r, a.letter, {"replay_us": 600, "replays": 5} if a.quick else None)
    counts = {}
    for row in points.rows:
        counts[row["operator"]["op"]] = counts.get(row["operator"]["op"], 0) + 1
    print(len(points.rows), "points:", json.dumps(counts))


if __name__ == "__main__":
    main()
