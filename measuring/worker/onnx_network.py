"""Runs an ONNX file as a PyTorch module, so that a user's own network can be measured. Weights without data get random values.

Floating-point values live on the device; shape arithmetic (int64, bool) stays on the host, so a forward pass never waits for the device."""
import math

import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper

TYPES = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool, 10: torch.float16, 11: torch.float64, 16: torch.bfloat16}


def _attributes(node):
    read = {}
    for a in node.attribute:
        value = onnx.helper.get_attribute_value(a)
        read[a.name] = value.decode() if isinstance(value, bytes) else value
    return read


def _tensor(t):
    if t.raw_data or t.float_data or t.int64_data or t.int32_data or t.double_data or math.prod(t.dims) == 0:
        return torch.from_numpy(numpy_helper.to_array(t).copy())
    if t.data_type in (1, 10, 11, 16):
        scale = max(1, math.prod(t.dims[1:])) ** -0.5 if len(t.dims) > 1 else 0.02
        return torch.randn(*t.dims, dtype=TYPES[t.data_type]) * scale
    return torch.zeros(*t.dims, dtype=TYPES.get(t.data_type, torch.int64))


def _pads(x, pads, value=0.0):
    """ONNX lists begins, then ends; symmetric ones stay with the operator."""
    half = len(pads) // 2
    if pads[:half] == pads[half:]:
        return x, tuple(pads[:half])
    flat = [p for i in reversed(range(half)) for p in (pads[i], pads[half + i])]
    return F.pad(x, flat, value=value), (0,) * half


