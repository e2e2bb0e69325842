"""PaddlePaddle layers."""
import pytest

import forerun
from conftest import NETWORKS, PARITY

paddle = pytest.importorskip("paddle")
import paddle_networks


def small():
    return paddle.nn.Sequential(paddle.nn.Conv2D(3, 8, 3), paddle.nn.BatchNorm2D(8), paddle.nn.ReLU(), paddle.nn.Dropout())


MACS = 4 * 8 * 27 * 14 * 14


@pytest.mark.parametrize("name", NETWORKS)
def test_a_layer_is_its_fixture(name, reads_as):
    make, (shape, dtype) = paddle_networks.NETWORKS[name]
    reads_as(PARITY / f"{name}.paddle.json", make(), paddle.static.InputSpec(shape, dtype, "x"))


def test_inputs_may_be_tensors_specifications_or_shapes():
    layer = small()
    layer.train()
    for report in (forerun.inspect(layer, paddle.zeros([4, 3, 16, 16])), forerun.inspect(layer, input=[1, 3, 16, 16], batch=4),
                   forerun.inspect(layer, [paddle.static.InputSpec([None, 3, 16, 16], "float32")], batch=4)):
        assert report.macs == MACS and report.parameters == 8 * 27 + 8 + 16 and report.coverage == 1.0
        assert "Dropout" not in report.operators
    assert layer.training and all(one.training for one in layer.sublayers()), "the layer is as it was"


def test_a_missing_input_says_what_to_pass():
    with pytest.raises(forerun.ForerunError, match=r"paddle.nn.Layer needs example inputs.*input="):
        forerun.inspect(small())


def test_a_layer_that_fails_is_refused_with_its_reason():
    class Broken(paddle.nn.Layer):
        def forward(self, x):
            raise RuntimeError("the reason")

    with pytest.raises(forerun.ForerunError, match="Broken cannot be written.*RuntimeError"):
        forerun.inspect(Broken(), input=[1, 3])


def test_the_published_call_takes_layers_and_folders(tmp_path):
    layer = small()
    layer.eval()
    paddle.jit.save(layer, str(tmp_path / "network"), input_spec=[paddle.static.InputSpec([8, 3, 16, 16], "float32")])
    same = forerun.predict(layer, input=[8, 3, 16, 16], device="a100-sxm-40gb").latency_ms.value
    for model in (layer, str(tmp_path)):
        assert forerun.dippm.predict(model, batch=8, input="3,16,16", device="A100").latency_ms == same
