"""forerun-lab adapt --platform, then forerun predict: a made-up phone, 2.5 times slower than one that ships, is learned from 14 networks."""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

FORERUN, LAB = sys.argv[1], sys.argv[2]
ROOT = pathlib.Path(__file__).resolve().parent.parent
SLOWER = 2.5
TEXT = "Old phone: Qualcomm Snapdragon with a Hexagon NPU, TensorFlow Lite"


def run(program, *arguments, home):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, env=dict(os.environ, XDG_CONFIG_HOME=home), check=False)


def latency(graph, device, home):
    done = run(FORERUN, "predict", graph, "--device", device, "--precision", "fp16", "--batch", 1, "--json", home=home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["results"][0]["estimates"]["latency_ms"]


def refused(done, *words):
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1, (done.returncode, done.stdout, done.stderr)
    for word in words:
        assert word in done.stderr, (word, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        home, campaign = os.path.join(folder, "home"), pathlib.Path(folder) / "campaign"
        with tarfile.open(ROOT / "data" / "graphs" / "torchvision.tar.xz") as archive:
            archive.extractall(campaign)
        graphs = sorted((campaign / "graphs").glob("*.onnx"))
        learned, judged = graphs[:14], graphs[14:17]
        with open(campaign / "vision_inference.csv", "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(["id", "network", "family", "graph", "batch", "precision", "latency_ms_median"])
            for i, graph in enumerate(learned):
                table.writerow([i, graph.stem, "torchvision", graph.name, 1, "fp16", SLOWER * latency(graph, "galaxy-s24", home)["value"]])
        done = run(LAB, "adapt", "--platform", TEXT, "--measurements", campaign, home=home)
        assert done.returncode == 0, done.stderr
        assert "14 rows" in done.stdout and "--device old-phone-qualcomm-snapdragon" in done.stdout, done.stdout
        for graph in judged:
            truth, answer = SLOWER * latency(graph, "galaxy-s24", home)["value"], latency(graph, "old-phone-qualcomm-snapdragon", home)
            assert abs(answer["value"] / truth - 1) < 0.1 and answer["low"] < truth < answer["high"], (graph, truth, answer)
        listed = run(FORERUN, "devices", "--kind", "edge", home=home)
        assert "old-phone-qualcomm-snapdragon" in listed.stdout, listed
        table = run(FORERUN, "predict", judged[0], "--device", "old-phone-qualcomm-snapdragon", "--precision", "fp16", "--batch", 1, home=home)
        assert table.returncode == 0 and "where the time goes" in table.stdout, table

        refused(run(LAB, "adapt", "--platform", TEXT, "--measurements", folder + "-not", home=home), "no such file or folder")
        refused(run(LAB, "adapt", "--measurements", campaign, home=home), "--device ID or --platform TEXT")
        refused(run(LAB, "adapt", "--platform", TEXT, "--id", "Not/an id", "--measurements", campaign, home=home), "'id'")
        refused(run(LAB, "adapt", "--platform", TEXT, "--device", "l4", "--measurements", campaign, home=home), "excludes")


main()
