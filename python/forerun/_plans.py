"""The reports of plan(): layouts of one pass or step, and deployments that serve a load."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, Optional

from ._estimate import Report
from ._frame import frame
from ._html import HtmlTable
from ._text import TextTable

if TYPE_CHECKING:
    import pandas


class _Rows:
    def to_frame(self) -> "pandas.DataFrame":
        """One row per layout or deployment. Needs pandas."""
        return frame([dict(row) for row in self._rows()], index=None)

    def __str__(self) -> str:
        return self._table(TextTable).text(self.warnings)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._table(HtmlTable).html(self.warnings)


@dataclass(frozen=True, repr=False)
class LayoutPlan(_Rows, Report):
    """`layouts` that fit, fastest first; `problems` say why others do not."""

    device: str = ""
    system: str = ""
    devices: int = 1
    nodes: int = 1
    considered: int = 0
    fitting: int = 0
    layouts: tuple[Mapping[str, Any], ...] = ()
    problems: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        for name in ("layouts", "problems", "warnings"):
            values[name] = tuple(values[name])
        return values

    def _rows(self) -> tuple[Mapping[str, Any], ...]:
        return self.layouts

    def _table(self, kind: Any) -> Any:
        table = kind(["tensor", "pipeline", "data", "zero", "micro-batch", "step ms", "samples/s", "MFU", "memory MB"],
                     f"{self.devices} x {self.device}: {self.considered} layouts, {self.fitting} fit")
        for row in self.layouts:
            table.add([row["tensor_parallel"], row["pipeline_parallel"], row["data_parallel"], row["zero"],
                       row["micro_batch"], row["step_ms"], row["samples_per_s"], row["mfu"], row["device_memory_mb"]])
        return table


@dataclass(frozen=True, repr=False)
class ServingPlan(_Rows, Report):
    """`deployments` that keep the limits, cheapest first: the Pareto front of price and latency (`is_on_front`), and each
    device's cheapest. `instances` of a deployment have the engine's launch command."""

    network: str = ""
    rate: float = 0.0
    input_tokens: float = 0.0
    output_tokens: float = 0.0
    slo_ttft_ms: Optional[float] = None
    slo_tpot_ms: Optional[float] = None
    considered: int = 0
    keeping: int = 0
    deployments: tuple[Mapping[str, Any], ...] = ()
    problems: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        for name in ("deployments", "problems", "warnings"):
            values[name] = tuple(values[name])
        return values

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for found in self.deployments:
            row = {key: value for key, value in found.items() if not isinstance(value, (dict, list))}
            row["instances"] = _layout(found)
            for metric in ("ttft_ms", "tpot_ms", "request_latency_ms"):
                row[f"{metric}_p90"] = found[metric]["p90"]
            rows.append(row)
        return rows

    def _table(self, kind: Any) -> Any:
        table = kind(["device", "engine", "instances", "devices", "$/h", "$/M tokens", "TTFT p90", "TPOT p90"],
                     f"{self.network}: {self.rate:g} requests/s, {self.keeping} deployments keep the limits")
        for row in self._rows():
            table.add([row["device"], row["engine"], row["instances"], row["devices"], row["usd_per_hour"],
                       row["usd_per_million_tokens"], row["ttft_ms_p90"], row["tpot_ms_p90"]])
        return table


def _layout(found: Mapping[str, Any]) -> str:
    return " + ".join(f"{group['instances']} {group['role']} x TP{group['tensor_parallel']}"
                      + (f" PP{group['pipeline_parallel']}" if group["pipeline_parallel"] > 1 else "")
                      + (f" EP{group['attention_data_parallel']}" if group["attention_data_parallel"] > 1 else "")
                      for group in found["instances"])


def read_plan(values: dict[str, Any]) -> "LayoutPlan | ServingPlan":
    return (ServingPlan if "deployments" in values else LayoutPlan).from_dict(values)
