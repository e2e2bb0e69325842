#!/usr/bin/env python3
"""Writes tests/questions/questions.jsonl: a thousand requests for `forerun predict -`, one a line.

    tests/questions/make_questions.py FORERUN

The program names its networks and devices; everything else follows from the seed. Another set of questions needs other
answers: run `check.py FORERUN --record` afterwards.
"""
import json
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FIXTURES = "tests/fixtures/onnx"
MEASURED = "h200-sxm"  # the device the trees were trained on
PRECISIONS = ["ieee_fp32", "fp32", "tf32", "fp16", "bf16", "amp_bf16", "fp8", "int8", "int4"]
REGIONS = ["DEU", "FRA", "POL", "world", "aws:eu-west-1", "aws:us-east-1", "gcp:europe-west4", "azure:westeurope"]
BATCHES = [1, 2, 3, 4, 8, 16, 32, 64, 128]
SEQUENCES = [1, 16, 100, 128, 256, 512]
LONG_SEQUENCES = [1, 64, 512, 1000, 2048, 4096, 8192]


class Deck:
    """Deals its cards in a random order, all of them before any comes again: each occurs equally often."""

    def __init__(self, rng, cards):
        self.rng = rng
        self.cards = list(cards)
        self.left = []

    def deal(self):
        if not self.left:
            self.left = self.rng.sample(self.cards, len(self.cards))
        return self.left.pop()


