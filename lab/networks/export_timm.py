"""Exports networks of timm (PyTorch Image Models) as weight-free ONNX graphs NAME_SIZE.onnx, as PyTorch runs them: batch norms stay.

python3 lab/networks/export_timm.py NAMES.txt FOLDER [--jobs 2]      (a line: NAME SIZE; needs timm, torch and onnx)

data/graphs/timm.tar.xz was made so from an even choice of the networks in timm's own table of throughputs."""
import argparse
import io
import os
import signal
import sys
import warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def export(job):
    import onnx
    import timm
    import torch
    from timm.layers import set_fused_attn
    from weight_free import separate, strip
    name, size, folder, limit_s = job
    path = os.path.join(folder, f"{name}_{size}.onnx")

    def late(*_):
        raise TimeoutError(f"no graph after {limit_s} s")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(limit_s)
    try:
        torch.set_num_threads(1)
        set_fused_attn(False)  # the reader finds attention in its parts
        try:
            network = timm.create_model(name, pretrained=False, img_size=size)
        except TypeError:  # takes any size
            network = timm.create_model(name, pretrained=False)
        data = io.BytesIO()
        extra = {"dynamo": False} if torch.__version__ >= "2.5" else {}
        with torch.no_grad():
            torch.onnx.export(network.eval(), torch.randn(1, 3, size, size), data, opset_version=17, input_names=["input"], output_names=["output"],
                              training=torch.onnx.TrainingMode.PRESERVE, dynamic_axes={"input": {0: "N"}, "output": {0: "N"}}, **extra)
        with open(path, "wb") as f:
            f.write(separate(strip(onnx.load_from_string(data.getvalue()))).SerializeToString())
        return name, None
    except Exception as error:
        return name, f"{type(error).__name__}: {error}"[:200]
    finally:
        signal.alarm(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names")
    parser.add_argument("folder")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit-s", type=int, default=90)
    a = parser.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    jobs = [(name, int(size), a.folder, a.limit_s) for name, size in (line.split() for line in open(a.names) if line.strip())]
    from multiprocessing import Pool
    with Pool(a.jobs, maxtasksperchild=10) as pool:
        for name, problem in pool.imap_unordered(export, jobs):
            print(name, problem or "done", flush=True)


if __name__ == "__main__":
    main()
