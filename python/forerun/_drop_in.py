"""What the calls of published tools share."""
from __future__ import annotations

from ._core import ForerunError
from ._reports import Result

# Several cards bear this name; the published tools meant the one with 40 GB.
_PUBLISHED_NAMES = {"a100": "a100-sxm-40gb"}


def resolve_device(name: str) -> str:
    return _PUBLISHED_NAMES.get(name.strip().lower(), name)


def value_of(result: Result, metric: str) -> float:
    estimate = result.estimates.get(metric)
    if estimate is None:
        raise ForerunError(f"{metric} on {result.device} cannot be estimated: {'; '.join(result.warnings)}")
    return estimate.value
