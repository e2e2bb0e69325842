"""forerun.search: the best candidates of a space. Random and evolutionary search run in C++, Bayesian search and
searches with a quality function of yours through Optuna."""
from __future__ import annotations

import json
import math
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _core
from ._ask import _told
from ._errors import InputError, MissingPackageError
from ._frame import frame
from ._questions import read_space

QUALITY = "quality"


class Front(List[Dict[str, Any]]):
    """The candidates that no other one beats in every objective: rows of answers, the first objective's best first."""

    def __init__(self, rows: Sequence[Dict[str, Any]], told: Mapping[str, Any]) -> None:
        super().__init__(rows)
        self.evaluated: int = told["evaluated"]
        self.failed: int = told["failed"]
        self.over_limits: int = told["over_limits"]

    def to_frame(self) -> Any:
        """One row per candidate. Needs pandas."""
        return frame([{**row, "asked": json.dumps(row["asked"])} for row in self])


def search(space: Any, objectives: Sequence[str] = ("latency_ms", "parameters"), constraints: Sequence[str] = (), *,
           algorithm: str = "evolutionary", budget: int = 1000, population: int = 100, seed: int = 1,
           quality: Optional[Callable[[Dict[str, Any]], float]] = None) -> Front:
    """The Pareto front of `space` in what you name.

    space: a dict, a .yaml or .json file (docs/sweeps.md), or a forerun.Space; its questions are about one device each.
    objectives: columns of an answer, as in "latency_ms", "parameters:min"; a network's size counts as quality and is
        best large. constraints: as in "device_memory_mb<=8000".
    algorithm: "random", "evolutionary", or "bayesian" (Optuna's TPE, pip install 'forerun[search]').
    budget: candidates to predict; population: of a generation, or proposed at a time.
    quality: a function of a question (a dict) that says how good the candidate is; one more objective, best large.
    """
    chosen = read_space(space)
    if algorithm != "bayesian" and quality is None:
        told = _told(lambda: json.loads(
            _core.search(chosen, algorithm, list(objectives), list(constraints), budget, population, seed)))
        return Front(told["front"], told)
    return _Optuna(chosen, objectives, constraints, quality).run(algorithm, budget, population, seed)


class _Optuna:
    """Optuna proposes choices by axis, we answer a generation at a time."""

    def __init__(self, space: _core.Space, objectives: Sequence[str], constraints: Sequence[str],
                 quality: Optional[Callable[[Dict[str, Any]], float]]) -> None:
        self.space, self.quality = space, quality
        self.objectives = [_objective(text) for text in objectives]
        self.limits = [_limit(text) for text in constraints]
        self.rows: List[Tuple[List[float], Dict[str, Any]]] = []
        self.told = {"evaluated": 0, "failed": 0, "over_limits": 0}
        self.first_error = ""

    def run(self, algorithm: str, budget: int, population: int, seed: int) -> Front:
        try:
            import optuna
        except ImportError as error:
            raise MissingPackageError("Bayesian search and searches with a quality function need Optuna "
                                      "(pip install 'forerun[search]')") from error
        samplers: Dict[str, Callable[[], Any]] = {
            "random": lambda: optuna.samplers.RandomSampler(seed=seed),
            "evolutionary": lambda: optuna.samplers.NSGAIISampler(population_size=population, seed=seed,
                                                                  constraints_func=_violations),
            "bayesian": lambda: optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True,
                                                           constraints_func=_violations)}
        if algorithm not in samplers:
            raise InputError(f"algorithm: '{algorithm}' is none of {', '.join(samplers)}")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        directions = ["minimize"] * len(self.objectives) + ["maximize"] * (self.quality is not None)
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of options that Optuna calls experimental
            study = optuna.create_study(directions=directions, sampler=samplers[algorithm]())
            axes = self.space.axes()
            while self.told["evaluated"] < budget:
                trials = [study.ask() for _ in range(min(population, budget - self.told["evaluated"]))]
                choices = [[trial.suggest_categorical(name, range(len(labels))) if len(labels) > 1 else 0
                            for name, labels in axes] for trial in trials]
                questions = [self.space.question(list(one)) for one in choices]
                for trial, values in zip(trials, self._evaluate(questions, trials)):
                    study.tell(trial, values, state=None if values else optuna.trial.TrialState.FAIL)
        if not self.rows and self.told["failed"] == self.told["evaluated"]:
            raise InputError(f"no candidate could be answered; the first one: {self.first_error}")
        return Front(self._front(), self.told)

    def _evaluate(self, questions: List[str], trials: List[Any]) -> List[Optional[List[float]]]:
        text = _core.answer_lines(questions, self.told["evaluated"])
        answers = {row["question"] - self.told["evaluated"]: row for row in map(json.loads, text.splitlines())}
        return [self._judge(answers[index], trial) for index, trial in enumerate(trials)]

    def _judge(self, row: Dict[str, Any], trial: Any) -> Optional[List[float]]:
        self.told["evaluated"] += 1
        columns = [name for name, _ in self.objectives] + [name for name, _, _ in self.limits]
        absent = [name for name in columns if name not in row]
        if absent:
            self.told["failed"] += 1
            self.first_error = self.first_error or row.get("error", f"{absent[0]} cannot be estimated")
            return None
        values = [sign * row[name] for name, sign in self.objectives]
        if self.quality is not None:
            row[QUALITY] = float(self.quality(row["asked"]))
            if not math.isfinite(row[QUALITY]):
                raise InputError(f"quality: {row[QUALITY]} of {row['asked']} is not a finite number")
            values.append(row[QUALITY])
        over = [sign * (row[name] - limit) / abs(limit) for name, sign, limit in self.limits]
        trial.set_user_attr("violations", over)
        if any(share > 0 for share in over):
            self.told["over_limits"] += 1
        else:
            self.rows.append(([*values[:-1], -values[-1]] if self.quality is not None else values, row))
        return values

    def _front(self) -> List[Dict[str, Any]]:
        front: List[Tuple[List[float], Dict[str, Any]]] = []
        for values, row in sorted(self.rows, key=lambda pair: pair[0]):
            if not any(all(a <= b for a, b in zip(other, values)) for other, _ in front):
                front.append((values, row))
        return [row for _, row in front]


def _violations(trial: Any) -> List[float]:
    return trial.user_attrs.get("violations", [math.inf]) or [0.0]


def _objective(text: str) -> Tuple[str, int]:
    """Column, and 1 where less of it is better, else -1."""
    name, _, direction = text.partition(":")
    known = dict(_core.answer_columns())
    if name not in known or direction not in ("", "min", "max"):
        raise InputError(f"objectives: '{text}' is not COLUMN[:min|max]; columns are {', '.join(known)}")
    return name, 1 if direction == "min" or (direction == "" and known[name]) else -1


def _limit(text: str) -> Tuple[str, int, float]:
    for sign, factor in (("<=", 1), (">=", -1)):
        name, found, limit = text.partition(sign)
        if found and name in dict(_core.answer_columns()):
            try:
                return name, factor, float(limit)
            except ValueError:
                break
    raise InputError(f"constraints: '{text}' is not COLUMN<=X or COLUMN>=X")
