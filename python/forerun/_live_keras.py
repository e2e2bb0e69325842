"""Live Keras models become the configuration that model.save() would write, or, where that does not say how layers are
called (subclasses), the function that TensorFlow or torch traces."""
from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from typing import Any, Optional, Sequence

from ._core import ForerunError
from ._example import Spec, call, specs_given, with_batch

_NEEDS = ("example inputs: predict(model, tf.zeros([1, 224, 224, 3]), …), or their shapes: input=[1, 224, 224, 3]")


def convert_model(model: Any, inputs: Any, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    configuration = call("the Keras model has no configuration", lambda: json.loads(model.to_json()), "give what model.save writes")
    if "layers" in configuration.get("config", {}):  # functional or sequential: it lists how layers are called
        _set_shapes(configuration, specs_given(inputs, request), model)
        return {"model": model.name}, json.dumps(configuration).encode()
    backend = _backend(model)
    if backend == "torch":
        from ._live_torch import convert_module
        return convert_module(model, inputs, request)
    if backend != "tensorflow":
        raise ForerunError(f"{type(model).__name__} is a subclass of keras.Model, which can be traced with the TensorFlow and "
                           f"torch backends, not with {backend}: set KERAS_BACKEND, or build the model from keras.Input")
    from ._live_tensorflow import saved_function
    specs = with_batch(specs_given(inputs, request) or _built_for(model), request.get("batch"))
    if not specs:
        raise ForerunError(f"{type(model).__name__} is a subclass of keras.Model and needs {_NEEDS}")
    return {"model": model.name}, saved_function(_function(model, inputs, len(specs)), specs, None)


def _backend(model: Any) -> str:
    keras = sys.modules.get("keras")
    if type(model).__mro__[-2].__module__.startswith("tf_keras") or not hasattr(keras, "config"):
        return "tensorflow"  # Keras before version 3
    return str(keras.config.backend())  # type: ignore[union-attr]


def _set_shapes(configuration: dict[str, Any], specs: Sequence[Spec], model: Any) -> None:
    """Writes given shapes over those of the input layers; a sequential model that was never called has no input layer."""
    config = configuration["config"]
    layers = config["layers"]
    places = [layer for layer in layers if layer.get("class_name") == "InputLayer"]
    if not specs:
        if not places and not getattr(model, "built", True) and not _states_shape(layers):
            raise ForerunError(f"the Keras model {model.name} has not been built and needs {_NEEDS}")
        return
    if not places and configuration.get("class_name") == "Sequential":
        places = [{"module": "keras.layers", "class_name": "InputLayer", "config": {"name": "input", "dtype": "float32"}}]
        layers.insert(0, places[0])
    by_name = {layer["config"].get("name"): layer for layer in places}
    if len(specs) > len(places):
        raise ForerunError(f"{len(specs)} inputs are given; the Keras model {model.name} takes {len(places)}")
    for place, spec in enumerate(specs):
        layer = by_name.get(spec.name, places[place])
        key = "batch_input_shape" if "batch_input_shape" in layer["config"] else "batch_shape"
        layer["config"][key] = list(spec.shape)


def _states_shape(layers: Sequence[dict[str, Any]]) -> bool:
    return any("batch_input_shape" in layer.get("config", {}) or "batch_shape" in layer.get("config", {}) for layer in layers)


def _built_for(model: Any) -> list[Spec]:
    """What a subclassed model was built with, if that is one shape."""
    built = getattr(model, "get_build_config", lambda: None)() or {}
    shape = built.get("input_shape") if isinstance(built, Mapping) else None
    if not shape or not all(size is None or isinstance(size, int) for size in shape):
        return []
    return [Spec(tuple(shape))]


def _function(model: Any, inputs: Any, count: int) -> Any:
    """Calls `model` as its own `call` takes its inputs: by name, one by one, or as a list or mapping."""
    import tensorflow as tf

    names = list(inputs) if isinstance(inputs, Mapping) else []
    parameters = inspect.signature(model.call).parameters
    takes = [one for one in parameters.values() if one.default is one.empty and one.kind == one.POSITIONAL_OR_KEYWORD]

    def run(*tensors: Any) -> Any:
        if names and not set(names) <= set(parameters):
            return model(dict(zip(names, tensors)), training=False)
        if names:
            return model(**dict(zip(names, tensors)), training=False)
        if count > 1 and len(takes) <= 1:
            return model(list(tensors), training=False)
        return model(*tensors, training=False)

    return tf.function(run)
