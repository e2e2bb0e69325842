"""Generates distinct unlabelled networks as weight-free ONNX graphs, without PyTorch and without tracing.

python3 measuring/networks/generate.py --count 10000 --out DIR --seed 1 [--families resnet,vit] [--jobs 2]
Writes DIR/g000000.onnx ... and DIR/index.jsonl (file, family, spec, resolution). The same seed gives the same graphs."""
import argparse
import hashlib
import json
import os
import random
import sys
import time
from multiprocessing import Pool

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import families
import sampler
from onnx_graph import onnx_model


def widen(spec, r):
    """Most families have fewer members on their lists than a large set needs: scale one integer or factor by an odd amount."""
    numbers = [k for k, v in spec.items() if isinstance(v, (int, float)) and not isinstance(v, bool) and k in ("width", "alpha", "base", "hidden", "growth", "dim", "C", "init")]
    if numbers and r.random() < 0.75:
        k = r.choice(numbers)
        if isinstance(spec[k], float):
            spec[k] = round(spec[k] * r.uniform(0.7, 1.4), 2)
        elif spec["family"] in ("vit", "swin", "visformer"):
            pass  # dim belongs to heads
        elif k != "width" or spec["family"] in ("segmentation", "detection"):
            spec[k] = max(8, int(spec[k] * r.uniform(0.6, 1.5)) // 4 * 4)
    return spec


def one(job):
    index, family, seed, folder = job
    r = random.Random(f"{seed}/{index}")
    for _ in range(20):
        spec, resolution = sampler.sample(family, r)
        if family not in ("swin", "vit", "inception", "nasbench201", "unet", "vgg", "cnn3d", "segmentation", "detection"):
            resolution = r.randrange(4, 13) * 32
        spec = widen(spec, r)
        try:
            model = onnx_model(families.build(spec, resolution))
        except ValueError:
            continue
        name = f"g{index:06d}.onnx"
        data = model.SerializeToString()
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        key = hashlib.sha1(json.dumps([spec, resolution], sort_keys=True).encode()).hexdigest()
        return dict(file=name, family=family, spec=spec, resolution=resolution), key, len(data)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--families", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    a = parser.parse_args()
    names = a.families.split(",") if a.families else list(sampler.FAMILIES)
    unknown = [n for n in names if n not in sampler.FAMILIES]
    if unknown:
        parser.error(f"unknown families {', '.join(unknown)}; known: {', '.join(sampler.FAMILIES)}")
    os.makedirs(a.out, exist_ok=True)
    started, seen, kept, size, index, live = time.time(), set(), 0, 0, 0, list(names)
    repeats = dict.fromkeys(names, 0)
    with Pool(a.jobs) as pool, open(os.path.join(a.out, "index.jsonl"), "w") as listing:
        while kept < a.count and live:
            jobs = [(index + i, live[(index + i) % len(live)], a.seed, a.out) for i in range(min(2000, a.count - kept))]
            index += len(jobs)
            for made in pool.imap(one, jobs, chunksize=16):
                if made is None:
                    continue
                entry, key, bytes_ = made
                if key in seen:  # the same network again
                    os.remove(os.path.join(a.out, entry["file"]))
                    repeats[entry["family"]] += 1
                    continue
                seen.add(key)
                kept, size = kept + 1, size + bytes_
                repeats[entry["family"]] = 0
                listing.write(json.dumps(entry) + "\n")
            live = [n for n in live if repeats[n] < 60]  # a family that only repeats itself is exhausted
            print(f"{kept} graphs, {kept / (time.time() - started):.0f} per second", flush=True)
    print(f"{kept} distinct graphs, {size / 2**20:.0f} MB, {time.time() - started:.0f} s")


if __name__ == "__main__":
    main()
