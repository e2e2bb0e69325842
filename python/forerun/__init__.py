"""How a neural network will run before it runs: latency, memory, energy, cost and carbon, from the model alone.

    >>> import forerun
    >>> answer = forerun.predict("bert-base-uncased", device="h200-sxm", batch=8, seq=128, precision="fp16")
    >>> answer.latency_ms
"""
from ._ask import (advise, device, devices, inspect, metrics, mig, network, networks, plan, predict, predictors,
                   serve_estimate)
from ._catalogue import Device, Metric, NetworkInfo, Predictor, Table
from ._changes import AdviseReport, Change
from ._core import ForerunError, Space, version as __version__
from ._errors import ForerunWarning, InputError, MissingPackageError, NotFoundError, OptionError
from ._estimate import Estimate
from ._inspection import Inspection, MigReport, OperatorTotals, Tensor
from ._options import AdviseOptions, InspectOptions, MigOptions, PlanOptions, PredictOptions
from ._plans import LayoutPlan, ServingPlan
from ._reports import Advice, Kernel, MigAdvice, Prediction, Result, Slice, Workload
from ._search import Front, search
from ._sweep import Sweep, sweep
from ._together import Predictions, predict_async, predict_many, predict_many_async
from . import dippm, trappm

__all__ = [
    "predict", "predict_async", "predict_many", "predict_many_async", "serve_estimate", "advise", "plan", "inspect", "mig", "devices", "device", "networks", "network", "predictors", "metrics",
    "sweep", "search", "Sweep", "Front", "Space", "dippm", "trappm",
    "ForerunError", "InputError", "OptionError", "NotFoundError", "MissingPackageError", "ForerunWarning", "Prediction", "Predictions", "Result", "Estimate", "Advice", "MigAdvice", "MigReport", "Slice", "Kernel", "Workload",
    "Inspection", "OperatorTotals", "Tensor", "Device", "Metric", "NetworkInfo", "Predictor", "Table",
    "AdviseReport", "Change", "LayoutPlan", "ServingPlan", "AdviseOptions", "PlanOptions", "PredictOptions", "InspectOptions", "MigOptions", "__version__",
]
