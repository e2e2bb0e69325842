"""Writes the operator sweep as a plan: shapes of real networks (hooked out of torchvision) and seeded random ones around them."""
import argparse
import json
import random

import torch
import torchvision.models as tvm

NETWORKS = ["resnet18", "resnet50", "resnext50_32x4d", "wide_resnet50_2", "mobilenet_v2", "mobilenet_v3_large", "mobilenet_v3_small",
            "efficientnet_b0", "efficientnet_b4", "efficientnet_v2_s", "densenet121", "densenet161", "vgg16", "alexnet",
            "inception_v3", "googlenet", "squeezenet1_1", "shufflenet_v2_x1_0", "shufflenet_v2_x0_5", "mnasnet1_0",
            "regnet_y_1_6gf", "regnet_x_8gf", "convnext_tiny", "convnext_base", "vit_b_16", "swin_t"]
MAX_MACS, MAX_ELEMENTS = 1.5e11, 1 << 26
LOW = ("fp32", "fp16", "bf16")


def network_shapes():
    """(kind, parameters without batch) of every convolution and linear layer."""
    found = set()
    for name in NETWORKS:
        extra = {"init_weights": False} if name in ("inception_v3", "googlenet") else {}
        m = getattr(tvm, name)(weights=None, **extra).eval()

        def hook(module, inputs, output):
            x = inputs[0]
            if isinstance(module, torch.nn.Conv2d):
                found.add(("conv2d", (x.shape[1], module.out_channels, x.shape[2], x.shape[3], *module.kernel_size, module.stride[0],
                                      *module.padding, module.dilation[0], module.groups, int(module.bias is not None))))
            elif isinstance(module, torch.nn.Linear):
                found.add(("linear", (x.numel() // x.shape[-1], module.in_features, module.out_features)))
        for module in m.modules():
            module.register_forward_hook(hook)
        with torch.no_grad():
            m(torch.zeros(1, 3, 299 if name == "inception_v3" else 224, 299 if name == "inception_v3" else 224))
    return sorted(found)


def conv(c, o, h, w, kh, kw, s, ph, pw, d, g, bias, batch):
    return dict(op="conv2d", batch=batch, in_channels=c, out_channels=o, height=h, width=w, kernel_h=kh, kernel_w=kw, stride=s,
                padding_h=ph, padding_w=pw, dilation=d, groups=g, bias=bias)


def conv_cost(p):
    oh = (p["height"] + 2 * p["padding_h"] - p["dilation"] * (p["kernel_h"] - 1) - 1) // p["stride"] + 1
    ow = (p["width"] + 2 * p["padding_w"] - p["dilation"] * (p["kernel_w"] - 1) - 1) // p["stride"] + 1
    if oh < 1 or ow < 1:
        return None
    out = p["batch"] * p["out_channels"] * oh * ow
    return out * p["in_channels"] // p["groups"] * p["kernel_h"] * p["kernel_w"], max(out, p["batch"] * p["in_channels"] * p["height"] * p["width"])


def fits(p):
    cost = conv_cost(p)
    return cost is not None and cost[0] < MAX_MACS and cost[1] < MAX_ELEMENTS


def batches(r):
    return r.choice([1, 1, 2, 4, 8, 8, 16, 32, 32, 64, 128])


def random_conv(r):
    """One of the families of convolution, at sizes where networks use it: channels grow as the image shrinks."""
    kind = r.choice(["1x1"] * 5 + ["3x3"] * 5 + ["5x5", "7x7", "stem", "grouped", "grouped", "depthwise", "depthwise", "depthwise",
                                                "dilated", "rect", "odd"])
    level = r.randrange(5)
    h = r.choice([112, 96, 128, 160, 150] if level == 0 else [56, 64, 48, 75, 80] if level == 1 else [28, 32, 35, 24, 40] if level == 2
                 else [14, 16, 17, 12, 20, 26] if level == 3 else [7, 8, 10, 6, 13])
    c = r.choice([[16, 24, 32, 48, 64], [24, 32, 64, 96, 128, 160], [40, 64, 128, 192, 256, 384], [80, 112, 256, 384, 512, 768, 1024],
                  [160, 320, 512, 960, 1024, 2048]][level])
    o = r.choice([c, c, c // 2, c * 2, c * 4 if level < 4 else c, max(8, c // 4), r.choice([32, 64, 128, 256, 512])])
    k, s, d, g, kw = 3, r.choice([1, 1, 1, 2]), 1, 1, None
    if kind == "1x1":
        k, s = 1, r.choice([1, 1, 1, 1, 2])
    elif kind in ("5x5", "7x7"):
        k = int(kind[0])
    elif kind == "stem":
        k, s, c, o, h = r.choice([(7, 2), (3, 2), (4, 4), (16, 16), (14, 14), (11, 4), (3, 1)]) + (r.choice([3, 3, 3, 1, 4]), r.choice([16, 32, 64, 96, 128, 384, 768]), r.choice([224, 256, 192, 128, 96, 288, 384]))
    elif kind == "grouped":
        g = r.choice([2, 4, 8, 16, 32])
        c, o = max(g * 4, c // g * g), max(g * 4, o // g * g)
    elif kind == "depthwise":
        k, o, g = r.choice([3, 3, 5, 7]), c, c
    elif kind == "dilated":
        d, s = r.choice([2, 4, 6, 12]), 1
    elif kind == "rect":
        k, kw, s = r.choice([(1, 7), (7, 1), (1, 3), (3, 1)]) + (1,)
    elif kind == "odd":
        c, o, k = c + r.randrange(1, 9), o + r.randrange(1, 9), r.choice([1, 3])
    kw = kw or k
    ph, pw = (0, 0) if kind == "stem" and k == s else (d * (k - 1) // 2, d * (kw - 1) // 2)
    w = h if r.random() < 0.85 else int(h * r.choice([1.25, 1.5, 2]))
    return conv(c, o, h, w, k, kw, s, ph, pw, d, g, int(r.random() < 0.3), batches(r))


def elements(r):
    return int(2 ** r.uniform(10, 26)) // 8 * 8


def image(r, limit=MAX_ELEMENTS):
    while True:
        level = r.randrange(5)
        h = r.choice([[112, 128, 96], [56, 64, 80], [28, 32, 40], [14, 16, 20], [7, 8, 10]][level])
        c = r.choice([[16, 32, 64], [24, 64, 96, 128, 256], [40, 128, 192, 512], [112, 256, 384, 1024], [320, 512, 960, 2048]][level])
        b = batches(r)
        if b * c * h * h < limit:
            return dict(batch=b, in_channels=c, height=h, width=h)


def rows_cols(r):
    while True:
        rows = r.choice([1, 8, 32, 49, 64, 128, 196, 197, 256, 512, 577, 1024, 2048, 3136]) * r.choice([1, 1, 2, 4, 8, 16, 32])
        cols = r.choice([48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 8192])
        if rows * cols < MAX_ELEMENTS:
            return dict(rows=rows, cols=cols)


def random_linear(r):
    while True:
        k = r.choice([64, 96, 128, 192, 256, 320, 384, 512, 768, 1024, 1280, 1536, 2048, 2560, 3072, 4096, 5120, 8192, 100, 250, 1000])
        n = r.choice([k, k, 3 * k, 4 * k, int(8 * k / 3) // 64 * 64 or k, k // 4 or 8, 1000, 10, 32000 if k <= 4096 else k])
        m = r.choice([1, 1, 2, 4, 8, 16, 32, 64, 128, 197, 256, 394, 512, 784, 1024, 1576, 2048, 3136, 4096, 6304, 8192, 12544])
        if m * n * k < MAX_MACS and m * max(n, k) < MAX_ELEMENTS and n * k < 1.4e8:
            return dict(op="linear", m=m, n=n, k=k, bias=int(r.random() < 0.6))


def random_attention(r):
    while True:
        decode = r.random() < 0.3
        dim = r.choice([32, 64, 64, 64, 80, 96, 128, 128])
        heads = r.choice([2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40])
        ratio = r.choice([1, 1, 1, 2, 4, 8]) if decode or r.random() < 0.4 else 1
        batch = r.choice([1, 1, 2, 4, 8, 16, 32, 64])
        kv = r.choice([64, 128, 256, 512, 1024, 2048, 4096]) if decode else r.choice([49, 64, 128, 196, 197, 256, 512, 577, 1024, 2048, 4096])
        if heads % ratio or batch * heads * kv * dim > MAX_ELEMENTS or (not decode and batch * heads * kv * kv * dim > 6e10):
            continue
        return dict(op="attention", batch=batch, heads=heads, kv_heads=heads // ratio, head_dim=dim, query_len=1 if decode else kv,
                    kv_len=kv, causal=0 if decode else int(r.random() < 0.5))


def random_conv3d(r):
    while True:
        c, o = r.choice([3, 16, 32, 64, 64, 128, 256, 512]), r.choice([16, 32, 45, 64, 128, 256, 512])
        k = r.choice([(3, 3, 3), (3, 3, 3), (1, 3, 3), (3, 1, 1), (1, 1, 1), (3, 7, 7)])
        p = dict(op="conv3d", batch=r.choice([1, 2, 4, 8]), in_channels=c, out_channels=o, depth=r.choice([2, 4, 8, 16]),
                 height=(h := r.choice([7, 14, 28, 56, 112])), width=h, kernel_d=k[0], kernel_h=k[1], kernel_w=k[2],
                 stride_d=r.choice([1, 1, 2]), stride=r.choice([1, 1, 2]), groups=c if r.random() < 0.05 and o == c else 1)
        volume = p["batch"] * p["depth"] * h * h
        if volume * c * o * k[0] * k[1] * k[2] < MAX_MACS and volume * max(c, o) < MAX_ELEMENTS:
            return p


def random_transposed(r):
    while True:
        k, s, pad = r.choice([(2, 2, 0), (2, 2, 0), (4, 2, 1), (3, 1, 1)])
        p = dict(op="conv_transpose2d", batch=batches(r), in_channels=r.choice([32, 56, 64, 112, 128, 224, 256, 448, 512]),
                 out_channels=r.choice([16, 32, 56, 64, 112, 128, 224, 256]), height=(h := r.choice([7, 12, 14, 16, 24, 28, 32, 48, 56, 64])),
                 width=h, kernel_h=k, kernel_w=k, stride=s, padding_h=pad, padding_w=pad, bias=r.randrange(2))
        if p["batch"] * h * h * p["in_channels"] * p["out_channels"] * k * k < MAX_MACS / 2 and p["batch"] * h * h * 4 * p["out_channels"] < MAX_ELEMENTS:
            return p


def random_permute(r):
    while True:
        if r.random() < 0.5:
            i = image(r)
            shape, order = [i["batch"], i["in_channels"], i["height"], i["width"]], r.choice([[0, 2, 3, 1], [0, 1, 3, 2]])
        elif r.random() < 0.5:
            shape, order = [batches(r), r.choice([49, 64, 197, 256, 512, 1024]), r.choice([3, 6, 12, 16, 32]), r.choice([32, 64, 128])], [0, 2, 1, 3]
        else:
            shape, order = [batches(r), r.choice([49, 196, 512, 1024, 3136]), r.choice([96, 192, 384, 768, 1024])], [0, 2, 1]
        n = 1
        for d in shape:
            n *= d
        if n < MAX_ELEMENTS:
            return dict(op="permute", shape=shape, order=order)


def random_pool(r):
    p = image(r, MAX_ELEMENTS // 2)
    kind = r.choice(["max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"])
    if kind == "adaptive_avg_pool2d":
        return dict(op=kind, out_size=r.choice([1, 1, 1, 7]), **p)
    k, s, pad = r.choice([(2, 2, 0), (3, 2, 1), (3, 1, 1), (3, 2, 0)])
    return dict(op=kind, kernel_h=k, stride=s, padding_h=pad, **p)


def forward_points(r):
    """(parameters, precisions) of every forward point."""
    for kind, s in network_shapes():
        if kind == "conv2d":
            picks = r.sample([1, 8, 32, 64], 2)
            for b in picks:
                p = conv(*s, b)
                if fits(p) and r.random() < 0.62:
                    yield p, r.sample(LOW, 2) + (["ieee_fp32"] if r.random() < 0.06 else [])
        else:
            for b in r.sample([1, 8, 32], 2):
                yield dict(op="linear", m=s[0] * b, k=s[1], n=s[2], bias=1), r.sample(["fp32", "tf32", "fp16", "bf16"], 2)
    made = 0
    while made < 650:
        p = random_conv(r)
        if fits(p):
            made += 1
            yield p, r.sample(LOW, 2) + (["ieee_fp32"] if r.random() < 0.1 else [])
    for _ in range(420):
        yield random_linear(r), r.sample(["fp32", "tf32", "fp16", "bf16"], 3)
    for _ in range(170):
        while True:
            b, m, n, k = r.choice([1, 4, 8, 12, 16, 32, 64, 96, 128, 256]), *(r.choice([1, 32, 49, 64, 96, 128, 197, 256, 512, 1024, 2048]) for _ in range(3))
            if b * m * n * k < MAX_MACS / 3 and b * max(m * n, m * k, k * n) < MAX_ELEMENTS:
                break
        yield dict(op="bmm", batch=b, m=m, n=n, k=k), r.sample(["fp32", "tf32", "fp16", "bf16"], 2)
    for _ in range(280):
        yield random_attention(r), ["fp16", "bf16"] if r.random() < 0.6 else ["fp32", r.choice(["fp16", "bf16"])]
    for _ in range(70):
        yield random_conv3d(r), r.sample(LOW, 2)
        yield random_transposed(r), r.sample(LOW, 2)
    for op, n in (("layer_norm", 110), ("rms_norm", 90), ("softmax", 110), ("bias_add", 70)):
        for _ in range(n):
            yield dict(op=op, **rows_cols(r)), r.sample(LOW, 2)
    for _ in range(140):
        yield dict(op="batch_norm", **image(r)), r.sample(LOW, 2)
    for _ in range(90):
        p = image(r)
        yield dict(op="group_norm", groups=r.choice([1, 1, 8, 32] if p["in_channels"] % 32 == 0 else [1, 8]), **p), r.sample(LOW, 2)
    for f in ("relu", "gelu", "gelu_tanh", "silu", "hardswish", "hardsigmoid", "sigmoid", "tanh", "relu6", "exp", "scale", "pow2", "erf", "copy"):
        for _ in range(26):
            yield dict(op="unary", function=f, elements=elements(r)), r.sample(LOW, 2)
    for f in ("add", "mul", "sub", "div"):
        for _ in range(40):
            yield dict(op="binary", function=f, elements=elements(r)), r.sample(LOW, 2)
    for _ in range(40):
        yield dict(op="relu_inplace", elements=elements(r)), r.sample(LOW, 2)
        yield dict(op="cast", elements=elements(r)), LOW
    for _ in range(60):
        yield dict(op="channel_scale", **image(r)), r.sample(LOW, 2)
    for _ in range(170):
        yield random_pool(r), r.sample(LOW, 2)
    for _ in range(60):
        p = rows_cols(r)
        yield dict(op="mean", batch=batches(r), rows=r.choice([49, 196, 197, 784]), cols=r.choice([96, 192, 384, 768, 1024]), axis=r.choice([1, 2])), r.sample(LOW, 2)
        yield dict(op="embedding", rows=r.choice([1024, 8192, 30522, 50257, 32000]), cols=r.choice([128, 256, 512, 768, 1024, 2048]), m=r.choice([1, 8, 32, 128, 512, 2048, 8192])), r.sample(LOW, 2)
        yield dict(op="upsample", scale=2, function=r.choice(["nearest", "bilinear"]), **image(r, MAX_ELEMENTS // 8)), r.sample(LOW, 2)
    for _ in range(80):
        yield dict(op="concat", inputs=r.choice([2, 2, 3, 4]), **image(r, MAX_ELEMENTS // 4)), r.sample(LOW, 2)
    for _ in range(110):
        yield random_permute(r), r.sample(LOW, 2)


def backward_points(r):
    shapes = [s for kind, s in network_shapes() if kind == "conv2d"]
    made = 0
    while made < 200:
        p = conv(*r.choice(shapes), r.choice([4, 8, 16, 32])) if r.random() < 0.6 else random_conv(r)
        if fits(p) and conv_cost(p)[0] < MAX_MACS / 6:
            made += 1
            yield p, r.sample(LOW, 2)
    for _ in range(110):
        p = random_linear(r)
        if p["m"] * p["n"] * p["k"] < MAX_MACS / 3:
            yield p, r.sample(["fp32", "fp16", "bf16"], 2)
    for _ in range(30):
        p = random_attention(r)
        if p["query_len"] > 1 and p["kv_heads"] == p["heads"]:
            yield p, ["bf16", r.choice(["fp16", "fp32"])]
        yield dict(op="layer_norm", **rows_cols(r)), r.sample(LOW, 2)
        yield dict(op="batch_norm", **image(r)), r.sample(LOW, 2)
        yield dict(op="softmax", **rows_cols(r)), r.sample(LOW, 2)
        yield dict(op="unary", function=r.choice(["relu", "gelu", "silu", "hardswish", "sigmoid"]), elements=elements(r)), r.sample(LOW, 2)
        yield random_pool(r), r.sample(LOW, 2)
    for _ in range(12):
        yield dict(op="group_norm", groups=1, **image(r)), r.sample(LOW, 2)
        yield dict(op="cross_entropy", rows=r.choice([8, 32, 64, 256, 1024]), cols=r.choice([10, 1000, 32000])), ["fp32"]


def optimizer_points(r):
    for function in ("sgd", "sgd_momentum", "adam", "adamw"):
        for n in (1e5, 1e6, 5e6, 2.5e7, 6e7, 1e8):
            for tensors in (8, 64, 160, 480):
                yield dict(op="optimizer", function=function, elements=int(n), tensors=tensors), ["fp32"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--energy-points", type=int, default=110)
    a = parser.parse_args()
    r = random.Random(a.seed)
    rows, seen = [], set()
    for direction, points in (("forward", forward_points(r)), ("backward", backward_points(r)), ("step", optimizer_points(r))):
        for spec, precisions in points:
            for precision in precisions:
                key = json.dumps([direction, spec, precision], sort_keys=True)
                if key not in seen:
                    seen.add(key)
                    rows.append(dict(mode="operator", operator=spec, direction=direction, precision=precision))
    r.shuffle(rows)
    energy = 0
    per = {}
    for i, row in enumerate(rows):
        row["id"] = f"o{i:05d}"
        p = row["operator"]
        big = p.get("elements", 0) > 4e6 or p["op"] in ("linear", "bmm", "attention", "conv2d") or p.get("rows", 0) * p.get("cols", 0) > 2e6
        if row["direction"] == "forward" and big and energy < a.energy_points and per.get(p["op"], 0) < 22:
            row["settings"] = {"energy_window_s": 0.6}
            per[p["op"]] = per.get(p["op"], 0) + 1
            energy += 1
    with open(a.out, "w") as f:
        for row in rows:
            f.write(json.dumps(row) + "\n")
    counts = {}
    for row in rows:
        key = row["operator"]["op"] + ("" if row["direction"] == "forward" else " " + row["direction"])
        counts[key] = counts.get(key, 0) + 1
    print(len(rows), "points,", energy, "with energy:", json.dumps(counts))


if __name__ == "__main__":
    main()
