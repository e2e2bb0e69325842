"""Turns profiles of training steps (measuring/worker/step_profile.py) into a campaign's operators.csv: what a step runs beside inference, timed inside it.

python3 measuring/plans/profile_to_operators.py OUT.csv PROFILES.jsonl[.gz]...

A profile times kernels alone. Between two kernels of a step whose device is never idle pass GAP_US (steps that wait for no host take that much longer than
their kernels, a kernel), and a kernel's row holds it, as rows timed inside a CUDA graph hold theirs."""
import csv
import gzip
import json
import sys

from results_to_csv import OPERATOR, short

GAP_US = 1.7
UNARY = {"aten::threshold_backward": "relu", "aten::hardtanh_backward": "relu6", "aten::gelu_backward": "gelu", "aten::silu_backward": "silu",
         "aten::hardswish_backward": "hardswish", "aten::hardsigmoid_backward": "hardsigmoid", "aten::sigmoid_backward": "sigmoid"}
FORWARD_UNARY = {"aten::clamp_min_": "relu", "aten::hardtanh_": "relu6", "aten::gelu": "gelu", "aten::silu_": "silu", "aten::hardswish_": "hardswish", "aten::sigmoid": "sigmoid"}
PRODUCTS = {"conv2d", "conv3d", "conv2d_weight", "conv3d_weight", "conv_transpose2d", "linear", "linear_input_gradient", "linear_weight_gradient", "bmm"}  # in 16 bits under autocast, whatever their kernels are called
FORWARD_NORMS = {"aten::cudnn_batch_norm", "aten::native_batch_norm"}
BACKWARD_NORMS = {"aten::cudnn_batch_norm_backward": 0, "aten::native_batch_norm_backward": 1}  # which operand is the input
COUNTER = "[[], [], []]"  # operands of the addition by which a batch norm counts its batches


