"""Writes a third operator sweep: shapes whose kernels the others do not show. Patch embeddings, grouped convolutions of every group width, stems
of three-dimensional networks, group norms with few rows, attention of one query over long caches; with --channels-last convolutions of images that
lie so."""
import argparse
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "measuring", "plans"))
from points import Points

MAX_MACS, MAX_ELEMENTS = 1.0e11, 1 << 26
BATCHES = [1, 1, 2, 4, 8, 16, 32, 64]


def patch(r):
    side = r.choice([8, 14, 16, 28, 32, 32, 32])
    pixels = side * r.randint(3, 16)
    return dict(op="conv2d", batch=r.choice(BATCHES), in_channels=3, out_channels=8 * r.randint(12, 160), height=pixels, width=pixels, kernel_h=side, kernel_w=side,
                stride=side, padding_h=0, padding_w=0, dilation=1, groups=1, bias=1)


def grouped(r):
    width, groups = 8 * r.randint(1, 10), r.choice([2, 3, 4, 6, 8, 12, 16, 24, 32])
    pixels = r.choice([7, 10, 14, 20, 28, 40, 56, 80])
    kernel = r.choice([3, 3, 3, 5])
    return dict(op="conv2d", batch=r.choice(BATCHES), in_channels=width * groups, out_channels=width * groups, height=pixels, width=pixels, kernel_h=kernel, kernel_w=kernel,
                stride=r.choice([1, 1, 2]), padding_h=kernel // 2, padding_w=kernel // 2, dilation=1, groups=groups, bias=0)


def stem3d(r):
    pixels, kernel = r.choice([48, 64, 80, 96, 112]), r.choice([3, 3, 5])
    return dict(op="conv3d", batch=r.choice(BATCHES[:6]), in_channels=r.choice([1, 3, 3, 8, 16]), out_channels=8 * r.randint(2, 12), depth=r.choice([4, 8, 16]), height=pixels,
                width=pixels, kernel_d=kernel, kernel_h=kernel, kernel_w=kernel, stride_d=r.choice([1, 2]), stride=r.choice([1, 2]), groups=1)


def group_norm(r):
    channels = 16 * r.randint(2, 40)
    pixels = r.choice([7, 10, 14, 20, 28, 40, 56, 80])
    return dict(op="group_norm", batch=r.choice(BATCHES), in_channels=channels, height=pixels, width=pixels, groups=r.choice([1, 1, 1, 8, 16]))


def one_query(r):
    kv = r.choice([1, 2, 4, 8, 12, 16])
    return dict(op="attention", batch=r.choice(BATCHES), heads=kv * r.choice([1, 1, 2, 4]), kv_heads=kv, head_dim=r.choice([32, 64, 64, 80, 96, 128, 256]), query_len=1,
                kv_len=r.choice([64, 128, 256, 512, 1024, 2048, 4096, 6144, 8064]), causal=0)


def elements(p):
    if p["op"] == "attention":
        return p["batch"] * p["heads"] * p["kv_len"] * p["head_dim"]
    return p["batch"] * max(p["in_channels"], p.get("out_channels", 0)) * p["height"] * p["width"] * p.get("depth", 1)


def macs(p):
    if "out_channels" not in p:
        return 0
    positions = p["height"] * p["width"] * p.get("depth", 1) // p["stride"] ** 2 // p.get("stride_d", 1)
    return p["batch"] * p["out_channels"] * positions * p["in_channels"] // p["groups"] * p["kernel_h"] * p["kernel_w"] * p.get("kernel_d", 1)


def channels_last(r):
    channels, kernel, pixels = 8 * r.randint(4, 128), r.choice([3, 5, 7, 7, 7]), r.choice([5, 7, 8, 10, 14, 16, 20, 28, 32, 40, 56, 80])
    depthwise = r.random() < 0.8
    side, stride = (kernel, 1) if depthwise else r.choice([(2, 2), (3, 1), (3, 2)])
    return dict(op="conv2d", batch=r.choice(BATCHES + [128]), in_channels=channels, out_channels=channels if depthwise else 8 * r.randint(4, 128), height=pixels, width=pixels,
                kernel_h=side, kernel_w=side, stride=stride, padding_h=(side - 1) // 2, padding_w=(side - 1) // 2, dilation=1, groups=channels if depthwise else 1, bias=1,
                channels_last=1)


KINDS = [(patch, 380), (grouped, 900), (stem3d, 220), (group_norm, 300), (one_query, 360)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--channels-last", action="store_true")
    a = parser.parse_args()
    r = random.Random(a.seed)
    points = Points()
    for kind, wanted in [(channels_last, 600)] if a.channels_last else KINDS:
        made = 0
        while made < wanted:
            spec = kind(r)
            if macs(spec) > MAX_MACS or elements(spec) > MAX_ELEMENTS:
                continue
            direction = "backward" if kind in (grouped, channels_last) and r.random() < 0.2 else "forward"
            made += points.add(spec, direction, r.choice(["fp32", "fp16", "bf16"]))
    points.write(a.out, r, "c" if a.channels_last else "r")
    print(len(points.rows), "points")


if __name__ == "__main__":
    main()
