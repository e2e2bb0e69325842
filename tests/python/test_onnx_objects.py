"""onnx.ModelProto objects and bytes give the answers of their file."""
import pytest

import forerun
from forerun import _model

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnx.numpy_helper")


def facts(report):
    return {key: value for key, value in report.to_dict().items() if key != "warnings"}


def test_an_object_is_its_file(resnet_file):
    model = onnx.load(resnet_file, load_external_data=False)
    before = model.SerializeToString()
    assert facts(forerun.inspect(model, batch=2)) == facts(forerun.inspect(resnet_file, batch=2))
    assert model.SerializeToString() == before


def test_bytes_are_their_file(resnet_file):
    with open(resnet_file, "rb") as file:
        assert facts(forerun.inspect(file.read())) == facts(forerun.inspect(resnet_file))


def test_weights_are_left_out_but_counted():
    import numpy
    weight = onnx.numpy_helper.from_array(numpy.zeros((512, 512), numpy.float32), "w")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4, 512])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [4, 512])], [weight])
    model = onnx.helper.make_model(graph)
    assert len(_model.without_weights(model).SerializeToString()) < 1000
    report = forerun.inspect(model)
    assert report.parameters == 512 * 512 and report.macs == 4 * 512 * 512 and report.coverage == 1.0
