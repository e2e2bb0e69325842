"""Precision names and what they mean in PyTorch: fp32 = defaults (TF32 in convolutions only), ieee_fp32 = none, tf32 = everywhere."""
import torch

TYPES = {"fp32": torch.float32, "ieee_fp32": torch.float32, "tf32": torch.float32, "amp_bf16": torch.float32,
         "amp_fp16": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "fp64": torch.float64}


def apply(name):
    if name not in TYPES:
        raise ValueError(f"unknown precision '{name}'; known: {', '.join(TYPES)}")
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    torch.backends.cudnn.allow_tf32 = name != "ieee_fp32"
    return TYPES[name]


def autocast_type(name):
    return {"amp_bf16": torch.bfloat16, "amp_fp16": torch.float16}.get(name)
