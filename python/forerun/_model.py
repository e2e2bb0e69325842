"""What a user may hand over as a model, turned into fields of a request or into ONNX bytes without weights."""
from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

from ._core import ForerunError

if TYPE_CHECKING:
    import onnx
    import torch

    Model = Union[str, os.PathLike[str], Mapping[str, Any], bytes, onnx.ModelProto, torch.nn.Module]
else:
    Model = Any

# Constants that shape arithmetic may need are far smaller; larger tensors are weights, whose values nobody reads.
LARGEST_KEPT_BYTES = 64 << 10


@dataclass
class Prepared:
    fields: dict[str, Any] = field(default_factory=dict)
    onnx: Optional[bytes] = None


def prepare(model: Model, inputs: Any, batch: Optional[int]) -> Prepared:
    if is_torch_module(model):
        from ._torch_export import export
        if inputs is None:
            raise ForerunError("a torch module needs example inputs: predict(module, torch.zeros(1, 3, 224, 224), …)")
        return Prepared({"model": type(model).__name__}, export(model, inputs, batch))
    if inputs is not None:
        raise ForerunError("example inputs belong to a torch module; other models carry their own shapes")
    if isinstance(model, (str, os.PathLike)):
        return Prepared({"model": os.fsdecode(model)})
    if isinstance(model, Mapping):
        return Prepared({"config": dict(model)})
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Prepared({"model": "model"}, bytes(model))
    if _is_a(model, "onnx", "ModelProto"):
        return Prepared({"model": model.graph.name or "model"}, without_weights(model).SerializeToString())
    raise ForerunError(f"a {type(model).__name__} is not a model: give a path, a network's name, a configuration as dict, "
                       "an onnx.ModelProto, or a torch.nn.Module with example inputs")


def is_torch_module(model: Any) -> bool:
    return _is_a(model, "torch.nn", "Module")


def _is_a(value: Any, module: str, name: str) -> bool:
    """isinstance without importing what the user has not imported: such a value cannot exist then."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy whose large initialisers have shape and type but no values; the model may be larger than 2 GiB."""
    light = type(model)()
    for part, value in model.ListFields():
        if part.name != "graph":
            _copy(light, part, value)
    for part, value in model.graph.ListFields():
        if part.name != "initializer":
            _copy(light.graph, part, value)
    for tensor in model.graph.initializer:
        kept = light.graph.initializer.add()
        if tensor.ByteSize() <= LARGEST_KEPT_BYTES:
            kept.CopyFrom(tensor)
            continue
        kept.name, kept.data_type = tensor.name, tensor.data_type
        kept.dims.extend(tensor.dims)
    light.graph.SetInParent()
    return light


def _copy(target: Any, part: Any, value: Any) -> None:
    if hasattr(value, "ListFields"):  # a message
        getattr(target, part.name).CopyFrom(value)
    elif hasattr(value, "MergeFrom"):  # a list
        getattr(target, part.name).MergeFrom(value)
    else:
        setattr(target, part.name, value)
