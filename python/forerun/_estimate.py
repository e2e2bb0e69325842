"""A report's base, and a number with its interval."""
from __future__ import annotations

import dataclasses
import numbers
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping, TypeVar, Union

R = TypeVar("R", bound="Report")

# The less certain one names the result of arithmetic.
_BASES = ("measured", "learned", "roofline")
_TRUSTS = ("measured on this device", "similar devices", "data sheet")


def number(value: float) -> str:
    """Four significant digits, thousands apart."""
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


@dataclass(frozen=True)
class Report:
    """The base: fields are read from the dict by name, what is absent takes its default, the dict is kept."""

    _raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False, kw_only=True)

    @classmethod
    def from_dict(cls: type[R], raw: Mapping[str, Any]) -> R:
        known = {f.name for f in dataclasses.fields(cls)} - {"_raw"}
        values = {key: value for key, value in raw.items() if key in known and value is not None}
        return cls(_raw=raw, **cls._read(values))

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        return values

    def to_dict(self) -> dict[str, Any]:
        return dict(self._raw)


Number = Union[int, float]


@dataclass(frozen=True, eq=False)
class Estimate(Report):
    """A number with its 90 % interval and where it comes from: measured, learned or roofline.

    It compares, adds, multiplies and formats by its value; the interval goes along. Of two estimates the ends of a result
    are the worst combination of both, so it holds at least as often as both of them do. `5 in estimate` asks for the
    interval, and a format that ends with ~ shows it: f"{answer.latency_ms:.2f~}".
    """

    value: float = 0.0
    low: float = 0.0
    high: float = 0.0
    basis: str = ""
    trust: str = ""  # measured on this device, similar devices or data sheet
    predictor: str = ""

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __str__(self) -> str:
        words = ", ".join(part for part in (f"{number(self.low)} to {number(self.high)}", self.basis) if part)
        return f"{number(self.value)} ({words})"

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if not spec.endswith("~"):
            return format(float(self.value), spec)
        one = spec[:-1] or ".4g"
        return f"{float(self.value):{one}} ({float(self.low):{one}} to {float(self.high):{one}})"

    def __contains__(self, value: Number) -> bool:
        return self.low <= value <= self.high

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == _value_of(other) if _is_number(other) else NotImplemented

    def __lt__(self, other: Union[Number, Estimate]) -> bool:
        return self.value < _value_of(other) if _is_number(other) else NotImplemented

    def __le__(self, other: Union[Number, Estimate]) -> bool:
        return self.value <= _value_of(other) if _is_number(other) else NotImplemented

    def __gt__(self, other: Union[Number, Estimate]) -> bool:
        return self.value > _value_of(other) if _is_number(other) else NotImplemented

    def __ge__(self, other: Union[Number, Estimate]) -> bool:
        return self.value >= _value_of(other) if _is_number(other) else NotImplemented

    def __add__(self, other: Union[Number, Estimate]) -> Estimate:
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other: Union[Number, Estimate]) -> Estimate:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: Number) -> Estimate:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Union[Number, Estimate]) -> Estimate:
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other: Union[Number, Estimate]) -> Estimate:
        if _is_number(other) and (0 in other if isinstance(other, Estimate) else other == 0):
            raise ZeroDivisionError("division by zero, or by an estimate whose interval holds it")
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other: Number) -> Estimate:
        if 0 in self:
            raise ZeroDivisionError("division by an estimate whose interval holds zero")
        return self._with(other, lambda a, b: b / a)

    __radd__ = __add__
    __rmul__ = __mul__

    def __neg__(self) -> Estimate:
        return self * -1

    def __pos__(self) -> Estimate:
        return self

    def __abs__(self) -> Estimate:
        return self if self.low >= 0 else -self if self.high <= 0 else self._as(abs(self.value), 0, max(-self.low, self.high))

    def __round__(self, digits: int = 0) -> Estimate:
        return self._as(round(self.value, digits), round(self.low, digits), round(self.high, digits))

    def _as(self, value: float, low: float, high: float, basis: str = "", trust: str = "", predictor: str = "") -> Estimate:
        return Estimate.from_dict({"value": value, "low": low, "high": high, "basis": basis or self.basis,
                                   "trust": trust or self.trust, "predictor": predictor or self.predictor})

    def _with(self, other: Union[Number, Estimate], apply: Callable[[float, float], float]) -> Any:
        if not _is_number(other):
            return NotImplemented
        if not isinstance(other, Estimate):
            ends = apply(self.low, other), apply(self.high, other)
            return self._as(apply(self.value, other), min(ends), max(ends))
        corners = [apply(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        basis, trust = _less_certain(self.basis, other.basis, _BASES), _less_certain(self.trust, other.trust, _TRUSTS)
        predictors = dict.fromkeys(part for one in (self, other) for part in one.predictor.split("+") if part)
        return self._as(apply(self.value, other.value), min(corners), max(corners), basis, trust, "+".join(predictors))


def _less_certain(a: str, b: str, order: tuple[str, ...]) -> str:
    return max((a, b), key=lambda word: order.index(word) if word in order else len(order))


def _is_number(value: object) -> bool:
    return isinstance(value, (numbers.Real, Estimate))


def _value_of(value: Any) -> float:
    return value.value if isinstance(value, Estimate) else value
