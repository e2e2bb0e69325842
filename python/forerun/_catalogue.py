"""The catalogues: devices, networks, predictors, metrics."""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, Optional, SupportsIndex, TypeVar, overload

from ._errors import unknown_name
from ._estimate import Report
from ._frame import frame
from ._html import HtmlTable
from ._text import TextTable

if TYPE_CHECKING:
    import pandas

R = TypeVar("R", bound=Report)


@dataclass(frozen=True)
class Metric(Report):
    """One row of the table of what is answered."""

    key: str = ""
    label: str = ""
    unit: str = ""
    scope: str = ""
    better: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class Device(Report):
    """A row of the catalogue; to_dict() has all its figures."""

    id: str = ""
    name: str = ""
    maker: str = ""
    kind: str = ""
    architecture: str = ""
    year: Optional[int] = None
    sm_count: int = 0
    memory_gib: float = 0.0
    memory_bandwidth_gb_per_s: float = 0.0
    power_limit_w: float = 0.0
    compute_capability: Optional[float] = None
    peak_tflops: Mapping[str, float] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    mig: tuple[Mapping[str, Any], ...] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        values["aliases"] = tuple(values.get("aliases", ()))
        values["mig"] = tuple(values.get("mig", ()))
        if "compute_capability" in values:
            values["compute_capability"] = float(values["compute_capability"])
        return values

    @property
    def is_measured(self) -> bool:
        """Whether its ceilings were observed on a real one."""
        return bool(self.measured)


@dataclass(frozen=True)
class NetworkInfo(Report):
    name: str = ""
    architecture: str = ""
    task: str = ""
    parameters: Optional[int] = None
    license: str = ""
    source: str = ""


@dataclass(frozen=True)
class Predictor(Report):
    name: str = ""
    basis: str = ""
    metrics: tuple[str, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        values["metrics"] = tuple(values.get("metrics", ()))
        return values


class Table(list[R]):
    """A list of rows that shows itself as a table."""

    @overload  # type: ignore[override]
    def __getitem__(self, key: str) -> R: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> R: ...
    @overload
    def __getitem__(self, key: slice) -> list[R]: ...

    def __getitem__(self, key: Any) -> Any:
        """By position, or by id or name."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        for row in self:
            if getattr(row, "id", None) == key or getattr(row, "name", None) == key:
                return row
        raise unknown_name("row", key, [str(getattr(row, "id", None) or getattr(row, "name", "")) for row in self])

    def to_frame(self) -> "pandas.DataFrame":
        """Needs pandas."""
        return frame([{key: value for key, value in row.to_dict().items() if not isinstance(value, (dict, list))} for row in self])

    def __str__(self) -> str:
        return self._table(TextTable).text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._table(HtmlTable).html()

    def _table(self, kind: Any) -> Any:
        keys = [f.name for f in dataclasses.fields(self[0]) if not f.name.startswith("_")] if self else []
        keys = [key for key in keys if not isinstance(getattr(self[0], key), (Mapping, tuple))]
        table = kind(keys)
        for row in self:
            table.add([getattr(row, key) for key in keys])
        return table
