"""Turns a Builder's operations into a torch.nn.Module: layers with weights become modules, the forward pass is generated as straight code.

Values die at their last use, and activations after a normalisation run in place, as hand-written networks do."""
import torch
import torch.nn as nn
import torch.nn.functional as F

INPLACE_AFTER = {"conv", "bn", "linear", "deconv", "add"}
CAN_BE_INPLACE = {"relu", "relu6", "silu", "hardswish"}


def self_attention(qkv, heads):
    tokens, width = int(qkv.shape[1]), int(qkv.shape[2]) // 3  # plain numbers, so that a tracer writes constants
    q, k, v = qkv.reshape(-1, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
    return attend(q, k, v, None).transpose(1, 2).reshape(-1, tokens, width)


def attend(q, k, v, bias):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    scores = q * (int(q.shape[-1]) ** -0.5) @ k.transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    return scores.softmax(-1) @ v


class WindowAttention(nn.Module):
    """Attention inside windows with a relative position bias; with a shift, windows are cut from the rolled image and masked."""

    def __init__(self, features, height, width, heads, window, shift, device=None):
        super().__init__()
        self.shape, self.heads, self.window, self.shift = (height, width), heads, window, shift
        self.qkv = nn.Linear(features, 3 * features, device=device)
        self.proj = nn.Linear(features, features, device=device)
        self.table = nn.Parameter(torch.empty((2 * window - 1) ** 2, heads, device=device))
        self.register_buffer("index", torch.empty(window**4, dtype=torch.long, device=device), persistent=False)
        windows = (height // window) * (width // window)
        self.register_buffer("mask", torch.empty(windows, 1, window**2, window**2, device=device) if shift else None, persistent=False)

    def forward(self, x):
        (h, w), s, c = self.shape, self.window, int(x.shape[-1])
        if self.shift:
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        x = x.view(-1, h // s, s, w // s, s, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, s * s, c)
        q, k, v = self.qkv(x).reshape(-1, s * s, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        q = q * (c // self.heads) ** -0.5
        scores = q @ k.transpose(-2, -1) + self.table[self.index].view(s * s, s * s, self.heads).permute(2, 0, 1).unsqueeze(0)
        if self.mask is not None:
            n = self.mask.shape[0]
            scores = (scores.view(-1, n, self.heads, s * s, s * s) + self.mask).view(-1, self.heads, s * s, s * s)
        x = self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, s * s, c))
        x = x.view(-1, h // s, w // s, s, s, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, h, w, c)
        return torch.roll(x, (self.shift, self.shift), (1, 2)) if self.shift else x


def _module(op, builder, device):
    a, nd = op.attributes, len(op.shape) - 1
    if op.kind == "conv":
        return (nn.Conv3d if nd == 3 else nn.Conv2d)(a["cin"], op.shape[0], a["kernel"], a["stride"], a["padding"], a["dilation"], a["groups"], a["bias"], device=device)
    if op.kind == "deconv":
        return nn.ConvTranspose2d(a["cin"], op.shape[0], a["kernel"], a["stride"], a["padding"], bias=a["bias"], device=device)
    if op.kind == "bn":
        return (nn.BatchNorm3d if nd == 3 else nn.BatchNorm2d)(a["features"], device=device)
    if op.kind == "group_norm":
        return nn.GroupNorm(a["groups"], a["features"], device=device)
    if op.kind == "layer_norm":
        return nn.LayerNorm(a["features"], device=device)
    if op.kind == "linear":
        return nn.Linear(a["cin"], op.shape[-1], a["bias"], device=device)
    if op.kind == "dropout":
        return nn.Dropout(a["p"])
    if op.kind == "window_attention":
        return WindowAttention(a["features"], op.shape[0], op.shape[1], a["heads"], a["window"], a["shift"], device)
    return None


def _expression(op, v, builder, inplace_add):
    a = op.attributes
    x = v[0]
    if op.kind == "max_pool":
        return f"F.max_pool{len(a['kernel'])}d({x}, {a['kernel']}, {a['stride']}, {a['padding']}, 1, {a['ceil']})"
    if op.kind == "avg_pool":
        return f"F.avg_pool{len(a['kernel'])}d({x}, {a['kernel']}, {a['stride']}, {a['padding']}, {a['ceil']}, {a['count_pad']})"
    if op.kind == "global_pool":
        return f"F.adaptive_avg_pool{len(op.shape) - 1}d({x}, 1)"
    if op.kind == "adaptive_pool":
        return f"F.adaptive_avg_pool2d({x}, {a['size']})"
    if op.kind == "upsample":
        more = ", align_corners=False" if a["mode"] == "bilinear" else ""
        return f"F.interpolate({x}, size={tuple(op.shape[1:])}, mode='{a['mode']}'{more})"
    if op.kind == "add":
        return f"{x}.add_({v[1]})" if inplace_add else f"{x} + {v[1]}"
    if op.kind == "sub":
        return f"{x} - {v[1]}"
    if op.kind == "mul":
        return f"{x} * {v[1]}"
    if op.kind == "attention":
        return f"self_attention({x}, {a['heads']})"
    if op.kind == "parameter_add":
        return f"{x} + self.p{op.output}"
    if op.kind == "parameter_mul":
        return f"{x} * self.p{op.output}"
    if op.kind == "class_token":
        return f"torch.cat([self.p{op.output}.expand({x}.shape[0], -1, -1), {x}], 1)"
    if op.kind == "concat":
        return f"torch.cat([{', '.join(v)}], {a['axis'] + 1})"
    if op.kind == "slice":
        return f"{x}[{':, ' * (a['axis'] + 1)}{a['start']}:{a['end']}]"
    if op.kind == "reshape":
        return f"{x}.reshape(-1, {', '.join(map(str, op.shape))})"
    if op.kind == "permute":
        return f"{x}.permute(0, {', '.join(str(i + 1) for i in a['order'])})"
    if op.kind == "flatten":
        return f"torch.flatten({x}, 1)"
    if op.kind == "mean":
        return f"{x}.mean({[i + 1 for i in a['axes']]})"
    raise KeyError(op.kind)


def _activation(name, x, inplace):
    if name == "relu6":
        return f"F.hardtanh({x}, 0.0, 6.0, {inplace})"
    if name in CAN_BE_INPLACE:
        return f"F.{name}({x}, inplace={inplace})"
    return {"sigmoid": f"torch.sigmoid({x})", "tanh": f"torch.tanh({x})"}.get(name, f"F.{name}({x})")


class TorchNetwork(nn.Module):
    def __init__(self, builder, device=None):
        super().__init__()
        last, uses = builder.last_uses(), builder.use_counts()
        kinds = {op.output: op.kind for op in builder.operations}
        lines = []
        for i, op in enumerate(builder.operations):
            v = [f"v{n}" for n in op.inputs]
            module = _module(op, builder, device)
            single = uses[op.inputs[0]] == 1 and kinds.get(op.inputs[0]) in INPLACE_AFTER
            if module is not None:
                self.add_module(f"m{op.output}", module)
                text = f"self.m{op.output}({v[0]})"
            elif op.kind == "act":
                text = _activation(op.attributes["name"], v[0], single)
            else:
                if op.kind.startswith("parameter_"):
                    self.register_parameter(f"p{op.output}", nn.Parameter(torch.empty(1, *op.attributes["size"], device=device)))
                elif op.kind == "class_token":
                    self.register_parameter(f"p{op.output}", nn.Parameter(torch.empty(1, 1, op.attributes["features"], device=device)))
                text = _expression(op, v, builder, single and kinds.get(op.inputs[0]) == "bn" and op.shape == builder.shapes[op.inputs[0]])
            lines.append(f"v{op.output} = {text}")
            dead = sorted({f"v{n}" for n in op.inputs if last[n] == i and n not in builder.outputs})
            if dead:
                lines.append("del " + ", ".join(dead))
        result = ", ".join(f"v{n}" for n in builder.outputs)
        scope = {"torch": torch, "F": F, "self_attention": self_attention}
        exec("def run(self, v0):\n    " + "\n    ".join(lines) + f"\n    return {result}\n", scope)
        self._run = scope["run"]

    def forward(self, x):
        return self._run(self, x)


def on_meta(builder):
    """A network without memory, to be filled later: its layers' own initialisation would only cost time."""
    classes = (nn.Linear, nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm, nn.GroupNorm)
    own = [cls.reset_parameters for cls in classes]
    for cls in classes:
        cls.reset_parameters = lambda self: None
    try:
        return TorchNetwork(builder, device="meta")
    finally:
        for cls, reset in zip(classes, own):
            cls.reset_parameters = reset


def fill(module, device):
    """Gives a network built on meta its memory and plausible values: no zeros, nothing that overflows in fp16."""
    module.to_empty(device=device)
    with torch.no_grad():
        for layer in module.modules():
            norm = isinstance(layer, (nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm, nn.GroupNorm))
            for name, p in layer.named_parameters(recurse=False):
                if norm:
                    p.fill_(1.0 if name == "weight" else 0.01)
                elif p.dim() > 1 and name == "weight":
                    p.normal_(0, (p[0].numel()) ** -0.5)
                else:
                    p.normal_(0, 0.02)
            for name, b in layer.named_buffers(recurse=False):
                if name == "running_var":
                    b.fill_(1.0)
                elif name == "index":
                    b.copy_(torch.arange(b.numel(), device=b.device) % layer.table.shape[0])
                else:
                    b.zero_()
    return module
