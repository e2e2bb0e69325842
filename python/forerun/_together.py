"""Many questions at once, and questions that an event loop waits for."""
from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, Optional, Union

from . import _plot
from ._ask import predict
from ._core import ForerunError
from ._errors import InputError, of_kind
from ._frame import frame
from ._html import HtmlTable
from ._reports import Prediction
from ._text import TextTable

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas

_COLUMNS = ("latency_ms", "throughput_per_s", "device_memory_mb", "energy_j")


class Predictions(List[Union[Prediction, ForerunError]]):
    """Answers in the order of their questions; with on_error="keep", an error stands where a question failed."""

    @property
    def answered(self) -> list[Prediction]:
        return [answer for answer in self if isinstance(answer, Prediction)]

    def to_frame(self) -> "pandas.DataFrame":
        """One row per question and device. Needs pandas."""
        return frame([{"question": index, **_workload(answer), **result.row()}
                      for index, answer in enumerate(self) if isinstance(answer, Prediction) for result in answer])

    def plot(self, x: str = "batch", metric: str = "throughput_per_s",
             axes: "Optional[matplotlib.axes.Axes]" = None) -> "matplotlib.axes.Axes":
        """One estimate over the batch or the sequence, a line for each device. Needs matplotlib."""
        return _plot.sweep(self.answered, x, metric, axes)

    def __str__(self) -> str:
        return self._table(TextTable).text(self._failures())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._table(HtmlTable).html(self._failures())

    def _failures(self) -> list[str]:
        return [f"question {index}: {answer}" for index, answer in enumerate(self) if isinstance(answer, ForerunError)]

    def _table(self, kind: Any) -> Any:
        table = kind(["workload", "device", *_COLUMNS, "fits"])
        for answer in self.answered:
            for result in answer:
                table.add([str(answer.workload), result.device, *(result.estimates.get(name) for name in _COLUMNS),
                           "yes" if result.advice.fits else "no"])
        return table


def _workload(answer: Prediction) -> dict[str, Any]:
    w = answer.workload
    return {"name": w.name, "batch": w.batch, "sequence": w.sequence, "precision": w.precision, "runtime": w.runtime,
            "phase": w.phase, "training": w.training}


def predict_many(requests: Iterable[Mapping[str, Any]], *, workers: Optional[int] = None, on_error: str = "raise",
                 **options: Any) -> Predictions:
    """Answers many questions, several at a time; a network named by many of them is read once.

    requests: each a dict with `model` and what differs, as in predict(); `options` holds for all of them.
    workers: how many questions at a time (default: one for each core).
    on_error: "raise" stops at the first question that fails; "keep" puts its error in the answer's place.
    """
    if on_error not in ("raise", "keep"):
        raise InputError(f"on_error: '{on_error}' is none of raise, keep")
    if workers is not None and workers < 1:
        raise InputError("workers: at least one")
    questions = [{**options, **request} for request in requests]
    for index, question in enumerate(questions):
        if "model" not in question:
            raise InputError(f"question {index}: 'model' is missing")

    def answer(index: int) -> Union[Prediction, ForerunError]:
        try:
            return predict(**questions[index])
        except ForerunError as error:
            if on_error == "keep":
                return error
            raise of_kind(error.kind, f"question {index}: {error}") from error

    pool = ThreadPoolExecutor(workers or os.cpu_count() or 1, thread_name_prefix="forerun")
    try:
        return Predictions(pool.map(answer, range(len(questions))))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


async def predict_async(model: Any, inputs: Any = None, **options: Any) -> Prediction:
    """predict() for an event loop: it runs in a thread, so that other tasks go on. A task that is cancelled stops
    waiting; the thread ends with its question."""
    return await asyncio.to_thread(predict, model, inputs, **options)


async def predict_many_async(requests: Iterable[Mapping[str, Any]], **options: Any) -> Predictions:
    """predict_many() for an event loop."""
    return await asyncio.to_thread(predict_many, list(requests), **options)
