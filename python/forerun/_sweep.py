"""forerun.sweep: many questions on all cores, answered part by part; forerun.ray.sweep does the same on a cluster."""
from __future__ import annotations

import collections
import concurrent.futures
import glob
import multiprocessing
import os
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Callable, Deque, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from . import _answers
from ._errors import InputError
from ._questions import Part, read_questions

PARTITION = 4096


class WorkerDied(Exception):
    """A worker process or its machine is gone. `is_blamed`: it did nothing else at that time."""


class Job(NamedTuple):
    """Some questions of a part; all of them, unless one of them ends its worker."""
    part: Part
    first: int  # place in the part
    last: int
    is_suspect: bool = False  # a worker died with it: it runs alone now


class LocalPool:
    """Worker processes of this machine."""
    tells_who_died = False  # one death fails everything in flight

    def __init__(self, workers: int, work: Callable[..., Any]) -> None:
        self.workers, self.work = workers, work
        self.limit = 2 * workers
        self.pool = self._start()

    def _start(self) -> concurrent.futures.ProcessPoolExecutor:
        return concurrent.futures.ProcessPoolExecutor(self.workers, multiprocessing.get_context("spawn"))

    def submit(self, lines: List[str], first: int, form: str) -> Any:
        try:
            return self.pool.submit(self.work, lines, first, form)
        except BrokenProcessPool:
            self.pool.shutdown(wait=False, cancel_futures=True)
            self.pool = self._start()
            return self.pool.submit(self.work, lines, first, form)

    def wait(self, handles: List[Any]) -> Iterator[Tuple[Any, Any]]:
        done, _ = concurrent.futures.wait(handles, return_when=concurrent.futures.FIRST_COMPLETED)
        for future in done:
            try:
                yield future, future.result()
            except BrokenProcessPool as error:
                yield future, WorkerDied(str(error))

    def close(self) -> None:
        self.pool.shutdown(wait=True, cancel_futures=True)


class Sweep:
    """What became of a sweep; its answers are in `files`, or in memory where no folder was given."""

    def __init__(self, out: Optional[str], form: str) -> None:
        self.out, self.format = out, form
        self.questions = 0
        self.found = 0  # questions that an earlier run answered
        self.rows = 0  # of this run
        self.errors = 0  # of those
        self.unwritten = 0  # questions whose part could not be written, with the reason in write_error
        self.write_error = ""
        self.seconds = 0.0
        self._kept: List[Tuple[int, Any]] = []

    @property
    def files(self) -> List[str]:
        return sorted(glob.glob(os.path.join(glob.escape(self.out), f"part-*.{self.format}"))) if self.out else []

    def to_arrow(self) -> Any:
        """All answers as a pyarrow.Table."""
        if self.out:
            return _answers.read_tables(self.files)
        return _answers.arrow().concat_tables([table for _, table in sorted(self._kept, key=lambda item: item[0])])

    def to_frame(self) -> Any:
        """All answers as a pandas.DataFrame."""
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        told = f"{self.questions} questions: {self.found} answered before, {self.rows} rows now, {self.errors} of them errors"
        return f"<Sweep of {told}, in {self.seconds:.1f} s>"


