"""Live objects of the frameworks themselves: `./dev check-frameworks` runs these tests, `./dev test` does not."""
import pathlib
import sys

import pytest

import forerun

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"
PARITY = FIXTURES / "parity"
NETWORKS = ("cnn", "mobile", "vit", "bert", "lstm", "unet", "cnn3d", "detector", "gru", "separable")
sys.path[:0] = [str(FIXTURES), str(PARITY)]


@pytest.fixture
def reads_as():
    """The live network has the facts of the committed file, and takes as long."""
    def check(file, model, inputs=None, **options):
        kept, live = forerun.inspect(str(file)), forerun.inspect(model, inputs, **options)
        assert (live.macs, live.parameters, live.coverage) == (kept.macs, kept.parameters, 1.0)
        assert [tensor.shape for tensor in live.inputs] == [tensor.shape for tensor in kept.inputs]
        assert [tensor.shape for tensor in live.outputs] == [tensor.shape for tensor in kept.outputs]
        latency = forerun.predict(model, inputs, device="h200-sxm", **options).latency_ms.value
        assert latency == pytest.approx(forerun.predict(str(file), device="h200-sxm").latency_ms.value, rel=0.03)

    return check
