"""Writes an operator sweep: 3×3 convolutions of 33 to 64 channels a group in TF32, whose time moves most from one shape to the next (RegNets).

python3 lab/plans/grouped_operator_plan.py OUT.jsonl"""
import random
import sys

from points import Points


def main():
    r, points = random.Random(97), Points()
    while len(points.rows) < 1500:
        width, groups, stride = r.choice([36, 40, 44, 48, 52, 56, 60, 64]), r.choice([1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16]), r.choice([1, 1, 2])
        side, batch = r.choice([7, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128]), r.choice([1, 2, 4, 8, 16, 32, 64, 128])
        channels = width * groups
        if channels * side * side * batch <= 1 << 27:
            points.add(dict(op="conv2d", in_channels=channels, out_channels=channels, height=side, width=side, groups=groups, kernel_h=3, kernel_w=3, stride=stride, padding_h=1,
                            padding_w=1, dilation=1, bias=0, batch=batch), "forward", "fp32")
    points.write(sys.argv[1], r, "i", {"replay_us": 600, "replays": 5})


if __name__ == "__main__":
    main()
