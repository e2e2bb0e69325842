"""Live PaddlePaddle layers become the program that paddle.jit.save writes."""
from __future__ import annotations

import pathlib
import tempfile
from typing import Any, Optional

import paddle

from ._core import ForerunError
from ._example import Spec, call, specs_given, with_batch


def convert_layer(layer: paddle.nn.Layer, inputs: Any, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    name = type(layer).__name__
    specs = with_batch(specs_given(inputs, request), request.get("batch"))
    if not specs and not hasattr(layer, "_input_spec") and not hasattr(layer, "program"):
        raise ForerunError("a paddle.nn.Layer needs example inputs: predict(layer, paddle.zeros([1, 3, 224, 224]), …), its "
                           "paddle.static.InputSpec, or their shapes: input=[1, 3, 224, 224]")
    what = f"{name} cannot be written as a program"
    return {"model": name}, call(what, lambda: _program(layer, specs), "give the file paddle.jit.save writes")


def _program(layer: paddle.nn.Layer, specs: list[Spec]) -> bytes:
    wanted = [paddle.static.InputSpec(list(spec.shape), spec.dtype or "float32", spec.name) for spec in specs]
    training = [(one, one.training) for one in layer.sublayers(include_self=True)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            layer.eval()
            paddle.jit.save(layer, f"{folder}/model", input_spec=wanted or None)
        finally:
            for one, mode in training:
                one.training = mode
        found = _first(pathlib.Path(folder), ".json", ".pdmodel")
        if found is None:
            raise ForerunError("paddle.jit.save wrote no program")
        return found.read_bytes()


def _first(folder: pathlib.Path, *extensions: str) -> Optional[pathlib.Path]:
    return next((path for extension in extensions if (path := folder / f"model{extension}").exists()), None)
