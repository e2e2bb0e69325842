"""Pictures of answers. matplotlib is imported only here, at the first picture."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence

from ._errors import InputError, MissingPackageError, unknown_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._reports import Prediction, Result


def _axes(axes: "Optional[Axes]", height: float) -> "Axes":
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingPackageError("plot() needs matplotlib: pip install matplotlib") from error
    _, made = pyplot.subplots(figsize=(7, height), layout="constrained")
    return made


def devices(answer: "Prediction", metric: str, axes: "Optional[Axes]") -> "Axes":
    """A dot with its interval for each device, best first."""
    known = {name: None for result in answer.results for name in result.estimates}
    rows = [(result.device, result.estimates[metric]) for result in answer.results if metric in result.estimates]
    if not rows:
        raise unknown_name("estimate", metric, known)
    rows.sort(key=lambda row: row[1].value, reverse=metric.endswith("_per_s"))
    axes = _axes(axes, 1.2 + 0.28 * len(rows))
    places = range(len(rows))
    values = [estimate.value for _, estimate in rows]
    reach = [[estimate.value - estimate.low for _, estimate in rows], [estimate.high - estimate.value for _, estimate in rows]]
    axes.errorbar(values, places, xerr=reach, fmt="o", capsize=3)
    axes.set_yticks(list(places), [name for name, _ in rows])
    axes.invert_yaxis()
    if max(estimate.high for _, estimate in rows) > 20 * max(min(estimate.low for _, estimate in rows), 1e-12):
        axes.set_xscale("log")
    axes.set_xlabel(f"{metric}, with 90 % intervals")
    axes.set_title(str(answer.workload))
    axes.grid(axis="x", alpha=0.3)
    return axes


def breakdown(result: "Result", axes: "Optional[Axes]", most: int) -> "Axes":
    """The dearest kernels as bars, divided by what their time is spent on."""
    rows = sorted(result.breakdown, key=lambda kernel: -kernel.time_ms)[:max(most, 1)]
    if not rows:
        raise InputError(f"there is no breakdown for {result.device}")
    axes = _axes(axes, 1.4 + 0.3 * len(rows))
    causes = list(dict.fromkeys(cause for row in rows for cause, time in row.terms.items() if time > 0))
    start = [0.0] * len(rows)
    for cause in causes:  # what a predictor takes from the analytic terms is negative and left out of the picture
        times = [max(row.terms.get(cause, 0.0), 0.0) for row in rows]
        axes.barh(range(len(rows)), times, left=start, label=cause)
        start = [begin + time for begin, time in zip(start, times)]
    axes.set_yticks(list(range(len(rows))), [f"{row.count} × {row.kernel}" for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    axes.set_title(f"Where the time goes on {result.device}")
    axes.legend(fontsize="small")
    return axes


def sweep(answers: Sequence["Prediction"], x: str, metric: str, axes: "Optional[Axes]") -> "Axes":
    """A line with its band for each device over a field of the workload."""
    lines: dict[str, list[tuple[Any, Any]]] = {}
    for answer in answers:
        at = getattr(answer.workload, x, None)
        if at is None:
            raise unknown_name("field of the workload", x, ("batch", "sequence", "precision", "runtime"))
        for result in answer.results:
            if metric in result.estimates:
                lines.setdefault(result.device, []).append((at, result.estimates[metric]))
    if not lines:
        raise unknown_name("estimate", metric, {name: None for answer in answers for one in answer for name in one.estimates})
    axes = _axes(axes, 4)
    for device, points in lines.items():
        points.sort(key=lambda point: point[0])
        places = [place for place, _ in points]
        line, = axes.plot(places, [estimate.value for _, estimate in points], marker="o", label=device)
        axes.fill_between(places, [estimate.low for _, estimate in points], [estimate.high for _, estimate in points],
                          alpha=0.15, color=line.get_color(), linewidth=0)
    axes.set_xlabel(x)
    axes.set_ylabel(metric)
    axes.legend(fontsize="small")
    axes.grid(alpha=0.3)
    return axes
