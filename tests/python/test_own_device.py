"""A device of the request's own."""
import pytest

import forerun


def test_a_device_of_ones_own_is_answered_from_its_figures():
    spec = {**forerun.device("l4").to_dict(), "id": "mine", "name": "Mine"}
    same = forerun.predict("resnet50", device="l4", batch=8, precision="fp16", runtime="graph")
    faster = forerun.predict("resnet50", batch=8, precision="fp16", runtime="graph",
                             device_spec={**spec, "memory_bandwidth_gb_per_s": 2 * spec["memory_bandwidth_gb_per_s"]})
    assert faster.result.device == "mine"
    assert faster.latency_ms.value < same.latency_ms.value


def test_a_wrong_figure_is_named():
    with pytest.raises(forerun.InputError, match="device_spec: 'memory_gib'"):
        forerun.predict("resnet50", device_spec={**forerun.device("l4").to_dict(), "memory_gib": -1})


def test_the_command_of_the_wheel_is_the_program(capfd):
    from forerun import _core

    assert _core.run(["--version"]) == 0
    assert capfd.readouterr().out.startswith(f"forerun {forerun.__version__} (bundles: ")
    assert _core.run(["predict", "resnet50", "--device", "nothing"]) == 2
