"""Modes "inference" and "training" of the generated families (measuring/networks), torch.export files, ONNX files and functions of a Python file."""
import contextlib
import gc
import importlib.util
import json

import torch
import torch.nn.functional as F

import families
import precision
import torch_network
from step_measurement import fresh, measure_step, preparing


class Built:
    def __init__(self, module, shape, filled):
        self.module, self.shape, self.filled = module, tuple(shape), filled
        self.parameters = sum(p.numel() for p in module.parameters())


def network_of(session, request):
    """The network of the request, built on meta without touching the device; the last one is kept."""
    network, resolution = request["network"], request.get("resolution", 224)
    key = json.dumps([network, resolution, request["mode"] == "training"], sort_keys=True)
    if session.network_key != key:
        session.network, session.network_key = None, None
        gc.collect()  # an LLM holds itself in reference cycles, and would stay allocated
        if "onnx" in network:
            from onnx_network import OnnxNetwork
            module = OnnxNetwork(network["onnx"])
            session.network = Built(module, module.input_shape, True)
        elif "torch_export" in network:
            program = torch.export.load(network["torch_export"])
            shape = next(iter(program.example_inputs[0])).shape[1:] if program.example_inputs else families.input_shape("", resolution)
            session.network = Built(program.module(), shape, True)
        elif "python" in network:
            path, _, function = network["python"].rpartition(":")
            spec = importlib.util.spec_from_file_location("network_file", path)
            spec.loader.exec_module(file := importlib.util.module_from_spec(spec))
            session.network = Built(getattr(file, function)(*network.get("arguments", [])), network["shape"], True)
        else:
            builder = families.build(network, resolution)
            session.network = Built(torch_network.on_meta(builder), builder.input_shape, False)
        session.network_key = key
    return session.network


def on_device(session, built, dtype):
    if not built.filled:
        torch_network.fill(built.module, session.device)
        built.filled = True
    elif next(built.module.parameters()).device.type != session.device:
        built.module.to(session.device)
    built.module.to(dtype)
    return built.module


def inference(session, request):
    new = network_of(session, request)
    with contextlib.ExitStack() as held:
        held.enter_context(preparing(session, request))
        residue = start_row(session, new)
        dtype = precision.apply(request["precision"])
        module = on_device(session, new, dtype).eval()
        x = torch.randn(request["batch"], *new.shape, device=session.device, dtype=dtype)
        fresh(session.clock)
        with torch.inference_mode(), autocast(session.device, request["precision"]):
            metrics = measure_step(session, lambda: module(x), request, held, compilable=(module, lambda m: m(x)))
        metrics.update(parameters=new.parameters, residue_mb=residue)
        return metrics


def start_row(session, built):
    """Empties the allocator; what it then still holds beside the network is left over from earlier rows (should be 0)."""
    gc.collect()  # the first optimizer of a process, among others, stays in a reference cycle
    allocated = fresh(session.clock)
    if not built.filled or not session.clock.cuda:
        return allocated
    own = [t for t in [*built.module.parameters(), *built.module.buffers()] if t.device.type == "cuda"]
    rounded = sum(-(-t.numel() * t.element_size() // 512) * 512 for t in own)  # the allocator's granularity
    return max(0.0, allocated - rounded / 2**20)


def autocast(device, name):
    kind = precision.autocast_type(name)
    return torch.autocast(device, kind or torch.bfloat16, enabled=kind is not None)


OPTIMIZERS = {"none": None, "sgd": lambda p: torch.optim.SGD(p, 1e-4, momentum=0.9), "adam": lambda p: torch.optim.Adam(p, 1e-5),
              "adamw": lambda p: torch.optim.AdamW(p, 1e-5)}


def loss_function():
    targets = {}

    def loss_of(y):
        y = y["out"] if isinstance(y, dict) else y  # torchvision's segmentation networks
        if isinstance(y, tuple) or y.dim() > 2:  # dense prediction: mean square of every map
            return sum(v.float().square().mean() for v in (y if isinstance(y, tuple) else (y,)))
        if "y" not in targets:
            targets["y"] = torch.randint(0, y.shape[1], (y.shape[0],), device=y.device)
        return F.cross_entropy(y, targets["y"])
    return loss_of


def training(session, request):
    new = network_of(session, request)
    if request["optimizer"] not in OPTIMIZERS:
        raise ValueError(f"unknown optimizer '{request['optimizer']}'; known: {', '.join(OPTIMIZERS)}")
    with contextlib.ExitStack() as held:
        held.enter_context(preparing(session, request))
        residue = start_row(session, new)
        precision.apply(request["precision"])
        module = on_device(session, new, torch.float32).train()
        for p in module.parameters():
            p.grad = None
        x = torch.randn(request["batch"], *new.shape, device=session.device)
        make = OPTIMIZERS[request["optimizer"]]
        optimizer = make(module.parameters()) if make else None
        fresh(session.clock)
        events = [session.clock.event() for _ in range(4)]
        loss_of = loss_function()

        def gradients(m, at=lambda _: None):
            for p in module.parameters() if optimizer is None else ():
                p.grad = None
            if optimizer:
                optimizer.zero_grad(set_to_none=True)
            at(0)
            with autocast(session.device, request["precision"]):
                loss = loss_of(m(x))
            at(1)
            loss.backward()
            at(2)

        def step(m=module):
            gradients(m, lambda i: events[i].record())
            if optimizer:
                optimizer.step()
            events[3].record()

        def after():
            return {name: events[i].elapsed_time(events[i + 1]) for i, name in enumerate(("forward_ms", "backward_ms", "optimizer_ms"))}
        request = dict(request, settings=dict(request.get("settings", {}), graph=False))
        metrics = measure_step(session, step, request, held, after, compilable=(module, gradients, step))
        for p in module.parameters():
            p.grad = None
        metrics.update(parameters=new.parameters, residue_mb=residue)
        return metrics
