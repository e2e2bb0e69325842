"""What a live object is called with: tensors of its framework, specifications with shape and dtype, or shapes alone."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable, Optional

from ._core import ForerunError


@dataclass(frozen=True)
class Spec:
    """One input. None in a shape is a free dimension; no dtype means the framework's usual one."""
    shape: tuple[Optional[int], ...]
    name: Optional[str] = None
    dtype: Optional[str] = None


def specs_of_option(option: Any) -> list[Spec]:
    """The option `input`: one shape, several in the order of the arguments, or a mapping of names to shapes."""
    if isinstance(option, Mapping):
        return [_spec(shape, str(name)) for name, shape in option.items()]
    if _is_sequence(option) and option and all(isinstance(one, str) or _is_sequence(one) for one in option):
        return [_spec(shape, None) for shape in option]
    return [_spec(option, None)]


def specs_of_values(values: Any) -> list[Spec]:
    """Tensors, arrays or specifications: whatever has a shape, alone, in a sequence or in a mapping."""
    if isinstance(values, Mapping):
        return [_described(value, str(name)) for name, value in values.items()]
    if hasattr(values, "shape"):
        return [_described(values, getattr(values, "name", None))]
    if _is_sequence(values):
        return [_described(value, getattr(value, "name", None)) for value in values]
    raise ForerunError(f"example inputs: a {type(values).__name__} has no shape; give tensors or input=[2, 3, 224, 224]")


def specs_given(inputs: Any, request: dict[str, Any]) -> list[Spec]:
    """From `inputs` or the option `input`, which this takes out of the request; empty when neither is given."""
    option = request.pop("input", None)
    if inputs is not None and option is not None:
        raise ForerunError("inputs and input are both given: give example inputs, or their shapes with input")
    if option is not None:
        return specs_of_option(option)
    return [] if inputs is None else specs_of_values(inputs)


def with_batch(specs: Sequence[Spec], batch: Optional[int]) -> list[Spec]:
    """The first dimension of every input becomes `batch`, unless the inputs do not share it."""
    if batch is None:
        return list(specs)
    require_one_batch({spec.shape[0] for spec in specs if spec.shape and spec.shape[0] is not None}, batch)
    return [Spec((batch, *spec.shape[1:]), spec.name, spec.dtype) if spec.shape else spec for spec in specs]


def require_one_batch(sizes: set[int], batch: int) -> None:
    if len(sizes) > 1:
        raise ForerunError(f"batch={batch}: the example inputs' first dimensions differ ({sorted(sizes)}); "
                           "give inputs of the wanted batch and leave batch out")


def without_batch(request: dict[str, Any], batch_sizes: set[Optional[int]]) -> None:
    """Takes `batch` out of the request where the inputs already have it: nothing is left to bind."""
    if batch_sizes == {request.get("batch")}:
        request.pop("batch")


def call(what: str, convert: Callable[[], Any], remedy: str) -> Any:
    """Runs a framework's exporter; whatever it raises becomes one line with what to do instead."""
    try:
        return convert()
    except ForerunError:
        raise
    except Exception as error:
        raise ForerunError(f"{what} ({reason_of(error)}); {remedy}") from error


def reason_of(error: BaseException) -> str:
    """Type and first line of an exception, which may be pages long."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def _spec(value: Any, name: Optional[str]) -> Spec:
    """A shape as numbers, or as text: "1x3x224x224", "3,224,224", "2x16:int64"."""
    dtype = None
    if isinstance(value, str):
        text, _, dtype = value.partition(":")
        value = [part for part in re.split(r"[x,\s]+", text.strip("[]() ")) if part]
    elif isinstance(value, int):
        value = [value]
    if not _is_sequence(value):
        raise ForerunError(f"input: a {type(value).__name__} is not a shape like [1, 3, 224, 224]")
    return Spec(tuple(_size(size, value) for size in value), name, dtype or None)


def _size(size: Any, shape: Any) -> Optional[int]:
    if size is None or size in ("?", "-1", -1):
        return None
    try:
        number = int(size)
    except (TypeError, ValueError):
        number = 0
    if number <= 0:
        raise ForerunError(f"input: '{size}' in {shape} is not a positive whole number")
    return number


def _described(value: Any, name: Optional[str]) -> Spec:
    if not hasattr(value, "shape"):
        raise ForerunError(f"example inputs: a {type(value).__name__} has no shape; give tensors, or input=[2, 3, 224, 224]")
    dtype = getattr(value, "dtype", None)
    spelled = getattr(dtype, "name", None) or (str(dtype).rpartition(".")[2] if dtype is not None else None)
    return Spec(tuple(None if size is None or int(size) < 0 else int(size) for size in value.shape), name, spelled)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))