def product(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def image(shape):
    """Of two or three dimensions: the planes of a volume lie one below the other."""
    return dict(batch=shape[0], in_channels=shape[1], height=product(shape[2:-1]), width=shape[-1]) if len(shape) > 3 else None


def values(others):
    return [json.loads(v.replace("True", "true").replace("False", "false")) for v in others]


def convolution(x, w, stride, padding, dilation, transposed, groups):
    if len(x) == 4 and not transposed:
        return dict(op="conv2d", batch=x[0], in_channels=x[1], height=x[2], width=x[3], out_channels=w[0], kernel_h=w[2], kernel_w=w[3], stride=stride[0],
                    padding_h=padding[0], padding_w=padding[-1], dilation=dilation[0], groups=groups, bias=0)
    if len(x) == 4 and groups == 1:
        return dict(op="conv_transpose2d", batch=x[0], in_channels=x[1], height=x[2], width=x[3], out_channels=w[1], kernel_h=w[2], kernel_w=w[3], stride=stride[0],
                    padding_h=padding[0], bias=0)
    if len(x) == 5 and not transposed and all(p == k // 2 for p, k in zip(padding, w[2:])):
        return dict(op="conv3d", batch=x[0], in_channels=x[1], depth=x[2], height=x[3], width=x[4], out_channels=w[0], kernel_d=w[2], kernel_h=w[3], kernel_w=w[4],
                    stride_d=stride[0], stride=stride[1], groups=groups)
    return None


def pool(op, x, others):
    kernel, stride, padding = values(others)
    return dict(image(x), op=op, kernel_h=kernel[0], stride=(stride or kernel)[0], padding_h=padding[0]) if kernel[0] == kernel[-1] and image(x) else None


def upsample(x, large):
    scale = large[0] // x[2]
    return dict(image(x), op="upsample", function="bilinear", scale=scale) if large == [x[2] * scale, x[3] * scale] else None


def scaled(shapes):
    """The image of a product with one number a channel."""
    first, second = shapes[:2]
    return image(first) if len(first) == 4 and second == [first[0], first[1], 1, 1] and first != second else None


def linear_gradient(shapes, linears):
    """Which gradient of which of a step's linear layers (m, k, n) a product is."""
    (a, b), (_, c) = shapes
    found = [dict(op=f"linear_{of}_gradient", m=m, k=k, n=n, bias=1) for of, (m, k, n) in (("input", (a, c, b)), ("weight", (b, c, a))) if (m, k, n) in linears]
    return found[0] if len(found) == 1 else None


def described(name, caller, shapes, others, linears):
    """(operator's fields, direction), or None for what other sweeps hold or networks hardly have."""
    first = shapes[0] if shapes else []
    if name in FORWARD_NORMS and image(first):
        return dict(image(first), op="batch_norm"), "training"
    if name in BACKWARD_NORMS and image(shapes[BACKWARD_NORMS[name]]):
        return dict(image(shapes[BACKWARD_NORMS[name]]), op="batch_norm"), "backward"
    if name == "aten::convolution_backward":
        stride, padding, dilation, transposed, _, groups, mask = values(others[4:11])
        fields = convolution(shapes[1], shapes[2], stride, padding, dilation, transposed, groups)
        if fields and not mask[0]:  # a network's first: its input is data
            fields["op"] += "_weight"
        return fields, "backward"
    if name == "aten::cudnn_convolution":
        padding, stride, dilation, groups = values(others[2:6])
        return convolution(shapes[0], shapes[1], stride, padding, dilation, False, groups), "training"
    if name == "aten::_conv_depthwise2d":
        stride, padding, dilation = values([others[4], others[5], others[6]])
        return convolution(shapes[0], shapes[1], stride, padding, dilation, False, shapes[0][1]), "training"
    if name == "aten::addmm":
        return dict(op="linear", m=shapes[1][0], k=shapes[1][1], n=shapes[2][1], bias=1), "training"
    if name == "aten::mm" and caller.endswith("AddmmBackward0"):
        return linear_gradient(shapes, linears), "backward"
    if name == "aten::bmm" and caller == "aten::matmul":
        return dict(op="bmm", batch=first[0], m=first[1], k=first[2], n=shapes[1][2]), "training"
    if name in ("aten::add", "aten::add_", "aten::mul") and not caller and first and first == shapes[1]:
        return dict(op="binary", function=name[6:9], elements=product(first)), "training"
    if name == "aten::mul" and not caller and scaled(shapes):
        return dict(scaled(shapes), op="channel_scale"), "training"
    if name == "aten::add_" and caller == "aten::conv2d" and image(first):
        return dict(image(first), op="conv_bias_addition"), "training"
    if name == "aten::native_group_norm" and image(first):
        return dict(image(first), op="group_norm", groups=int(others[6])), "training"
    if name == "aten::native_group_norm_backward" and image(shapes[1]):
        return dict(image(shapes[1]), op="group_norm", groups=int(others[8])), "backward"
    if name == "aten::upsample_bilinear2d":
        return upsample(first, values(others[1:2])[0]), "training"
    if name == "aten::upsample_bilinear2d_backward":
        large, small = values(others[1:3])
        return upsample(small, large), "backward"
    if name in FORWARD_UNARY:
        return dict(op="unary", function=FORWARD_UNARY[name], elements=product(first)), "training"
    if name == "aten::native_layer_norm":
        return dict(op="layer_norm", rows=product(first[:-1]), cols=first[-1]), "training"
    if name == "aten::max_pool2d_with_indices":
        return pool("max_pool2d", first, others[1:4]), "training"
    if name == "aten::avg_pool2d":
        return pool("avg_pool2d", first, others[1:4]), "training"
    if name == "aten::sum" and caller.endswith("ConvolutionBackward0") and image(first):
        return dict(image(first), op="conv_bias"), "backward"
    if name == "aten::sum" and caller.endswith("AddmmBackward0"):
        return dict(op="linear_bias", m=first[0], n=first[1]), "backward"
    if name in UNARY:
        return dict(op="unary", function=UNARY[name], elements=product(first)), "backward"
    if name in ("aten::add", "aten::add_") and caller.startswith("autograd") and first and first == shapes[1]:
        return dict(op="accumulate", elements=product(first)), "backward"
    if name == "aten::copy_" and first == shapes[1] and caller in ("aten::conv2d", "aten::conv3d", "aten::linear"):
        return dict(op="autocast", elements=product(first)), "training"
    if name == "aten::copy_" and first == shapes[1] and caller.endswith("ToCopyBackward0"):
        return dict(op="autocast", elements=product(first)), "backward"
    if name == "aten::native_layer_norm_backward":
        return dict(op="layer_norm", rows=product(shapes[1][:-1]), cols=shapes[1][-1]), "backward"
    if name == "aten::max_pool2d_with_indices_backward":
        return pool("max_pool2d", shapes[1], others[2:5]), "backward"
    if name == "aten::avg_pool2d_backward":
        return pool("avg_pool2d", shapes[1], others[2:5]), "backward"
    return None, None


def rows_of(profile):
    steps = profile["steps"]
    update_us = update_kernels = counts = count_us = fills = fill_us = 0
    found = []
    linears = {(s[1][0], s[1][1], s[2][1]) for name, _, shapes, *_ in profile["operators"] if name == "aten::addmm" for s in [json.loads(shapes)]}
    scales = {}  # the gradients of a product with one number a channel: two products and a sum
    for name, caller, shapes, others, half, calls, kernels, us in profile["operators"]:
        if caller.startswith("Optimizer.step"):
            update_us, update_kernels = update_us + us / steps, update_kernels + kernels / steps
        elif name == "aten::add_" and shapes == COUNTER:
            counts, count_us = counts + calls, count_us + us
        elif name == "aten::fill_" and "MaxPool" in caller:
            fills, fill_us = fills + calls, fill_us + us
        elif name in ("aten::mul", "aten::sum") and caller.endswith("MulBackward0"):
            parts = json.loads(shapes)
            part = "sum" if name == "aten::sum" else "scaled" if scaled(parts) else "whole" if parts[0] == parts[1] else None
            if part and len(parts[0]) == 4:
                scales.setdefault((json.dumps(parts[0]), half), {})[part] = kernels / calls, us / calls
        else:
            fields, direction = described(name, caller, json.loads(shapes), json.loads(others), linears)
            if fields:
                cast = profile["precision"] != "fp32" and fields["op"] in PRODUCTS
                found.append((fields, direction, "amp_bf16" if fields["op"] == "autocast" else "bf16" if half or cast else "fp32", kernels / calls, us / calls))
    for (shape, half), parts in scales.items():
        if len(parts) == 3:
            kernels, us = (sum(part[i] for part in parts.values()) for i in (0, 1))
            found.append((dict(image(json.loads(shape)), op="channel_scale"), "backward", "bf16" if half else "fp32", kernels, us))
    for fields, direction, precision, kernels, us in found:
        if fields["op"] == "batch_norm" and direction == "training":
            if not counts:
                continue
            kernels, us = kernels + 1, us + count_us / counts
        if fields["op"] == "max_pool2d" and direction == "backward":
            if not fills:
                continue
            kernels, us = kernels + 1, us + fill_us / fills
        yield fields, direction, precision, us + GAP_US * kernels
    yield dict(op="optimizer", function=profile["optimizer"], elements=profile["parameters"], tensors=profile["tensors"]), "step", "fp32", update_us + GAP_US * update_kernels


def main():
    out, paths = sys.argv[1], sys.argv[2:]
    times = {}
    for path in paths:
        for line in (gzip.open if path.endswith(".gz") else open)(path, "rt"):
            for fields, direction, precision, us in rows_of(json.loads(line)):
                times.setdefault(json.dumps(dict(fields, direction=direction, precision=precision)), []).append(us)
    with open(out, "w") as f:
        table = csv.DictWriter(f, OPERATOR, extrasaction="ignore")
        table.writeheader()
        for i, (key, seen) in enumerate(times.items()):
            us = sorted(seen)[len(seen) // 2]
            table.writerow({k: short(v) for k, v in dict(json.loads(key), id=f"t{i:05d}", latency_us=us, timing="profile", samples=len(seen)).items()})
    print(len(times), "operators")


if __name__ == "__main__":
    main()
