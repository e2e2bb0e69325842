"""Profiles training steps: the device time of every operator inside them, as JSON lines for measuring/plans/profile_to_operators.py.

python3 measuring/worker/step_profile.py PLAN.jsonl OUT.jsonl [--workers 8] [--budget-s S]

Several workers build networks and read profiles side by side; one at a time has the GPU. A row's operators are summed over equal calls:
[operator, autograd function or caller, shapes, other arguments, 1 if a kernel works on bfloat16, calls, kernels, µs]."""
import argparse
import fcntl
import json
import multiprocessing
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "networks"))
WARM_STEPS, STEPS = 4, 2


def profiled(row, gpu):
    import torch
    from torch.profiler import ProfilerActivity, profile

    import families
    import network_mode
    import precision
    import torch_network
    builder = families.build(row["network"], row["resolution"])
    module = torch_network.on_meta(builder)
    fcntl.flock(gpu, fcntl.LOCK_EX)
    try:
        precision.apply(row["precision"])
        torch_network.fill(module, "cuda")
        module.to(torch.float32).train()
        x = torch.randn(row["batch"], *builder.input_shape, device="cuda")
        optimizer = network_mode.OPTIMIZERS[row["optimizer"]](module.parameters())
        loss_of = network_mode.loss_function()

        def step():
            optimizer.zero_grad(set_to_none=True)
            with network_mode.autocast("cuda", row["precision"]):
                loss = loss_of(module(x))
            loss.backward()
            optimizer.step()
        for _ in range(WARM_STEPS):
            step()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as seen:
            for _ in range(STEPS):
                step()
            torch.cuda.synchronize()
        parameters = [p.numel() for p in module.parameters()]
    finally:
        x = optimizer = step = loss_of = None
        module.to("meta")
        torch.cuda.empty_cache()
        fcntl.flock(gpu, fcntl.LOCK_UN)
    operators = {}
    for event in seen.events():
        if not event.kernels or event.name == "Activity Buffer Request":
            continue
        caller = event.cpu_parent
        while caller is not None and caller.cpu_parent is not None:
            caller = caller.cpu_parent
        shapes, others = json.dumps(event.input_shapes), json.dumps([str(v) for v in getattr(event, "concrete_inputs", None) or []])
        key = (event.name, caller.name if caller else "", shapes, others, int(any("BFloat16" in k.name for k in event.kernels)))
        entry = operators.setdefault(key, [0, 0, 0.0])
        entry[0] += 1
        entry[1] += len(event.kernels)
        entry[2] += sum(k.duration for k in event.kernels)
    return dict({k: row[k] for k in ("id", "network", "resolution", "batch", "precision", "optimizer")}, tensors=len(parameters), parameters=sum(parameters), steps=STEPS,
                operators=[[*key, *entry] for key, entry in operators.items()])


def work(rows, out, until, lock_path):
    with open(out, "w") as f, open(lock_path, "w") as gpu:
        for row in rows:
            if time.time() > until:
                return
            try:
                f.write(json.dumps(profiled(row, gpu)) + "\n")
                f.flush()
            except Exception as error:  # the next network may fit
                print(row["id"], repr(error)[:200], flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan")
    parser.add_argument("out")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--budget-s", type=float, default=1e9)
    a = parser.parse_args()
    rows = [json.loads(line) for line in open(a.plan)]
    until = time.time() + a.budget_s
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        parts = [os.path.join(folder, str(w)) for w in range(a.workers)]
        workers = [context.Process(target=work, args=(rows[w::a.workers], part, until, os.path.join(folder, "gpu"))) for w, part in enumerate(parts)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        with open(a.out, "w") as f:
            for part in parts:
                if os.path.exists(part):
                    f.write(open(part).read())
    print(sum(1 for _ in open(a.out)), "rows")


if __name__ == "__main__":
    main()
