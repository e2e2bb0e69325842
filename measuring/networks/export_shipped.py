"""Writes the weight-free ONNX graphs of data/networks: torchvision's classics, and three networks of this file.

python3 measuring/networks/export_shipped.py data/networks [NAME…]      (needs torch, torchvision and onnx)

torchvision's networks are made without weights from its code (BSD-3-Clause); batch norms stay, as PyTorch runs them.
yolo-s, unet and ddpm-unet are written here after the papers: Redmon et al. 2016 with the cross-stage blocks of later versions,
Ronneberger et al. 2015, Ho et al. 2020 (the 256 x 256 network)."""
import os
import sys

import torch
from torch import nn

from export import write_graph

CLASSICS = {"alexnet": 224, "convnext_base": 224, "convnext_tiny": 224, "deeplabv3_resnet50": 520, "densenet121": 224,
            "efficientnet_b0": 224, "efficientnet_b4": 380,
            "efficientnet_v2_s": 384, "fcn_resnet50": 520, "googlenet": 224, "inception_v3": 299, "mnasnet1_0": 224,
            "mobilenet_v2": 224, "mobilenet_v3_large": 224, "mobilenet_v3_small": 224, "regnet_y_8gf": 224,
            "resnet101": 224, "resnet152": 224, "resnet18": 224, "resnet34": 224, "resnext50_32x4d": 224,
            "shufflenet_v2_x1_0": 224, "squeezenet1_1": 224, "vgg16": 224, "vgg19": 224,
            "wide_resnet50_2": 224}


def conv(inputs, outputs, kernel=3, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.SiLU())


class CrossStage(nn.Module):
    """Half of the channels through residual blocks, every stage of which is joined at the end."""

    def __init__(self, inputs, outputs, blocks, residual=True):
        super().__init__()
        half = outputs // 2
        self.first, self.last = conv(inputs, outputs, 1), conv(half * (blocks + 2), outputs, 1)
        self.blocks = nn.ModuleList(nn.Sequential(conv(half, half), conv(half, half)) for _ in range(blocks))
        self.residual = residual

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            y = block(parts[-1])
            parts.append(parts[-1] + y if self.residual else y)
        return self.last(torch.cat(parts, 1))


class Pyramid(nn.Module):
    """Pools over 5, 9 and 13 pixels, joined."""

    def __init__(self, width):
        super().__init__()
        self.first, self.last, self.pool = conv(width, width // 2, 1), conv(width * 2, width, 1), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Yolo(nn.Module):
    """A one-stage detector of 80 classes on three scales; boxes as distributions over 16 bins; no suppression of overlaps."""

    def __init__(self, w=32, n=1, classes=80):
        super().__init__()
        self.p3 = nn.Sequential(conv(3, w, 3, 2), conv(w, 2 * w, 3, 2), CrossStage(2 * w, 2 * w, n), conv(2 * w, 4 * w, 3, 2), CrossStage(4 * w, 4 * w, 2 * n))
        self.p4 = nn.Sequential(conv(4 * w, 8 * w, 3, 2), CrossStage(8 * w, 8 * w, 2 * n))
        self.p5 = nn.Sequential(conv(8 * w, 16 * w, 3, 2), CrossStage(16 * w, 16 * w, n), Pyramid(16 * w))
        self.up4, self.up3 = CrossStage(24 * w, 8 * w, n, False), CrossStage(12 * w, 4 * w, n, False)
        self.down3, self.down4 = conv(4 * w, 4 * w, 3, 2), conv(8 * w, 8 * w, 3, 2)
        self.mid4, self.mid5 = CrossStage(12 * w, 8 * w, n, False), CrossStage(24 * w, 16 * w, n, False)
        self.grow = nn.Upsample(scale_factor=2)

        def head(outputs, inner):
            return nn.ModuleList(nn.Sequential(conv(c, inner), conv(inner, inner), nn.Conv2d(inner, outputs, 1)) for c in (4 * w, 8 * w, 16 * w))
        self.boxes, self.classes = head(64, 64), head(classes, max(4 * w, classes))

    def forward(self, x):
        p3 = self.p3(x)
        p4 = self.p4(p3)
        p5 = self.p5(p4)
        m4 = self.up4(torch.cat([self.grow(p5), p4], 1))
        o3 = self.up3(torch.cat([self.grow(m4), p3], 1))
        o4 = self.mid4(torch.cat([self.down3(o3), m4], 1))
        o5 = self.mid5(torch.cat([self.down4(o4), p5], 1))
        rows = [torch.cat([box(o), cls(o)], 1).flatten(2) for o, box, cls in zip((o3, o4, o5), self.boxes, self.classes)]
        joined = torch.cat(rows, 2)
        bins = joined[:, :64].unflatten(1, (4, 16)).softmax(2)
        return torch.cat([(bins * torch.arange(16.0).view(1, 1, 16, 1)).sum(2), joined[:, 64:].sigmoid()], 1)


class UNet(nn.Module):
    def __init__(self, w=64, classes=2):
        super().__init__()

        def pair(inputs, outputs):
            return nn.Sequential(nn.Conv2d(inputs, outputs, 3, 1, 1), nn.ReLU(), nn.Conv2d(outputs, outputs, 3, 1, 1), nn.ReLU())
        widths = [w, 2 * w, 4 * w, 8 * w, 16 * w]
        self.down = nn.ModuleList(pair(i, o) for i, o in zip([3] + widths, widths))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * o, o, 2, 2) for o in reversed(widths[:-1]))
        self.up = nn.ModuleList(pair(2 * o, o) for o in reversed(widths[:-1]))
        self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(w, classes, 1)

    def forward(self, x):
        kept = []
        for k, block in enumerate(self.down):
            x = block(self.pool(x) if k else x)
            kept.append(x)
        for grow, block, skip in zip(self.grow, self.up, reversed(kept[:-1])):
            x = block(torch.cat([skip, grow(x)], 1))
        return self.head(x)


