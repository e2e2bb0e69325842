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


def test_the_published_scripts_run_unchanged(resnet_file, tmp_path, monkeypatch):
    import dippm
    import trappm

    monkeypatch.chdir(tmp_path)
    (tmp_path / "resnet101.onnx").symlink_to(resnet_file)
    answer = trappm.predict({'model': 'resnet101.onnx', 'batch_size': 32, 'device': 'GPU:A100-SXM4-40GB:1'})
    assert answer == forerun.trappm.predict({"model": resnet_file, "batch_size": 32, "device": "A100"})
    volta = forerun.predict(resnet_file, batch=32, device="v100-sxm-16gb", train=True)
    assert trappm.predict({'model': 'resnet101.onnx', 'batch_size': 32, 'device': 'V100'}).step_ms == volta.latency_ms.value
    assert dippm.predict('resnet101.onnx', batch=8, input="3,244,244", device="A100").latency_ms > 0
    two = trappm.predict({'model': 'resnet101.onnx', 'batch_size': 32, 'device': 'GPU:A100-SXM4-40GB:2'})
    assert two.step_ms != answer.step_ms


def test_what_a_published_request_lacks_is_said(resnet_file):
    with pytest.warns(forerun.ForerunWarning, match="'batch_size' is not given: 1 is assumed"):
        forerun.trappm.predict({"model": resnet_file, "device": "A100"})


@pytest.mark.parametrize("request_", [{}, {"model": "gpt2", "batch": 1}])
def test_trappm_refuses_other_keys(request_):
    with pytest.raises(forerun.ForerunError):
        forerun.trappm.predict(request_)
