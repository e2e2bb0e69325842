"""Live torch modules; skipped where torch is not installed."""
import copy

import pytest

import forerun

torch = pytest.importorskip("torch")


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(16)
        self.again = torch.nn.Conv2d(16, 16, 3, padding=1)
        self.norm_again = torch.nn.BatchNorm2d(16)
        self.head = torch.nn.Linear(16, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        x = torch.relu(self.norm_again(self.again(x)))
        return self.head(torch.nn.functional.dropout(x.mean((2, 3)), 0.5, self.training))


def parameters_of(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_a_module_is_counted_exactly():
    module = Block()
    report = forerun.inspect(module, torch.zeros(1, 3, 32, 32), batch=4)
    assert report.name == "Block"
    assert report.parameters == parameters_of(module)
    assert report.macs == 4 * (3 * 16 * 9 * 1024 + 16 * 16 * 9 * 1024 + 160)
    assert report.coverage == 1.0
    assert [tensor.shape for tensor in report.inputs] == [(4, 3, 32, 32)] and report.outputs[0].shape == (4, 10)
    assert report.operators["BatchNormalization"].count == 2, "PyTorch runs them, so the exporter must not fold them"


def test_the_module_is_untouched():
    module = Block().train()
    before = copy.deepcopy(module.state_dict())
    calls = []
    module.register_forward_hook(lambda *arguments: calls.append(1))
    seed = torch.random.get_rng_state()
    forerun.predict(module, torch.zeros(2, 3, 32, 32), device="h200-sxm", train=True)
    assert module.training and module.norm.training and all(parameter.requires_grad for parameter in module.parameters())
    assert all(parameter.grad is None and parameter.grad_fn is None for parameter in module.parameters())
    assert all(torch.equal(before[key], value) for key, value in module.state_dict().items())
    assert torch.equal(seed, torch.random.get_rng_state())


def test_weights_elsewhere_are_not_fetched():
    module = Block().to("meta")
    report = forerun.inspect(module, torch.zeros(1, 3, 32, 32))
    assert report.parameters == parameters_of(module) and report.coverage == 1.0


def test_attention_is_exported():
    module = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2)
    report = forerun.inspect(module.eval(), torch.zeros(2, 16, 64))
    assert report.parameters == parameters_of(module)
    layer = 2 * 16 * (4 * 64 * 64 + 2 * 64 * 128) + 2 * 2 * 16 * 16 * 64
    assert report.macs == 2 * layer


def test_tied_weights_count_once():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(100, 32)
            self.out = torch.nn.Linear(32, 100, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, ids):
            return self.out(self.embed(ids))

    assert forerun.inspect(Tied(), torch.zeros(1, 8, dtype=torch.long)).parameters == 3200


def test_inputs_may_be_named():
    class Two(torch.nn.Module):
        def forward(self, left, right):
            return left @ right

    report = forerun.inspect(Two(), {"right": torch.zeros(4, 5), "left": torch.zeros(3, 4)})
    assert report.macs == 60
    assert forerun.inspect(Two(), (torch.zeros(3, 4), torch.zeros(4, 5))).macs == 60
    with pytest.raises(forerun.ForerunError, match="first dimensions differ"):
        forerun.inspect(Two(), (torch.zeros(3, 4), torch.zeros(4, 5)), batch=2)


def test_a_module_that_fails_is_refused_with_its_reason():
    class Broken(torch.nn.Module):
        def forward(self, x):
            raise RuntimeError("the reason")

    with pytest.raises(forerun.ForerunError, match="Broken cannot be exported.*the reason"):
        forerun.inspect(Broken(), torch.zeros(1))
    with pytest.raises(forerun.ForerunError, match="example inputs"):
        forerun.inspect(Block())


def test_the_published_inference_call_takes_modules():
    memory_mb, energy_j, latency_ms, mig = forerun.dippm.predict(Block(), batch=8, input="3,32,32", device="A100")
    same = forerun.predict(Block(), torch.zeros(8, 3, 32, 32), device="a100-sxm-40gb", batch=8)
    assert (memory_mb, energy_j, latency_ms) == (same.memory_mb.value, same.energy_j.value, same.latency_ms.value)
    assert mig == "1g.5gb"
