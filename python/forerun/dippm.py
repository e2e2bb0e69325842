"""The published inference predictor's call, answered by Forerun.

    >>> from forerun import dippm
    >>> memory_mb, energy_j, latency_ms, mig = dippm.predict(model, batch=8, input="3,224,224", device="A100")
"""
from __future__ import annotations

from typing import Any, NamedTuple

from ._core import ForerunError
from ._drop_in import resolve_device, value_of
from ._model import is_torch_module


class Answer(NamedTuple):
    memory_mb: float
    energy_j: float
    latency_ms: float
    mig: str


def predict(model: Any, batch: int = 8, input: str = "3,224,224", device: str = "A100") -> Answer:
    """(memory MB, energy J, latency ms, MIG profile) of one forward pass in fp32.

    model: a torch module, or anything forerun.predict() takes.
    input: the shape of one sample; torch modules are traced with it, other models carry their own shapes.
    device: "A100" means a100-sxm-40gb, because this call was made for the A100 with 40 GB; others as in forerun.devices().
    MIG: on an A100 with 40 GB by the published memory rule (5, 10, 20, 40 GB), elsewhere by Forerun's own; "None" when no
    slice holds it or the device has none.
    """
    from ._ask import predict as ask

    device = resolve_device(device)
    inputs = None
    if is_torch_module(model):
        import torch
        try:
            shape = [int(size) for size in input.split(",")]
        except ValueError as error:
            raise ForerunError(f"input: '{input}' is not a shape like 3,224,224") from error
        inputs = torch.zeros(1, *shape)
    is_published_card = device in ("a100-sxm-40gb", "a100-pcie-40gb")
    result = ask(model, inputs, device=device, batch=batch, rule="memory" if is_published_card else "default").result
    mig = result.advice.mig
    return Answer(value_of(result, "memory_mb"), value_of(result, "energy_j"), value_of(result, "latency_ms"),
                  mig.profile if mig else "None")
