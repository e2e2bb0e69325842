"""Sweeps on a real Ray cluster of two nodes on this machine: the same answers as without Ray, whatever dies."""
import json
import os
import sys

import pytest

import forerun
import forerun.ray
from forerun import _answers

ray = pytest.importorskip("ray")
from ray.cluster_utils import Cluster  # noqa: E402

SPACE = {"architecture": {"model_type": "nasbench201", "sample": 400}, "question": {"device": ["l4", "t4"]}}


def deadly(lines, first, form):
    if any('"deadly"' in line for line in lines):
        os._exit(1)
    return _answers.answer(lines, first, form)


@pytest.fixture
def cluster():
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 200 << 20})
    made.second = made.add_node(num_cpus=1, object_store_memory=200 << 20)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


def parts_of(sweep):
    return {os.path.basename(file): open(file).read() for file in sweep.files}


def test_a_node_that_dies_midway_loses_nothing(cluster, tmp_path):
    killed = []

    def kill(done, total, seconds):
        if done >= total // 3 and not killed:
            killed.append(done)
            cluster.remove_node(cluster.second, allow_graceful=False)

    here = forerun.sweep(SPACE, tmp_path / "here", workers=2, partition=40, format="jsonl", progress=False)
    there = forerun.ray.sweep(SPACE, cluster.address, tmp_path / "there", partition=40, format="jsonl", progress=kill)
    assert killed and there.errors == 0 and there.rows == 800
    assert parts_of(there) == parts_of(here)


def test_both_nodes_answer(cluster, tmp_path):
    ray.init(address=cluster.address, log_to_driver=False)
    done = forerun.ray.sweep(SPACE, out=tmp_path, partition=20, progress=False)
    table = done.to_arrow()
    assert sorted(table.column("question").to_pylist()) == list(range(800))
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2


def test_a_question_that_ends_its_worker_costs_its_own_row(cluster, tmp_path, monkeypatch):
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr("forerun._answers.answer", deadly)
    good = {"model": "resnet50", "device": "l4"}
    done = forerun.ray.sweep([good, {"model": "deadly"}, good, good], cluster.address, tmp_path, format="jsonl",
                             progress=False)
    rows = [json.loads(line) for file in done.files for line in open(file)]
    assert ["error" in row for row in rows] == [False, True, False, False] and "died" in rows[1]["error"]
