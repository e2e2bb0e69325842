"""Writes an operator sweep of the convolutions whose time moves most from one shape to the next (RegNets and NAS-Bench-201 networks).

python3 data/measurements/h200-2026-11-grouped-operators/grouped_operator_plan.py OUT.jsonl           3×3 of 33 to 64 channels a group in TF32
python3 data/measurements/h200-2026-11-grouped-operators/grouped_operator_plan.py OUT.jsonl narrow    3×3 of 8 to 56 channels a group, and small images of few channels"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "measuring", "plans"))
from points import Points

SIDES = [7, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128]
BATCHES = [1, 2, 4, 8, 16, 32, 64, 128]
LARGEST = 1 << 27


def add(points, precision, in_channels, out_channels, side, batch, kernel, stride, groups):
    if max(in_channels, out_channels) * side * side * batch <= LARGEST:
        points.add(dict(op="conv2d", in_channels=in_channels, out_channels=out_channels, height=side, width=side, groups=groups, kernel_h=kernel, kernel_w=kernel, stride=stride,
                        padding_h=kernel // 2, padding_w=kernel // 2, dilation=1, bias=0, batch=batch), "forward", precision)


def wide(r, points):
    while len(points.rows) < 1500:
        width, groups, stride = r.choice([36, 40, 44, 48, 52, 56, 60, 64]), r.choice([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16]), r.choice([1, 1, 2])
        side, batch = r.choice(SIDES), r.choice(BATCHES)
        add(points, "fp32", width * groups, width * groups, side, batch, 3, stride, groups)


def narrow(r, points):
    while len(points.rows) < 3400:
        width, groups, stride = r.choice([8, 8, 12, 16, 16, 20, 24, 24, 24, 28, 32, 40, 48, 48, 56]), r.choice([1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 16, 18, 20, 24]), r.choice([1, 1, 2])
        add(points, r.choice(["fp32", "fp32", "fp32", "fp16", "bf16"]), width * groups, width * groups, r.choice(SIDES), r.choice(BATCHES), 3, stride, groups)
    while len(points.rows) < 4200:
        channels, stage, stride = r.choice([8, 12, 16, 16, 16, 20, 24, 32, 40, 48, 64]), r.choice([1, 2, 4]), r.choice([1, 1, 1, 2])
        add(points, r.choice(["fp32", "fp16", "bf16"]), channels * stage, channels * stage * stride, 32 // stage, r.choice(BATCHES + [256]), r.choice([1, 3, 3]), stride, 1)


def main():
    r, points = random.Random(97), Points()
    (narrow if sys.argv[2:] == ["narrow"] else wide)(r, points)
    points.write(sys.argv[1], r, "j" if sys.argv[2:] == ["narrow"] else "i", {"replay_us": 600, "replays": 5})


if __name__ == "__main__":
    main()
