"""The report of advise(): changes with what each is worth."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping

from ._estimate import Estimate, Report
from ._frame import frame
from ._html import HtmlTable
from ._reports import Workload
from ._text import TextTable

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Change(Report):
    """A change, or several together (`parts`), estimated again. `factor` is how many times better the goal gets."""

    title: str = ""
    why: str = ""
    parts: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    edits: tuple[str, ...] = ()
    copies: int = 1
    risk: str = ""
    device: str = ""
    fits: bool = False
    factor: float = 1.0
    factor_low: float = 1.0
    factor_high: float = 1.0
    probability: float = 0.0
    after: Estimate = field(default_factory=Estimate)
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        for name in ("parts", "edits", "warnings"):
            values[name] = tuple(values.get(name, ()))
        values["after"] = Estimate.from_dict(values["after"])
        values["estimates"] = {key: Estimate.from_dict(row) for key, row in values["estimates"].items()}
        return values

    def __str__(self) -> str:
        return f"x {self.factor:.2f} ({self.factor_low:.2f} to {self.factor_high:.2f}): {self.title or '; '.join(self.parts)}"


@dataclass(frozen=True, repr=False)
class AdviseReport(Report):
    """`proposals` are single changes, `together` combinations; both best first."""

    workload: Workload = field(default_factory=Workload)
    device: str = ""
    goal: str = ""
    metric: str = ""
    unit: str = ""
    fits: bool = False
    before: Estimate = field(default_factory=Estimate)
    time_share: Mapping[str, float] = field(default_factory=dict)
    proposals: tuple[Change, ...] = ()
    together: tuple[Change, ...] = ()
    rejected: tuple[Mapping[str, str], ...] = ()
    estimated: int = 0
    warnings: tuple[str, ...] = ()

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        values["workload"] = Workload.from_dict(values["workload"])
        values["before"] = Estimate.from_dict(values["before"])
        for name in ("proposals", "together"):
            values[name] = tuple(Change.from_dict(row) for row in values[name])
        for name in ("rejected", "warnings"):
            values[name] = tuple(values[name])
        return values

    def to_frame(self) -> "pandas.DataFrame":
        """One row per change. Needs pandas."""
        rows = [{"change": change.title or "; ".join(change.parts), "factor": change.factor, "low": change.factor_low,
                 "high": change.factor_high, "after": change.after.value, "risk": change.risk}
                for change in (*self.proposals, *self.together)]
        return frame(rows, index="change")

    def __str__(self) -> str:
        return self._table(TextTable).text(self.warnings)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._table(HtmlTable).html(self.warnings)

    def _table(self, kind: Any) -> Any:
        table = kind(["change", self.unit, "gain", "90 % interval", "sure"],
                     f"{self.workload} on {self.device}: {self.metric} {self.before}")
        for change in (*self.proposals, *self.together):
            table.add([change.title or "; ".join(change.parts), change.after.value, f"x {change.factor:.2f}",
                       f"{change.factor_low:.2f} to {change.factor_high:.2f}", f"{change.probability:.0%}"])
        return table
