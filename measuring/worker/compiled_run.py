"""A row's module compiled by torch.compile (Inductor) and replayed as a CUDA graph; PROTOCOL.md, settings.compiled.

Compiling takes seconds on the host, beside other workers; what it compiled runs only while this process holds the device (Gate)."""
import contextlib
import inspect
import signal
import time

import torch

DEFAULTS = {"compiled": False, "compile_limit_s": 60, "compiled_energy_window_s": 0.0, "kernels": False}


class Late(BaseException):
    """No Exception: Inductor would take it for a failure of its own and go on."""


class Gate:
    """Lets compiled code reach the device only while this process holds it. stay: from the first compiled graph to the end of the pass."""

    def __init__(self, lock, share, stay):
        self.lock, self.share, self.stay = lock, share, stay
        self.stack, self.graphs, self.held_s, self.since = None, 0, 0.0, 0.0

    def enter(self):
        """Whether this call is the one that took the device."""
        signal.alarm(0)  # waiting for others is not compiling
        if self.stack:
            return False
        self.since = time.perf_counter()
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(self.lock.measuring(self.share))
        return True

    def leave(self):
        if self.stack:
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            self.stack.close()
            self.stack = None
            self.held_s += time.perf_counter() - self.since

    def backend(self, graph, inputs):
        from torch._inductor.compile_fx import compile_fx
        run = compile_fx(graph, inputs)
        self.graphs += 1

        def gated(*arguments):
            mine = self.enter()
            try:
                return run(*arguments)
            finally:
                if mine and not self.stay:
                    self.leave()
        return gated

    @contextlib.contextmanager
    def benchmarks_held(self):
        """Inductor times some choices on the device, each for some ms (its own default is 10 times as long)."""
        from torch._inductor.runtime import benchmarking
        owner, own = benchmarking.Benchmarker, {}

        def held(measure):
            short = dict(memory_warmup_iters=20, max_benchmark_duration=5) if "max_benchmark_duration" in inspect.signature(measure).parameters else dict(warmup=2, rep=6)

            def run(*a, **k):
                mine = self.enter()
                try:
                    return measure(*a, **{**k, **short})
                finally:
                    if mine:
                        self.leave()
            return run
        for kind in [owner, *owner.__subclasses__(), *(c for s in owner.__subclasses__() for c in s.__subclasses__())]:
            if "benchmark_gpu" in vars(kind):
                own[kind] = kind.benchmark_gpu
                kind.benchmark_gpu = held(kind.benchmark_gpu)
        try:
            yield
        finally:
            for kind, measure in own.items():
                kind.benchmark_gpu = measure


def compile_module(gate, module, run, limit_s):
    """The compiled module, after its first pass; seconds to compile."""
    from torch._functorch import config as functorch  # PyTorch before 2 has neither this nor torch.compile
    def late(*_):
        raise Late
    torch._dynamo.reset()
    compiled = torch.compile(module, backend=gate.backend, dynamic=False)
    before = signal.signal(signal.SIGALRM, late)
    begin = time.perf_counter()
    try:
        with gate.benchmarks_held(), functorch.patch(force_non_lazy_backward_lowering=True):
            signal.alarm(int(limit_s))
            run(compiled)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        gate.leave()
    return compiled, time.perf_counter() - begin - gate.held_s


def launched_kernels(run):
    """[[name, launches, microseconds], ...] of one pass, in the order of their first launch."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        run()
        torch.cuda.synchronize()
    kernels = {}
    for event in sorted(seen.events(), key=lambda e: e.time_range.start):
        if event.device_type == torch.autograd.DeviceType.CUDA:
            entry = kernels.setdefault(event.name, [event.name, 0, 0.0])
            entry[1] += 1
            entry[2] += event.time_range.elapsed_us()
    return [[name, count, round(us, 2)] for name, count, us in kernels.values()]


def compiled_metrics(session, s, module, run, whole_step=None, after=None):
    """run(m): one pass of module or of what it was compiled to; whole_step(m): a training step with its optimizer. after: as in measure_step."""
    clock = session.clock
    gate = Gate(session.lock, s["share"], whole_step is not None)
    try:
        compiled, compile_s = compile_module(gate, module, run, s["compile_limit_s"])
    except Late:
        torch._dynamo.reset()
        return {"compiled_error": f"not compiled after {s['compile_limit_s']} s"}
    except Exception as error:
        torch._dynamo.reset()
        return {"compiled_error": f"{type(error).__name__}: {error}".splitlines()[0][:160]}
    metrics = {"compile_s": compile_s, "compiled_graphs": gate.graphs}
    step = lambda: run(compiled)
    try:
        gate.enter()
        measure_compiled(metrics, clock, s, step, lambda: whole_step(compiled), after)
        if s["kernels"] and clock.cuda:
            metrics["kernels"] = launched_kernels(step)
    except RuntimeError as error:
        clock.synchronize()
        metrics["compiled_error"] = str(error).splitlines()[0][:160]
    finally:
        gate.leave()
        torch._dynamo.reset()
    return metrics


def measure_compiled(metrics, clock, s, step, whole_step, after):
    if after:
        whole_step()
        clock.warm_up(whole_step, s["warmup_s"])
        device, _ = clock.iterations(whole_step, s["iterations"], 0.0, s["limit_s"], 0.01, after)[:2]
        metrics.update({f"compiled_step_ms_{k}": device[k] for k in ("median", "mean", "p10", "p90")}, compiled_iterations=device["n"],
                       **{f"compiled_{k}": v for k, v in device["parts"].items()})
    if not clock.cuda:
        step()
        return
    torch.cuda.synchronize()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(2):
        (whole_step if after else step)()
    torch.cuda.synchronize()
    metrics["compiled_peak_allocated_mb"] = torch.cuda.max_memory_allocated() / 2**20
    with torch.cuda.stream(clock.side):
        for _ in range(2):
            step()
    torch.cuda.synchronize()
    graph = clock.capture(step)
    replay, energy = clock.replay_statistics(graph, s["graph_iterations"], s["graph_limit_s"], s["compiled_energy_window_s"])
    graph.reset()
    metrics.update({f"compiled_replay_ms_{k}": replay[k] for k in ("median", "p10", "p90")}, **{f"compiled_{k}": v for k, v in energy.items()})