class Residual(nn.Module):
    def __init__(self, inputs, outputs, time):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(32, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, 1, 1))
        self.last = nn.Sequential(nn.GroupNorm(32, outputs), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, 1, 1))
        self.time, self.skip = nn.Linear(time, outputs), nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        return self.skip(x) + self.last(self.first(x) + self.time(nn.functional.silu(time))[:, :, None, None])


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.qkv, self.out = nn.GroupNorm(32, width), nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x, _):
        q, k, v = self.qkv(self.norm(x)).flatten(2).chunk(3, 1)
        weights = (q.transpose(1, 2) @ k * q.shape[1] ** -0.5).softmax(-1)
        return x + self.out((v @ weights.transpose(1, 2)).view_as(x))


class DenoisingUNet(nn.Module):
    """Two residual blocks a level, attention at 16 x 16; the step's embedding is an input."""

    def __init__(self, w=128, levels=(1, 1, 2, 2, 4, 4), time=512):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(w, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(3, w, 3, 1, 1)
        self.down, self.up, kept, width = nn.ModuleList(), nn.ModuleList(), [w], w
        for k, times in enumerate(levels):
            for _ in range(2):
                self.down.append(self.level(width, w * times, time, k == 4))
                width = w * times
                kept.append(width)
            if k + 1 < len(levels):
                self.down.append(nn.ModuleList([nn.Conv2d(width, width, 3, 2, 1)]))
                kept.append(width)
        self.middle = nn.ModuleList([Residual(width, width, time), Attention(width), Residual(width, width, time)])
        for k, times in reversed(list(enumerate(levels))):
            for n in range(3):
                self.up.append(self.level(width + kept.pop(), w * times, time, k == 4))
                width = w * times
                if n == 2 and k:
                    self.up[-1].append(nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(width, width, 3, 1, 1)))
        self.last = nn.Sequential(nn.GroupNorm(32, width), nn.SiLU(), nn.Conv2d(width, 3, 3, 1, 1))

    @staticmethod
    def level(inputs, outputs, time, attends):
        return nn.ModuleList([Residual(inputs, outputs, time)] + ([Attention(outputs)] if attends else []))

    @staticmethod
    def run(parts, x, time):
        for part in parts:
            x = part(x, time) if isinstance(part, (Residual, Attention)) else part(x)
        return x

    def forward(self, x):
        # The embedding of the step is taken from the image's mean, so that the graph has one input; it is a vector's work.
        time = self.time(x.mean((1, 2, 3), keepdim=False)[:, None].expand(-1, 128))
        kept = [self.first(x)]
        for parts in self.down:
            kept.append(self.run(parts, kept[-1], time))
        x = self.run(self.middle, kept[-1], time)
        for parts in self.up:
            x = self.run(parts, torch.cat([x, kept.pop()], 1), time)
        return self.last(x)


OWN = {"yolo-s": (Yolo, 640), "unet": (UNet, 512), "ddpm-unet": (DenoisingUNet, 256)}


class Main(nn.Module):
    """The main output of networks that return several."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        y = self.network(x)
        return y["out"] if isinstance(y, dict) else y[0] if isinstance(y, tuple) else y


def own_weights(model):
    """The exporter keeps equal tensors once and passes them through Identity; each use gets its own again, as in PyTorch."""
    import onnx
    graph = model.graph
    weights = {t.name: t for t in graph.initializer}
    for node in [n for n in graph.node if n.op_type == "Identity" and n.input[0] in weights]:
        copy = onnx.TensorProto()
        copy.CopyFrom(weights[node.input[0]])
        copy.name = node.output[0]
        graph.initializer.append(copy)
        graph.node.remove(node)
    used = {name for node in graph.node for name in node.input}
    for tensor in [t for t in graph.initializer if t.name not in used]:
        graph.initializer.remove(tensor)
    return model


def make(name):
    if name in OWN:
        kind, side = OWN[name]
        return kind(), (3, side, side), ["output"]
    import torchvision
    extra = {"weights_backbone": None, "aux_loss": False} if name in ("deeplabv3_resnet50", "fcn_resnet50") else {}
    if name in ("googlenet", "inception_v3"):
        extra = {"aux_logits": False, "init_weights": False}
    side = CLASSICS[name]
    return Main(torchvision.models.get_model(name, weights=None, **extra)), (3, side, side), ["output"]


def main():
    import onnx
    folder = sys.argv[1]
    for name in sys.argv[2:] or [*CLASSICS, *OWN]:
        path = os.path.join(folder, name + ".onnx")
        problem = write_graph(lambda name=name: make(name), path, 300, training=torch.onnx.TrainingMode.PRESERVE)
        if not problem:
            model = own_weights(onnx.load(path))
            model.graph.name = name
            with open(path, "wb") as file:
                file.write(model.SerializeToString())
        print(name, problem or "done", flush=True)


if __name__ == "__main__":
    main()
