"""Measures one step (a forward pass, a training step, an LLM phase): time, memory, energy, and its replay as one CUDA graph.

Order matters: memory is read after the eager iterations and before any capture, and a row starts from an emptied allocator."""
import time

import torch

import compiled_run

DEFAULTS = {"warmup_s": 0.08, "iterations": 30, "limit_s": 0.45, "energy_window_s": 0.0, "eager": True, "graph": True, "graph_iterations": 20,
            "graph_limit_s": 0.25, "graph_energy_window_s": 0.0, "skip_over_s": 0.4, "quiet": False, "share": False, **compiled_run.DEFAULTS}


class Skipped(Exception):
    """The step is slower than settings.skip_over_s."""


def preparing(session, request):
    return session.lock.preparing(request.get("settings", {}).get("share", False))


def fresh(clock):
    """Nothing but live tensors is left in the allocator, and peaks count from here."""
    if clock.cuda:
        torch.cuda.synchronize()
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated() / 2**20
    return 0.0


def measure_step(session, step, request, held, after=None, keep=lambda: None, compilable=()):
    """held: the lock as far as it is held for preparing; a row that shares the device leaves it. after(): called after each timed iteration, gives
    further times by name. keep(): what must outlive the captured graph. compilable: the module, a pass of it and, training, a step (compiled_metrics)."""
    clock, s = session.clock, dict(DEFAULTS, **request.get("settings", {}))
    step()
    clock.synchronize()
    if s["share"]:
        held.close()
    with session.lock.measuring(s["share"]):
        start = time.perf_counter()
        step()
        clock.synchronize()
        once = time.perf_counter() - start
        if once > s["skip_over_s"]:
            raise Skipped(f"one iteration takes {once:.2f} s, more than skip_over_s = {s['skip_over_s']}")
        clock.warm_up(step, s["warmup_s"])
        device, wall, energy = None, None, {}
        if s["eager"]:
            measured = clock.quiet_iterations if s["quiet"] else clock.iterations
            device, wall, energy = measured(step, s["iterations"], s["energy_window_s"], s["limit_s"], once, after)
        metrics = dict(energy)
        if device:
            metrics.update({f"latency_ms_{k}": device[k] for k in ("median", "mean", "p10", "p90")}, wall_ms_median=wall["median"], iterations=device["n"], **device["parts"])
        if clock.cuda:
            metrics.update(peak_allocated_mb=torch.cuda.max_memory_allocated() / 2**20,
                           peak_reserved_mb=torch.cuda.max_memory_reserved() / 2**20, process_mb=session.lock.process_mb())
            if s["graph"]:
                metrics.update(graph_metrics(clock, step, s, keep))
    if s["compiled"] and compilable:
        metrics.update(compiled_run.compiled_metrics(session, s, *compilable, *([after] if len(compilable) > 2 else [])))
    return metrics


def graph_metrics(clock, step, s, keep):
    try:
        with torch.cuda.stream(clock.side):
            step()
        torch.cuda.synchronize()
        held = keep()
        graph = clock.capture(step)
        replay, energy = clock.replay_statistics(graph, s["graph_iterations"], s["graph_limit_s"], s["graph_energy_window_s"])
        graph.reset()
        del held
        result = {f"graph_replay_ms_{k}": replay[k] for k in ("median", "p10", "p90")}
        if energy:
            result.update({f"graph_{k}": v for k, v in energy.items()})
        return result
    except RuntimeError as error:
        torch.cuda.synchronize()
        return {"graph_error": str(error).splitlines()[0][:160]}