def _auto_pads(a, x, kernel):
    if a.get("auto_pad", "NOTSET") in ("SAME_UPPER", "SAME_LOWER"):
        strides, begins, ends = a.get("strides", [1] * len(kernel)), [], []
        for i, k, s in zip(x.shape[2:], kernel, strides):
            total = max(0, (-(-i // s) - 1) * s + k - i)
            small, large = total // 2, total - total // 2
            begins.append(small if a["auto_pad"] == "SAME_UPPER" else large)
            ends.append(total - begins[-1])
        return begins + ends
    return list(a.get("pads", [0] * 2 * len(kernel)))


def _conv(a, x, w, b=None):
    n = w.dim() - 2
    x, pad = _pads(x, _auto_pads(a, x, w.shape[2:]))
    f = (F.conv1d, F.conv2d, F.conv3d)[n - 1]
    return f(x, w, b, a.get("strides", [1] * n), pad, a.get("dilations", [1] * n), a.get("group", 1))


def _conv_transpose(a, x, w, b=None):
    n = w.dim() - 2
    f = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
    return f(x, w, b, a.get("strides", [1] * n), a.get("pads", [0] * n)[:n], a.get("output_padding", [0] * n), a.get("group", 1), a.get("dilations", [1] * n))


def _max_pool(a, x):
    k = a["kernel_shape"]
    x, pad = _pads(x, _auto_pads(a, x, k), -math.inf)
    f = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[len(k) - 1]
    return f(x, k, a.get("strides", [1] * len(k)), pad, a.get("dilations", [1] * len(k)), bool(a.get("ceil_mode", 0)))


def _avg_pool(a, x):
    k = a["kernel_shape"]
    x, pad = _pads(x, _auto_pads(a, x, k))
    f = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[len(k) - 1]
    return f(x, k, a.get("strides", [1] * len(k)), pad, bool(a.get("ceil_mode", 0)), bool(a.get("count_include_pad", 0)))


def _gemm(a, x, w, b=None):
    x = x.t() if a.get("transA") else x
    if a.get("transB") and a.get("alpha", 1.0) == 1.0 and a.get("beta", 1.0) == 1.0 and (b is None or b.dim() == 1):
        return F.linear(x, w, b)
    y = a.get("alpha", 1.0) * (x @ (w.t() if a.get("transB") else w))
    return y if b is None else y + a.get("beta", 1.0) * b


def _reshape(a, x, shape):
    return torch.reshape(x, tuple(x.shape[i] if d == 0 and not a.get("allowzero") else d for i, d in enumerate(shape.tolist())))


def _slice(a, x, starts=None, ends=None, axes=None, steps=None):
    starts, ends = (a["starts"], a["ends"]) if starts is None else (starts.tolist(), ends.tolist())
    axes = a.get("axes", list(range(len(starts)))) if axes is None else axes.tolist()
    steps = [1] * len(starts) if steps is None else steps.tolist()
    index = [slice(None)] * x.dim()
    for s, e, d, t in zip(starts, ends, axes, steps):
        if t < 0:
            raise NotImplementedError("Slice with a negative step")
        index[d] = slice(s, min(e, x.shape[d]) if e > 0 else e, t)
    return x[tuple(index)]


def _gather(a, x, index):
    d = a.get("axis", 0) % max(1, x.dim())
    return torch.reshape(x.index_select(d, index.reshape(-1).to(x.device)), tuple(x.shape[:d]) + tuple(index.shape) + tuple(x.shape[d + 1:]))


def _axes(a, rest, name="axes"):
    return rest[0].tolist() if rest and rest[0] is not None else a.get(name)


def _reduce(f):
    def run(a, x, *rest):
        axes = _axes(a, rest)
        return f(x, list(range(x.dim())) if axes is None else list(axes), bool(a.get("keepdims", 1)))
    return run


def _unsqueeze(a, x, *rest):
    axes = _axes(a, rest)
    for d in sorted(d % (x.dim() + len(axes)) for d in axes):
        x = x.unsqueeze(d)
    return x


def _squeeze(a, x, *rest):
    axes = _axes(a, rest)
    for d in sorted((d % x.dim() for d in axes), reverse=True) if axes is not None else ():
        x = x.squeeze(d)
    return x.squeeze() if axes is None else x


def _split(a, x, sizes=None, outputs=1):
    d = a.get("axis", 0)
    parts = sizes.tolist() if sizes is not None else a.get("split") or [-(-x.shape[d] // outputs)]
    return x.split(parts if len(parts) > 1 else parts[0], d)


def _resize(a, x, roi=None, scales=None, sizes=None):
    size = [int(v) for v in sizes.tolist()[2:]] if sizes is not None else [int(i * s) for i, s in zip(x.shape[2:], scales.tolist()[2:])]
    mode = {"nearest": "nearest", "linear": {3: "linear", 4: "bilinear", 5: "trilinear"}[x.dim()], "cubic": "bicubic"}[a.get("mode", "nearest")]
    more = {} if mode == "nearest" else {"align_corners": a.get("coordinate_transformation_mode") == "align_corners"}
    return F.interpolate(x, size=size, mode=mode, **more)


def _cast(a, x):
    to = TYPES[a["to"]]
    return x if x.is_floating_point() and to.is_floating_point else x.to(to)  # the plan's precision decides, not the file's


OPERATORS = {
    "Conv": _conv, "ConvTranspose": _conv_transpose, "MaxPool": _max_pool, "AveragePool": _avg_pool, "Gemm": _gemm, "Reshape": _reshape, "Slice": _slice,
    "GlobalAveragePool": lambda a, x: F.adaptive_avg_pool2d(x, 1) if x.dim() == 4 else x.mean(list(range(2, x.dim())), True),
    "GlobalMaxPool": lambda a, x: x.amax(list(range(2, x.dim())), True), "MatMul": lambda a, x, y: x @ y,
    "Add": lambda a, x, y: x + y, "Sub": lambda a, x, y: x - y, "Mul": lambda a, x, y: x * y, "Pow": lambda a, x, y: x.pow(y),
    "Div": lambda a, x, y: x / y if x.is_floating_point() else torch.div(x, y, rounding_mode="trunc"),
    "Relu": lambda a, x: F.relu(x), "Sigmoid": lambda a, x: torch.sigmoid(x), "Tanh": lambda a, x: torch.tanh(x), "Erf": lambda a, x: torch.erf(x),
    "Sqrt": lambda a, x: x.sqrt(), "Exp": lambda a, x: x.exp(), "Log": lambda a, x: x.log(), "Neg": lambda a, x: -x, "Abs": lambda a, x: x.abs(),
    "Reciprocal": lambda a, x: x.reciprocal(), "Softplus": lambda a, x: F.softplus(x), "HardSwish": lambda a, x: F.hardswish(x),
    "HardSigmoid": lambda a, x: F.hardsigmoid(x), "LeakyRelu": lambda a, x: F.leaky_relu(x, a.get("alpha", 0.01)), "Elu": lambda a, x: F.elu(x, a.get("alpha", 1.0)),
    "Gelu": lambda a, x: F.gelu(x, approximate=a.get("approximate", "none")), "PRelu": lambda a, x, w: torch.where(x > 0, x, x * w),
    "Clip": lambda a, x, low=None, high=None: x.clamp(None if low is None else low.item(), None if high is None else high.item()),
    "Softmax": lambda a, x: F.softmax(x, a.get("axis", -1)), "LogSoftmax": lambda a, x: F.log_softmax(x, a.get("axis", -1)),
    "BatchNormalization": lambda a, x, w, b, m, v: F.batch_norm(x, m, v, w, b, False, 0.0, a.get("epsilon", 1e-5)),
    "InstanceNormalization": lambda a, x, w, b: F.instance_norm(x, None, None, w, b, True, 0.0, a.get("epsilon", 1e-5)),
    "LayerNormalization": lambda a, x, w, b=None: F.layer_norm(x, x.shape[a.get("axis", -1):], w, b, a.get("epsilon", 1e-5)),
    "Concat": lambda a, *x: torch.cat(x, a["axis"]), "Transpose": lambda a, x: x.permute(a.get("perm", list(reversed(range(x.dim()))))),
    "Flatten": lambda a, x: x.flatten(a.get("axis", 1)) if a.get("axis", 1) else x.reshape(1, -1), "Squeeze": _squeeze, "Unsqueeze": _unsqueeze,
    "Gather": _gather,
    "Split": _split, "Resize": _resize, "Upsample": lambda a, x, s: _resize(a, x, None, s), "Cast": _cast, "Identity": lambda a, x: x, "Dropout": lambda a, x, *r: x,
    "Shape": lambda a, x: torch.tensor(x.shape), "Constant": lambda a: _tensor(a["value"]) if "value" in a else torch.tensor(next(iter(a.values()))),
    "ConstantOfShape": lambda a, s: torch.full(s.tolist(), numpy_helper.to_array(a["value"]).item() if "value" in a else 0.0),
    "Expand": lambda a, x, s: x.expand(torch.broadcast_shapes(tuple(x.shape), tuple(s.tolist()))), "Where": lambda a, c, x, y: torch.where(c, x, y), "Equal": lambda a, x, y: x == y,
    "Tile": lambda a, x, r: x.repeat(r.tolist()), "Range": lambda a, s, e, d: torch.arange(s.item(), e.item(), d.item()),
    "ReduceMean": _reduce(lambda x, d, k: x.mean(d, k)), "ReduceSum": _reduce(lambda x, d, k: x.sum(d, k)), "ReduceMax": _reduce(lambda x, d, k: x.amax(d, k)),
    "DepthToSpace": lambda a, x: F.pixel_shuffle(x, a["blocksize"]), "Pad": lambda a, x, p=None, v=None: F.pad(x, [q for i in reversed(range(x.dim())) for q in ((p.tolist() if p is not None else a["pads"])[i], (p.tolist() if p is not None else a["pads"])[x.dim() + i])], value=0.0 if v is None else v.item()),
}


class OnnxNetwork(torch.nn.Module):
    def __init__(self, path):
        super().__init__()
        graph = onnx.load(path).graph
        unknown = sorted({n.op_type for n in graph.node} - set(OPERATORS))
        if unknown:
            raise NotImplementedError(f"{path}: the worker cannot run {', '.join(unknown)}")
        self.host, self.weights = {}, {}
        used_small = {n.input[k] for n in graph.node for k in range(1, len(n.input)) if n.op_type in ("Clip", "Resize", "Upsample", "Pad")}
        for t in graph.initializer:
            value = _tensor(t)
            if value.is_floating_point() and t.name not in used_small and value.numel() > 1:
                name = f"w{len(self.weights)}"
                self.register_parameter(name, torch.nn.Parameter(value))
                self.weights[t.name] = name
            else:
                self.host[t.name] = value
        inputs = [i for i in graph.input if i.name not in self.weights and i.name not in self.host]
        if len(inputs) != 1:
            raise NotImplementedError(f"{path}: {len(inputs)} inputs; the worker runs networks of one")
        self.input, self.outputs = inputs[0].name, [o.name for o in graph.output]
        self.input_shape = tuple(d.dim_value for d in inputs[0].type.tensor_type.shape.dim)[1:]
        if any(d <= 0 for d in self.input_shape):
            raise NotImplementedError(f"{path}: only the batch axis may be free, the input is {self.input_shape}")
        last = {name: i for i, n in enumerate(graph.node) for name in n.input}
        self.program = [(OPERATORS[n.op_type], n.op_type, _attributes(n), list(n.input), list(n.output),
                         [x for x in dict.fromkeys(n.input) if last[x] == i and x not in self.outputs]) for i, n in enumerate(graph.node)]

    def forward(self, x):
        values = {self.input: x, "": None}
        del x
        for run, kind, attributes, inputs, outputs, dead in self.program:
            arguments = [values[i] if i in values else getattr(self, self.weights[i]) if i in self.weights else self.host[i] for i in inputs]
            made = run(attributes, *arguments, outputs=len(outputs)) if kind == "Split" else run(attributes, *arguments)
            del arguments
            for name, value in zip(outputs, made if isinstance(made, (tuple, list)) else (made,)):
                values[name] = value
            for name in dead:
                if name:
                    values.pop(name, None)
        results = tuple(values[o] for o in self.outputs)
        return results if len(results) > 1 else results[0]
