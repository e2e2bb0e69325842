"""Exports networks of timm (PyTorch Image Models) as weight-free ONNX graphs NAME_SIZE.onnx, as PyTorch runs them: batch norms stay.

python3 measuring/networks/export_timm.py NAMES.txt FOLDER [--jobs 2]      (a line: NAME SIZE; needs timm, torch and onnx)

data/graphs/timm.tar.xz was made so from an even choice of the networks in timm's own table of throughputs,
data/graphs/published.tar.xz from the three networks of the published table of MIG slices."""
import argparse
import os

from export import write_graph


def export(job):
    import timm
    import torch
    name, size, folder, limit_s = job

    def make():
        timm.layers.set_fused_attn(False)  # the reader finds attention in its parts
        try:
            network = timm.create_model(name, pretrained=False, img_size=size)
        except TypeError:  # takes any size
            network = timm.create_model(name, pretrained=False)
        return network, (3, size, size), ["output"]
    return name, write_graph(make, os.path.join(folder, f"{name}_{size}.onnx"), limit_s, training=torch.onnx.TrainingMode.PRESERVE)


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
