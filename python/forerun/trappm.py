"""The published training predictor's call, answered by Forerun.

    >>> from forerun import trappm
    >>> step_ms, memory_mb, power_w = trappm.predict({"model": "x.onnx", "batch_size": 32, "device": "A100"})
"""
from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from ._core import ForerunError
from ._drop_in import resolve_device, value_of


class Answer(NamedTuple):
    step_ms: float
    memory_mb: float
    power_w: float


def predict(request: Mapping[str, Any]) -> Answer:
    """(step time ms, memory MB, power W) of one training step in fp32.

    request: "model" (anything forerun.predict() takes but a torch module), "batch_size", "device" ("A100" when absent) and,
        beyond the published keys, "optimizer" (none, sgd, adam, adamw; sgd when absent).
    device: "A100" means a100-sxm-40gb, because this call was made for the A100 with 40 GB; others as in forerun.devices().
    """
    from ._ask import predict as ask

    unknown = set(request) - {"model", "batch_size", "device", "optimizer"}
    if unknown or "model" not in request:
        raise ForerunError(f"unknown key '{sorted(unknown)[0]}'" if unknown else "'model' is missing")
    result = ask(request["model"], device=resolve_device(request.get("device", "A100")), batch=request.get("batch_size"),
                 train=True, optimizer=request.get("optimizer", "sgd")).result
    return Answer(value_of(result, "latency_ms"), value_of(result, "memory_mb"), value_of(result, "power_w"))
