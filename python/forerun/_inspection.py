"""The reports of inspect() and mig()."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, Optional

from ._estimate import Report, number
from ._frame import frame
from ._html import HtmlTable
from ._reports import MigAdvice, Slice, Workload
from ._text import TextTable

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Tensor(Report):
    name: str = ""
    dtype: str = ""
    shape: Optional[tuple[int, ...]] = None

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        if "shape" in values:
            values["shape"] = tuple(values["shape"])
        return values


@dataclass(frozen=True)
class OperatorTotals(Report):
    count: int = 0
    macs: int = 0
    flops: int = 0
    parameters: int = 0
    bytes_moved: int = 0


@dataclass(frozen=True, repr=False)
class Inspection(Report):
    name: str = ""
    format: str = ""
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    nodes: int = 0
    edges: int = 0
    parameters: int = 0
    weight_bytes: int = 0
    macs: int = 0
    flops: int = 0
    bytes_moved: int = 0
    activation_peak_bytes: int = 0
    operators: Mapping[str, OperatorTotals] = field(default_factory=dict)
    coverage: float = 1.0
    unknown_operators: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        for key in ("inputs", "outputs"):
            values[key] = tuple(Tensor.from_dict(row) for row in values.get(key, ()))
        values["operators"] = {key: OperatorTotals.from_dict(row) for key, row in values.get("operators", {}).items()}
        values["unknown_operators"] = tuple(values.get("unknown_operators", ()))
        values["warnings"] = tuple(values.get("warnings", ()))
        return values

    def to_frame(self) -> "pandas.DataFrame":
        """One row per kind of operator. Needs pandas."""
        return frame([{"operator": name, **totals.to_dict()} for name, totals in self.operators.items()], index="operator")

    def __str__(self) -> str:
        return self._table(TextTable).text(self.warnings)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._table(HtmlTable).html(self.warnings)

    def _table(self, kind: Any) -> Any:
        table = kind(["operator", "count", "MACs", "FLOPs", "parameters", "bytes moved"],
                     f"{self.name}: {number(self.parameters)} parameters, {number(self.macs)} MACs, {self.nodes} nodes")
        for name, t in sorted(self.operators.items(), key=lambda item: -item[1].flops):
            table.add([name, t.count, t.macs, t.flops, t.parameters, t.bytes_moved])
        return table


@dataclass(frozen=True, repr=False)
class MigReport(Report):
    """`mig` is None when no slice holds the workload."""

    workload: Workload = field(default_factory=Workload)
    device: str = ""
    memory_mb: float = 0.0
    device_memory_mb: float = 0.0
    mig: Optional[MigAdvice] = None
    slices: tuple[Slice, ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        values["workload"] = Workload.from_dict(values["workload"])
        values["slices"] = tuple(Slice.from_dict(row) for row in values.get("slices", ()))
        values["warnings"] = tuple(values.get("warnings", ()))
        if "mig" in values:
            values["mig"] = MigAdvice.from_dict(values["mig"])
        return values

    @property
    def profile(self) -> Optional[str]:
        return self.mig.profile if self.mig else None

    def to_frame(self) -> "pandas.DataFrame":
        """One row per slice. Needs pandas."""
        return frame([slice_.to_dict() for slice_ in self.slices], index="profile")

    def __str__(self) -> str:
        return self._table(TextTable).text(self.warnings)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._table(HtmlTable).html(self.warnings)

    def _table(self, kind: Any) -> Any:
        advice = f"{self.mig.profile}: {self.mig.why}" if self.mig else "no slice holds it"
        table = kind(["slice", "fits", "instances", "GiB", "latency ms", "samples/s of all"],
                     f"{self.workload} on {self.device} → {advice}")
        for s in self.slices:
            table.add([s.profile, "yes" if s.fits else "no", s.instances, s.memory_gib, s.latency_ms, s.total_throughput_per_s])
        return table
