"""Exports torchvision's networks that Qualcomm AI Hub also times, as weight-free ONNX graphs, on any CPU.

python3 measuring/networks/export_torchvision.py FOLDER"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from export import write_graph  # noqa: E402

# Their name there, its function in torchvision.models, side of the image.
NETWORKS = [
    ("convnext_base", "convnext_base", 224), ("convnext_tiny", "convnext_tiny", 224), ("densenet121", "densenet121", 224),
    ("efficientnet_b0", "efficientnet_b0", 224), ("efficientnet_b4", "efficientnet_b4", 380), ("efficientnet_v2_s", "efficientnet_v2_s", 384),
    ("googlenet", "googlenet", 224), ("inception_v3", "inception_v3", 224), ("mnasnet05", "mnasnet0_5", 224),
    ("mobilenet_v2", "mobilenet_v2", 224), ("mobilenet_v3_large", "mobilenet_v3_large", 224), ("mobilenet_v3_small", "mobilenet_v3_small", 224),
    ("regnet", "regnet_x_3_2gf", 224), ("regnet_y_800mf", "regnet_y_800mf", 224), ("resnet101", "resnet101", 224), ("resnet18", "resnet18", 224),
    ("resnet50", "resnet50", 224), ("resnext101", "resnext101_32x8d", 224), ("resnext50", "resnext50_32x4d", 224), ("shufflenet_v2", "shufflenet_v2_x1_0", 224),
]


def main():
    import torchvision
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, function, side in NETWORKS:
        path = os.path.join(folder, f"{name}_{side}.onnx")
        if os.path.exists(path):
            continue

        def make(function=function, side=side):
            options = {"init_weights": False, "aux_logits": False} if function in ("googlenet", "inception_v3") else {}
            return getattr(torchvision.models, function)(**options), (3, side, side), ["output"]
        problem = write_graph(make, path, 600)
        print(name, problem or "exported", flush=True)


main()
