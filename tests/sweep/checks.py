"""What must hold of every answer, and between the answers of a family. Each check yields sentences: what is wrong."""
import collections
import math

DIGITS = 2e-5  # answers carry six significant digits
READING_MS = 5  # the energy counter, once a pass
FALLS = 0.05  # how much latency may fall where it should rise
# How often learned numbers broke an order inside their own intervals; the sweep prints it.
wavers = collections.Counter()


def numbers(value, path=""):
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, (int, float)):
        yield path, value
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from numbers(entry, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            yield from numbers(entry, f"{path}[{place}]")


def close(a, b, tolerance):
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def check_result(question, workload, result, tables):
    for path, number in numbers(result):
        if not math.isfinite(number):
            yield f"{path} is {number}"
    estimates = result["estimates"]
    for key, e in estimates.items():
        if not 0 < e["low"] <= e["value"] <= e["high"]:
            yield f"{key} {e['value']} is not positive and inside {e['low']} - {e['high']}"
    value = {key: e["value"] for key, e in estimates.items()}
    if "latency_ms" not in value:
        if not result["warnings"]:
            yield "no latency and no warning says why"
        if "throughput_per_s" in value or "usd_per_million" in result["advice"]:
            yield "a rate without a latency"
        return
    devices = result.get("parallel", {}).get("devices", 1)
    made = value["throughput_per_s"] * value["latency_ms"] / 1e3
    stated = "batch" in question or devices == 1
    if stated and not close(made, workload["batch"], 1e-4):
        yield f"throughput x latency is {made:g} samples, the batch {workload['batch']}"
    # The peak of a pass is part of what the process holds.
    if value.get("device_memory_mb", math.inf) < value.get("memory_mb", 0) * (1 - DIGITS):
        yield f"the process holds {value['device_memory_mb']} MB, the allocator {value['memory_mb']}"
    card = tables.by_id.get(result["device"].split(":")[0])
    if card is None:
        return
    limit = card["power_limit_w"] * devices
    if value.get("power_w", 0) > limit * (1 + DIGITS):
        yield f"power {value['power_w']} W is above the limit, {limit} W"
    # Learned energy is what was measured: with the milliseconds that reading the board's counter takes.
    if value.get("energy_j", 0) * 1e3 > limit * (value["latency_ms"] * 1.1 + READING_MS):
        yield f"energy {value['energy_j']} J is more than {limit} W give in {value['latency_ms']} ms"
    rows = result.get("breakdown", [])
    total = sum(row["time_ms"] for row in rows)
    if rows and devices == 1 and len(rows) < 1000 and not close(total, value["latency_ms"], 1e-3):
        yield f"kernels add up to {total:g} ms, latency is {value['latency_ms']} ms"
    for row in rows:
        parts = sum(row["terms"].values())
        if not close(parts, row["time_ms"], 1e-3) or row["time_ms"] < 0:
            yield f"terms of '{row['kernel']}' add up to {parts:g} ms, not {row['time_ms']} ms"
            break


def check_answer(question, answer, tables):
    if "error" in answer:
        message = answer["error"]["message"]
        if not message or "unexpected failure" in message or "\n" in message:
            yield f"refused with {message!r}"
        return
    for result in answer["results"]:
        for problem in check_result(question, answer["workload"], result, tables):
            yield f"{result['device']}: {problem}"


def estimate_of(answer, key):
    if "error" in answer or len(answer["results"]) != 1:
        return None
    return answer["results"][0]["estimates"].get(key)


def estimates(answers, key):
    for low in range(len(answers)):
        for high in range(low + 1, len(answers)):
            a, b = estimate_of(answers[low], key), estimate_of(answers[high], key)
            if a is not None and b is not None:
                yield low, high, a, b


def pairs(answers, key):
    return ((low, high, a["value"], b["value"]) for low, high, a, b in estimates(answers, key))


def is_learned(a, b):
    return "learned" in (a["basis"], b["basis"])


def check_rising(questions, answers, _):
    for low, high, a, b in pairs(answers, "latency_ms"):
        if b < a * (1 - FALLS):
            yield low, high, f"latency falls from {a} to {b} ms"
    # Trees are step functions: memory that they learned may waver, but only inside its own 90 % interval.
    for key in ("memory_mb", "device_memory_mb"):
        for low, high, a, b in estimates(answers, key):
            if b["value"] < a["value"] * (1 - DIGITS):
                if b["value"] >= a["low"] and is_learned(a, b):
                    wavers[key] += 1
                else:
                    yield low, high, f"{key} falls from {a['value']} to {b['value']}"


def slices_of(question, tables):
    name, _, profile = question["device"].partition(":")
    rows = {m["profile"]: m for m in tables.by_id[name]["mig"]}
    return (rows[profile]["compute_slices"], rows[profile]["memory_gib"]) if profile else (99, 1e9)


def check_slices(questions, answers, tables):
    for low, high, a, b in pairs(answers, "latency_ms"):
        small, big = slices_of(questions[low], tables), slices_of(questions[high], tables)
        if small[0] <= big[0] and small[1] <= big[1] and b > a * (1 + DIGITS):
            yield low, high, f"the bigger slice is slower: {a} to {b} ms"


def check_fp16(questions, answers, _):
    for low, high, a, b in estimates(answers, "latency_ms"):
        if a["value"] > 1.3 * b["value"]:
            if is_learned(a, b) and a["low"] <= 1.3 * b["high"]:
                wavers["fp16"] += 1
            else:
                yield low, high, f"fp16 takes {a['value']} ms, fp32 {b['value']} ms"


def check_graph(questions, answers, _):
    for low, high, a, b in pairs(answers, "latency_ms"):
        warnings = " ".join(answers[low]["results"][0]["warnings"])
        if a > b * (1 + DIGITS) and "other kernels" not in warnings:
            yield low, high, f"replayed as a graph it takes {a} ms, eagerly {b} ms"


def check_same(questions, answers, _):
    for low, high, a, b in pairs(answers, "latency_ms"):
        if a != b:
            yield low, high, f"the same question gives {a} and {b} ms"


FAMILIES = {"batch": check_rising, "seq": check_rising, "slice": check_slices, "fp16": check_fp16,
            "graph": check_graph, "same": check_same, "devices": lambda *_: ()}
