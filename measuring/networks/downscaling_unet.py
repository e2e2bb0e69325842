"""Writes data/networks/downscaling-unet.onnx: the published U-Net for temperature downscaling, weight-free, with its batch norms.

python3 measuring/networks/downscaling_unet.py data/networks/downscaling-unet.onnx

Three fields of 96 x 128 in, two of one channel out; 3,525,650 trainable and 3,360 other parameters (K. Panner Selvam, PhD thesis, University of
Luxembourg, 2025, chapter 3). Two 3x3 convolutions of 56 channels, one of 112 and one of 224 on the way down, one of 448 at the bottom; a
transposed 2x2 convolution and two 3x3 convolutions on each level up; every 3x3 convolution with a bias, batch norm and ReLU."""
import math
import sys

import onnx
from onnx import TensorProto, helper

BASE = 56


class Writer:
    def __init__(self):
        self.nodes, self.weights = [], []

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        t = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
        if math.prod(shape) <= 64:
            t.float_data.extend([0.01] * math.prod(shape))
        self.weights.append(t)
        return name

    def node(self, kind, inputs, output=None, **attributes):
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=f"{kind}_{len(self.nodes)}", **attributes))
        return output

    def conv(self, x, cin, cout, kernel, output=None):
        pad = kernel // 2
        return self.node("Conv", [x, self.weight(cout, cin, kernel, kernel), self.weight(cout)], output, kernel_shape=[kernel] * 2, pads=[pad] * 4, strides=[1, 1])

    def block(self, x, cin, cout):
        x = self.conv(x, cin, cout, 3)
        x = self.node("BatchNormalization", [x, *(self.weight(cout) for _ in range(4))], epsilon=1e-3)
        return self.node("Relu", [x])


def main():
    w, x, channels, skips = Writer(), "input", 3, []
    for level, convs in enumerate((2, 1, 1)):
        for _ in range(convs):
            x, channels = w.block(x, channels, BASE << level), BASE << level
        skips.append(x)
        x = w.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = w.block(x, channels, BASE << 3)
    for level in (2, 1, 0):
        c = BASE << level
        x = w.node("ConvTranspose", [x, w.weight(2 * c, c, 2, 2), w.weight(c)], kernel_shape=[2, 2], strides=[2, 2])
        x = w.node("Concat", [x, skips[level]], axis=1)
        x = w.block(w.block(x, 2 * c, c), c, c)
    outputs = [w.conv(x, BASE, 1, 1, name) for name in ("temperature", "elevation")]
    tensor = lambda name, c: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", c, 96, 128])
    graph = helper.make_graph(w.nodes, "downscaling-unet", [tensor("input", 3)], [tensor(name, 1) for name in outputs], w.weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])


main()
