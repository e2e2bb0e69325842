"""Sweeps on this machine, spaces and searches."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

import forerun
from forerun import _answers

SPACE = {"architecture": {"model_type": "nasbench201", "sample": 6}, "question": {"batch": [1, 8], "device": ["l4", "t4"]}}


def rows_of(sweep):
    return [json.loads(line) for file in sweep.files for line in open(file)]


def deadly(lines, first, form):
    """A worker that one question ends."""
    if any('"deadly"' in line for line in lines):
        os._exit(1)
    return _answers.answer(lines, first, form)


def test_every_question_of_a_space_has_one_answer(tmp_path):
    done = forerun.sweep(SPACE, tmp_path, workers=2, partition=5, format="jsonl", progress=False)
    assert (done.questions, done.rows, done.errors) == (24, 24, 0) and len(done.files) == 5
    rows = rows_of(done)
    assert [row["question"] for row in rows] == list(range(24))
    alone = forerun.predict(rows[7]["asked"]["config"], device=rows[7]["asked"]["device"], batch=rows[7]["asked"]["batch"])
    assert rows[7]["latency_ms"] == pytest.approx(float(alone.latency_ms), rel=1e-5)


def test_a_sweep_goes_on_where_it_ended(tmp_path):
    told = []
    first = forerun.sweep(SPACE, tmp_path, workers=1, partition=5, format="jsonl", progress=lambda *now: told.append(now))
    assert told[-1][:2] == (24, 24)
    before = {file: open(file).read() for file in first.files}
    os.unlink(first.files[2])
    again = forerun.sweep(SPACE, tmp_path, workers=1, partition=5, format="jsonl", progress=False)
    assert (again.found, again.rows) == (19, 5)
    assert {file: open(file).read() for file in again.files} == before
    with pytest.raises(forerun.InputError, match="answers other questions"):
        forerun.sweep({**SPACE, "seed": 2}, tmp_path, workers=1, partition=5, format="jsonl")


def test_bad_questions_and_dead_workers_cost_their_own_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("forerun._answers.answer", deadly)
    good = {"model": "resnet50", "device": "l4"}
    questions = [good, {"model": "nothing", "device": "l4"}, "not JSON", {**good, "batch": 4}, {"model": "deadly"}, good]
    done = forerun.sweep(iter(questions), tmp_path, workers=1, partition=6, format="jsonl", progress=False)
    rows = rows_of(done)
    assert [("error" in row, row["question"]) for row in rows] == [
        (False, 0), (True, 1), (True, 2), (False, 3), (True, 4), (False, 5)]
    assert "died" in rows[4]["error"] and "nothing" in rows[1]["error"]
    assert (done.rows, done.errors) == (6, 3)


def test_a_full_disk_costs_its_own_parts(tmp_path, monkeypatch):
    real = _answers.write
    def full(answers, path, form):
        if "part-000001" in path:
            raise OSError(28, "No space left on device")
        real(answers, path, form)
    monkeypatch.setattr("forerun._answers.write", full)
    done = forerun.sweep(SPACE, tmp_path, workers=1, partition=10, format="jsonl", progress=False)
    assert (done.rows, done.unwritten) == (14, 10) and "No space" in done.write_error


def test_tables_in_and_out(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet
    table = pa.table({"model": ["resnet50", "nothing"], "device": ["l4", "l4"], "batch": [8, None]})
    answers = forerun.sweep(table, workers=1, progress=False).to_arrow()
    assert answers.column("question").to_pylist() == [0, 1]
    assert answers.column("latency_ms").null_count == 1 and answers.column("error").null_count == 1
    assert answers.column("fits").to_pylist() == [True, None]
    pa.parquet.write_table(table, tmp_path / "questions.parquet")
    for form in ("parquet", "arrow", "jsonl"):
        out = forerun.sweep(tmp_path / "questions.parquet", tmp_path / form, workers=1, format=form, progress=False)
        read = out.to_arrow()
        assert read.column("latency_ms")[0].as_py() == pytest.approx(answers.column("latency_ms")[0].as_py(), rel=1e-5)
        assert read.column("asked").to_pylist() == answers.column("asked").to_pylist() or form == "jsonl"


def test_a_search_finds_a_front(tmp_path):
    space = tmp_path / "space.yaml"
    space.write_text("architecture: {model_type: nasbench201, cells: 1}\n"
                     "question: {device: h200-sxm, runtime: graph, predictor: roofline}\n")
    front = forerun.search(space, budget=120, population=30, constraints=["parameters<=150000"])
    assert front.evaluated == 120 and len(front) >= 2
    assert all(a["latency_ms"] <= b["latency_ms"] and a["parameters"] <= b["parameters"] for a, b in zip(front, front[1:]))
    assert all(row["parameters"] <= 150000 for row in front)
    with pytest.raises(forerun.InputError, match="no column"):
        forerun.search(space, ["speed"])


def test_optuna_searches_with_a_quality_of_ones_own():
    pytest.importorskip("optuna")
    space = {"architecture": {"model_type": "nasbench201", "cells": 1},
             "question": {"device": "h200-sxm", "runtime": "graph", "predictor": "roofline"}}
    def convolutions(question):
        return sum(name.startswith("nor_conv") for name in question["config"]["operations"])
    for algorithm in ("random", "evolutionary", "bayesian"):
        front = forerun.search(space, ["latency_ms"], ["memory_mb<=1000"], algorithm=algorithm, budget=40, population=10,
                               quality=convolutions)
        assert front.evaluated == 40
        assert all(a["latency_ms"] <= b["latency_ms"] and a["quality"] <= b["quality"] for a, b in zip(front, front[1:]))


def test_the_placement_example_gains_over_first_fit():
    script = pathlib.Path(__file__).resolve().parents[2] / "examples" / "cluster_placement" / "place.py"
    told = subprocess.run([sys.executable, str(script), "--jobs", "1000"], check=True, capture_output=True, text=True).stdout
    makespan = [float(line[44:56]) for line in told.splitlines()[2:]]
    cost = [float(line[64:76]) for line in told.splitlines()[2:]]
    assert makespan[2] < 0.9 * makespan[0] and cost[3] < 0.9 * cost[0]
