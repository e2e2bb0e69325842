"""The reports as typed values. `to_dict()` gives back the report exactly as the service wrote it."""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, TypeVar, Union, overload

from ._core import ForerunError
from ._html import HtmlTable, number
from ._metrics import PASS_METRICS, MetricProperties

if TYPE_CHECKING:
    import pandas

R = TypeVar("R", bound="Report")


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


@dataclass(frozen=True)
class Estimate(Report):
    """A number with its 90 % interval and where it comes from: measured, learned or roofline."""

    value: float = 0.0
    low: float = 0.0
    high: float = 0.0
    basis: str = ""
    predictor: str = ""

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return f"{number(self.value)} ({number(self.low)} to {number(self.high)}, {self.basis})"


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
class Result(MetricProperties, Report):
    """The answer for one device. An estimate that could not be made is None, and `warnings` says why."""

    device: str = ""
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    host_share: float = 0.0  # of an eager latency: what waits for the host
    runtimes: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)  # with runtimes=True
    runtime_bounds: Mapping[str, str] = field(default_factory=dict)
    advice: Advice = field(default_factory=Advice)
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
        row["mig"] = self.advice.mig.profile if self.advice.mig else None
        for key in ("usd_per_hour", "usd_per_million", "usd_total", "co2_g_per_million", "co2_g_total", "hours_total",
                    "energy_kwh_total"):
            row[key] = getattr(self.advice, key)
        row["warnings"] = "; ".join(self.warnings)
        return row

    def breakdown_frame(self) -> "pandas.DataFrame":
        return _frame([kernel.to_dict() for kernel in self.breakdown])

    def _repr_html_(self) -> str:
        table = HtmlTable(["", "estimate", "90 % interval", "basis"], caption=self.device)
        for metric, estimate in self.estimates.items():
            table.add([metric, estimate.value, f"{number(estimate.low)} – {number(estimate.high)}",
                       f"{estimate.basis} ({estimate.predictor})"])
        return table.html(self.warnings)


@dataclass(frozen=True)
class Prediction(MetricProperties, Report):
    """The answers for all devices asked about: iterate, index by position or device, or ask the only one directly."""

    workload: Workload = field(default_factory=Workload)
    results: tuple[Result, ...] = ()

    @classmethod
    def _read(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {"workload": Workload.from_dict(values["workload"]),
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
        raise KeyError(key)

    @property
    def result(self) -> Result:
        """The answer of a question about one device."""
        if len(self.results) != 1:
            raise ForerunError(f"{len(self.results)} devices were asked about: take one of them, as in answer['h200-sxm']")
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
        return _frame([result.row() for result in self.results], index="device")

    def _repr_html_(self) -> str:
        table = HtmlTable(["device", *PASS_METRICS, "fits", "MIG", "USD per million", "basis"], caption=str(self.workload))
        for result in self.results:
            latency = result.latency_ms
            table.add([result.device, *(result.estimates.get(metric) for metric in PASS_METRICS),
                       "yes" if result.advice.fits else "no", result.advice.mig.profile if result.advice.mig else None,
                       result.advice.usd_per_million, latency.basis if latency else None])
        return table.html(self.warnings)


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


@dataclass(frozen=True)
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
        return _frame([{"operator": name, **totals.to_dict()} for name, totals in self.operators.items()], index="operator")

    def _repr_html_(self) -> str:
        table = HtmlTable(["operator", "count", "MACs", "FLOPs", "parameters", "bytes moved"],
                          caption=f"{self.name}: {number(self.parameters)} parameters, {number(self.macs)} MACs, "
                                  f"{self.nodes} nodes")
        for name, t in sorted(self.operators.items(), key=lambda item: -item[1].flops):
            table.add([name, t.count, t.macs, t.flops, t.parameters, t.bytes_moved])
        return table.html(self.warnings)


@dataclass(frozen=True)
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
        return _frame([slice_.to_dict() for slice_ in self.slices], index="profile")

    def _repr_html_(self) -> str:
        advice = f"{self.mig.profile}: {self.mig.why}" if self.mig else "no slice holds it"
        table = HtmlTable(["slice", "fits", "instances", "GiB", "latency_ms", "throughput_per_s of all"],
                          caption=f"{self.workload} on {self.device} → {advice}")
        for s in self.slices:
            table.add([s.profile, "yes" if s.fits else "no", s.instances, s.memory_gib, s.latency_ms, s.total_throughput_per_s])
        return table.html(self.warnings)


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

    @overload
    def __getitem__(self, key: str) -> R: ...
    @overload
    def __getitem__(self, key: int) -> R: ...  # type: ignore[override]

    def __getitem__(self, key: Any) -> Any:
        """By position, or by id or name."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        for row in self:
            if getattr(row, "id", None) == key or getattr(row, "name", None) == key:
                return row
        raise KeyError(key)

    def to_frame(self) -> "pandas.DataFrame":
        """Needs pandas."""
        return _frame([{key: value for key, value in row.to_dict().items() if not isinstance(value, (dict, list))} for row in self])

    def _repr_html_(self) -> str:
        keys = [f.name for f in dataclasses.fields(self[0]) if not f.name.startswith("_")] if self else []
        keys = [key for key in keys if not isinstance(getattr(self[0], key), (Mapping, tuple))]
        table = HtmlTable(keys)
        for row in self:
            table.add([getattr(row, key) for key in keys])
        return table.html()


def _frame(rows: list[dict[str, Any]], index: Optional[str] = None) -> "pandas.DataFrame":
    try:
        import pandas
    except ImportError as error:
        raise ForerunError("to_frame() needs pandas: pip install pandas") from error
    frame = pandas.DataFrame(rows)
    return frame.set_index(index) if index is not None and rows else frame
