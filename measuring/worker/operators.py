"""Single operators as a network's forward pass sees them: activations warm, weights rotated over many copies.

Each builder takes (parameters, Tensors) and returns a function that makes one call with a fresh copy of its weights."""
import math

import torch
import torch.nn.functional as F

POOL_BYTES = 1 << 30


class Tensors:
    """Hands out views of one random pool per type, so that a point costs no fill kernels."""

    pools = {}

    def __init__(self, dtype, device, differentiable=False, pool_bytes=POOL_BYTES):
        self.dtype, self.device, self.differentiable = dtype, device, differentiable
        key = (dtype, device)
        if key not in Tensors.pools:
            count = pool_bytes // torch.finfo(dtype).bits * 8
            Tensors.pools[key] = torch.randn(count, device=device, dtype=dtype) * 0.5
        self.pool = Tensors.pools[key]
        self.activation_at, self.weight_at = 0, self.pool.numel() // 2
        self.weight_elements = 0
        self.inputs = []

    def _view(self, start, shape):
        view = self.pool[start:start + math.prod(shape)].view(shape)
        if self.differentiable:
            view = view.detach().requires_grad_()
            self.inputs.append(view)
        return view

    def act(self, *shape):
        n = -(-math.prod(shape) // 128) * 128
        if self.activation_at + n > self.pool.numel() // 2:
            if n > self.pool.numel() // 2:
                raise MemoryError("activation larger than the pool")
            self.activation_at = 0
        start, self.activation_at = self.activation_at, self.activation_at + n
        return self._view(start, shape)

    def weight(self, *shape):
        n = -(-math.prod(shape) // 128) * 128
        if n > self.pool.numel() // 2:
            raise MemoryError("weight larger than the pool")
        if self.weight_at + n > self.pool.numel():
            self.weight_at = self.pool.numel() // 2
        start, self.weight_at = self.weight_at, self.weight_at + n
        self.weight_elements += n
        return self._view(start, shape)

    def index(self, high, *shape):
        return torch.randint(0, high, shape, device=self.device)


def _image(p):
    return (p["batch"], p["in_channels"], p["height"], p["width"])


def conv2d(p, t):
    x = t.act(*_image(p))
    if p.get("channels_last"):
        x = x.contiguous(memory_format=torch.channels_last)
    shape = (p["out_channels"], p["in_channels"] // p["groups"], p["kernel_h"], p["kernel_w"])
    padding = (p["padding_h"], p["padding_w"])

    def make():
        w = t.weight(*shape)
        b = t.weight(shape[0]) if p["bias"] else None
        return lambda: F.conv2d(x, w, b, p["stride"], padding, p["dilation"], p["groups"])
    return make


def conv3d(p, t):
    x = t.act(p["batch"], p["in_channels"], p["depth"], p["height"], p["width"])
    kernel = (p["kernel_d"], p["kernel_h"], p["kernel_w"])
    stride = (p["stride_d"], p["stride"], p["stride"])

    def make():
        w = t.weight(p["out_channels"], p["in_channels"] // p["groups"], *kernel)
        return lambda: F.conv3d(x, w, None, stride, tuple(k // 2 for k in kernel), 1, p["groups"])
    return make


def conv_transpose2d(p, t):
    x = t.act(*_image(p))

    def make():
        w = t.weight(p["in_channels"], p["out_channels"], p["kernel_h"], p["kernel_w"])
        b = t.weight(p["out_channels"]) if p["bias"] else None
        return lambda: F.conv_transpose2d(x, w, b, p["stride"], p["padding_h"])
    return make


def linear(p, t):
    x = t.act(p["m"], p["k"])

    def make():
        w = t.weight(p["n"], p["k"])
        b = t.weight(p["n"]) if p["bias"] else None
        return lambda: F.linear(x, w, b)
    return make


def bmm(p, t):
    x, y = t.act(p["batch"], p["m"], p["k"]), t.act(p["batch"], p["k"], p["n"])
    return lambda: lambda: torch.bmm(x, y)


def attention(p, t):
    q = t.act(p["batch"], p["heads"], p["query_len"], p["head_dim"])
    kv = (p["batch"], p["kv_heads"], p["kv_len"], p["head_dim"])
    extra = {"enable_gqa": True} if p["kv_heads"] != p["heads"] else {}

    def make():
        # a decode step's cache is as cold as weights are
        k, v = (t.weight(*kv), t.weight(*kv)) if p["query_len"] == 1 else (t.act(*kv), t.act(*kv))
        return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=bool(p["causal"]), **extra)
    return make


def layer_norm(p, t):
    x, w, b = t.act(p["rows"], p["cols"]), t.weight(p["cols"]), t.weight(p["cols"])
    return lambda: lambda: F.layer_norm(x, (p["cols"],), w, b)


def rms_norm(p, t):
    x, w = t.act(p["rows"], p["cols"]), t.weight(p["cols"])
    return lambda: lambda: F.rms_norm(x, (p["cols"],), w)


def batch_norm(p, t):
    c = p["in_channels"]
    x, w, b = t.act(*_image(p)), t.weight(c), t.weight(c)
    mean, var = torch.zeros(c, device=t.device, dtype=t.dtype), torch.ones(c, device=t.device, dtype=t.dtype)
    return lambda: lambda: F.batch_norm(x, mean, var, w, b, t.differentiable)


def group_norm(p, t):
    x, w, b = t.act(*_image(p)), t.weight(p["in_channels"]), t.weight(p["in_channels"])
    return lambda: lambda: F.group_norm(x, p["groups"], w, b)


def softmax(p, t):
    x = t.act(p["rows"], p["cols"])
    return lambda: lambda: F.softmax(x, -1)


ELEMENTWISE = {
    "relu": F.relu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu,
    "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "relu6": lambda x: F.hardtanh(x, 0.0, 6.0), "exp": torch.exp, "scale": lambda x: x * 0.125, "pow2": lambda x: x.pow(2),
    "erf": torch.erf, "copy": torch.clone}
BINARY = {"add": torch.add, "mul": torch.mul, "sub": torch.sub, "div": torch.div}


def unary(p, t):
    x, f = t.act(p["elements"]), ELEMENTWISE[p["function"]]
    return lambda: lambda: f(x)


def relu_inplace(p, t):
    x = t.act(p["elements"])
    return lambda: lambda: F.relu_(x)


def binary(p, t):
    x, y, f = t.act(p["elements"]), t.act(p["elements"]), BINARY[p["function"]]
    return lambda: lambda: f(x, y)


def bias_add(p, t):
    x, b = t.act(p["rows"], p["cols"]), t.weight(p["cols"])
    return lambda: lambda: x + b


def channel_scale(p, t):  # squeeze-excite: one factor per image and channel
    x, s = t.act(*_image(p)), t.act(p["batch"], p["in_channels"], 1, 1)
    return lambda: lambda: x * s


def cast(p, t):
    x = t.act(p["elements"])
    to = torch.float32 if t.dtype != torch.float32 else torch.bfloat16
    return lambda: lambda: x.to(to)


def max_pool2d(p, t):
    x = t.act(*_image(p))
    return lambda: lambda: F.max_pool2d(x, p["kernel_h"], p["stride"], p["padding_h"])


def avg_pool2d(p, t):
    x = t.act(*_image(p))
    return lambda: lambda: F.avg_pool2d(x, p["kernel_h"], p["stride"], p["padding_h"])


def adaptive_avg_pool2d(p, t):
    x = t.act(*_image(p))
    return lambda: lambda: F.adaptive_avg_pool2d(x, p["out_size"])


def mean(p, t):  # over the middle axis, as token or spatial means
    x = t.act(p["batch"], p["rows"], p["cols"])
    return lambda: lambda: x.mean(p["axis"])


def embedding(p, t):
    ids = t.index(p["rows"], p["m"])
    w = t.weight(p["rows"], p["cols"])
    return lambda: lambda: F.embedding(ids, w)


def concat(p, t):
    parts = [t.act(p["batch"], p["in_channels"], p["height"] * p["width"]) for _ in range(p["inputs"])]
    return lambda: lambda: torch.cat(parts, 1)


def permute(p, t):
    x = t.act(*p["shape"])
    order = tuple(p["order"])
    return lambda: lambda: x.permute(order).contiguous()


def upsample(p, t):
    x = t.act(*_image(p))
    extra = {"align_corners": False} if p["function"] == "bilinear" else {}
    return lambda: lambda: F.interpolate(x, scale_factor=p["scale"], mode=p["function"], **extra)


def cross_entropy(p, t):
    x, y = t.act(p["rows"], p["cols"]), t.index(p["cols"], p["rows"])
    return lambda: lambda: F.cross_entropy(x, y)


def optimizer(p, t):
    """One step over `tensors` equal tensors of `elements` in all; eager, since that is how it runs."""
    each = max(1, p["elements"] // p["tensors"])
    parameters = [torch.nn.Parameter(t.weight(each).clone()) for _ in range(p["tensors"])]
    for q in parameters:
        q.grad = torch.full_like(q, 1e-3)
    made = {"sgd": lambda: torch.optim.SGD(parameters, 1e-4), "sgd_momentum": lambda: torch.optim.SGD(parameters, 1e-4, momentum=0.9),
            "adam": lambda: torch.optim.Adam(parameters, 1e-6), "adamw": lambda: torch.optim.AdamW(parameters, 1e-6)}[p["function"]]()
    return lambda: made.step


OPERATORS = {f.__name__: f for f in (
    conv2d, conv3d, conv_transpose2d, linear, bmm, attention, layer_norm, rms_norm, batch_norm, group_norm, softmax, unary,
    relu_inplace, binary, bias_add, channel_scale, cast, max_pool2d, avg_pool2d, adaptive_avg_pool2d, mean, embedding, concat,
    permute, upsample, cross_entropy, optimizer)}
EAGER_ONLY = {"optimizer"}
