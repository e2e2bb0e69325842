"""The published training predictor's call, answered by Forerun.

    >>> from forerun import trappm
    >>> step_ms, memory_mb, power_w = trappm.predict({"model": "x.onnx", "batch_size": 32, "device": "GPU:A100-SXM4-40GB:1"})
"""
from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from ._drop_in import assume, device_options, value_of
from ._errors import InputError, unknown_argument


_KEYS = {"model", "batch_size", "device", "optimizer"}


class Answer(NamedTuple):
    step_ms: float
    memory_mb: float
    power_w: float


def predict(request: Mapping[str, Any]) -> Answer:
    """(step time ms, memory MB, power W) of one training step in fp32.

    request: "model" (anything forerun.predict() takes but a torch module), "batch_size", "device" and, beyond the
        published keys, "optimizer" (none, sgd, adam, adamw; sgd when absent). What is absent is assumed with a warning.
    device: as published, "GPU:A100-SXM4-40GB:1" (a count above 1 asks about so many GPUs) or a name alone. "A100" means
        a100-sxm-40gb and "V100" v100-sxm-16gb; others as in forerun.devices().
    """
    from ._ask import predict as ask

    unknown = sorted(set(request) - _KEYS)
    if unknown:
        raise unknown_argument("trappm.predict", unknown[0], _KEYS)
    if "model" not in request:
        raise InputError("'model' is missing")
    device = request["device"] if "device" in request else assume("device", "A100")
    batch = request["batch_size"] if "batch_size" in request else assume("batch_size", 1)
    result = ask(request["model"], **device_options(device), batch=batch, train=True,
                 optimizer=request.get("optimizer", "sgd")).result
    return Answer(value_of(result, "latency_ms"), value_of(result, "memory_mb"), value_of(result, "power_w"))
