"""The families: each writes one parametrised network into a Builder. Parameters are JSON-able; defaults give the published network."""
from builder import Builder


def divisible(v, by=8):
    new = max(by, int(v + by / 2) // by * by)
    return new + by if new < 0.9 * v else new


def cba(b, x, out, kernel=3, stride=1, groups=1, act="relu", padding=None, dilation=1):
    """Convolution, batch norm, activation."""
    return b.act(b.bn(b.conv(x, out, kernel, stride, padding, groups, dilation, bias=False)), act)


def head(b, x, classes=1000, dropout=0.0):
    x = b.flatten(b.global_pool(x))
    if dropout:
        x = b.dropout(x, dropout)
    return b.linear(x, classes)


def squeeze_excite(b, x, hidden, act="relu", gate="sigmoid"):
    s = b.act(b.conv(b.global_pool(x), hidden, 1), act)
    return x * b.act(b.conv(s, x.shape[0], 1), gate)


# ---- plain stacks ----
def vgg(b, x, cfg, bn=True, hidden=4096, kernel=3):
    for c in cfg:
        if c == "M":
            x = b.max_pool(x, 2)
        else:
            x = cba(b, x, c, kernel) if bn else b.act(b.conv(x, c, kernel), "relu")
    x = b.flatten(b.adaptive_pool(x, 7))
    for _ in range(2):
        x = b.dropout(b.act(b.linear(x, hidden), "relu"))
    return b.linear(x, 1000)


def alexnet(b, x, width=1.0, hidden=4096):
    c = [divisible(v * width) for v in (64, 192, 384, 256, 256)]
    x = b.max_pool(b.act(b.conv(x, c[0], 11, 4, 2), "relu"), 3, 2)
    x = b.max_pool(b.act(b.conv(x, c[1], 5), "relu"), 3, 2)
    for v in c[2:]:
        x = b.act(b.conv(x, v, 3), "relu")
    x = b.flatten(b.adaptive_pool(b.max_pool(x, 3, 2), 6))
    for _ in range(2):
        x = b.act(b.linear(b.dropout(x), hidden), "relu")
    return b.linear(x, 1000)


# ---- residual networks ----
def resnet_block(b, x, kind, planes, stride, groups=1, width=64, kernel=3, dilation=1):
    out = planes * (4 if kind == "bottleneck" else 1)
    if kind == "bottleneck":
        inner = int(planes * width / 64) * groups
        y = cba(b, cba(b, x, inner, 1), inner, kernel, stride, groups, dilation=dilation)
        y = b.bn(b.conv(y, out, 1, bias=False))
    else:
        y = b.bn(b.conv(cba(b, x, planes, kernel, stride), planes, kernel, bias=False))
    if stride != 1 or x.shape[0] != out:
        x = b.bn(b.conv(x, out, 1, stride, bias=False))
    return b.act(y + x, "relu")


def resnet_stages(b, x, block="bottleneck", layers=(3, 4, 6, 3), groups=1, width=64, base=64, kernel=3, dilate=False):
    x = b.max_pool(cba(b, x, base, 7, 2), 3, 2, 1)
    stages = []
    for i, n in enumerate(layers):
        for j in range(n):
            stride = 2 if i and not j and not (dilate and i > 1) else 1
            x = resnet_block(b, x, block, base * 2**i, stride, groups, width, kernel, dilation=2 ** (i - 1) if dilate and i > 1 else 1)
        stages.append(x)
    return stages


def resnet(b, x, **p):
    return head(b, resnet_stages(b, x, **p)[-1])


def regnet(b, x, depths, widths, group_width, se=False):
    x = cba(b, x, 32, 3, 2)
    for n, w in zip(depths, widths):
        for j in range(n):
            stride, g = 2 if not j else 1, max(1, w // group_width)
            y = cba(b, cba(b, x, w, 1), w, 3, stride, g)
            if se:
                y = squeeze_excite(b, y, max(8, x.shape[0] // 4))
            y = b.bn(b.conv(y, w, 1, bias=False))
            x = b.act(y + (b.bn(b.conv(x, w, 1, stride, bias=False)) if stride > 1 or x.shape[0] != w else x), "relu")
    return head(b, x)


def densenet(b, x, growth=32, blocks=(6, 12, 24, 16), init=64):
    x = b.max_pool(cba(b, x, init, 7, 2), 3, 2, 1)
    for i, n in enumerate(blocks):
        features = [x]
        for _ in range(n):
            y = b.concat(features) if len(features) > 1 else x
            y = b.conv(b.act(b.bn(y), "relu"), 4 * growth, 1, bias=False)
            features.append(b.conv(b.act(b.bn(y), "relu"), growth, 3, bias=False))
        x = b.act(b.bn(b.concat(features)), "relu")
        if i + 1 < len(blocks):
            x = b.avg_pool(b.conv(x, x.shape[0] // 2, 1, bias=False), 2)
    return head(b, x)


# ---- mobile networks ----
def mobilenet_v1(b, x, width=1.0, middle=5):
    c = lambda v: divisible(v * width)
    x = cba(b, x, c(32), 3, 2)
    for out, s in [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] + [(512, 1)] * middle + [(1024, 2), (1024, 1)]:
        x = cba(b, cba(b, x, x.shape[0], 3, s, x.shape[0]), c(out), 1)
    return head(b, x)


def inverted(b, x, out, kernel, stride, expand, act="relu6", se=0, gate="sigmoid", se_act="relu"):
    y, inner = x, divisible(x.shape[0] * expand) if expand != 1 else x.shape[0]
    if inner != x.shape[0]:
        y = cba(b, y, inner, 1, act=act)
    y = cba(b, y, inner, kernel, stride, inner, act=act)
    if se:
        y = squeeze_excite(b, y, se, se_act, gate)
    y = b.bn(b.conv(y, out, 1, bias=False))
    return y + x if stride == 1 and out == x.shape[0] else y


def mobilenet_v2(b, x, width=1.0, expand=6, repeats=(1, 2, 3, 4, 3, 3, 1), kernel=3):
    c = lambda v: divisible(v * width)
    x = cba(b, x, c(32), 3, 2, act="relu6")
    for i, (out, n, s) in enumerate(zip((16, 24, 32, 64, 96, 160, 320), repeats, (1, 2, 2, 2, 1, 2, 1))):
        for j in range(n):
            x = inverted(b, x, c(out), kernel, s if not j else 1, expand if i else 1)
    return head(b, cba(b, x, max(1280, c(1280)), 1, act="relu6"), dropout=0.2)


V3 = {"large": [(3, 16, 16, 0, "relu", 1), (3, 64, 24, 0, "relu", 2), (3, 72, 24, 0, "relu", 1), (5, 72, 40, 1, "relu", 2),
                (5, 120, 40, 1, "relu", 1), (5, 120, 40, 1, "relu", 1), (3, 240, 80, 0, "hardswish", 2), (3, 200, 80, 0, "hardswish", 1),
                (3, 184, 80, 0, "hardswish", 1), (3, 184, 80, 0, "hardswish", 1), (3, 480, 112, 1, "hardswish", 1),
                (3, 672, 112, 1, "hardswish", 1), (5, 672, 160, 1, "hardswish", 2), (5, 960, 160, 1, "hardswish", 1), (5, 960, 160, 1, "hardswish", 1)],
      "small": [(3, 16, 16, 1, "relu", 2), (3, 72, 24, 0, "relu", 2), (3, 88, 24, 0, "relu", 1), (5, 96, 40, 1, "hardswish", 2),
                (5, 240, 40, 1, "hardswish", 1), (5, 240, 40, 1, "hardswish", 1), (5, 120, 48, 1, "hardswish", 1),
                (5, 144, 48, 1, "hardswish", 1), (5, 288, 96, 1, "hardswish", 2), (5, 576, 96, 1, "hardswish", 1), (5, 576, 96, 1, "hardswish", 1)]}


def mobilenet_v3_stages(b, x, arch="large", width=1.0):
    c = lambda v: divisible(v * width)
    x = cba(b, x, c(16), 3, 2, act="hardswish")
    stages = []
    for k, e, out, se, act, s in V3[arch]:
        if s == 2:
            stages.append(x)
        y, inner = x, c(e)
        if inner != x.shape[0]:
            y = cba(b, y, inner, 1, act=act)
        y = cba(b, y, inner, k, s, inner, act=act)
        if se:
            y = squeeze_excite(b, y, divisible(inner // 4), "relu", "hardsigmoid")
        y = b.bn(b.conv(y, c(out), 1, bias=False))
        x = y + x if s == 1 and x.shape[0] == c(out) else y
    return stages + [cba(b, x, 6 * x.shape[0], 1, act="hardswish")]


def mobilenet_v3(b, x, arch="large", width=1.0):
    x = mobilenet_v3_stages(b, x, arch, width)[-1]
    x = b.act(b.linear(b.flatten(b.global_pool(x)), 1280 if arch == "large" else 1024), "hardswish")
    return b.linear(b.dropout(x, 0.2), 1000)


def mnasnet(b, x, alpha=1.0):
    c = lambda v: divisible(v * alpha)
    x = cba(b, x, c(32), 3, 2)
    x = b.bn(b.conv(cba(b, x, x.shape[0], 3, 1, x.shape[0]), c(16), 1, bias=False))
    for out, k, s, e, n in ((24, 3, 2, 3, 3), (40, 5, 2, 3, 3), (80, 5, 2, 6, 3), (96, 3, 1, 6, 2), (192, 5, 2, 6, 4), (320, 3, 1, 6, 1)):
        for j in range(n):
            x = inverted(b, x, c(out), k, s if not j else 1, e, act="relu")
    return head(b, cba(b, x, 1280, 1), dropout=0.2)


def efficientnet(b, x, width=1.0, depth=1.0, fused=0, kernels=(3, 3, 5, 3, 5, 5, 3)):
    """fused: how many early stages use one full convolution instead of expand + depthwise (EfficientNetV2)."""
    c = lambda v: divisible(v * width)
    x = cba(b, x, c(32), 3, 2, act="silu")
    stages = zip((1, 6, 6, 6, 6, 6, 6), kernels, (1, 2, 2, 2, 1, 2, 1), (16, 24, 40, 80, 112, 192, 320), (1, 2, 2, 3, 3, 4, 1))
    for i, (e, k, s, out, n) in enumerate(stages):
        for j in range(max(1, -int(-n * depth // 1))):
            stride = s if not j else 1
            if i < fused:
                y = b.bn(b.conv(cba(b, x, x.shape[0] * min(e, 4), 3, stride, act="silu"), c(out), 1, bias=False))
                x = y + x if stride == 1 and x.shape[0] == c(out) else y
            else:
                x = inverted(b, x, c(out), k, stride, e, "silu", max(1, x.shape[0] // 4), se_act="silu")
    return head(b, cba(b, x, 4 * c(320), 1, act="silu"), dropout=0.2)


def shufflenet(b, x, repeats=(4, 8, 4), channels=(24, 116, 232, 464, 1024)):
    x = b.max_pool(cba(b, x, channels[0], 3, 2), 3, 2, 1)
    for n, out in zip(repeats, channels[1:]):
        half = out // 2
        for j in range(n):
            if j == 0:
                left = cba(b, b.bn(b.conv(x, x.shape[0], 3, 2, groups=x.shape[0], bias=False)), half, 1)
                right = x
            else:
                left, right = b.slice(x, 0, 0, half), b.slice(x, 0, half, out)
            y = cba(b, right, half, 1)
            y = cba(b, b.bn(b.conv(y, half, 3, 2 if j == 0 else 1, groups=half, bias=False)), half, 1)
            c, h, w = out, y.shape[1], y.shape[2]
            x = b.reshape(b.permute(b.reshape(b.concat([left, y]), (2, half, h, w)), (1, 0, 2, 3)), (c, h, w))
    x = b.mean(cba(b, x, channels[-1], 1), (1, 2))
    return b.linear(x, 1000)


def squeezenet(b, x, version="1_1", width=1.0):
    c = lambda v: max(8, int(v * width) // 8 * 8)

    def fire(x, s, e):
        x = b.act(b.conv(x, c(s), 1), "relu")
        return b.concat([b.act(b.conv(x, c(e), 1), "relu"), b.act(b.conv(x, c(e), 3), "relu")])
    x = b.act(b.conv(x, c(96), 7, 2, 0) if version == "1_0" else b.conv(x, c(64), 3, 2, 0), "relu")
    x = b.max_pool(x, 3, 2, ceil=True)
    pools = {2, 6} if version == "1_0" else {1, 3}
    for i, (s, e) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))):
        x = fire(x, s, e)
        if i in pools:
            x = b.max_pool(x, 3, 2, ceil=True)
    return b.flatten(b.global_pool(b.act(b.conv(b.dropout(x), 1000, 1), "relu")))


# ---- inception ----
def googlenet(b, x, width=1.0):
    c = lambda v: divisible(v * width)
    x = b.max_pool(cba(b, x, c(64), 7, 2), 3, 2, ceil=True)
    x = b.max_pool(cba(b, cba(b, x, c(64), 1), c(192), 3), 3, 2, ceil=True)
    rows = [(64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), "M", (192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64),
            (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64), (256, 160, 320, 32, 128, 128), "P", (256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)]
    for r in rows:
        if isinstance(r, str):
            x = b.max_pool(x, 3 if r == "M" else 2, 2, ceil=True)
            continue
        x = b.concat([cba(b, x, c(r[0]), 1), cba(b, cba(b, x, c(r[1]), 1), c(r[2]), 3), cba(b, cba(b, x, c(r[3]), 1), c(r[4]), 3),
                      cba(b, b.max_pool(x, 3, 1, 1, ceil=True), c(r[5]), 1)])
    return head(b, x, dropout=0.2)


def inception(b, x, width=1.0, middle=4):
    """Inception v3 without its auxiliary classifier."""
    c = lambda v: divisible(v * width)
    x = cba(b, cba(b, cba(b, x, c(32), 3, 2, padding=0), c(32), 3, padding=0), c(64), 3)
    x = b.max_pool(cba(b, cba(b, b.max_pool(x, 3, 2), c(80), 1), c(192), 3, padding=0), 3, 2)
    for pool in (32, 64, 64):
        x = b.concat([cba(b, x, c(64), 1), cba(b, cba(b, x, c(48), 1), c(64), 5),
                      cba(b, cba(b, cba(b, x, c(64), 1), c(96), 3), c(96), 3), cba(b, b.avg_pool(x, 3, 1, 1), c(pool), 1)])
    x = b.concat([cba(b, x, c(384), 3, 2, padding=0), cba(b, cba(b, cba(b, x, c(64), 1), c(96), 3), c(96), 3, 2, padding=0), b.max_pool(x, 3, 2)])
    for i in range(middle):
        k = c((128, 160, 160, 192)[min(i, 3)])
        a = cba(b, cba(b, cba(b, x, k, 1), k, (1, 7)), c(192), (7, 1))
        d = cba(b, x, k, 1)
        for j, kernel in enumerate(((7, 1), (1, 7), (7, 1), (1, 7))):
            d = cba(b, d, c(192) if j == 3 else k, kernel)
        x = b.concat([cba(b, x, c(192), 1), a, d, cba(b, b.avg_pool(x, 3, 1, 1), c(192), 1)])
    y = cba(b, cba(b, cba(b, x, c(192), 1), c(192), (1, 7)), c(192), (7, 1))
    x = b.concat([cba(b, cba(b, x, c(192), 1), c(320), 3, 2, padding=0), cba(b, y, c(192), 3, 2, padding=0), b.max_pool(x, 3, 2)])
    for _ in range(2):
        a = cba(b, x, c(384), 1)
        d = cba(b, cba(b, x, c(448), 1), c(384), 3)
        x = b.concat([cba(b, x, c(320), 1), cba(b, a, c(384), (1, 3)), cba(b, a, c(384), (3, 1)),
                      cba(b, d, c(384), (1, 3)), cba(b, d, c(384), (3, 1)), cba(b, b.avg_pool(x, 3, 1, 1), c(192), 1)])
    return head(b, x, dropout=0.5)


# ---- transformers and their kin ----
def mlp(b, x, ratio, act="gelu"):
    d = x.shape[-1]
    return b.linear(b.act(b.linear(x, int(d * ratio)), act), d)


def vit(b, x, patch=16, dim=768, layers=12, heads=12, mlp=4.0):
    x = b.conv(x, dim, patch, patch, 0)
    x = b.permute(b.reshape(x, (dim, x.shape[1] * x.shape[2])), (1, 0))
    x = b.class_token(x)
    x = b.parameter(x, "add", x.shape)
    for _ in range(layers):
        x = x + b.linear(b.attention(b.linear(b.layer_norm(x), 3 * dim), heads), dim)
        x = x + globals()["mlp"](b, b.layer_norm(x), mlp)
    return b.linear(b.reshape(b.slice(b.layer_norm(x), 0, 0, 1), (dim,)), 1000)


def swin(b, x, dim=96, depths=(2, 2, 6, 2), heads=(3, 6, 12, 24), window=7, ratio=4):
    x = b.layer_norm(b.permute(b.conv(x, dim, 4, 4, 0), (1, 2, 0)))
    for i, (n, h) in enumerate(zip(depths, heads)):
        if i:
            s = x.shape
            x = b.reshape(x, (s[0] // 2, 2, s[1] // 2, 2, s[2]))
            x = b.reshape(b.permute(x, (0, 2, 1, 3, 4)), (s[0] // 2, s[1] // 2, 4 * s[2]))
            x = b.linear(b.layer_norm(x), 2 * s[2], bias=False)
        if x.shape[0] % window or x.shape[1] % window:
            raise ValueError("the window does not divide the image")
        for j in range(n):
            shift = window // 2 if j % 2 and x.shape[0] > window else 0
            x = x + b.window_attention(b.layer_norm(x), h, window, shift)
            x = x + mlp(b, b.layer_norm(x), ratio)
    return b.linear(b.mean(b.layer_norm(x), (0, 1)), 1000)


def convnext(b, x, dims=(96, 192, 384, 768), depths=(3, 3, 9, 3), kernel=7):
    for i, (d, n) in enumerate(zip(dims, depths)):
        norm = lambda v: b.permute(b.layer_norm(b.permute(v, (1, 2, 0))), (2, 0, 1))
        x = norm(b.conv(x, d, 4, 4, 0)) if i == 0 else b.conv(norm(x), d, 2, 2, 0)
        for _ in range(n):
            y = b.permute(b.conv(x, d, kernel, groups=d), (1, 2, 0))
            y = b.permute(mlp(b, b.layer_norm(y), 4), (2, 0, 1))
            x = x + b.parameter(y, "mul", (d, 1, 1))
    return b.linear(b.layer_norm(b.flatten(b.global_pool(x))), 1000)


def poolformer(b, x, layers=(2, 2, 6, 2), dims=(64, 128, 320, 512), ratio=4):
    for i, (n, d) in enumerate(zip(layers, dims)):
        x = b.conv(x, d, 7, 4, 2) if i == 0 else b.conv(x, d, 3, 2, 1)
        for _ in range(n):
            y = b.group_norm(x)
            x = x + b.parameter(b.binary("sub", b.avg_pool(y, 3, 1, 1, count_pad=False), y), "mul", (d, 1, 1))
            y = b.conv(b.act(b.conv(b.group_norm(x), d * ratio, 1), "gelu"), d, 1)
            x = x + b.parameter(y, "mul", (d, 1, 1))
    return b.linear(b.mean(b.group_norm(x), (1, 2)), 1000)


def visformer(b, x, dim=384, depth=(7, 4, 4), heads=6, ratio=4):
    x = b.conv(cba(b, x, 32, 7, 2), dim // 2, 4, 4, 0)
    for i, n in enumerate(depth):
        d = dim // 2 * 2**i
        if i:
            x = b.conv(x, d, 2, 2, 0)
        x = b.parameter(b.bn(x), "add", x.shape)
        for _ in range(n):
            if i == 0:
                y = b.act(b.conv(b.bn(x), 2 * d, 1, bias=False), "gelu")
                y = b.act(b.conv(y, 2 * d, 3, groups=8, bias=False), "gelu")
                x = x + b.conv(y, d, 1, bias=False)
            else:
                h, w = x.shape[1:]
                q = b.permute(b.reshape(b.conv(b.bn(x), 3 * d, 1, bias=False), (3 * d, h * w)), (1, 0))
                y = b.reshape(b.permute(b.attention(q, heads), (1, 0)), (d, h, w))
                x = x + b.conv(y, d, 1, bias=False)
                x = x + b.conv(b.act(b.conv(b.bn(x), d * ratio, 1, bias=False), "gelu"), d, 1, bias=False)
    return head(b, b.bn(x))


# ---- cells, dense prediction, video ----
def nasbench201(b, x, cell, C=16, N=5):
    """cell: six of none, skip, conv1x1, conv3x3, pool for the edges 0>1 0>2 1>2 0>3 1>3 2>3."""
    def edge(name, v):
        if name == "skip":
            return v
        if name == "pool":
            return b.avg_pool(v, 3, 1, 1, count_pad=False)
        return b.bn(b.conv(b.act(v, "relu"), v.shape[0], 1 if name == "conv1x1" else 3, bias=False))

    def one_cell(v):
        nodes = {0: v}
        for dst, edges in ((1, ((0, cell[0]),)), (2, ((0, cell[1]), (1, cell[2]))), (3, ((0, cell[3]), (1, cell[4]), (2, cell[5])))):
            for src, name in edges:
                if name != "none" and src in nodes:
                    y = edge(name, nodes[src])
                    nodes[dst] = nodes[dst] + y if dst in nodes else y
        return nodes.get(3, v)
    x = b.bn(b.conv(x, C, 3, bias=False))
    for i in range(3):
        c = C * 2**i
        if i:
            y = b.bn(b.conv(b.act(x, "relu"), c, 3, 2, bias=False))
            y = b.bn(b.conv(b.act(y, "relu"), c, 3, bias=False))
            x = y + b.conv(b.avg_pool(x, 2), c, 1, bias=False)
        for _ in range(N):
            x = one_cell(x)
    return head(b, b.act(b.bn(x), "relu"), 10)


def unet(b, x, base=56, depth=3, convs=2, up="deconv"):
    """Temperature downscaling: three fields in, two one-channel fields out."""
    def block(v, c):
        for _ in range(convs):
            v = cba(b, v, c, 3)
        return v
    skips = []
    for i in range(depth):
        x = block(x, base * 2**i)
        skips.append(x)
        x = b.max_pool(x, 2)
    x = block(x, base * 2**depth)
    for i, s in reversed(list(enumerate(skips))):
        c = base * 2**i
        x = b.deconv(x, c) if up == "deconv" else b.conv(b.upsample(x, 2, "bilinear"), c, 3)
        x = block(b.concat([x, s]), c)
    return [b.conv(x, 1, 1), b.conv(x, 1, 1)]


def cnn3d(b, x, kind="r3d", layers=(2, 2, 2, 2), base=64):
    """r3d: 3x3x3 throughout; mc3: 3-D in the first stage only; r2plus1d: space and time apart; c3d: a plain stack."""
    if kind == "c3d":
        for i, (c, n) in enumerate(((base, 1), (2 * base, 1), (4 * base, 2), (8 * base, 2))):
            for _ in range(n):
                x = b.act(b.conv(x, c, 3), "relu")
            x = b.max_pool(x, (1 if i == 0 else 2, 2, 2), (1 if i == 0 else 2, 2, 2))
        return head(b, x, 400)

    def conv(v, c, stride, stage):
        if kind == "r2plus1d":
            mid = (v.shape[0] * c * 27) // (v.shape[0] * 9 + 3 * c)
            v = cba(b, v, mid, (1, 3, 3), (1, stride, stride))
            return b.conv(v, c, (3, 1, 1), (stride, 1, 1), bias=False)
        if kind == "mc3" and stage:
            return b.conv(v, c, (1, 3, 3), (1, stride, stride), bias=False)
        return b.conv(v, c, 3, stride, bias=False)
    x = cba(b, x, base, (3, 7, 7), (1, 2, 2))
    for i, n in enumerate(layers):
        for j in range(n):
            c, s = base * 2**i, 2 if i and not j else 1
            y = b.act(b.bn(conv(x, c, s, i)), "relu")
            y = b.bn(conv(y, c, 1, i))
            if s > 1 or x.shape[0] != c:
                step = (1, s, s) if kind == "mc3" else s
                x = b.bn(b.conv(x, c, 1, step, bias=False))
            x = b.act(y + x, "relu")
    return head(b, x, 400)


def feature_pyramid(b, features, width=256):
    laterals = [b.conv(f, width, 1) for f in features]
    merged = [laterals[-1]]
    for lateral in reversed(laterals[:-1]):
        merged.append(lateral + b.upsample(merged[-1], 2))
    return [b.conv(m, width, 3) for m in reversed(merged)]


def segmentation(b, x, head="deeplab", classes=21, width=256, backbone=None):
    full = x.shape[1]
    p = dict(backbone or {})
    if head == "lraspp":
        stages = mobilenet_v3_stages(b, x, **p)
        low, high = stages[2], stages[-1]
        y = cba(b, high, width // 2, 1) * b.act(b.conv(b.global_pool(high), width // 2, 1, bias=False), "sigmoid")
        y = b.upsample(y, low.shape[1] // y.shape[1], "bilinear")
        y = b.conv(low, classes, 1) + b.conv(y, classes, 1)
    elif head == "fpn":
        levels = feature_pyramid(b, resnet_stages(b, x, **p), width)
        y = None
        for level in levels:
            z = cba(b, level, width // 2, 3)
            factor = levels[0].shape[1] // z.shape[1]
            z = b.upsample(z, factor, "bilinear") if factor > 1 else z
            y = z if y is None else y + z
        y = b.conv(y, classes, 1)
    else:
        f = resnet_stages(b, x, dilate=True, **p)[-1]
        if head == "fcn":
            y = b.conv(b.dropout(cba(b, f, f.shape[0] // 4, 3), 0.1), classes, 1)
        else:
            parts = [cba(b, f, width, 1)] + [cba(b, f, width, 3, dilation=d) for d in (12, 24, 36)]
            pooled = b.upsample(b.act(b.conv(b.global_pool(f), width, 1), "relu"), f.shape[1], "bilinear")
            y = cba(b, b.concat(parts + [pooled]), width, 1)
            y = b.conv(cba(b, b.dropout(y), width, 3), classes, 1)
    return b.upsample(y, full // y.shape[1], "bilinear")


def detection(b, x, head="retina", classes=91, anchors=9, width=256, depth=4, backbone=None):
    """Raw class and box maps of a one-stage detector; no anchors decoded, no suppression."""
    p = dict(backbone or {})
    outputs = []
    if head == "ssd":
        stages = resnet_stages(b, x, **p)[1:]
        f = stages[-1]
        for _ in range(2):
            f = cba(b, cba(b, f, width // 2, 1), width, 3, 2)
            stages.append(f)
        for f in stages:
            outputs += [b.conv(f, anchors * classes, 3), b.conv(f, anchors * 4, 3)]
        return outputs
    levels = feature_pyramid(b, resnet_stages(b, x, **p)[1:], width)
    for level in levels:
        for out in (anchors * classes, anchors * 4):
            y = level
            for _ in range(depth):
                y = b.act(b.conv(y, width, 3), "relu")
            outputs.append(b.conv(y, out, 3))
    return outputs


FAMILIES = {f.__name__: f for f in (
    vgg, alexnet, resnet, regnet, densenet, mobilenet_v1, mobilenet_v2, mobilenet_v3, mnasnet, efficientnet, shufflenet, squeezenet,
    googlenet, inception, vit, swin, convnext, poolformer, visformer, nasbench201, unet, cnn3d, segmentation, detection)}


def input_shape(family, resolution):
    if family == "nasbench201":
        return (3, 32, 32)
    if family == "unet":
        return (3, 96, 128)
    if family == "cnn3d":
        return (3, 16, resolution, resolution)
    return (3, resolution, resolution)


def build(spec, resolution):
    """spec: {"family": name, **parameters} -> a finished Builder."""
    p = {k: v for k, v in spec.items() if k != "family"}
    b = Builder(input_shape(spec["family"], resolution))
    out = FAMILIES[spec["family"]](b, b.input(), **p)
    return b.finish(*(out if isinstance(out, list) else [out]))
