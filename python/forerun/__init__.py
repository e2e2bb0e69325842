"""How a neural network will run before it runs: latency, memory, energy, cost and carbon, from the model alone.

    >>> import forerun
    >>> answer = forerun.predict("bert-base-uncased", device="h200-sxm", batch=8, seq=128, precision="fp16")
    >>> answer.latency_ms
"""
from ._ask import (advise, device, devices, inspect, metrics, mig, network, networks, predict, predictors,
                   serve_estimate)
from ._changes import AdviseReport, Change
from ._core import ForerunError, version as __version__
from ._options import AdviseOptions, InspectOptions, MigOptions, PredictOptions
from ._reports import (Advice, Device, Estimate, Inspection, Kernel, Metric, MigAdvice, MigReport, NetworkInfo, OperatorTotals,
                       Prediction, Predictor, Result, Slice, Table, Tensor, Workload)
from . import dippm, trappm

__all__ = [
    "predict", "serve_estimate", "advise", "inspect", "mig", "devices", "device", "networks", "network", "predictors", "metrics",
    "dippm", "trappm",
    "ForerunError", "Prediction", "Result", "Estimate", "Advice", "MigAdvice", "MigReport", "Slice", "Kernel", "Workload",
    "Inspection", "OperatorTotals", "Tensor", "Device", "Metric", "NetworkInfo", "Predictor", "Table",
    "AdviseReport", "Change", "AdviseOptions", "PredictOptions", "InspectOptions", "MigOptions", "__version__",
]
