"""Seeded sampling of network specs: sample(family, random) -> (spec, resolution). Published members come up among the random ones."""


def eights(r, low, high):
    return r.randrange(low // 8, high // 8 + 1) * 8


def vgg(r):
    base = r.choice([32, 48, 64, 64, 80])
    cfg = []
    for i, n in enumerate(r.choice([(1, 1, 2, 2, 2), (2, 2, 2, 2, 2), (2, 2, 3, 3, 3), (2, 2, 4, 4, 4), (1, 2, 2, 3, 1)])):
        c = min(base * 2**i, base * 8)
        cfg += [c if r.random() < 0.7 else eights(r, c // 2 + 8, c + c // 4) for _ in range(n)] + ["M"]
    return dict(cfg=cfg, bn=r.random() < 0.6, hidden=r.choice([4096, 4096, 2048, 1024]))


def resnet(r, small=False):
    block = r.choice(["basic", "bottleneck", "bottleneck"])
    layers = r.choice([(2, 2, 2, 2), (3, 4, 6, 3), (2, 3, 4, 2), (1, 2, 3, 1)] + ([] if small else [(3, 4, 23, 3), (3, 8, 12, 3), (3, 6, 10, 3)]))
    p = dict(block=block, layers=list(layers), base=r.choice([64, 64, 32, 48, 56, 80, 40]))
    if block == "bottleneck" and not small:
        p["groups"], p["width"] = r.choice([(1, 64), (1, 64), (1, 128), (32, 4), (32, 8), (64, 4), (8, 16)])
        if p["groups"] > 1:
            p["base"] = 64
    if r.random() < 0.12:
        p["kernel"] = 5
    return p


def regnet(r):
    g = r.choice([8, 16, 24, 48])
    w = [g * r.randrange(1, 5)]
    for _ in range(3):
        w.append(min(g * (w[-1] // g * r.choice([2, 2, 3])), 2048 // g * g))
    return dict(depths=[r.choice([1, 2]), r.choice([2, 3, 5]), r.choice([5, 7, 11]), r.choice([1, 2])], widths=w, group_width=g, se=r.random() < 0.5)


def densenet(r):
    return dict(growth=r.choice([12, 16, 24, 32, 32, 40, 48]), init=r.choice([32, 48, 64, 96]),
                blocks=r.choice([[6, 12, 24, 16], [6, 12, 32, 32], [4, 8, 12, 8], [6, 12, 18, 12], [4, 6, 10, 8]]))


def swin(r):
    window = r.choice([7, 7, 8])
    head = r.choice([16, 32, 32])
    dim = head * r.choice([2, 3, 3, 4])
    if r.random() < 0.3:
        dim, head = 96, 32
    return dict(dim=dim, depths=r.choice([[2, 2, 6, 2], [2, 2, 2, 2], [2, 2, 4, 2], [2, 2, 12, 2], [1, 2, 3, 1]]), window=window,
                heads=[dim // head * 2**i for i in range(4)], ratio=r.choice([4, 4, 3, 2])), 224 if window == 7 else 256


def vit(r):
    head = r.choice([32, 48, 64, 64, 64])
    heads = r.choice([3, 4, 6, 8, 12, 16])
    patch = r.choice([16, 16, 32, 14, 8 if heads <= 4 else 16])
    return dict(patch=patch, dim=head * heads, heads=heads, layers=r.choice([4, 6, 8, 12, 12, 16, 24]), mlp=r.choice([4.0, 4.0, 3.0, 2.0])), patch * r.choice([14, 14, 12, 16, 7 if patch > 14 else 14])


def convnext(r):
    d = r.choice([40, 48, 64, 80, 96, 96, 128])
    return dict(dims=[d, 2 * d, 4 * d, 8 * d], depths=r.choice([[3, 3, 9, 3], [3, 3, 27, 3], [2, 2, 6, 2], [2, 2, 8, 2], [1, 2, 4, 1]]), kernel=r.choice([7, 7, 7, 5, 3]))


def poolformer(r):
    return dict(layers=r.choice([[2, 2, 6, 2], [4, 4, 12, 4], [6, 6, 18, 6], [1, 2, 4, 2]]), ratio=r.choice([4, 4, 3, 2]),
                dims=r.choice([[64, 128, 320, 512], [96, 192, 384, 768], [48, 96, 240, 384], [32, 64, 160, 256]]))


def visformer(r):
    heads = r.choice([3, 4, 6, 8])
    return dict(dim=heads * r.choice([32, 48, 64]), heads=heads, depth=r.choice([[7, 4, 4], [5, 3, 3], [4, 2, 2], [9, 6, 4]]), ratio=r.choice([4, 4, 3]))


def nasbench201(r):
    names = ["none", "skip", "conv1x1", "conv3x3", "pool"]
    while True:
        cell = [r.choice(names) for _ in range(6)]
        if any("conv" in c for c in cell):
            return dict(cell=cell, C=r.choice([16, 16, 16, 24, 32, 64]), N=r.choice([5, 5, 3, 1, 8])), 32


def shufflenet(r):
    c = r.choice([24, 48, 116, 176, 244, 88, 152, 200]) // 2 * 2
    return dict(repeats=r.choice([[4, 8, 4], [3, 6, 3], [4, 12, 4]]), channels=[24, c, 2 * c, 4 * c, r.choice([1024, 1024, 2048, 512])])


def cnn3d(r):
    return dict(kind=r.choice(["r3d", "mc3", "r2plus1d", "c3d"]), layers=r.choice([[2, 2, 2, 2], [1, 1, 1, 1], [3, 4, 6, 3], [1, 2, 2, 1]]),
                base=r.choice([16, 32, 48, 64])), r.choice([112, 112, 96, 128])


def segmentation(r):
    head = r.choice(["fcn", "deeplab", "lraspp", "fpn"])
    if head == "lraspp":
        backbone = dict(arch=r.choice(["large", "small"]), width=r.choice([1.0, 0.75, 1.25, 0.5]))
    else:
        backbone = resnet(r, small=True)
    return dict(head=head, width=r.choice([256, 128, 192]), classes=r.choice([21, 2, 19]), backbone=backbone), r.choice([224, 256, 320, 384])


def detection(r):
    return dict(head=r.choice(["retina", "ssd"]), classes=r.choice([91, 21, 81]), anchors=r.choice([9, 3, 6]), width=r.choice([256, 128, 192]),
                depth=r.choice([4, 3, 2]), backbone=resnet(r, small=True)), r.choice([256, 320, 384, 512])


FAMILIES = {
    "vgg": vgg, "resnet": resnet, "regnet": regnet, "densenet": densenet, "swin": swin, "vit": vit, "convnext": convnext, "poolformer": poolformer,
    "visformer": visformer, "nasbench201": nasbench201, "shufflenet": shufflenet, "cnn3d": cnn3d, "segmentation": segmentation, "detection": detection,
    "alexnet": lambda r: dict(width=r.choice([1.0, 0.5, 0.75, 1.25, 1.5, 0.6]), hidden=r.choice([4096, 4096, 2048, 1024, 3072])),
    "mobilenet_v1": lambda r: dict(width=r.choice([0.25, 0.5, 0.75, 1.0, 1.0, 1.25, 1.5]), middle=r.choice([5, 5, 3, 8])),
    "mobilenet_v2": lambda r: dict(width=r.choice([0.35, 0.5, 0.75, 1.0, 1.0, 1.3, 1.4]), expand=r.choice([6, 6, 4, 3]), kernel=r.choice([3, 3, 3, 5]),
                                   repeats=r.choice([[1, 2, 3, 4, 3, 3, 1], [1, 2, 2, 3, 2, 2, 1], [1, 3, 4, 6, 4, 4, 1]])),
    "mobilenet_v3": lambda r: dict(arch=r.choice(["large", "small"]), width=r.choice([0.5, 0.75, 1.0, 1.0, 1.25, 1.5])),
    "mnasnet": lambda r: dict(alpha=r.choice([0.35, 0.5, 0.75, 1.0, 1.0, 1.3, 1.5])),
    "efficientnet": lambda r: (lambda s: dict(width=s[0], depth=s[1], fused=r.choice([0, 0, 0, 2, 3])))(r.choice(
        [(1.0, 1.0), (1.0, 1.1), (1.1, 1.2), (1.2, 1.4), (1.4, 1.8), (1.6, 2.2), (0.75, 0.8), (0.5, 0.7)])),
    "squeezenet": lambda r: dict(version=r.choice(["1_0", "1_1"]), width=r.choice([1.0, 1.0, 0.5, 0.75, 1.5, 2.0])),
    "googlenet": lambda r: dict(width=r.choice([1.0, 1.0, 0.5, 0.75, 1.25, 1.5])),
    "inception": lambda r: (dict(width=r.choice([1.0, 1.0, 0.5, 0.75, 1.25]), middle=r.choice([4, 4, 2, 6])), r.choice([299, 299, 224, 256])),
    "unet": lambda r: (dict(base=r.choice([56, 56, 16, 24, 32, 40, 48, 64]), depth=r.choice([3, 3, 2, 4]), convs=r.choice([2, 2, 1, 3]),
                            up=r.choice(["deconv", "deconv", "bilinear"])), 96),
}


def sample(family, r):
    made = FAMILIES[family](r)
    spec, resolution = made if isinstance(made, tuple) else (made, r.choice([224, 224, 192, 160, 256, 288, 320]))
    if family == "vgg" and resolution not in (224, 448):
        resolution = 224
    return dict(family=family, **spec), resolution
