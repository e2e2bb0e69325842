"""Live TensorFlow functions become the message of a SavedModel: operators, signature and the shapes of variables."""
from __future__ import annotations

from typing import Any, Callable, Optional

import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2
from tensorflow.core.protobuf import saved_model_pb2

from ._core import ForerunError
from ._example import Spec, call, specs_given, with_batch

LARGEST_KEPT_BYTES = 64 << 10  # of a captured constant; shapes need no more
_SERVE, _SIGNATURE = "serve", "serving_default"


def convert_function(function: Any, inputs: Any, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """A tf.function, traced with `inputs` or the option `input` unless it has a signature; or a ConcreteFunction."""
    return {"model": name_of(function)}, saved_function(function, specs_given(inputs, request), request.get("batch"))


def convert_module(module: tf.Module, inputs: Any, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """What tf.saved_model.load returns, or a tf.Module whose __call__ is a tf.function."""
    name = type(module).__name__
    signatures = getattr(module, "signatures", None)
    if signatures:
        key = _SIGNATURE if _SIGNATURE in signatures else sorted(signatures)[0]
        return {"model": name.strip("_")}, saved_function(signatures[key], specs_given(inputs, request), request.get("batch"))
    if not callable(module):
        raise ForerunError(f"{name} has neither signatures nor __call__: give one of its tf.functions")
    own = type(module).__call__
    function = module.__call__ if hasattr(own, "get_concrete_function") else tf.function(module.__call__)
    return {"model": name}, saved_function(function, specs_given(inputs, request), request.get("batch"))


def name_of(function: Any) -> str:
    name = getattr(function, "__name__", None) or getattr(getattr(function, "python_function", None), "__name__", None)
    return str(name) if name and name.isidentifier() else "function"


def saved_function(function: Any, specs: list[Spec], batch: Optional[int]) -> bytes:
    concrete = function if hasattr(function, "captured_inputs") else _traced(function, with_batch(specs, batch))
    if concrete is function and specs:
        raise ForerunError("example inputs belong to a tf.function; a ConcreteFunction states its own shapes")
    graph, flattened = concrete.graph, concrete.graph.structured_input_signature
    del flattened
    saved = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    meta = saved.meta_graphs.add()
    meta.meta_info_def.tags.append(_SERVE)
    meta.meta_info_def.tensorflow_version = tf.__version__
    meta.graph_def.CopyFrom(graph.as_graph_def())
    captures = {internal.op.name: external for external, internal in graph.captures}
    _replace_captures(meta.graph_def, captures)
    signature = meta.signature_def[_SIGNATURE]
    for tensor in graph.inputs:
        if tensor.op.name not in captures:
            _describe(signature.inputs[tensor.op.name], tensor)
    for place, tensor in enumerate(graph.outputs):
        _describe(signature.outputs[f"output_{place}"], tensor)
    return saved.SerializeToString()


def _traced(function: Callable[..., Any], specs: list[Spec]) -> Any:
    signature = getattr(function, "input_signature", None)
    if not specs and signature is None and not getattr(function, "_list_all_concrete_functions", list)():
        raise ForerunError("a tf.function without input_signature needs example inputs: predict(function, tf.zeros([1, 224, "
                           "224, 3]), …), or their shapes: input=[1, 224, 224, 3]")
    remedy = "give a ConcreteFunction (get_concrete_function) or a SavedModel"
    what = f"{name_of(function)} cannot be traced"
    if not specs:
        return call(what, lambda: _already(function) if signature is None else function.get_concrete_function(), remedy)
    wanted = [tf.TensorSpec(spec.shape, _dtype(spec.dtype), name=spec.name) for spec in specs]
    return call(what, lambda: _positional(function, wanted, specs), remedy)


def _already(function: Any) -> Any:
    """The only trace of a function that has been called."""
    traces = function._list_all_concrete_functions()
    if len(traces) > 1:
        raise ForerunError(f"the tf.function has {len(traces)} traces: give example inputs or one ConcreteFunction")
    return traces[0]


def _positional(function: Any, wanted: list[Any], specs: list[Spec]) -> Any:
    """Names of inputs are taken as arguments' names where the function has them."""
    arguments = getattr(getattr(function, "function_spec", None), "arg_names", None) or []
    if specs and all(spec.name in arguments for spec in specs):
        return function.get_concrete_function(**{str(spec.name): one for spec, one in zip(specs, wanted)})
    return function.get_concrete_function(*wanted)


def _dtype(name: Optional[str]) -> Any:
    if name is None:
        return tf.float32
    try:
        return tf.as_dtype(name)
    except TypeError as error:
        raise ForerunError(f"input: '{name}' is not a type of TensorFlow, as in 2x16:int64") from error


def _describe(target: Any, tensor: Any) -> None:
    target.name = tensor.name
    target.dtype = tensor.dtype.as_datatype_enum
    target.tensor_shape.CopyFrom(tensor.shape.as_proto())


def _replace_captures(graph: graph_pb2.GraphDef, captures: dict[str, Any]) -> None:
    """What a function takes from outside is a placeholder in its graph; as a variable or a constant it has shape and type."""
    replaced = []
    for node in graph.node:
        external = captures.get(node.name)
        if external is None:
            replaced.append(node)
        elif external.dtype == tf.resource:
            replaced.append(_variable(node.name, external))
        else:
            replaced.extend(_constant(node.name, external))
    kept = [node_def_pb2.NodeDef.FromString(node.SerializeToString()) for node in replaced]
    del graph.node[:]
    graph.node.extend(kept)


def _variable(name: str, handle: Any) -> node_def_pb2.NodeDef:
    held = handle._handle_data.shape_and_type if getattr(handle, "_handle_data", None) is not None else []
    if not held:  # a table or an iterator
        return node_def_pb2.NodeDef(name=name, op="HashTableV2")
    node = node_def_pb2.NodeDef(name=name, op="VarHandleOp")
    node.attr["dtype"].type = held[0].dtype
    node.attr["shape"].shape.CopyFrom(held[0].shape)
    return node


def _constant(name: str, value: Any) -> list[node_def_pb2.NodeDef]:
    size = value.dtype.size * int(tf.TensorShape(value.shape).num_elements() or 0)
    if size <= LARGEST_KEPT_BYTES and hasattr(value, "numpy"):
        node = node_def_pb2.NodeDef(name=name, op="Const")
        node.attr["dtype"].type = value.dtype.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value.numpy()))
        return [node]
    handle = node_def_pb2.NodeDef(name=f"{name}/handle", op="VarHandleOp")
    handle.attr["dtype"].type = value.dtype.as_datatype_enum
    handle.attr["shape"].shape.CopyFrom(tf.TensorShape(value.shape).as_proto())
    read = node_def_pb2.NodeDef(name=name, op="ReadVariableOp", input=[handle.name])
    read.attr["dtype"].type = value.dtype.as_datatype_enum
    return [handle, read]
