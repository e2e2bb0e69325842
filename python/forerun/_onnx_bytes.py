"""Turns graph inputs of an ONNX file into initialisers without values, on the wire format: no package is needed.

torch.onnx.export(export_params=False) writes a module's weights as inputs. What is a weight must be told from what is an
input, but its values are not wanted.
"""
from __future__ import annotations

from typing import AbstractSet, Callable, Iterator

# Field numbers of onnx.proto.
_MODEL_GRAPH = 7
_GRAPH_NAME, _GRAPH_INITIALIZER, _GRAPH_INPUT = 2, 5, 11
_VALUE_NAME, _VALUE_TYPE = 1, 2
_TYPE_TENSOR = 1
_TENSOR_TYPE_ELEMENT, _TENSOR_TYPE_SHAPE = 1, 2
_SHAPE_DIM = 1
_DIM_VALUE = 1
_TENSOR_DIMS, _TENSOR_DATA_TYPE, _TENSOR_NAME = 1, 2, 8

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def weights_from_inputs(model: bytes, weights: AbstractSet[str], graph_name: str) -> bytes:
    """`model` with the inputs named in `weights` as initialisers, and its graph named `graph_name`."""
    return _rewrite(model, _MODEL_GRAPH, lambda graph: _rewrite_graph(graph, weights, graph_name))


def _rewrite(message: bytes, number: int, change: Callable[[bytes], bytes]) -> bytes:
    parts = []
    for field, kind, start, body, end in _fields(message):
        parts.append(_bytes_field(field, change(message[body:end])) if (field, kind) == (number, _BYTES) else message[start:end])
    return b"".join(parts)


def _rewrite_graph(graph: bytes, weights: AbstractSet[str], name: str) -> bytes:
    parts = []
    for field, kind, start, body, end in _fields(graph):
        if (field, kind) == (_GRAPH_NAME, _BYTES):
            continue
        if (field, kind) == (_GRAPH_INPUT, _BYTES):
            value = graph[body:end]
            if next(_children(value, _VALUE_NAME), b"").decode() in weights:
                parts.append(_bytes_field(_GRAPH_INITIALIZER, _tensor_like(value)))
                continue
        parts.append(graph[start:end])
    parts.append(_bytes_field(_GRAPH_NAME, name.encode()))
    return b"".join(parts)


def _tensor_like(value: bytes) -> bytes:
    """A TensorProto of a ValueInfoProto's type, without values."""
    tensor_type = next(_children(next(_children(value, _VALUE_TYPE)), _TYPE_TENSOR))
    parts = [_varint_field(_TENSOR_DIMS, _whole(dim, _DIM_VALUE))
             for shape in _children(tensor_type, _TENSOR_TYPE_SHAPE) for dim in _children(shape, _SHAPE_DIM)]
    parts.append(_varint_field(_TENSOR_DATA_TYPE, _whole(tensor_type, _TENSOR_TYPE_ELEMENT)))
    parts.append(_bytes_field(_TENSOR_NAME, next(_children(value, _VALUE_NAME))))
    return b"".join(parts)


def _children(message: bytes, number: int) -> Iterator[bytes]:
    for field, kind, _, body, end in _fields(message):
        if (field, kind) == (number, _BYTES):
            yield message[body:end]


def _whole(message: bytes, number: int) -> int:
    for field, kind, _, body, _ in _fields(message):
        if (field, kind) == (number, _VARINT):
            return _read_varint(message, body)[0]
    return 0


def _fields(message: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    """(number, wire type, start, start of the content, end) of each field."""
    at = 0
    while at < len(message):
        start = at
        tag, at = _read_varint(message, at)
        kind = tag & 7
        body = at
        if kind == _VARINT:
            _, at = _read_varint(message, at)
        elif kind == _BYTES:
            size, body = _read_varint(message, at)
            at = body + size
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            raise ValueError("not a protobuf message")
        if at > len(message):
            raise ValueError("a protobuf message is cut short")
        yield tag >> 3, kind, start, body, at


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(message) or shift > 63:
            raise ValueError("a protobuf message is cut short")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _varint_field(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value