class Asker:
    """One method per kind of question; each returns a request. A value None is left out of the request."""

    def __init__(self, networks, devices):
        rng = random.Random(20261)

        def deck(*cards):
            return Deck(rng, cards)

        def names_of(*tasks):
            return [n["name"] for n in networks if n["task"] in tasks]

        gpus = [d for d in devices if d["kind"] == "gpu"]
        slices = [(d["id"], m["profile"]) for d in gpus for m in d.get("mig", [])]
        configs = sorted(p.name for p in (ROOT / "data/networks").glob("*.json"))
        graphs = sorted(p.name for p in (ROOT / FIXTURES).glob("*.onnx"))
        self.rng = rng
        self.network = deck(*names_of("encoder", "causal", "seq2seq", "vision"))
        self.causal = deck(*names_of("causal"))
        self.language = deck(*names_of("causal", "seq2seq"))
        self.encoder = deck(*names_of("encoder", "vision", "seq2seq"))
        self.trained = deck(*[n["name"] for n in networks if n.get("parameters", 0) < 3e9])
        self.config = deck(*configs)
        self.graph = deck(*[f"{FIXTURES}/{name}" for name in graphs if not name.startswith("bad_")])
        self.bad_graph = deck(*[f"{FIXTURES}/{name}" for name in graphs if name.startswith("bad_")])
        self.vision = deck("data/networks/resnet50.onnx", *[f"{FIXTURES}/{name}.onnx"
                                                            for name in ("resnet50", "mobilenet_v2", "vgg16")])
        self.device = deck(*[d["id"] for d in devices])
        self.gpu = deck(*[d["id"] for d in gpus])
        self.alias = deck(*[(d["id"], d["aliases"][0]) for d in gpus if d.get("aliases")])
        self.sliced = deck(*[d["id"] for d in gpus if d.get("mig")])
        self.slice = deck(*[f"{device}:{profile}" for device, profile in slices])
        self.cluster = deck("h100-sxm", "h200-sxm", "a100-sxm-80gb", "b200", "l40s", "mi300x", "rtx-4090",
                            "v100-sxm-32gb")
        self.precision = deck(None, *PRECISIONS)
        self.usual_precision = deck(None, "fp32", "fp16", "bf16", "tf32", "amp_bf16")
        self.serving_precision = deck(None, "fp16", "bf16", "fp8", "int8", "int4")
        self.runtime = deck("eager", "graph")
        self.predictor = deck(None, None, None, "roofline", "trees", "kernels", "gnn-kernels", "average")
        self.untrained_predictor = deck("roofline", "kernels", "gnn-kernels")
        self.optimizer = deck("none", "sgd", "adam", "adamw", None)
        self.batch = deck(*BATCHES)
        self.small_batch = deck(1, 2, 4, 8)
        self.sequence = deck(*SEQUENCES)
        self.long_sequence = deck(*LONG_SEQUENCES)
        self.phase = deck("forward", "prefill", "decode", "decode")
        self.region = deck(*REGIONS)
        self.price = deck("on_demand", "spot")
        self.yes_or_no = deck(True, False)

    def forward(self):
        return {"model": self.network.deal(), "device": self.device.deal(), "batch": self.batch.deal(),
                "seq": self.sequence.deal(), "precision": self.precision.deal(), "runtime": self.runtime.deal()}

    def by_default(self):
        return {"model": self.network.deal(), "device": self.device.deal()}

    def measured(self):
        return {"model": self.encoder.deal(), "device": MEASURED, "batch": self.batch.deal(),
                "seq": self.sequence.deal(), "precision": self.usual_precision.deal(),
                "runtime": self.runtime.deal(), "predictor": self.predictor.deal()}

    def generation(self):
        device = self.rng.choice([MEASURED, self.gpu.deal()])
        return {"model": self.causal.deal(), "device": device, "batch": self.small_batch.deal(),
                "seq": self.long_sequence.deal(), "phase": self.phase.deal(), "runtime": self.runtime.deal(),
                "precision": self.precision.deal(), "last_logits": self.yes_or_no.deal(),
                "predictor": self.predictor.deal() if device == MEASURED else None}

    def two_part(self):
        return {"network": self.language.deal(), "device": self.device.deal(), "batch": self.small_batch.deal(),
                "seq": self.sequence.deal(), "phase": self.phase.deal(), "precision": self.usual_precision.deal()}

    def vision_network(self):
        device = self.rng.choice([MEASURED, self.device.deal()])
        return {"model": self.vision.deal(), "device": device, "batch": self.batch.deal(),
                "precision": self.precision.deal(), "runtime": self.runtime.deal(), "train": self.yes_or_no.deal(),
                "optimizer": self.optimizer.deal(), "predictor": self.predictor.deal() if device == MEASURED else None}

    def other_device(self):
        return {"model": self.network.deal(), "device": self.gpu.deal(), "batch": self.batch.deal(),
                "seq": self.sequence.deal(), "precision": self.usual_precision.deal(), "runtime": self.runtime.deal(),
                "predictor": self.untrained_predictor.deal()}

    def training(self):
        device = self.rng.choice([MEASURED, self.gpu.deal()])
        return {"model": self.trained.deal(), "device": device, "batch": self.batch.deal(),
                "seq": self.sequence.deal(), "precision": self.usual_precision.deal(), "train": True,
                "optimizer": self.optimizer.deal(), "runtime": self.runtime.deal(),
                "steps": self.rng.choice([None, 1, 1000, 250000]),
                "predictor": self.predictor.deal() if device == MEASURED else None}

    def serving(self):
        shape = {"input_tokens": self.rng.choice([1, 128, 512, 2000, 8192]),
                 "output_tokens": self.rng.choice([1, 2, 64, 500]),
                 "concurrency": self.rng.choice([1, 4, 16, 64])}
        for key in self.rng.sample(sorted(shape), self.rng.choice([0, 0, 1, 2])):
            del shape[key]
        return {"model": self.language.deal(), "device": self.rng.choice([MEASURED, self.gpu.deal()]),
                "precision": self.serving_precision.deal(), "runtime": self.runtime.deal(), **shape}

    def several_devices(self):
        tensor, pipeline, data = (self.rng.choice([None, 2, 4, 8]), self.rng.choice([None, None, 2, 4]),
                                  self.rng.choice([None, None, 2, 8]))
        return {"model": self.causal.deal(), "device": self.cluster.deal(), "batch": self.batch.deal(),
                "seq": self.long_sequence.deal(), "phase": self.phase.deal(),
                "precision": self.serving_precision.deal(), "runtime": self.runtime.deal(), "tensor_parallel": tensor,
                "pipeline_parallel": pipeline, "data_parallel": data,
                "gpus": self.rng.choice([None, (tensor or 1) * (pipeline or 1) * (data or 1)])}

    def several_serving(self):
        return {**self.serving(), "device": self.cluster.deal(), "gpus": self.rng.choice([2, 4, 8])}

    def several_training(self):
        model = self.rng.choice([self.trained.deal(), self.vision.deal()])
        return {"model": model, "device": self.cluster.deal(), "batch": self.batch.deal(),
                "precision": self.usual_precision.deal(), "train": True, "optimizer": self.optimizer.deal(),
                "data_parallel": self.rng.choice([2, 4, 64]), "steps": 500}

    def mig(self):
        memory_rule = self.rng.random() < 0.2
        device = self.rng.choice(["a100-pcie-40gb", "a100-sxm-40gb"]) if memory_rule else self.sliced.deal()
        return {"model": self.encoder.deal(), "device": device, "batch": self.batch.deal(),
                "seq": self.sequence.deal(), "precision": self.usual_precision.deal(),
                "max_latency_ms": self.rng.choice([None, 0.5, 7.5, 40, 1000]),
                "rule": "memory" if memory_rule else self.rng.choice([None, "default"])}

    def one_slice(self):
        return {"model": self.network.deal(), "device": self.slice.deal(), "batch": self.small_batch.deal(),
                "seq": self.sequence.deal(), "precision": self.usual_precision.deal(), "runtime": self.runtime.deal()}

    def cost(self):
        train = self.yes_or_no.deal()
        return {"model": self.trained.deal(), "device": self.gpu.deal(), "batch": self.batch.deal(),
                "seq": self.sequence.deal(), "region": self.region.deal(), "pue": self.rng.choice([None, 1, 1.08, 1.7]),
                "price": self.price.deal(), "train": train, "steps": 10000 if train else None,
                "samples": None if train else self.rng.choice([1, 1000, 123456789])}

    def capacity(self):
        return {"model": self.causal.deal(), "device": self.gpu.deal(), "precision": self.serving_precision.deal(),
                "seq": self.rng.choice([128, 1024]), "phase": self.phase.deal(),
                "memory_budget": self.rng.choice([8000, 40960.5, 180000, 1e6])}

    def many_devices(self):
        return {"model": self.encoder.deal(), "devices": [self.device.deal() for _ in range(3)],
                "batch": self.batch.deal(), "seq": self.sequence.deal()}

    def every_device(self):
        return {"model": self.encoder.deal(), "device": "all", "batch": 4, "seq": 128, "runtime": self.runtime.deal()}

    def by_alias(self):
        return {"model": self.encoder.deal(), "device": self.alias.deal()[1], "batch": self.batch.deal(),
                "seq": self.sequence.deal()}

    def graph_file(self):
        device = self.rng.choice([MEASURED, self.device.deal()])
        return {"model": self.graph.deal(), "device": device, "batch": self.rng.choice([None, None, 1, 6]),
                "precision": self.usual_precision.deal(), "runtime": self.runtime.deal(),
                "train": self.rng.choice([None, None, True])}

    def free_dimensions(self):
        model, dims = self.rng.choice([
            ("bert_base", {"batch": 4, "sequence": 64}), ("decoder_with_past", {"batch": 2, "past": 300}),
            ("vgg16", {"N": 8}), ("mobilenet_v2", {"batch_size": 16}), ("shape_chain", {"batch": 3, "length": 10})])
        return {"model": f"{FIXTURES}/{model}.onnx", "device": self.gpu.deal(), "dims": dims}

    def configuration_file(self):
        return {"model": f"data/networks/{self.config.deal()}", "device": self.gpu.deal(), "seq": self.sequence.deal()}

    def configuration(self):
        config = json.loads((ROOT / "data/networks" / self.config.deal()).read_text())
        config.pop("forerun", None)
        for layers in ("num_hidden_layers", "n_layer", "num_layers", "n_layers"):
            if isinstance(config.get(layers), int):
                config[layers] = max(1, config[layers] // 2)
        return {"config": config, "device": self.gpu.deal(), "batch": self.small_batch.deal(), "seq": 128}

    def damaged_graph(self):
        return {"model": self.bad_graph.deal(), "device": self.gpu.deal()}


# How many questions of each kind.
KINDS = {"forward": 170, "by_default": 22, "measured": 130, "generation": 110, "two_part": 20, "vision_network": 60,
         "other_device": 50, "training": 70, "serving": 55, "several_devices": 45, "several_serving": 15,
         "several_training": 15, "mig": 25, "one_slice": 20, "cost": 25, "capacity": 20, "many_devices": 5,
         "every_device": 2, "by_alias": 10, "graph_file": 70, "free_dimensions": 8, "configuration_file": 10,
         "configuration": 8, "damaged_graph": 10}

# Requests that must fail, each for a reason of its own.
REFUSED = [
    {"model": "no-such-network", "device": MEASURED},
    {"model": "tests/fixtures/onnx/no_such_file.onnx", "device": MEASURED},
    {"device": MEASURED},
    {"model": "gpt2"},
    {"model": "gpt2", "device": "no-such-device"},
    {"model": "gpt2", "device": "v100"},
    {"model": "gpt2", "device": "h100-sxm:9g.80gb"},
    {"model": "gpt2", "device": MEASURED, "batch": 0},
    {"model": "gpt2", "device": MEASURED, "batch": -4},
    {"model": "gpt2", "device": MEASURED, "seq": 2.5},
    {"model": "gpt2", "device": MEASURED, "precision": "fp12"},
    {"model": "gpt2", "device": MEASURED, "runtime": "compiled"},
    {"model": "gpt2", "device": MEASURED, "phase": "backward"},
    {"model": "gpt2", "device": MEASURED, "train": "yes"},
    {"model": "gpt2", "device": MEASURED, "optimizer": "lion"},
    {"model": "gpt2", "device": MEASURED, "predictor": "oracle"},
    {"model": "gpt2", "device": MEASURED, "region": "atlantis"},
    {"model": "gpt2", "device": MEASURED, "price": "free"},
    {"model": "gpt2", "device": MEASURED, "pue": 0},
    {"model": "gpt2", "device": MEASURED, "no_such_option": 1},
    {"model": "gpt2", "device": MEASURED, "gpus": 8, "tensor_parallel": 3},
    {"model": "gpt2", "device": "a10", "predictor": "trees"},
    {"model": "gpt2", "device": "a10", "predictor": "average"},
    {"model": "bert-base-uncased", "device": MEASURED, "phase": "decode"},
    {"model": "resnet50", "device": MEASURED, "tensor_parallel": 2},
]


def list_of(forerun, what):
    done = subprocess.run([forerun, what, "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)[what]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    asker = Asker(list_of(sys.argv[1], "networks"), list_of(sys.argv[1], "devices"))
    questions = list(REFUSED)
    for kind, count in KINDS.items():
        questions += [getattr(asker, kind)() for _ in range(count)]
    with open(HERE / "questions.jsonl", "w") as file:
        for question in questions:
            given = {key: value for key, value in question.items() if value is not None}
            file.write(json.dumps(given, separators=(",", ":")) + "\n")
    print(f"{len(questions)} questions")


main()
