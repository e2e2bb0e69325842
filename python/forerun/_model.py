"""What a user may hand over as a model, turned into fields of a request or into the bytes of a file without weights."""
from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

from ._core import ForerunError

if TYPE_CHECKING:
    import keras
    import onnx
    import paddle
    import tensorflow
    import torch

    Model = Union[str, os.PathLike[str], Mapping[str, Any], bytes, onnx.ModelProto, torch.nn.Module, torch.export.ExportedProgram,
                  keras.Model, tensorflow.types.experimental.GenericFunction, tensorflow.Module, paddle.nn.Layer]
else:
    Model = Any

# Constants that shape arithmetic may need are far smaller; larger tensors are weights, whose values nobody reads.
LARGEST_KEPT_BYTES = 64 << 10


@dataclass
class Prepared:
    fields: dict[str, Any] = field(default_factory=dict)
    contents: Optional[bytes] = None  # of a file of any format


# Live objects: where their class is found, and the module and function that make a file's contents of them. A framework
# is imported only where the user already has. Keras models may be torch modules as well, and come first.
_LIVE = (
    ("keras", "Model", "_live_keras", "convert_model"),
    ("tf_keras", "Model", "_live_keras", "convert_model"),
    ("torch.jit", "ScriptModule", "_live_torch", "convert_script"),
    ("torch.nn", "Module", "_live_torch", "convert_module"),
    ("torch.export", "ExportedProgram", "_live_torch", "convert_program"),
    ("tensorflow", "types.experimental.GenericFunction", "_live_tensorflow", "convert_function"),
    ("tensorflow", "types.experimental.ConcreteFunction", "_live_tensorflow", "convert_function"),
    ("tensorflow", "Module", "_live_tensorflow", "convert_module"),
    ("tensorflow", "__internal__.tracking.AutoTrackable", "_live_tensorflow", "convert_module"),
    ("paddle.nn", "Layer", "_live_paddle", "convert_layer"),
)


def prepare(model: Model, inputs: Any, request: dict[str, Any]) -> Prepared:
    """Takes out of `request` what the conversion of a live object has used."""
    for module, name, converter, function in _LIVE:
        if _is_a(model, module, name):
            convert = getattr(importlib.import_module(f".{converter}", __package__), function)
            return Prepared(*convert(model, inputs, request))
    if inputs is not None:
        raise ForerunError("example inputs belong to a live object, as a torch module is; files carry their own shapes")
    if isinstance(model, (str, os.PathLike)):
        return Prepared({"model": os.fsdecode(model)})
    if isinstance(model, Mapping):
        return Prepared({"config": dict(model)})
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Prepared({"model": "model"}, bytes(model))
    if _is_a(model, "onnx", "ModelProto"):
        return Prepared({"model": model.graph.name or "model"}, without_weights(model).SerializeToString())
    raise ForerunError(f"a {type(model).__name__} is not a model: give a path, a network's name, a configuration as dict, a "
                       "file's bytes, an onnx.ModelProto, a torch module or ExportedProgram, a Keras model, a tf.function or a "
                       "paddle layer")


def needs_shapes(model: Any) -> bool:
    """Is this a live object of a kind that may not state its inputs' shapes?"""
    return any(_is_a(model, module, name) for module, name, _, _ in _LIVE)


def _is_a(value: Any, module: str, name: str) -> bool:
    """isinstance without importing what the user has not imported: such a value cannot exist then."""
    kind: Any = sys.modules.get(module)
    for part in name.split("."):
        kind = getattr(kind, part, None)
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
