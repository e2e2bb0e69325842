"""Random questions for the sweep, drawn from the program's own tables: commands, options, networks, devices, predictors.

Questions come in families: a base, and variants of it that change one thing and so must keep an order.
"""
import json
import math
import pathlib
import random
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIXTURES = ROOT / "tests/fixtures"
SUFFIXES = (".onnx", ".keras", ".h5", ".pt2", ".pt", ".tflite", ".pdmodel", ".pb")
# Ranges of whole and real numbers, drawn evenly on a logarithmic scale. Options not named here get 1 to 64.
RANGES = {"batch": (1, 512), "seq": (1, 4096), "steps": (1, 1e6), "samples": (1, 1e9), "input_tokens": (1, 8192),
          "output_tokens": (1, 512), "concurrency": (1, 64), "gpus": (1, 16), "tensor_parallel": (1, 8),
          "pipeline_parallel": (1, 8), "data_parallel": (1, 8), "pue": (1, 2), "max_latency_ms": (0.1, 1e4),
          "memory_budget": (100, 1e6)}
# How often an option is used. Options not named here: RARE.
RARE = 0.03
OFTEN = {"batch": 0.8, "seq": 0.4, "precision": 0.5, "runtime": 0.4, "phase": 0.15, "train": 0.12, "predictor": 0.08,
         "input_tokens": 0.05, "output_tokens": 0.05, "concurrency": 0.05}
LOAD = {"input_tokens", "output_tokens", "concurrency", "request_rate", "trace", "engine", "disaggregated", "slo_ttft_ms",
        "slo_tpot_ms", "users"}
OF_A_LOAD = {"engine_version", "kv_precision", "input_cv", "output_cv", "burstiness", "prefill_tensor_parallel"}
NEVER = {"device",  # in every question
         "explain",  # asked by its own family
         "store", "device_file"}  # need a file of the user's


def ask(program, *arguments):
    return json.loads(subprocess.run([program, *arguments], check=True, capture_output=True, text=True, cwd=ROOT).stdout)


class Tables:
    def __init__(self, program):
        self.commands = ask(program, "manual", "--json")["commands"]
        self.networks = ask(program, "networks", "--json")["networks"]
        self.devices = ask(program, "devices", "--json")["devices"]
        self.predictors = [p["name"] for p in ask(program, "predictors", "--json")["predictors"]]
        self.files = sorted(str(f.relative_to(ROOT)) for f in FIXTURES.rglob("*") if f.name.endswith(SUFFIXES))
        self.by_id = {d["id"]: d for d in self.devices}

    def options(self, command):
        rows = next(c for c in self.commands if c["name"] == command)["options"]
        return [row for row in rows if row["request"]]

    def asking(self):
        """The commands that ask about a model."""
        return [c["name"] for c in self.commands if any(p["name"] == "MODEL" for p in c["places"])]


