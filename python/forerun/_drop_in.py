"""What the calls of published tools share."""
from __future__ import annotations

import re
import warnings
from typing import Any

from ._errors import ForerunWarning, InputError
from ._reports import Result

# Several cards bear these names; the published tools measured these.
_PUBLISHED_NAMES = {"a100": "a100-sxm-40gb", "v100": "v100-sxm-16gb"}
_PUBLISHED_FORM = re.compile(r"(?:GPU:)?(?P<name>[^:]+?)(?::(?P<count>\d+))?", re.IGNORECASE)


def device_options(name: str) -> dict[str, Any]:
    """'A100' and 'GPU:A100-SXM4-40GB:1' as options of predict(); a count above one asks about so many GPUs."""
    form = _PUBLISHED_FORM.fullmatch(name.strip())
    if form is None:  # ID:PROFILE, a MIG slice
        return {"device": name}
    card, count = form["name"].strip(), int(form["count"] or 1)
    if count < 1:
        raise InputError(f"device: '{name}' names no GPU")
    options: dict[str, Any] = {"device": _PUBLISHED_NAMES.get(card.lower(), card)}
    if count > 1:
        options["gpus"] = count
    return options


def assume(what: str, value: Any) -> Any:
    """Says what stands in for an argument that the published call needs and this one lacks."""
    warnings.warn(f"'{what}' is not given: {value!r} is assumed", ForerunWarning, stacklevel=3)
    return value


def value_of(result: Result, metric: str) -> float:
    estimate = result.estimates.get(metric)
    if estimate is None:
        raise InputError(f"{metric} on {result.device} cannot be estimated: {'; '.join(result.warnings)}")
    return estimate.value
