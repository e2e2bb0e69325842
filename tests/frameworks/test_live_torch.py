"""Modules, exported programs and TorchScript."""
import warnings

import pytest

import forerun
from conftest import NETWORKS, PARITY

torch = pytest.importorskip("torch")
pytest.importorskip("torch.export")
import torch_networks


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.head = torch.nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.conv(x).relu().mean((2, 3)))


class Tokens(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(10, 4)
        self.head = torch.nn.Linear(4, 3)

    def forward(self, ids):
        return self.head(self.embed(ids))


@pytest.mark.parametrize("name", NETWORKS)
def test_a_module_is_its_fixture(name, reads_as):
    make, inputs = torch_networks.PARITY[name]
    reads_as(PARITY / f"{name}.pt2", make().eval(), inputs())


def test_shapes_stand_for_example_inputs():
    module = Small()
    wanted = forerun.inspect(module, torch.zeros(4, 3, 16, 16)).to_dict()
    assert wanted["macs"] == 4 * (8 * 27 * 14 * 14 + 16)
    for shape in ([4, 3, 16, 16], "4x3x16x16", {"x": [4, 3, 16, 16]}, {"x": "4,3,16,16"}):
        assert forerun.inspect(module, input=shape).to_dict() == wanted
    assert forerun.inspect(module, input=[None, 3, 16, 16], batch=4).to_dict() == wanted
    with pytest.raises(forerun.ForerunError, match="every dimension"):
        forerun.inspect(module, input=[4, 3, None, 16])


def test_shapes_of_token_ids_are_whole_numbers():
    assert forerun.inspect(Tokens(), input=[2, 5]).macs == forerun.inspect(Tokens(), input="2x5:int64").macs == 2 * 5 * 12


def test_a_missing_input_says_what_to_pass():
    with pytest.raises(forerun.ForerunError, match=r"needs example inputs: predict\(module.*input="):
        forerun.predict(Small(), device="l4")
    with pytest.raises(forerun.ForerunError, match="both given"):
        forerun.predict(Small(), torch.zeros(1, 3, 16, 16), input=[1, 3, 16, 16], device="l4")


def test_no_weight_is_copied_or_computed_with():
    with torch.device("meta"):
        module = torch.nn.Sequential(torch.nn.Linear(1 << 15, 1 << 15), torch.nn.ReLU(), torch.nn.Linear(1 << 15, 8))
    report = forerun.inspect(module, torch.zeros(1, 1 << 15))  # 4 GiB of weights that exist nowhere
    assert report.parameters == sum(parameter.numel() for parameter in module.parameters())


def test_exported_programs_and_compiled_modules_are_their_module():
    module, inputs = Small().eval(), torch.zeros(2, 3, 16, 16)
    wanted = forerun.inspect(module, inputs)
    program = torch.export.export(module, (inputs,))
    assert forerun.inspect(program).macs == wanted.macs and forerun.inspect(program).parameters == wanted.parameters
    assert forerun.inspect(torch.compile(module), inputs).macs == wanted.macs
    dynamic = torch.export.export(module, (inputs,), dynamic_shapes={"x": {0: torch.export.Dim("batch")}})
    assert forerun.inspect(dynamic, batch=8).macs == 4 * wanted.macs
    with pytest.raises(forerun.ForerunError, match="states its own shapes"):
        forerun.inspect(program, inputs)


def test_torchscript_objects_are_read():
    module, inputs = Small().eval(), torch.zeros(2, 3, 16, 16)
    wanted = forerun.inspect(module, inputs).macs
    for script in (torch.jit.trace(module, inputs), torch.jit.script(module)):
        assert forerun.inspect(script, inputs).macs == forerun.inspect(script, input=[2, 3, 16, 16]).macs == wanted
        assert forerun.inspect(script, inputs, batch=4).macs == 2 * wanted
        with pytest.raises(forerun.ForerunError, match="does not state.*'x'"):
            forerun.inspect(script)


def test_what_torch_export_refuses_is_traced_with_a_warning():
    class Branch(Small):
        def forward(self, x):
            return super().forward(x) if x.sum() >= 0 else x

    with pytest.warns(UserWarning, match="Branch.*traced instead"):
        assert forerun.inspect(Branch(), torch.zeros(1, 3, 16, 16)).macs == forerun.inspect(Small(), input=[1, 3, 16, 16]).macs


def test_nothing_is_printed_or_warned_about(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forerun.predict(Small(), torch.zeros(1, 3, 16, 16), device="l4")
    assert capfd.readouterr() == ("", "")


def test_the_published_call_takes_modules_files_and_bytes(tmp_path):
    module, inputs = Small().eval(), torch.zeros(8, 3, 16, 16)
    same = forerun.predict(module, inputs, device="a100-sxm-40gb")
    torch.jit.save(torch.jit.trace(module, inputs), tmp_path / "traced.pt")
    torch.export.save(torch.export.export(module, (inputs,)), tmp_path / "program.pt2")
    for model in (module, str(tmp_path / "traced.pt"), tmp_path / "program.pt2", (tmp_path / "program.pt2").read_bytes()):
        answer = forerun.dippm.predict(model, batch=8, input="3,16,16", device="A100")
        assert answer.latency_ms == pytest.approx(same.latency_ms.value, rel=0.03)
