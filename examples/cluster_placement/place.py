"""A queue of jobs on a mixed fleet, MIG slices included: placed by first fit, and by predicted time and memory.

A job runs one network some number of times. Forerun is asked once for each kind of job and device; the simulation then
lets every job take another time than predicted, drawn from the answer's 90 % interval, so that no policy knows the truth.

    python examples/cluster_placement/place.py [--jobs 10000] [--seed 1]
"""
import argparse
import heapq
import itertools
import math
import random
from typing import NamedTuple

import forerun

FLEET = {"t4": 16, "l4": 12, "a100-sxm-80gb:1g.10gb": 28, "a100-sxm-80gb": 4, "h100-sxm": 2}  # how many of each
SLICES = {"a100-sxm-80gb:1g.10gb": ("a100-sxm-80gb", 1 / 7)}  # a slice costs its share of the card
NETWORKS = ["resnet50", "bert-base-uncased", "bert-large-uncased", "gpt2-large", "llama-2-7b", "llama-2-13b"]
BATCHES = [1, 8, 32]
DEVIATIONS = 1.645  # the ends of a 90 % interval lie so many standard deviations away


class Pass(NamedTuple):
    """What is predicted of one pass: seconds, the spread of their logarithm, the price of a second on the device."""
    seconds: float
    spread: float
    usd_per_s: float


class Job(NamedTuple):
    kind: tuple  # network and batch
    passes: int
    luck: float  # standard deviations by which it is slower than predicted


def ask():
    """By kind of job: the devices of the fleet that hold it."""
    asked = list(itertools.product(NETWORKS, BATCHES, FLEET))
    answers = forerun.predict_many([{"model": model, "batch": batch, "device": device} for model, batch, device in asked],
                                   precision="fp16", runtime="graph")
    price = {device: answer[0].advice.usd_per_hour for (_, _, device), answer in zip(asked, answers)}
    table = {}
    for (model, batch, device), answer in zip(asked, answers):
        row = answer[0]
        if not row.advice.fits or "latency_ms" not in row.estimates:
            continue
        card, share = SLICES.get(device, (device, 1))
        latency = row.estimates["latency_ms"]
        table.setdefault((model, batch), {})[device] = Pass(
            latency.value / 1e3, math.log(latency.high / latency.value) / DEVIATIONS, price[card] * share / 3600)
    return table


def make_queue(table, count, seed):
    """Jobs as they were handed in: small networks more often, a few seconds to an hour on the fastest device."""
    draw = random.Random(seed)
    kinds = sorted(table, key=lambda kind: min(one.seconds / kind[1] for one in table[kind].values()))
    jobs = []
    for _ in range(count):
        kind = kinds[min(len(kinds) - 1, int(draw.expovariate(1) * len(kinds) / 3))]
        seconds = min(3600, draw.lognormvariate(3, 1.2))
        fastest = min(one.seconds for one in table[kind].values())
        jobs.append(Job(kind, max(1, int(seconds / fastest)), draw.gauss(0, 1)))
    return jobs


def simulate(table, jobs, choose):
    """Runs the queue; `choose` picks a device's kind from [(free at, kind)]. Returns makespan (s) and cost (USD)."""
    free = {device: [0.0] * count for device, count in FLEET.items()}
    for times in free.values():
        heapq.heapify(times)
    end = cost = 0.0
    for job in jobs:
        offers = [(free[device][0], device) for device in FLEET if device in table[job.kind]]
        device = choose(job, offers)
        one = table[job.kind][device]
        took = job.passes * one.seconds * math.exp(job.luck * one.spread)
        done = heapq.heappop(free[device]) + took
        heapq.heappush(free[device], done)
        end = max(end, done)
        cost += took * one.usd_per_s
    return end, cost


def first_fit(job, offers):
    """The device that is free first among those that hold it; the first of the list where several are."""
    return min(offers, key=lambda offer: offer[0])[1]


def earliest_end(table):
    """The device on which it is predicted to end first."""
    return lambda job, offers: min(offers, key=lambda offer: offer[0] + job.passes * table[job.kind][offer[1]].seconds)[1]


def cheapest_by(table, deadline):
    """The cheapest device on which it is predicted to end by the deadline; where there is none, the one that ends first."""
    def choose(job, offers):
        ends = {device: at + job.passes * table[job.kind][device].seconds for at, device in offers}
        in_time = [device for device, end in ends.items() if end <= deadline]
        if not in_time:
            return min(ends, key=ends.get)
        return min(in_time, key=lambda device: job.passes * table[job.kind][device].seconds
                   * table[job.kind][device].usd_per_s)
    return choose


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    table = ask()
    jobs = make_queue(table, asked.jobs, asked.seed)
    longest_first = sorted(jobs, key=lambda job: -job.passes * min(one.seconds for one in table[job.kind].values()))
    base_end, base_cost = simulate(table, jobs, first_fit)
    print(f"{len(jobs)} jobs of {len(table)} kinds on {sum(FLEET.values())} devices and slices")
    print(f"{'policy':<44}{'makespan h':>12}{'':>8}{'cost USD':>12}")

    def show(name, end, cost):
        print(f"{name:<44}{end / 3600:>12.2f}{end / base_end - 1:>+8.0%}{cost:>12.0f}{cost / base_cost - 1:>+8.0%}")

    show("first fit", base_end, base_cost)
    show("predicted to end first", *simulate(table, jobs, earliest_end(table)))
    show("predicted to end first, longest jobs first", *simulate(table, longest_first, earliest_end(table)))
    show("cheapest that ends within first fit's time", *simulate(table, longest_first, cheapest_by(table, 0.95 * base_end)))


if __name__ == "__main__":
    main()
