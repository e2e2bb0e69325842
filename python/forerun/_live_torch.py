"""Live torch objects become the files torch itself would save, without weights: modules by torch.export, which computes
nothing (older versions of torch, and modules that it refuses, by a trace, see _torch_export)."""
from __future__ import annotations

import copy
import io
import logging
import threading
import warnings
from collections.abc import Mapping
from typing import Any, Optional

import torch

from . import _torch_export
from ._core import ForerunError
from ._example import Spec, call, reason_of, require_one_batch, specs_given, specs_of_option

_exporter = threading.Lock()  # torch.export's settings belong to the process
_HAS_EXPORT = hasattr(getattr(torch, "export", None), "save")


def convert_module(module: torch.nn.Module, inputs: Any, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    module = getattr(module, "_orig_mod", module)  # what torch.compile wraps
    name = type(module).__name__
    shapes = request.pop("input", None)
    if inputs is None and shapes is None:
        configuration = " (a transformers module's module.config.to_dict() needs none)" if hasattr(module, "config") else ""
        raise ForerunError("a torch module needs example inputs: predict(module, torch.zeros(1, 3, 224, 224), …), or their "
                           f"shapes: input=[1, 3, 224, 224]{configuration}")
    if inputs is not None and shapes is not None:
        raise ForerunError("inputs and input are both given: give example inputs, or their shapes with input")
    if shapes is not None:
        return {"model": name}, _export_shapes(module, specs_of_option(shapes), request.get("batch"))
    return {"model": name}, _export(module, inputs, request.get("batch"))


def convert_script(module: torch.jit.ScriptModule, inputs: Any, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """A traced or scripted module is saved as it is; shapes come from `inputs` or the option `input`."""
    names = [argument.name for argument in module.forward.schema.arguments[1:]]
    specs = specs_given(inputs, request)
    if not specs:
        raise ForerunError("a TorchScript module does not state its inputs' shapes: give example inputs, or "
                           f"input={{{', '.join(repr(name) + ': [1, 3, 224, 224]' for name in names[:1])}}}")
    if len(specs) > len(names):
        raise ForerunError(f"{len(specs)} inputs are given; forward takes {len(names)} ({', '.join(names)})")
    batch = request.get("batch")
    if batch is not None:
        require_one_batch({spec.shape[0] or batch for spec in specs if spec.shape}, batch)
        specs = [Spec((batch, *spec.shape[1:]), spec.name, spec.dtype) for spec in specs]
    shapes = {spec.name if spec.name in names else names[place]: [-1 if size is None else size for size in spec.shape]
              for place, spec in enumerate(specs)}
    contents = io.BytesIO()
    call("the TorchScript module cannot be saved", lambda: torch.jit.save(module, contents), "give a torch.nn.Module")
    return {"model": module.original_name, "input": shapes}, contents.getvalue()


def convert_program(program: Any, inputs: Any, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """An ExportedProgram has its inputs' shapes."""
    del request
    if inputs is not None:
        raise ForerunError("example inputs belong to a module; an ExportedProgram states its own shapes")
    return {"model": "ExportedProgram"}, _saved(program)


def _export(module: torch.nn.Module, inputs: Any, batch: Optional[int]) -> bytes:
    if not _HAS_EXPORT:
        return _torch_export.export(module, inputs, batch)
    twin = _torch_export.twin(module, torch.empty)  # nothing is computed: no weight is read
    inputs = dict(inputs) if isinstance(inputs, Mapping) else inputs
    on_cpu = _torch_export.on_cpu(_torch_export.resized(inputs, batch))
    arguments = () if isinstance(on_cpu, dict) else tuple(on_cpu) if isinstance(on_cpu, (tuple, list)) else (on_cpu,)
    try:
        return _saved(_quietly(twin, arguments, on_cpu if isinstance(on_cpu, dict) else {}))
    except ForerunError:
        raise
    except Exception as error:  # whatever a user's module or the exporter raises
        first = error
    try:
        traced = _torch_export.export(module, inputs, batch)
    except ForerunError as error:
        raise ForerunError(f"{type(module).__name__} cannot be exported by torch.export ({reason_of(first)}); if you can "
                           "export it yourself, give the .pt2 or .onnx file") from error
    warnings.warn(f"torch.export cannot export {type(module).__name__} ({reason_of(first)}); it was traced instead: "
                  "conditions on data are those of the example inputs", stacklevel=6)
    return traced


def _quietly(module: torch.nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    level = logging.getLogger("torch").level
    with _exporter, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("torch").setLevel(logging.CRITICAL)
        try:
            return torch.export.export(module, arguments, keywords, strict=False)
        finally:
            logging.getLogger("torch").setLevel(level)


def _export_shapes(module: torch.nn.Module, specs: list[Spec], batch: Optional[int]) -> bytes:
    """Inputs are of the weights' type; where that fails in a module with embeddings, they are token ids."""
    floating = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)

    def tensors(dtype: torch.dtype) -> Any:
        made = [torch.zeros(_sizes(spec, batch), dtype=_dtype(spec.dtype) or dtype) for spec in specs]
        named = all(spec.name is not None for spec in specs)
        return {spec.name: tensor for spec, tensor in zip(specs, made)} if named else tuple(made)

    has_embedding = any(isinstance(part, torch.nn.Embedding) for part in module.modules())
    try:
        return _export(module, tensors(floating), batch)
    except ForerunError:
        if not has_embedding or all(spec.dtype for spec in specs):
            raise
    return _export(module, tensors(torch.int64), batch)


def _sizes(spec: Spec, batch: Optional[int]) -> list[int]:
    sizes = [batch if place == 0 and size is None else size for place, size in enumerate(spec.shape)]
    if None in sizes:
        raise ForerunError("input: a torch module needs every dimension as a number; only the first may be left to batch")
    return [int(size or 0) for size in sizes]


def _dtype(name: Optional[str]) -> Optional[torch.dtype]:
    if name is None:
        return None
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise ForerunError(f"input: '{name}' is not a type of torch, as in 2x16:int64")
    return dtype


def _saved(program: Any) -> bytes:
    """The archive with one stored element for each weight: no reader looks at them."""
    light = copy.copy(program)
    stand_ins: dict[int, Any] = {}
    try:
        light._state_dict = {name: _stand_in(tensor, stand_ins) for name, tensor in program.state_dict.items()}
    except Exception:
        light = program  # a version that keeps its weights otherwise: they are saved
    output = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(light, output)
    return output.getvalue()


def _stand_in(tensor: Any, made: dict[int, Any]) -> Any:
    """A tensor of the same shape and type in the room of one element. Weights that are tied stay tied."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.is_quantized or tensor.layout != torch.strided:
        return tensor
    if id(tensor) not in made:
        one = torch.zeros((), dtype=tensor.dtype).expand(tensor.shape)
        made[id(tensor)] = torch.nn.Parameter(one, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else one
    return made[id(tensor)]
