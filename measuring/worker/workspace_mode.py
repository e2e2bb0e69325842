"""Mode "workspace": the memory that a convolution's library allocates beside its operands and results, forward and for each gradient."""
import torch

import precision


def workspace_bytes(call, result_of):
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = result_of(call())
    torch.cuda.synchronize()
    made = -(-result.numel() * result.element_size() // 512) * 512
    return max(0, torch.cuda.max_memory_allocated() - before - made)


def measure(request, clock, device):
    """operator: x, w (shapes), stride, padding, dilation (lists), groups, transposed; directions: of forward, input, weight."""
    if not clock.cuda:
        raise ValueError("workspaces are those of a CUDA device")
    p = request["operator"]
    dtype = precision.apply(request["precision"])
    x, w = (torch.randn(p[name], device=device, dtype=dtype) for name in ("x", "w"))
    zeros = [0] * len(p["stride"])
    geometry = (p["stride"], p["padding"], p["dilation"], p["transposed"], zeros, p["groups"])
    forward = lambda: torch.ops.aten.convolution(x, w, None, *geometry)
    y = forward()
    metrics = {}
    for direction in request["directions"]:
        if direction == "forward":
            size = workspace_bytes(forward, lambda r: r)
        else:
            at = ("input", "weight").index(direction)
            mask = [i == at for i in range(3)]
            size = workspace_bytes(lambda: torch.ops.aten.convolution_backward(y, x, w, None, *geometry, mask), lambda r: r[at])
        metrics[f"{direction}_bytes"] = size
    return metrics
