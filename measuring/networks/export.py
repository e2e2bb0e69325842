"""Exports the networks of a plan as weight-free ONNX graphs with PyTorch's tracing exporter (opset 17, free batch axis N), on a CPU.

python3 measuring/networks/export.py PLAN.jsonl FOLDER [--jobs 2]"""
import argparse
import io
import json
import os
import random
import signal
import sys
import time
import warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def write_graph(make, path, limit_s, **options):
    """Exports what make() returns, a module, its input's shape and its outputs' names. Returns what went wrong, or None."""
    import onnx
    import torch
    from weight_free import separate, strip

    def late(*_):
        raise TimeoutError(f"no graph after {limit_s} s")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(limit_s)
    try:
        torch.set_num_threads(1)
        module, shape, names = make()
        data = io.BytesIO()
        extra = {"dynamo": False} if torch.__version__ >= "2.5" else {}
        with torch.no_grad():
            torch.onnx.export(module.eval(), torch.randn(1, *shape), data, opset_version=17, input_names=["input"], output_names=names, do_constant_folding=True,
                              dynamic_axes={n: {0: "N"} for n in ["input"] + names}, **extra, **options)
        model = separate(strip(onnx.load_from_string(data.getvalue())))
        with open(path + ".part", "wb") as f:
            f.write(model.SerializeToString())
        os.rename(path + ".part", path)
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    finally:
        signal.alarm(0)


def export(job):
    import families
    import torch_network
    name, spec, resolution, folder, limit_s = job
    path = os.path.join(folder, f"{name}.onnx")
    if os.path.exists(path):
        return name, 0.0, None

    def make():
        builder = families.build(spec, resolution)
        outputs = len(builder.outputs)
        return torch_network.fill(torch_network.on_meta(builder), "cpu"), builder.input_shape, [f"output{i}" for i in range(outputs)] if outputs > 1 else ["output"]
    started = time.time()
    problem = write_graph(make, path, limit_s)
    return name, time.time() - started, problem


def graph_name(row):
    return f"{row['id'].split('.')[0]}_{row['resolution']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit-s", type=int, default=120)
    a = parser.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    jobs = {}
    for line in open(a.plan):
        row = json.loads(line)
        if "family" in row.get("network", {}):
            jobs[graph_name(row)] = (graph_name(row), row["network"], row["resolution"], a.folder, a.limit_s)
    jobs = list(jobs.values())
    random.Random(1).shuffle(jobs)
    from multiprocessing import Pool
    started, failed = time.time(), 0
    with Pool(a.jobs, maxtasksperchild=40) as pool:
        for i, (name, seconds, problem) in enumerate(pool.imap_unordered(export, jobs)):
            if problem:
                failed += 1
                print(name, problem, flush=True)
            if i % 20 == 0:
                print(f"{i}/{len(jobs)} after {time.time() - started:.0f} s", flush=True)
    print(f"{len(jobs) - failed} graphs, {failed} failed, {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
