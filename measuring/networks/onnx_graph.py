"""Writes a Builder's operations as a weight-free ONNX graph (opset 17, free batch axis N) without running or tracing anything.

The nodes are those PyTorch's exporter writes in evaluation mode: batch norms folded into the convolution before them, activations
and attention decomposed, initialisers over 64 elements without data."""
import math

import onnx
from onnx import TensorProto, helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Emitter:
    def __init__(self, builder):
        self.builder, self.nodes, self.initializers, self.names, self.constants = builder, [], [], {0: "input"}, {}
        self.counter = 0

    def weight(self, shape):
        name = f"w{len(self.initializers)}"
        t = TensorProto(name=name, data_type=FLOAT, dims=shape)
        if math.prod(shape) <= 64:
            t.float_data.extend([0.01] * math.prod(shape))
        self.initializers.append(t)
        return name

    def integers(self, values):
        key = tuple(values)
        if key not in self.constants:
            name = f"i{len(self.initializers)}"
            self.initializers.append(TensorProto(name=name, data_type=INT64, dims=[len(values)], int64_data=values))
            self.constants[key] = name
        return self.constants[key]

    def scalar(self, value):
        if value not in self.constants:
            name = f"c{len(self.initializers)}"
            self.initializers.append(TensorProto(name=name, data_type=FLOAT, dims=[], float_data=[value]))
            self.constants[value] = name
        return self.constants[value]

    def node(self, kind, inputs, outputs=None, **attributes):
        if outputs is None:
            self.counter += 1
            outputs = [f"t{self.counter}"]
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=f"{kind}_{len(self.nodes)}", **attributes))
        return outputs[0]

    def reshape(self, x, shape):
        return self.node("Reshape", [x, self.integers([-1, *shape])])

    def linear(self, x, cin, out, bias, vector):
        if vector and bias:
            return self.node("Gemm", [x, self.weight([out, cin]), self.weight([out])], alpha=1.0, beta=1.0, transB=1)
        y = self.node("MatMul", [x, self.weight([cin, out])])
        return self.node("Add", [self.weight([out]), y]) if bias else y

    def attend(self, x, tokens, heads, dim, mask=None):
        """x: (N, T, 3 C) -> (N, T, C); mask(scores) may add to the scores."""
        q = self.node("Transpose", [self.reshape(x, [tokens, 3, heads, dim])], perm=[2, 0, 3, 1, 4])
        parts = [self.node("Gather", [q, self.index(i)], axis=0) for i in range(3)]
        scaled = self.node("Mul", [parts[0], self.scalar(dim**-0.5)])
        scores = self.node("MatMul", [scaled, self.node("Transpose", [parts[1]], perm=[0, 1, 3, 2])])
        if mask:
            scores = mask(scores)
        y = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), parts[2]])
        return self.reshape(self.node("Transpose", [y], perm=[0, 2, 1, 3]), [tokens, heads * dim])

    def index(self, i):
        key = ("index", i)
        if key not in self.constants:
            name = f"n{len(self.initializers)}"
            self.initializers.append(TensorProto(name=name, data_type=INT64, dims=[], int64_data=[i]))
            self.constants[key] = name
        return self.constants[key]

    def activation(self, name, x):
        if name == "gelu":
            y = self.node("Erf", [self.node("Div", [x, self.scalar(2**0.5)])])
            return self.node("Mul", [self.node("Mul", [x, self.node("Add", [y, self.scalar(1.0)])]), self.scalar(0.5)])
        if name == "silu":
            return self.node("Mul", [x, self.node("Sigmoid", [x])])
        if name == "relu6":
            return self.node("Clip", [x, self.scalar(0.0), self.scalar(6.0)])
        if name == "hardsigmoid":
            return self.node("HardSigmoid", [x], alpha=1 / 6, beta=0.5)
        return self.node({"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "hardswish": "HardSwish"}[name], [x])

    def group_norm(self, x, a, shape):
        y = self.node("Reshape", [x, self.integers([0, a["groups"], -1])])
        y = self.node("InstanceNormalization", [y, self.weight([a["groups"]]), self.weight([a["groups"]])], epsilon=1e-5)
        y = self.node("Reshape", [y, self.node("Shape", [x])])
        ones = [1] * (len(shape) - 1)
        return self.node("Add", [self.node("Mul", [y, self.weight([a["features"], *ones])]), self.weight([a["features"], *ones])])

    def roll(self, x, axis, shift):
        """torch.roll: two slices joined the other way round."""
        ends = [(-shift, 2**63 - 1), (0, -shift)]
        parts = [self.node("Slice", [x, self.integers([s]), self.integers([e]), self.integers([axis]), self.integers([1])]) for s, e in ends]
        return self.node("Concat", parts, axis=axis)

    def window_attention(self, x, a, shape):
        (h, w, c), s, heads = shape, a["window"], a["heads"]
        for axis in (1, 2) if a["shift"] else ():
            x = self.roll(x, axis, -a["shift"])
        x = self.node("Transpose", [self.reshape(x, [h // s, s, w // s, s, c])], perm=[0, 1, 3, 2, 4, 5])
        x = self.linear(self.reshape(x, [s * s, c]), c, 3 * c, True, False)
        windows = (h // s) * (w // s)

        def mask(scores):
            index = f"x{len(self.initializers)}"
            self.initializers.append(TensorProto(name=index, data_type=INT64, dims=[s**4]))
            bias = self.node("Gather", [self.weight([(2 * s - 1) ** 2, heads]), index], axis=0)
            bias = self.node("Transpose", [self.node("Reshape", [bias, self.integers([s * s, s * s, heads])])], perm=[2, 0, 1])
            scores = self.node("Add", [scores, self.node("Unsqueeze", [bias, self.integers([0])])])
            if not a["shift"]:
                return scores
            y = self.node("Add", [self.reshape(scores, [windows, heads, s * s, s * s]), self.weight([windows, 1, s * s, s * s])])
            return self.reshape(y, [heads, s * s, s * s])
        x = self.linear(self.attend(x, s * s, heads, c // heads, mask), c, c, True, False)
        x = self.node("Transpose", [self.reshape(x, [h // s, w // s, s, s, c])], perm=[0, 1, 3, 2, 4, 5])
        x = self.reshape(x, [h, w, c])
        for axis in (1, 2) if a["shift"] else ():
            x = self.roll(x, axis, a["shift"])
        return x

    def emit(self, op, folded):
        a, x = op.attributes, self.names[op.inputs[0]]
        many = [self.names[i] for i in op.inputs]
        before = self.builder.shapes[op.inputs[0]]
        if op.kind == "conv":
            inputs = [x, self.weight([op.shape[0], a["cin"] // a["groups"], *a["kernel"]])]
            if a["bias"] or folded:
                inputs.append(self.weight([op.shape[0]]))
            return self.node("Conv", inputs, dilations=a["dilation"], group=a["groups"], kernel_shape=a["kernel"], pads=a["padding"] * 2, strides=a["stride"])
        if op.kind == "deconv":
            inputs = [x, self.weight([a["cin"], op.shape[0], a["kernel"], a["kernel"]])] + ([self.weight([op.shape[0]])] if a["bias"] else [])
            return self.node("ConvTranspose", inputs, dilations=[1, 1], group=1, kernel_shape=[a["kernel"]] * 2, pads=[a["padding"]] * 4, strides=[a["stride"]] * 2)
        if op.kind == "bn":
            return self.node("BatchNormalization", [x] + [self.weight([a["features"]]) for _ in range(4)], epsilon=1e-5, momentum=0.9)
        if op.kind == "max_pool":
            return self.node("MaxPool", [x], kernel_shape=a["kernel"], strides=a["stride"], pads=a["padding"] * 2, ceil_mode=int(a["ceil"]))
        if op.kind == "avg_pool":
            return self.node("AveragePool", [x], kernel_shape=a["kernel"], strides=a["stride"], pads=a["padding"] * 2, ceil_mode=int(a["ceil"]), count_include_pad=int(a["count_pad"]))
        if op.kind == "global_pool":
            return self.node("GlobalAveragePool", [x])
        if op.kind == "adaptive_pool":
            k = [before[1] // a["size"], before[2] // a["size"]]
            return self.node("AveragePool", [x], kernel_shape=k, strides=k)
        if op.kind == "upsample":
            mode = "linear" if a["mode"] == "bilinear" else "nearest"
            scales = f"s{len(self.initializers)}"
            self.initializers.append(TensorProto(name=scales, data_type=FLOAT, dims=[len(op.shape) + 1], float_data=[1.0, 1.0] + [float(a["scale"])] * (len(op.shape) - 1)))
            more = {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"} if mode == "nearest" else {"coordinate_transformation_mode": "half_pixel"}
            return self.node("Resize", [x, "", scales], mode=mode, cubic_coeff_a=-0.75, **more)
        if op.kind == "group_norm":
            return self.group_norm(x, a, op.shape)
        if op.kind == "layer_norm":
            return self.node("LayerNormalization", [x, self.weight([a["features"]]), self.weight([a["features"]])], axis=-1, epsilon=1e-5)
        if op.kind == "act":
            return self.activation(a["name"], x)
        if op.kind == "dropout":
            return x
        if op.kind == "linear":
            return self.linear(x, a["cin"], op.shape[-1], a["bias"], len(op.shape) == 1)
        if op.kind == "attention":
            return self.attend(x, op.shape[0], a["heads"], op.shape[1] // a["heads"])
        if op.kind == "window_attention":
            return self.window_attention(x, a, op.shape)
        if op.kind in ("add", "sub", "mul"):
            return self.node({"add": "Add", "sub": "Sub", "mul": "Mul"}[op.kind], many)
        if op.kind.startswith("parameter_"):
            return self.node("Add" if op.kind == "parameter_add" else "Mul", [x, self.weight([1, *a["size"]])])
        if op.kind == "class_token":
            batch = self.node("Unsqueeze", [self.node("Gather", [self.node("Shape", [x]), self.index(0)], axis=0), self.integers([0])])
            shape = self.node("Concat", [batch, self.integers([1]), self.integers([a["features"]])], axis=0)
            return self.node("Concat", [self.node("Expand", [self.weight([1, 1, a["features"]]), shape]), x], axis=1)
        if op.kind == "concat":
            return self.node("Concat", many, axis=a["axis"] + 1)
        if op.kind == "slice":
            return self.node("Slice", [x, self.integers([a["start"]]), self.integers([a["end"]]), self.integers([a["axis"] + 1]), self.integers([1])])
        if op.kind == "reshape":
            return self.reshape(x, op.shape)
        if op.kind == "permute":
            return self.node("Transpose", [x], perm=[0] + [i + 1 for i in a["order"]])
        if op.kind == "flatten":
            return self.node("Flatten", [x], axis=1)
        if op.kind == "mean":
            return self.node("ReduceMean", [x], axes=[i + 1 for i in a["axes"]], keepdims=0)
        raise KeyError(op.kind)


def onnx_model(builder, name="network"):
    e = Emitter(builder)
    uses = builder.use_counts()
    folded = {op.inputs[0] for op in builder.operations if op.kind == "bn" and uses[op.inputs[0]] == 1}
    convs = {op.output for op in builder.operations if op.kind == "conv"}
    for op in builder.operations:
        if op.kind == "bn" and op.inputs[0] in folded & convs:
            e.names[op.output] = e.names[op.inputs[0]]
        else:
            e.names[op.output] = e.emit(op, op.output in folded)
    outputs = []
    for i, v in enumerate(builder.outputs):
        label = f"output{i}" if len(builder.outputs) > 1 else "output"
        for node in e.nodes:  # the exporter names results, it does not copy them
            for field in (node.input, node.output):
                for k, n in enumerate(field):
                    if n == e.names[v]:
                        field[k] = label
        outputs.append(helper.make_tensor_value_info(label, FLOAT, ["N", *builder.shapes[v]]))
    graph = helper.make_graph(e.nodes, name, [helper.make_tensor_value_info("input", FLOAT, ["N", *builder.input_shape])], outputs, e.initializers)
    model = helper.make_model(graph, producer_name="forerun", opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model