class Asker:
    def __init__(self, tables, seed):
        self.tables = tables
        self.rng = random.Random(seed)
        self.gpus = [d["id"] for d in tables.devices if d["kind"] == "gpu"]
        self.sliced = [d for d in tables.devices if d.get("mig")]
        self.language = [n["name"] for n in tables.networks if n["task"] in ("causal", "encoder", "seq2seq")]
        self.small = [n["name"] for n in tables.networks if n.get("parameters", 0) < 2e9]
        self.used = {}  # how often each option was in a question

    def number(self, key, whole=True):
        low, high = RANGES.get(key, (1, 64))
        value = math.exp(self.rng.uniform(math.log(low), math.log(high)))
        return max(1, round(value)) if whole else float(f"{value:.3g}")

    def value(self, option):
        if "choices" in option:
            return self.rng.choice(option["choices"])
        kind, key = option["kind"], option["key"]
        if kind in ("integer", "real"):
            return self.number(key, kind == "integer")
        if kind == "flag":
            return True
        if key == "predictor":
            return self.rng.choice(self.tables.predictors)
        if key == "region":
            return self.rng.choice(["world", "DEU", "FRA", "POL", "aws:us-east-1", "gcp:europe-west4"])
        if key == "sort":
            return self.rng.choice(["device", "usd_per_hour", "latency_ms", "tokens_per_s"])
        if key == "assert":
            return ["latency_ms<10", "device_memory_mb.high<=1e4"]
        if key == "cloud":
            return self.rng.choice(["all", "aws", "gcp", "azure"])
        if kind == "dims":
            return {self.rng.choice(["batch", "N", "sequence", "seq"]): self.number("batch")}
        if kind == "shapes":
            return {"input": [self.number("batch"), 3, 224, 224]}
        return "no-such-value"  # of an option added later: refused or answered, never a crash

    def model(self):
        draw = self.rng.random()
        if draw < 0.45:
            return self.rng.choice(self.language)
        if draw < 0.65:
            return self.rng.choice(self.small)
        return self.rng.choice(self.tables.files)

    def device(self):
        draw = self.rng.random()
        if draw < 0.35:
            return "h200-sxm"  # where most learned predictors were trained
        if draw < 0.45:
            card = self.rng.choice(self.sliced)
            return card["id"] + ":" + self.rng.choice(card["mig"])["profile"]
        return self.rng.choice([d["id"] for d in self.tables.devices])

    def base(self, command="predict"):
        question = {"model": self.model()}
        for option in self.tables.options(command):
            if option["key"] == "device":
                question["device"] = self.device()
            if option["key"] in NEVER or self.rng.random() >= OFTEN.get(option["key"], RARE):
                continue
            question[option["key"]] = self.value(option)
        if "train" not in question:
            question.pop("optimizer", None)
        return self.sensible(question)

    def sensible(self, question):
        """Most options of a load mean nothing without one, and most networks serve nothing: those are left to few questions."""
        if question["model"] not in self.language and self.rng.random() < 0.9:
            question = {key: value for key, value in question.items() if key not in LOAD}
        if not LOAD & question.keys() and self.rng.random() < 0.9:
            question = {key: value for key, value in question.items() if key not in OF_A_LOAD}
        if "users" in question or LOAD & question.keys():
            question.pop("fps", None)
        if "users" in question:
            question = {key: value for key, value in question.items() if key not in ("concurrency", "request_rate", "trace")}
        return question

    # --- families: (rule, [questions]); the questions rise in what the rule is about ------------------------------------
    def rising(self, key, most):
        first = self.number(key)
        factor = self.rng.choice([1.01, 1.5, 2, 2, 4, 16])
        question = self.base()
        return [{**question, key: n} for n in (first, min(most, max(first + 1, int(first * factor))))]

    def family(self):
        rule = self.rng.choice(["batch", "batch", "batch", "seq", "seq", "slice", "fp16", "graph", "devices", "same"])
        if rule == "batch":
            return rule, self.rising("batch", 4096)
        if rule == "seq":
            return rule, [{**q, "model": model} for model in [self.rng.choice(self.language)]
                          for q in self.rising("seq", 16384)]
        question = self.base()
        if rule == "slice":
            card = self.rng.choice(self.sliced)
            slices = sorted(card["mig"], key=lambda m: (m["compute_slices"], m["memory_slices"]))
            names = [card["id"] + ":" + m["profile"] for m in slices] + [card["id"]]
            return rule, [{**question, "device": name} for name in names]
        if rule == "fp16":
            return rule, [{**question, "precision": p} for p in ("fp16", "fp32")]
        if rule == "graph":
            question.pop("train", None)
            return rule, [{**question, "runtime": r} for r in ("graph", "eager")]
        if rule == "devices":
            how = self.rng.choice(["gpus", "data_parallel", "tensor_parallel", "pipeline_parallel"])
            question["device"] = question["device"].split(":")[0]
            return rule, [{**question, how: n} for n in (self.number("gpus"), self.number("gpus"))]
        return rule, [question, {**question, "explain": True}]

    def families(self, count):
        """Families of `count` questions together."""
        asked = 0
        while asked < count:
            rule, questions = self.family()
            questions = questions[:count - asked]
            asked += len(questions)
            for question in questions:
                for key in question:
                    self.used[key] = self.used.get(key, 0) + 1
            yield rule, questions
