"""The calls of the published tools."""
import pytest

import forerun


def test_dippm_answers_memory_energy_latency_and_slice(resnet_file):
    memory_mb, energy_j, latency_ms, mig = forerun.dippm.predict(resnet_file, batch=8, input="3,224,224", device="A100")
    same = forerun.predict(resnet_file, batch=8, device="a100-sxm-40gb", rule="memory")
    assert (memory_mb, energy_j, latency_ms) == (same.memory_mb.value, same.energy_j.value, same.latency_ms.value)
    assert mig == same.advice.mig.profile == "1g.5gb"


def test_dippm_has_no_slice_where_there_is_no_mig(resnet_file):
    assert forerun.dippm.predict(resnet_file, device="l4").mig == "None"


def test_trappm_answers_step_memory_and_power(resnet_file):
    step_ms, memory_mb, power_w = forerun.trappm.predict({"model": resnet_file, "batch_size": 32, "device": "A100"})
    same = forerun.predict(resnet_file, batch=32, device="a100-sxm-40gb", train=True, optimizer="sgd")
    assert (step_ms, memory_mb, power_w) == (same.latency_ms.value, same.memory_mb.value, same.power_w.value)


@pytest.mark.parametrize("request_", [{}, {"model": "gpt2", "batch": 1}])
def test_trappm_refuses_other_keys(request_):
    with pytest.raises(forerun.ForerunError):
        forerun.trappm.predict(request_)