class Run:
    """Keeps the workers busy and puts what they answer together."""

    def __init__(self, sweep: Sweep, pool: Any, total: Optional[int], progress: Optional[Callable[..., None]]) -> None:
        self.sweep, self.pool, self.total, self.progress = sweep, pool, total, progress
        self.start = time.monotonic()
        self.again: Deque[Job] = collections.deque()  # halves and suspects
        self.flying: Dict[Any, Job] = {}
        self.pieces: Dict[int, List[Tuple[Job, Any]]] = {}  # by part

    def run(self, parts: Iterator[Part]) -> None:
        fresh = self._fresh(parts)
        while True:
            # No more in flight than the workers need: a slow disk or driver slows the questions down, not memory.
            while len(self.flying) < self.pool.limit:
                job = self._next(fresh)
                if job is None:
                    break
                lines = job.part.lines[job.first:job.last]
                self.flying[self.pool.submit(lines, job.part.first + job.first, self.sweep.format)] = job
            if not self.flying:
                return
            alone = len(self.flying) == 1
            for handle, outcome in self.pool.wait(list(self.flying)):
                job = self.flying.pop(handle)
                if isinstance(outcome, WorkerDied):
                    self._bury(job, alone or self.pool.tells_who_died)
                else:
                    self._take(job, outcome)

    def _fresh(self, parts: Iterator[Part]) -> Iterator[Job]:
        for part in parts:
            self.sweep.questions += len(part.lines)
            if self._is_answered(part):
                self.sweep.found += len(part.lines)
                self._tell()
            else:
                yield Job(part, 0, len(part.lines))

    def _next(self, fresh: Iterator[Job]) -> Optional[Job]:
        """Suspects wait until nothing else is in flight, and then have the workers to themselves."""
        if any(job.is_suspect for job in self.flying.values()):
            return None
        if self.again:
            return None if self.flying and self.again[0].is_suspect else self.again.popleft()
        return next(fresh, None)

    def _bury(self, job: Job, is_blamed: bool) -> None:
        """A job whose worker died is asked again, then in halves, until one question is left that nobody survives."""
        if not job.is_suspect or not is_blamed:
            self.again.append(job._replace(is_suspect=True))
        elif job.last - job.first > 1:
            middle = (job.first + job.last) // 2
            self.again.extend((job._replace(last=middle), job._replace(first=middle)))
        else:
            line = job.part.lines[job.first]
            self._take(job, _answers.died(line, job.part.first + job.first, self.sweep.format))

    def _is_answered(self, part: Part) -> bool:
        if self.sweep.out is None:
            return False
        name = part.name(self.sweep.format)
        if os.path.exists(os.path.join(self.sweep.out, name)):
            return True
        others = glob.glob(os.path.join(glob.escape(self.sweep.out), f"part-{part.number:06}-*.{self.sweep.format}"))
        if others:
            raise InputError(f"{others[0]} answers other questions; give another folder, or the questions and the "
                             "partition that began it")
        return False

    def _take(self, job: Job, outcome: Any) -> None:
        part = job.part
        pieces = self.pieces.setdefault(part.number, [])
        pieces.append((job, outcome))
        if sum(piece.last - piece.first for piece, _ in pieces) < len(part.lines):
            return
        del self.pieces[part.number]
        pieces.sort(key=lambda piece: piece[0].first)
        sweep = self.sweep
        answers = _answers.joined([outcome for _, outcome in pieces], part, sweep.format)
        try:
            if sweep.out is None:
                sweep._kept.append((part.number, answers))
            else:
                _answers.write(answers, os.path.join(sweep.out, part.name(sweep.format)), sweep.format)
        except OSError as error:  # a full disk costs its own parts
            sweep.unwritten += len(part.lines)
            sweep.write_error = str(error)
        else:
            rows, errors = _answers.count_rows(answers)
            sweep.rows += rows
            sweep.errors += errors
        self._tell()

    def _tell(self) -> None:
        self.sweep.seconds = time.monotonic() - self.start
        if self.progress:
            self.progress(self.sweep.found + self.sweep.rows, self.total, self.sweep.seconds)


def show_progress(done: int, total: Optional[int], seconds: float) -> None:
    """A line on standard error that is written over."""
    share = "" if not total else f"[{'=' * (30 * done // max(1, total)):<30}] "
    of = f" of {total}" if total else ""
    sys.stderr.write(f"\r{share}{done}{of}, {done / max(seconds, 1e-9):.0f} a second ")
    sys.stderr.flush()


def run_sweep(questions: Any, out: Any, form: Optional[str], partition: int, progress: Any,
              pool: Callable[[], Any]) -> Sweep:
    """What forerun.sweep and forerun.ray.sweep share."""
    if partition < 1:
        raise InputError("partition: at least one question")
    form = form or ("parquet" if out is None or _has_arrow() else "jsonl")
    if form not in _answers.FORMATS:
        raise InputError(f"format: '{form}' is none of {', '.join(_answers.FORMATS)}")
    if out is not None:
        out = os.fspath(out)
        os.makedirs(out, exist_ok=True)
    elif form == "jsonl":
        raise InputError("format='jsonl' needs out=FOLDER; in memory, answers are a table")
    if form != "jsonl":
        _answers.arrow()
    total, parts = read_questions(questions)
    shows = sys.stderr.isatty() if progress is None else progress
    sweep = Sweep(out, form)
    workers = pool()
    try:
        Run(sweep, workers, total, show_progress if shows is True else shows or None).run(parts(partition))
    finally:
        workers.close()
        if shows is True:
            sys.stderr.write("\n")
    return sweep


def _has_arrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def sweep(questions: Any, out: "Union[str, os.PathLike[str], None]" = None, *, workers: Optional[int] = None,
          format: Optional[str] = None, partition: int = PARTITION,
          progress: "Union[bool, Callable[[int, Optional[int], float], None], None]" = None) -> Sweep:
    """Answers every question, on all cores. Bad questions cost their own rows, each with its error.

    questions: a space (a dict, or a .yaml or .json file; docs/sweeps.md), dicts or JSON texts in any iterable, a
        pyarrow.Table, or a .jsonl, .parquet or .arrow file.
    out: folder for the answers, a file for each part; the same call goes on where an earlier one ended. None: in memory.
    workers: processes (default: one for each core). format: "parquet" (default with pyarrow), "arrow" or "jsonl".
    progress: True, False, a function of (done, total, seconds), or None: a line where a person looks on.
    """
    if workers is not None and workers < 1:
        raise InputError("workers: at least one")
    return run_sweep(questions, out, format, partition, progress,
                     lambda: LocalPool(workers or os.cpu_count() or 1, _answers.answer))
