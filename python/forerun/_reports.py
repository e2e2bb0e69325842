"""The reports of predict(), as typed values. `to_dict()` gives back the report exactly as the service wrote it."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Optional, Union

from . import _plot
from ._errors import InputError, unknown_name
from ._estimate import Estimate, Report, number
from ._frame import frame
from ._html import HtmlTable, Interval, Scale
from ._metrics import PASS_METRICS, MetricProperties
from ._text import TextTable

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas


# Of a serving question's table; PASS_METRICS are those of every other.
SERVING_COLUMNS = ("ttft_ms", "tpot_ms", "tokens_per_s", "serving_memory_mb", "request_latency_ms")


@dataclass(frozen=True)
class Workload(Report):
    name: str = ""
    format: str = ""
    batch: int = 1
    precision: str = ""
    runtime: str = ""
    phase: str = ""
    sequence: Optional[int] = None
    training: bool = False
    optimizer: Optional[str] = None
    parameters: int = 0
    macs: int = 0

    def __str__(self) -> str:
        parts = [self.name, f"batch {self.batch}"]
        if self.sequence:
            parts.append(f"{self.sequence} tokens")
        if self.format and self.phase != "forward":
            parts.append(self.phase)
        parts += [self.precision, self.runtime]
        if self.training:
            parts.append(f"training ({self.optimizer})")
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Slice(Report):
    """How the workload runs on one MIG profile."""

    profile: str = ""
    fits: bool = False
    instances: int = 0
    memory_gib: float = 0.0
    sm_count: int = 0
    latency_ms: float = 0.0
    throughput_per_s: float = 0.0
    total_throughput_per_s: float = 0.0


@dataclass(frozen=True)
class MigAdvice(Report):
    profile: str = ""
    instances: int = 0
    why: str = ""
    slices: tuple[Slice, ...] = ()

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        values["slices"] = tuple(Slice.from_dict(row) for row in values.get("slices", ()))
        return values


@dataclass(frozen=True)
class Advice(Report):
    """None: not known, or not asked for."""

    fits: bool = True
    mig: Optional[MigAdvice] = None
    usd_per_hour: Optional[float] = None
    usd_per_million: Optional[float] = None
    usd_total: Optional[float] = None
    price_kind: str = ""
    price_date: str = ""
    co2_g_per_million: Optional[float] = None
    co2_g_total: Optional[float] = None
    hours_total: Optional[float] = None
    energy_kwh_total: Optional[float] = None
    region: str = ""

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        if "mig" in values:
            values["mig"] = MigAdvice.from_dict(values["mig"])
        return values


@dataclass(frozen=True)
class Kernel(Report):
    """One row of the breakdown: kernels of a kind, and what bounds them."""

    kernel: str = ""
    operators: tuple[str, ...] = ()
    count: int = 1
    time_ms: float = 0.0
    bound: str = ""
    flops: float = 0.0
    bytes: float = 0.0
    terms: Mapping[str, float] = field(default_factory=dict)  # time_ms by cause; they add up to it

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        values["operators"] = tuple(values.get("operators", ()))
        return values


@dataclass(frozen=True, repr=False)
class Result(MetricProperties, Report):
    """The answer for one device. An estimate that could not be made is None, and `warnings` says why."""

    device: str = ""
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    host_share: float = 0.0  # of an eager latency: what waits for the host
    runtimes: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)  # with runtimes=True
    runtime_bounds: Mapping[str, str] = field(default_factory=dict)
    advice: Advice = field(default_factory=Advice)
    limits: Mapping[str, Any] = field(default_factory=dict)  # whether it holds, why not, what would help
    breakdown: tuple[Kernel, ...] = ()
    measured: Mapping[str, float] = field(default_factory=dict)
    capacity: Mapping[str, int] = field(default_factory=dict)
    serving: Mapping[str, Any] = field(default_factory=dict)  # of a serving question, as docs/serving.md describes it
    warnings: tuple[str, ...] = ()

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        values["estimates"] = {key: Estimate.from_dict(row) for key, row in values.get("estimates", {}).items()}
        values["runtimes"] = {runtime: {key: Estimate.from_dict(row) for key, row in estimates.items()}
                              for runtime, estimates in values.get("runtimes", {}).items()}
        values["advice"] = Advice.from_dict(values.get("advice", {}))
        values["breakdown"] = tuple(Kernel.from_dict(row) for row in values.get("breakdown", ()))
        values["measured"] = {key: row["value"] for key, row in values.get("measured", {}).items()}
        values["warnings"] = tuple(values.get("warnings", ()))
        return values

    def estimate(self, metric: str) -> Optional[Estimate]:
        return self.estimates.get(metric)

    def row(self) -> dict[str, Any]:
        """One flat row, as to_frame() shows it."""
        row: dict[str, Any] = {"device": self.device, "fits": self.advice.fits}
        for metric, estimate in self.estimates.items():
            row[metric] = estimate.value
            row[f"{metric}_low"] = estimate.low
            row[f"{metric}_high"] = estimate.high
        row["basis"] = self.latency_ms.basis if self.latency_ms else None
        row["trust"] = self.latency_ms.trust if self.latency_ms else None
        row["mig"] = self.advice.mig.profile if self.advice.mig else None
        for key in ("usd_per_hour", "usd_per_million", "usd_total", "co2_g_per_million", "co2_g_total", "hours_total",
                    "energy_kwh_total"):
            row[key] = getattr(self.advice, key)
        row["warnings"] = "; ".join(self.warnings)
        return row

    def breakdown_frame(self) -> "pandas.DataFrame":
        return frame([kernel.to_dict() for kernel in self.breakdown])

    def __str__(self) -> str:
        table = TextTable(["", "estimate", "90 % interval", "rests on"], self.device)
        for metric, estimate in self.estimates.items():
            table.add([metric, estimate.value, _interval(estimate), estimate.trust])
        return table.text(self.warnings)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = HtmlTable(["", "estimate", "90 % interval", "", "rests on"], self.device)
        for metric, estimate in self.estimates.items():  # a scale of its own for each unit
            reach = Estimate(low=estimate.low / 2, high=estimate.high * 2)
            table.add([metric, estimate.value, _interval(estimate), Interval(estimate, Scale.of([reach])),
                       f"{estimate.trust} ({estimate.predictor})"])
        return table.html(self.warnings)

    def plot(self, axes: "Optional[matplotlib.axes.Axes]" = None, most: int = 12) -> "matplotlib.axes.Axes":
        """Where the time goes: the `most` dearest kernels, each divided by cause. Needs matplotlib."""
        return _plot.breakdown(self, axes, most)


@dataclass(frozen=True, repr=False)
class Prediction(MetricProperties, Report):
    """The answers for all devices asked about: iterate, index by position or device, or ask the only one directly."""

    workload: Workload = field(default_factory=Workload)
    verdict: Mapping[str, Any] = field(default_factory=dict)  # of several devices, or under limits: docs/command-line.md
    results: tuple[Result, ...] = ()
    assertions: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "workload": Workload.from_dict(values["workload"]),
                "assertions": tuple(values.get("assertions", ())),
                "results": tuple(Result.from_dict(row) for row in values["results"])}

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __getitem__(self, key: Union[int, str]) -> Result:
        if isinstance(key, int):
            return self.results[key]
        for result in self.results:
            if result.device == key:
                return result
        raise unknown_name("answer for", key, [result.device for result in self.results])

    @property
    def result(self) -> Result:
        """The answer of a question about one device."""
        if len(self.results) != 1:
            raise InputError(f"{len(self.results)} devices were asked about: take one of them, as in answer['h200-sxm']")
        return self.results[0]

    def estimate(self, metric: str) -> Optional[Estimate]:
        return self.result.estimate(metric)

    @property
    def advice(self) -> Advice:
        return self.result.advice

    @property
    def breakdown(self) -> tuple[Kernel, ...]:
        return self.result.breakdown

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of all devices, each once."""
        return tuple(dict.fromkeys(warning for result in self.results for warning in result.warnings))

    def to_frame(self) -> "pandas.DataFrame":
        """One row per device, indexed by it. Needs pandas."""
        return frame([result.row() for result in self.results], index="device")

    def __str__(self) -> str:
        names = self._columns()
        table = TextTable(["device", names[0], "90 % interval", *names[1:], "fits", "MIG", "USD/h", "USD per million",
                           "rests on"], str(self.workload))
        for result in self.results:
            table.add(self._cells(result, names, _interval))
        verdict = self.verdict.get("text")
        return (f"{verdict}\n\n" if verdict else "") + table.text(self.warnings)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        names = self._columns()
        table = HtmlTable(["device", names[0], "90 % interval", *names[1:], "fits", "MIG", "USD/h", "USD per million",
                           "rests on"], self._title())
        scale = Scale.of(result.estimates.get(names[0]) for result in self.results)
        for result in self.results:
            table.add(self._cells(result, names, lambda estimate: Interval(estimate, scale)))
        return table.html(self.warnings)

    def plot(self, metric: str = "", axes: "Optional[matplotlib.axes.Axes]" = None) -> "matplotlib.axes.Axes":
        """One estimate of all devices with its intervals, the latency unless another is named. Needs matplotlib."""
        return _plot.devices(self, metric or self._columns()[0], axes)

    def _columns(self) -> tuple[str, ...]:
        is_serving = any("tokens_per_s" in result.estimates for result in self.results)
        return SERVING_COLUMNS if is_serving else PASS_METRICS

    def _title(self) -> str:
        text = self.verdict.get("text")
        return f"{text} {self.workload}" if text else str(self.workload)

    @staticmethod
    def _cells(result: Result, names: tuple[str, ...], interval: "Callable[[Estimate], Any]") -> list[Any]:
        first, *others = (result.estimates.get(name) for name in names)
        return [result.device, first, interval(first) if first else None, *others, "yes" if result.advice.fits else "no",
                result.advice.mig.profile if result.advice.mig else None, result.advice.usd_per_hour,
                result.advice.usd_per_million, first.trust if first else None]


def _interval(estimate: Estimate) -> str:
    return f"{number(estimate.low)} – {number(estimate.high)}"
