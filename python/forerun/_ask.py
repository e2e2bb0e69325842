"""The questions: arguments become one request, its answer a typed report. Nothing is computed here."""
from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional

from . import _catalogue, _changes, _core, _inspection, _plans, _reports
from ._errors import InputError, translated, unknown_argument
from ._example import specs_of_option
from ._model import Model, prepare

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import AdviseOptions, InspectOptions, MigOptions, PlanOptions, PredictOptions


def _ask(question: Callable[..., str], model: Model, inputs: Any, options: Mapping[str, Any]) -> Any:
    """The question's report as JSON values; its errors in Python's words."""
    return _told(lambda: json.loads(question(*_request(question.__name__, model, inputs, options))))


def _told(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except _core.ForerunError as error:
        if type(error) is _core.ForerunError:
            raise translated(error) from error.__cause__
        raise


def _request(question: str, model: Model, inputs: Any, options: Mapping[str, Any]) -> tuple[str, Optional[bytes]]:
    for name in options:
        if name not in _known(question):
            raise unknown_argument(question, name, _known(question))
    request = {key: value for key, value in options.items() if value is not None}
    prepared = prepare(model, inputs, request)
    request.update(prepared.fields)
    if request.get("input") is not None and not isinstance(request["input"], Mapping):
        request["input"] = _of_only_input(request["input"])
    try:
        return json.dumps(request, default=_plain), prepared.contents
    except (TypeError, ValueError) as error:
        raise InputError(f"an argument cannot be sent: {error}") from error


@functools.cache
def _known(question: str) -> frozenset[str]:
    """The names of a question's keyword arguments."""
    keys = {row["key"] for row in json.loads(_core.options()) if question in row["commands"]}
    return frozenset(keys if question == "inspect" else keys | {"device_spec"})


def _of_only_input(option: Any) -> dict[str, Any]:
    """A shape without a name is that of a network with one input."""
    specs = specs_of_option(option)
    if len(specs) != 1:
        raise InputError("input: several shapes need names, as in input={'image': [1, 3, 224, 224], 'scale': [1]}")
    return {"": [-1 if size is None else size for size in specs[0].shape]}


def _plain(value: Any) -> Any:
    """Numbers of NumPy and the like, paths, and tuples or sets of texts."""
    if hasattr(value, "item"):
        return value.item()
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    if isinstance(value, Mapping):
        return dict(value)
    return list(value)


def predict(model: Model, inputs: Any = None, **options: Unpack[PredictOptions]) -> _reports.Prediction:
    """Latency, throughput, memory, energy, power, cost and carbon of `model` on one device or several.

    model: a path, a network's name, a Hugging Face configuration (dict), a file's bytes, an onnx.ModelProto, a torch module
        or ExportedProgram, a Keras model, a tf.function or a paddle layer.
    inputs: example inputs of a live object that does not state its shapes: tensors or specifications, one, a tuple, or a
        dict of names. `input` gives shapes alone: [1, 3, 224, 224], "2x16:int64", or a dict of names and shapes.
    """
    return _reports.Prediction.from_dict(_ask(_core.predict, model, inputs, options))


def serve_estimate(model: Model, inputs: Any = None, **options: Unpack[PredictOptions]) -> _reports.Prediction:
    """`model` in a serving engine under a load: each result's `serving` has percentiles of time to first token and per
    output token, rates, use of the KV cache, and whether the load saturates the engine.

    model, inputs: as in predict(); engine defaults to vllm, and a load to one request in flight.
    """
    options.setdefault("engine", "vllm")
    return predict(model, inputs, **options)


def inspect(model: Model, inputs: Any = None, **options: Unpack[InspectOptions]) -> _inspection.Inspection:
    """What `model` consists of and costs on any device: operators, parameters, multiply-accumulates, bytes.

    model, inputs: as in predict().
    """
    return _inspection.Inspection.from_dict(_ask(_core.inspect, model, inputs, options))


def mig(model: Model, inputs: Any = None, **options: Unpack[MigOptions]) -> _inspection.MigReport:
    """The MIG slice of one card that `model` needs, and how it would run on every other slice.

    model, inputs: as in predict().
    """
    return _inspection.MigReport.from_dict(_ask(_core.mig, model, inputs, options))


def advise(model: Model, inputs: Any = None, **options: Unpack[AdviseOptions]) -> _changes.AdviseReport:
    """What to change so that `model` runs better on one device, and what each change is worth, estimated again.

    model, inputs: as in predict().
    """
    return _changes.AdviseReport.from_dict(_ask(_core.advise, model, inputs, options))


def plan(model: Model, inputs: Any = None, **options: Unpack[PlanOptions]) -> _plans.LayoutPlan | _plans.ServingPlan:
    """The fastest layouts of `model` on several devices; with serve=True, the cheapest deployments that serve `rate`
    requests a second within slo_ttft_ms and slo_tpot_ms, on the devices named or all that have a price.

    model, inputs: as in predict().
    """
    return _plans.read_plan(_ask(_core.plan, model, inputs, options))


def devices() -> _catalogue.Table[_catalogue.Device]:
    """The catalogue of devices, your own of ~/.config/forerun/devices included."""
    return _catalogue.Table([_catalogue.Device.from_dict(row) for row in json.loads(_core.devices())["devices"]])


def device(name: str) -> _catalogue.Device:
    """One device by id, alias, or ID:PROFILE for a MIG slice."""
    return _catalogue.Device.from_dict(json.loads(_told(lambda: _core.device(name))))


def networks() -> _catalogue.Table[_catalogue.NetworkInfo]:
    """The networks that ship with the package and can be named in place of a file."""
    return _catalogue.Table([_catalogue.NetworkInfo.from_dict(row) for row in json.loads(_core.networks())["networks"]])


def network(name: str) -> dict[str, Any]:
    """The configuration of a shipped network, to be changed and given to predict(); empty for an example graph."""
    text = _told(lambda: _core.network(name))
    return json.loads(text) if text.lstrip().startswith("{") else {}


def predictors() -> _catalogue.Table[_catalogue.Predictor]:
    """What answers: the predictors with the reports of their accuracy."""
    return _catalogue.Table([_catalogue.Predictor.from_dict(row) for row in json.loads(_core.predictors())["predictors"]])


def metrics() -> _catalogue.Table[_catalogue.Metric]:
    """What is answered: key, unit, meaning and direction of each metric."""
    return _catalogue.Table([_catalogue.Metric.from_dict(row) for row in json.loads(_core.metrics())["metrics"]])


def _document() -> None:
    """Each question's help ends with its rows of the option table."""
    for option in json.loads(_core.options()):
        choices = f" ({option['choices']})" if option["choices"] else ""
        line = f"    {option['key']}: {option['type']} = {option['help']}{choices}\n"
        for question in (predict, advise, inspect, mig, plan):
            if question.__name__ in option["commands"]:
                question.__doc__ = (question.__doc__ or "").rstrip(" ") + line


_document()
