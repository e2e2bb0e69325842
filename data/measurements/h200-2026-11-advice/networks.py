"""Networks of the before/after measurements, as functions that the measuring worker calls ({"python": "FILE:FUNCTION"})."""
import json
import os
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
for folder in ("networks", "worker"):
    sys.path.insert(0, os.path.join(ROOT, "measuring", folder))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


# ---- the temperature-downscaling U-Net: 3,525,650 trainable, 3,360 other parameters ----
def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class Unet(nn.Module):
    def __init__(self, base=56):
        super().__init__()
        c = [base, 2 * base, 4 * base, 8 * base]
        self.down = nn.ModuleList([nn.Sequential(conv_block(3, c[0]), conv_block(c[0], c[0])), conv_block(c[0], c[1]), conv_block(c[1], c[2])])
        self.bridge = conv_block(c[2], c[3])
        self.up = nn.ModuleList([nn.ConvTranspose2d(c[i + 1], c[i], 2, 2) for i in (2, 1, 0)])
        self.blocks = nn.ModuleList([nn.Sequential(conv_block(2 * c[i], c[i]), conv_block(c[i], c[i])) for i in (2, 1, 0)])
        self.out = nn.ModuleList([nn.Conv2d(base, 1, 1), nn.Conv2d(base, 1, 1)])

    def forward(self, x):
        skips = []
        for down in self.down:
            x = down(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.bridge(x)
        for up, block, skip in zip(self.up, self.blocks, reversed(skips)):
            x = block(torch.cat([up(x), skip], 1))
        return tuple(out(x) for out in self.out)


def unet():
    return Unet()


# ---- a generated family, changed as an advised edit changes it ----
def built(spec, resolution, edit):
    import families
    from builder import Builder
    kept = Builder.conv, Builder.deconv, Builder.bn, Builder.act
    up8 = lambda n: n if n < 8 else -(-n // 8) * 8
    if edit == "fold-norms":
        Builder.conv = lambda self, *a, **k: kept[0](self, *a, **dict(k, bias=True))
        Builder.bn = lambda self, x: x
    elif edit == "align-widths":
        Builder.conv = lambda self, x, out, *a, **k: kept[0](self, x, up8(out), *a, **k)
        Builder.deconv = lambda self, x, out, *a, **k: kept[1](self, x, up8(out), *a, **k)
    elif edit == "simplify-activations":
        costly = ("gelu", "silu", "hardswish", "elu", "mish", "softplus")
        Builder.act = lambda self, x, name, *a: kept[3](self, x, "relu" if name in costly else name, *a)
    elif edit:
        raise ValueError(edit)
    try:
        return families.build(spec, resolution)
    finally:
        Builder.conv, Builder.deconv, Builder.bn, Builder.act = kept


def family(spec, resolution, edit):
    import torch_network
    return torch_network.fill(torch_network.on_meta(built(spec, resolution, edit)), "cpu")


# ---- BERT's encoder by hand, with query, key and value as three products or as one ----
class Encoder(nn.Module):
    def __init__(self, joined, act, hidden=768, heads=12, inner=3072):
        super().__init__()
        self.heads, self.act = heads, act
        self.qkv = nn.ModuleList([nn.Linear(hidden, 3 * hidden)] if joined else [nn.Linear(hidden, hidden) for _ in range(3)])
        self.proj, self.norm1 = nn.Linear(hidden, hidden), nn.LayerNorm(hidden, 1e-12)
        self.up, self.down, self.norm2 = nn.Linear(hidden, inner), nn.Linear(inner, hidden), nn.LayerNorm(hidden, 1e-12)

    def forward(self, x):
        b, t, h = x.shape
        parts = self.qkv[0](x).split(h, -1) if len(self.qkv) == 1 else [layer(x) for layer in self.qkv]
        q, k, v = (p.view(b, t, self.heads, h // self.heads).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, h)
        x = self.norm1(self.proj(y) + x)
        y = self.down(F.gelu(self.up(x)) if self.act == "gelu" else F.relu(self.up(x)))
        return self.norm2(y + x)


class Bert(nn.Module):
    def __init__(self, joined, act, length, hidden=768):
        super().__init__()
        self.words, self.places, self.types = nn.Embedding(30522, hidden), nn.Embedding(512, hidden), nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, 1e-12)
        self.layers = nn.ModuleList([Encoder(joined, act) for _ in range(12)])
        self.pooler = nn.Linear(hidden, hidden)
        self.register_buffer("ids", torch.randint(5, 30000, (256, length)))
        self.register_buffer("position", torch.arange(length)[None])

    def forward(self, x):
        ids = self.ids[:x.shape[0]]
        x = self.norm(self.words(ids) + self.types(torch.zeros_like(ids)) + self.places(self.position))
        for layer in self.layers:
            x = layer(x)
        return torch.tanh(self.pooler(x[:, 0]))


def bert(joined, act, length):
    with torch.device(DEVICE):
        return Bert(joined, act, length)


# ---- a causal network whose logits are asked for the last position, or for all ----
class Prompt(nn.Module):
    def __init__(self, config, length, last, dtype):
        super().__init__()
        from llm_mode import BuiltLlm
        made = BuiltLlm(config, dtype)
        made.fill(DEVICE)
        self.last, self.network = last, made.module
        self.register_buffer("ids", torch.randint(5, made.config.vocab_size - 5, (64, length), device=DEVICE))

    def forward(self, x):
        more = {"logits_to_keep": 1} if self.last else {}
        return self.network(input_ids=self.ids[:x.shape[0]], use_cache=True, **more).logits


def prompt(name, length, last, attention):
    config = json.load(open(os.path.join(ROOT, "data", "networks", name + ".json")))
    config = {k: v for k, v in config.items() if k not in ("forerun", "architectures")}
    config["attn_implementation"] = attention
    return Prompt(config, length, last, torch.bfloat16)
