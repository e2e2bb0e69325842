"""A network as a list of operations, written down once by a family and turned into PyTorch (torch_network.py) or ONNX (onnx_graph.py).

Shapes leave the batch axis out: an image is (C, H, W), a clip (C, D, H, W), tokens (T, C), a vector (C,)."""
import math


class Value:
    __slots__ = ("builder", "id", "shape")

    def __init__(self, builder, id, shape):
        self.builder, self.id, self.shape = builder, id, tuple(shape)

    def __add__(self, other):
        return self.builder.binary("add", self, other)

    def __mul__(self, other):
        return self.builder.binary("mul", self, other)


class Operation:
    __slots__ = ("kind", "inputs", "output", "shape", "attributes")

    def __init__(self, kind, inputs, output, shape, attributes):
        self.kind, self.inputs, self.output, self.shape, self.attributes = kind, inputs, output, shape, attributes


def _tuple(v, n):
    return tuple(v) if isinstance(v, (list, tuple)) else (v,) * n


class Builder:
    def __init__(self, input_shape):
        self.input_shape, self.operations, self.outputs, self.shapes = tuple(input_shape), [], [], [tuple(input_shape)]

    def input(self):
        return Value(self, 0, self.input_shape)

    def emit(self, kind, inputs, shape, **attributes):
        output = len(self.shapes)
        self.shapes.append(tuple(int(d) for d in shape))
        if any(d < 1 for d in self.shapes[-1]):
            raise ValueError(f"{kind} would have an empty result {shape}")
        self.operations.append(Operation(kind, [v.id for v in inputs], output, self.shapes[-1], attributes))
        return Value(self, output, self.shapes[-1])

    # ---- convolutions and pooling (2-D, or 3-D where the value has a depth axis) ----
    def conv(self, x, out, kernel=3, stride=1, padding=None, groups=1, dilation=1, bias=True):
        n = len(x.shape) - 1
        k, s, d = _tuple(kernel, n), _tuple(stride, n), _tuple(dilation, n)
        p = _tuple(padding, n) if padding is not None else tuple(e * (a - 1) // 2 for a, e in zip(k, d))
        space = [(i + 2 * q - e * (a - 1) - 1) // b + 1 for i, q, e, a, b in zip(x.shape[1:], p, d, k, s)]
        return self.emit("conv", [x], [out] + space, kernel=k, stride=s, padding=p, dilation=d, groups=groups, bias=bias, cin=x.shape[0])

    def deconv(self, x, out, kernel=2, stride=2, padding=0, bias=True):
        space = [(i - 1) * stride - 2 * padding + kernel for i in x.shape[1:]]
        return self.emit("deconv", [x], [out] + space, kernel=kernel, stride=stride, padding=padding, bias=bias, cin=x.shape[0])

    def _pool(self, kind, x, kernel, stride, padding, ceil, **more):
        n = len(x.shape) - 1
        k, s, p = _tuple(kernel, n), _tuple(stride or kernel, n), _tuple(padding, n)
        round_ = math.ceil if ceil else math.floor
        space = [int(round_((i + 2 * q - a) / b)) + 1 for i, q, a, b in zip(x.shape[1:], p, k, s)]
        if ceil:  # a window may not start in the padding beyond the input
            space = [o - 1 if (o - 1) * b >= i + q else o for o, b, i, q in zip(space, s, x.shape[1:], p)]
        return self.emit(kind, [x], [x.shape[0]] + space, kernel=k, stride=s, padding=p, ceil=ceil, **more)

    def max_pool(self, x, kernel, stride=None, padding=0, ceil=False):
        return self._pool("max_pool", x, kernel, stride, padding, ceil)

    def avg_pool(self, x, kernel, stride=None, padding=0, ceil=False, count_pad=True):
        return self._pool("avg_pool", x, kernel, stride, padding, ceil, count_pad=count_pad)

    def global_pool(self, x):
        return self.emit("global_pool", [x], [x.shape[0]] + [1] * (len(x.shape) - 1))

    def adaptive_pool(self, x, size):
        """To size x size; exporters want whole windows, so the input must divide (or be of that size)."""
        if x.shape[1:] == (size, size):
            return x
        if x.shape[1] % size or x.shape[2] % size:
            return self.avg_pool(x, [max(1, i - (size - 1) * (i // size)) for i in x.shape[1:]], [max(1, i // size) for i in x.shape[1:]])
        return self.emit("adaptive_pool", [x], [x.shape[0], size, size], size=size)

    def upsample(self, x, scale=2, mode="nearest"):
        return self.emit("upsample", [x], [x.shape[0]] + [d * scale for d in x.shape[1:]], scale=scale, mode=mode)

    # ---- normalisation, activations ----
    def bn(self, x):
        return self.emit("bn", [x], x.shape, features=x.shape[0])

    def group_norm(self, x, groups=1):
        return self.emit("group_norm", [x], x.shape, groups=groups, features=x.shape[0])

    def layer_norm(self, x):
        return self.emit("layer_norm", [x], x.shape, features=x.shape[-1])

    def act(self, x, name):
        return x if name in (None, "none") else self.emit("act", [x], x.shape, name=name)

    def dropout(self, x, p=0.5):
        return self.emit("dropout", [x], x.shape, p=p)

    # ---- dense ----
    def linear(self, x, out, bias=True):
        return self.emit("linear", [x], x.shape[:-1] + (out,), cin=x.shape[-1], bias=bias)

    def attention(self, qkv, heads):
        """Self-attention over tokens (T, 3 C), heads split inside."""
        return self.emit("attention", [qkv], (qkv.shape[0], qkv.shape[1] // 3), heads=heads)

    def window_attention(self, x, heads, window, shift):
        """Swin's attention over (H, W, C): qkv, relative position bias, projection."""
        return self.emit("window_attention", [x], x.shape, heads=heads, window=window, shift=shift, features=x.shape[-1])

    # ---- shapes ----
    def binary(self, kind, x, y):
        shape = tuple(max(a, b) for a, b in zip(x.shape, y.shape)) if len(x.shape) == len(y.shape) else x.shape
        return self.emit(kind, [x, y], shape)

    def parameter(self, x, kind, shape):
        """x + parameter ("add") or x * parameter ("mul"); the parameter's shape broadcasts to x."""
        return self.emit("parameter_" + kind, [x], x.shape, size=tuple(shape))

    def class_token(self, x):
        return self.emit("class_token", [x], (x.shape[0] + 1, x.shape[1]), features=x.shape[1])

    def concat(self, values, axis=0):
        shape = list(values[0].shape)
        shape[axis] = sum(v.shape[axis] for v in values)
        return self.emit("concat", values, shape, axis=axis)

    def slice(self, x, axis, start, end):
        shape = list(x.shape)
        shape[axis] = end - start
        return self.emit("slice", [x], shape, axis=axis, start=start, end=end)

    def reshape(self, x, shape):
        return self.emit("reshape", [x], shape)

    def permute(self, x, order):
        return self.emit("permute", [x], [x.shape[i] for i in order], order=tuple(order))

    def flatten(self, x):
        return self.emit("flatten", [x], [math.prod(x.shape)])

    def mean(self, x, axes):
        return self.emit("mean", [x], [d for i, d in enumerate(x.shape) if i not in axes], axes=tuple(axes))

    def finish(self, *values):
        """Ends the network; operations that no output needs are dropped, as exporters do: what runs is what the graph says."""
        self.outputs = [v.id for v in values]
        needed = set(self.outputs)
        for op in reversed(self.operations):
            if op.output in needed:
                needed.update(op.inputs)
        self.operations = [op for op in self.operations if op.output in needed]
        return self

    def last_uses(self):
        last = {}
        for i, op in enumerate(self.operations):
            for v in op.inputs:
                last[v] = i
        return last

    def use_counts(self):
        counts = {v: 1 for v in self.outputs}
        for op in self.operations:
            for v in op.inputs:
                counts[v] = counts.get(v, 0) + 1
        return counts
