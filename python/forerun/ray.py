"""Sweeps on a Ray cluster, with the interface of forerun.sweep. Needs Ray (pip install 'forerun[ray]')."""
from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Callable, Iterator, List, Optional, Tuple, Union

from . import _answers
from ._core import ForerunError
from ._errors import InputError, MissingPackageError
from ._sweep import PARTITION, Sweep, WorkerDied, run_sweep
from ._sweep import sweep as sweep_here

_RETRIES = 3  # of a part whose worker or node is lost, before it is taken for the part's own fault


class RayPool:
    """Tasks on every core of the cluster; Ray keeps their processes, and with them the loaded predictors."""
    tells_who_died = True

    def __init__(self, address: Optional[str], workers: Optional[int]) -> None:
        try:
            import ray
        except ImportError as error:
            raise MissingPackageError("forerun.ray needs Ray (pip install 'forerun[ray]')") from error
        self.ray, self.workers = ray, workers
        self.started = not ray.is_initialized()
        if self.started:
            ray.init(address=address, log_to_driver=False, logging_level="error")
        self.work = ray.remote(num_cpus=1, max_retries=_RETRIES)(_answers.answer)

    @property
    def limit(self) -> int:
        """Twice the cores that the cluster has now, for nodes come and go."""
        return self.workers or max(2, int(2 * self.ray.cluster_resources().get("CPU", 1)))

    def submit(self, lines: List[str], first: int, form: str) -> Any:
        return self.work.remote(lines, first, form)

    def wait(self, handles: List[Any]) -> Iterator[Tuple[Any, Any]]:
        done, _ = self.ray.wait(handles, num_returns=1, fetch_local=False)
        for handle in done:
            try:
                yield handle, self.ray.get(handle)
            except self.ray.exceptions.RayTaskError:
                raise
            except self.ray.exceptions.RayError as error:
                yield handle, WorkerDied(str(error))

    def close(self) -> None:
        if self.started:
            self.ray.shutdown()


def sweep(questions: Any, address: Optional[str] = None, out: "Union[str, os.PathLike[str], None]" = None, *,
          workers: Optional[int] = None, format: Optional[str] = None, partition: int = PARTITION,
          progress: "Union[bool, Callable[[int, Optional[int], float], None], None]" = None) -> Sweep:
    """forerun.sweep on a Ray cluster: the same questions, files and answers.

    address: of the cluster ("auto", "HOST:PORT", "ray://HOST:PORT"); None: a running one, or a new one on this machine.
    out: a folder of the machine that asks. workers: tasks in flight (default: two for each core of the cluster).
    A part that is lost with its worker or node is answered again elsewhere; forerun must be installed on every node.
    """
    if workers is not None and workers < 1:
        raise InputError("workers: at least one")
    return run_sweep(questions, out, format, partition, progress, lambda: RayPool(address, workers))


def main() -> int:
    """What `forerun sweep SPACE --ray ADDRESS` runs."""
    parser = argparse.ArgumentParser(prog="python -m forerun.ray")
    parser.add_argument("space")
    parser.add_argument("--out", required=True)
    parser.add_argument("--partition", type=int, default=PARTITION)
    parser.add_argument("--format", choices=_answers.FORMATS)
    parser.add_argument("--workers", type=int)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--address")
    where.add_argument("--local", action="store_true", help="on this machine, without Ray")
    a = parser.parse_args()
    given = {"workers": a.workers, "format": a.format, "partition": a.partition}
    try:
        done = sweep_here(a.space, a.out, **given) if a.local else sweep(a.space, a.address, a.out, **given)
    except (ForerunError, OSError) as error:
        print(f"forerun: {error}", file=sys.stderr)
        return 2
    print(f"{done!r}: {done.out}")
    if done.unwritten:
        print(f"forerun: {done.unwritten} questions are not answered: {done.write_error}", file=sys.stderr)
    return 2 if done.unwritten else 0


if __name__ == "__main__":
    sys.exit(main())
