"""The published inference predictor's call, answered by Forerun.

    >>> from forerun import dippm
    >>> memory_mb, energy_j, latency_ms, mig = dippm.predict(model, batch=8, input="3,224,224", device="A100")
"""
from __future__ import annotations

from typing import Any, NamedTuple

from ._core import ForerunError
from ._drop_in import device_options, value_of
from ._example import specs_of_option
from ._model import needs_shapes


class Answer(NamedTuple):
    memory_mb: float
    energy_j: float
    latency_ms: float
    mig: str


def predict(model: Any, batch: int = 8, input: str = "3,224,224", device: str = "A100") -> Answer:
    """(memory MB, energy J, latency ms, MIG profile) of one forward pass in fp32.

    model: anything forerun.predict() takes: files and folders of PyTorch, TensorFlow, Keras, ONNX and PaddlePaddle, live
        modules, layers and functions.
    input: the shape of one sample, for models that do not state their inputs' shapes (torch modules, TorchScript files,
        layers and functions without a specification), in the order of dimensions of their framework; others keep their own.
    device: "A100" means a100-sxm-40gb, the card that this call was made for, and "V100" v100-sxm-16gb; "GPU:NAME:COUNT" is
        understood; others as in forerun.devices().
    MIG: on an A100 with 40 GB by the published memory rule (5, 10, 20, 40 GB), elsewhere by Forerun's own; "None" when no
    slice holds it or the device has none.
    """
    from ._ask import predict as ask

    card = device_options(device)
    is_published_card = card["device"] in ("a100-sxm-40gb", "a100-pcie-40gb")
    options: dict[str, Any] = {**card, "batch": batch, "rule": "memory" if is_published_card else "default"}
    shape = [-1 if size is None else size for size in specs_of_option(input)[0].shape]
    try:
        result = ask(model, **options).result
    except ForerunError as error:
        if error.kind != "bad_input":
            raise
        try:  # the shape is for models that do not state it
            result = ask(model, input=[batch, *shape], **options).result
        except ForerunError as second:
            raise (second if needs_shapes(model) else error) from None
    mig = result.advice.mig
    return Answer(value_of(result, "memory_mb"), value_of(result, "energy_j"), value_of(result, "latency_ms"),
                  mig.profile if mig else "None")
