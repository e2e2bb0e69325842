"""Mode "operator": the device time of one operator inside a CUDA graph of many calls, and what the host pays to launch it."""
import time

import torch

import precision
from operators import EAGER_ONLY, OPERATORS, Tensors
from timing import statistics
from workspace_mode import workspace_bytes

ROTATED_BYTES = 256 << 20
CONVOLUTIONS = {"conv2d", "conv3d", "conv_transpose2d"}


def measure(request, clock, device, dry):
    spec = request["operator"]
    settings = request.get("settings", {})
    backward = request.get("direction", "forward") == "backward"
    dtype = precision.apply(request["precision"])
    if clock.cuda:
        stream = torch.cuda.stream(clock.side)
    else:
        stream = torch.autograd.set_grad_enabled(True)  # a context that changes nothing
    with stream, torch.set_grad_enabled(backward or spec["op"] == "optimizer"):
        tensors = Tensors(dtype, device, backward, (64 << 20) if dry else 1 << 30)
        make = OPERATORS[spec["op"]](spec, tensors)
        calls = [make()]
        if backward:
            calls = [backward_call(calls[0], tensors)]
        metrics = {}
        if clock.cuda and spec["op"] in CONVOLUTIONS and not backward:
            metrics["workspace_bytes"] = workspace_bytes(calls[0], lambda y: y)
        else:
            calls[0]()
        clock.synchronize()
        weight_bytes = tensors.weight_elements * torch.finfo(dtype).bits // 8
        single_us = eager_us(clock, calls[0], 2)
        repeats = max(3, min(64, int(settings.get("replay_us", 1500) / max(single_us, 1))))
        if not backward and weight_bytes and spec["op"] not in EAGER_ONLY:
            copies = max(1, min(repeats, ROTATED_BYTES // max(weight_bytes, 1)))
            calls += [make() for _ in range(copies - 1)]
        host_us = host_cost_us(clock, calls, single_us)
        metrics.update(host_us=host_us, weight_copies=len(calls), repeats=repeats)
        graphed = False
        if clock.cuda and spec["op"] not in EAGER_ONLY:
            try:
                metrics.update(graph_time(clock, calls, repeats, settings.get("replays", 9), settings.get("energy_window_s", 0)))
                graphed = True
            except RuntimeError as error:  # not capturable: the eager time below, host included
                if "out of memory" in str(error):
                    raise
                metrics["graph_error"] = str(error)[:120]
                clock.synchronize()
        if not graphed:
            repeats = max(3, min(20, int(20000 / max(single_us, 1))))
            times = [eager_us(clock, calls[0], repeats) for _ in range(5)]
            metrics.update(latency(times), timing="eager", repeats=repeats)
    return metrics


def latency(times_us):
    s = statistics(times_us)
    return {"latency_us": s["median"], "latency_us_p10": s["p10"], "latency_us_p90": s["p90"], "samples": s["n"]}


def backward_call(forward, tensors):
    y = forward()
    inputs = [x for x in tensors.inputs if x.is_floating_point()]
    gradient = torch.full_like(y, 0.5) if y.dim() == 0 else torch.randn_like(y)
    return lambda: torch.autograd.grad(y, inputs, gradient, retain_graph=True, allow_unused=True)


def eager_us(clock, call, count):
    a, b = clock.event(), clock.event()
    a.record()
    for _ in range(count):
        call()
    b.record()
    clock.synchronize()
    return a.elapsed_time(b) * 1e3 / count


def host_cost_us(clock, calls, single_us):
    """Host time to enqueue one call (the device runs behind), the better of two rounds."""
    count = 10 if single_us < 2000 else 3
    best = None
    for _ in range(2):
        start = time.perf_counter()
        for i in range(count):
            calls[i % len(calls)]()
        spent = (time.perf_counter() - start) * 1e6 / count
        clock.synchronize()
        best = spent if best is None else min(best, spent)
    return best


def graph_time(clock, calls, repeats, replays, energy_s):
    at = iter(range(repeats))
    graph = clock.capture(lambda: calls[next(at) % len(calls)](), repeats)
    graph.replay()
    clock.synchronize()
    events = [clock.event() for _ in range(replays + 1)]
    start = time.perf_counter()
    events[0].record()
    for i, event in enumerate(events[1:]):
        graph.replay()
        event.record()
        if i == 4 and time.perf_counter() - start > 0.1:
            break
    clock.synchronize()
    recorded = events[:i + 2]
    result = latency([a.elapsed_time(b) * 1e3 / repeats for a, b in zip(recorded, recorded[1:])])
    result["timing"] = "graph"
    if energy_s:
        burst = max(1, int(4000 / (result["latency_us"] * repeats)))

        def replay_burst():
            for _ in range(burst):
                graph.replay()
        seen = clock.energy(replay_burst, energy_s)
        if seen:
            result.update(power_w=seen["power_w"], energy_j=seen["energy_j"] / (burst * repeats), energy_window_s=seen["energy_window_s"])
    graph.reset()
    return result
