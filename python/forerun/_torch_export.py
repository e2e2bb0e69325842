"""A live torch module becomes ONNX bytes without weights, by a trace: for versions of torch before torch.export, and for
modules that it refuses. The module itself is neither run nor changed: a twin is traced.

The twin shares the parameters that lie on the CPU, which a forward pass in evaluation mode only reads; those elsewhere are
replaced by zeros, so that nothing is fetched from a GPU. Buffers are copied. The trace computes one forward pass on the CPU.
(Tracing on PyTorch's meta device would compute nothing, but PyTorch 1.13 records its convolutions there as constants.)
"""
from __future__ import annotations

import contextlib
import copy
import inspect
import io
import itertools
import threading
import warnings
from typing import Any, Callable, Iterator, Optional

import torch

from ._core import ForerunError
from ._example import require_one_batch
from ._onnx_bytes import weights_from_inputs

OPSET = 16
_exporter = threading.Lock()  # the exporter's settings belong to the process


def export(module: torch.nn.Module, inputs: Any, batch: Optional[int] = None) -> bytes:
    """`inputs`: a tensor, a tuple of positional arguments, or a dict of keyword arguments. `batch` replaces the first
    dimension of every input tensor."""
    copied = twin(module)
    arguments, names = _arguments(on_cpu(resized(inputs, batch)), copied)
    options: dict[str, Any] = {"export_params": False, "do_constant_folding": False, "opset_version": OPSET,
                               "training": torch.onnx.TrainingMode.PRESERVE, "input_names": names}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False  # the tracing exporter: it keeps PyTorch's own operators and needs no other package
    output = io.BytesIO()
    try:
        # With gradients, because older versions leave their fused attention for them; nothing is kept of the trace.
        with torch.enable_grad(), _every_weight(), _plain_attention(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(copied, arguments, output, **options)
    except Exception as error:  # whatever a user's module or the exporter raises
        reason = next(iter(str(error).strip().splitlines()), "")
        raise ForerunError(f"{type(module).__name__} cannot be exported by torch.onnx ({type(error).__name__}: {reason}); "
                           "if you can export it yourself, give the .onnx file") from error
    weights = {name for name, _ in itertools.chain(copied.named_parameters(), copied.named_buffers())}
    return weights_from_inputs(output.getvalue(), weights, type(module).__name__)


def twin(module: torch.nn.Module, blank: Callable[..., torch.Tensor] = torch.zeros) -> torch.nn.Module:
    """A copy in evaluation mode, see above; `blank` makes what stands for parameters elsewhere. Tied weights stay tied."""
    stand_ins: dict[int, Any] = {}
    for parameter in module.parameters():
        is_here = parameter.device.type == "cpu"
        values = parameter.detach() if is_here else blank(parameter.shape, dtype=parameter.dtype)
        stand_ins[id(parameter)] = torch.nn.Parameter(values, parameter.is_floating_point())
    for buffer in module.buffers():
        stand_ins[id(buffer)] = torch.zeros(buffer.shape, dtype=buffer.dtype) if buffer.is_meta else buffer.detach().cpu().clone()
    return copy.deepcopy(module, stand_ins).eval()


def _map(change: Callable[[torch.Tensor], torch.Tensor], inputs: Any) -> Any:
    if isinstance(inputs, torch.Tensor):
        return change(inputs)
    if isinstance(inputs, dict):
        return {key: _map(change, value) for key, value in inputs.items()}
    if isinstance(inputs, (tuple, list)):
        return type(inputs)(_map(change, value) for value in inputs)
    return inputs


def on_cpu(inputs: Any) -> Any:
    return _map(lambda tensor: _here(tensor.detach()), inputs)


def _here(tensor: torch.Tensor) -> torch.Tensor:
    return torch.zeros(tensor.shape, dtype=tensor.dtype) if tensor.is_meta else tensor.cpu()


def resized(inputs: Any, batch: Optional[int]) -> Any:
    if batch is None:
        return inputs
    sizes: set[int] = set()

    def look(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() > 0:
            sizes.add(tensor.shape[0])
        return tensor

    _map(look, inputs)
    if sizes == {batch} or not sizes:
        return inputs
    require_one_batch(sizes, batch)
    return _map(lambda tensor: tensor[:1].expand(batch, *tensor.shape[1:]) if tensor.dim() > 0 else tensor, inputs)


def _arguments(inputs: Any, module: torch.nn.Module) -> tuple[tuple[Any, ...], list[str]]:
    """What torch.onnx.export takes, and the names of the first inputs."""
    if isinstance(inputs, dict):
        order = list(inspect.signature(module.forward).parameters)
        return ({key: inputs[key] for key in sorted(inputs, key=lambda key: order.index(key) if key in order else len(order))},), []
    if not isinstance(inputs, (tuple, list)):
        inputs = (inputs,)
    names = [f"input_{index}" for index in range(len(inputs))] if all(isinstance(value, torch.Tensor) for value in inputs) else []
    # A dict in the last place would be taken for keyword arguments.
    return (*inputs, {}) if inputs and isinstance(inputs[-1], dict) else tuple(inputs), names


@contextlib.contextmanager
def _every_weight() -> Iterator[None]:
    """Leaves out the exporter's pass that merges weights of equal values while it runs: a fresh module has many, and they
    would be counted once."""
    name = "_jit_pass_onnx_deduplicate_initializers"
    with _exporter:
        merge = getattr(torch._C, name, None)
        if merge is None:
            yield
            return
        setattr(torch._C, name, lambda graph, weights, is_training: weights)
        try:
            yield
        finally:
            setattr(torch._C, name, merge)


@contextlib.contextmanager
def _plain_attention() -> Iterator[None]:
    """Attention as single operators: the exporter does not know PyTorch's fused inference path."""
    switch = getattr(torch.backends, "mha", None)
    if switch is None:
        yield
        return
    before = switch.get_fastpath_enabled()
    switch.set_fastpath_enabled(False)
    try:
        yield
    finally:
        switch.set_fastpath_enabled(before)
