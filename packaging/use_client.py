"""Asks a running server by the client that openapi-python-client made of its description, and holds the answers against the
schemas: a field that is not described is as wrong as one of another type. Arguments: the server's address, the description."""
import copy
import importlib
import json
import sys
import urllib.request

import jsonschema

import forerun_client
from forerun_client.api.default import (advise, get_device, get_health, get_readiness, inspect, list_devices, list_metrics,
                                        list_networks, list_nodes, list_predictors, list_regions, mig, predict, roofline,
                                        serve_estimate)

url, description = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))


def closed(schema):
    """The schema with no room for properties that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items() if key not in ("description", "example")}
    if "properties" in made and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


strict = closed(copy.deepcopy(description["components"]["schemas"]))


def hold(answer, name):
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": strict}}
    for error in jsonschema.Draft202012Validator(schema).iter_errors(answer):
        sys.exit(f"{name}: {error.json_path}: {error.message[:300]}")


def send(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))


client = forerun_client.Client(base_url=url, raise_on_unexpected_status=True)
asked = 0
for module in (predict, serve_estimate, advise, mig, roofline, inspect, list_nodes):
    name = module.__name__.rsplit(".", 1)[-1]
    path, operation = next((path, methods["post"]) for path, methods in description["paths"].items()
                           if methods.get("post", {}).get("operationId") == name)
    content = operation["requestBody"]["content"]["application/json"]
    answered = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].rsplit("/", 1)[-1]
    kind = content["schema"]["$ref"].rsplit("/", 1)[-1]
    body = getattr(importlib.import_module("forerun_client.models"), kind).from_dict(content["example"])
    report = module.sync(client=client, body=body)
    assert type(report).__name__ == answered, (name, report)
    hold(report.to_dict(), answered)
    hold(send(path, content["example"]), answered)
    asked += 1
for module, answered in ((list_devices, "DeviceList"), (list_networks, "NetworkList"), (list_predictors, "PredictorList"),
                         (list_metrics, "MetricList"), (list_regions, "RegionList"), (get_health, "Health"),
                         (get_readiness, "Health")):
    hold(module.sync(client=client).to_dict(), answered)
    asked += 1
device = get_device.sync("l4", client=client)
assert device.id == "l4" and device.memory_gib > 0, device
for body in ({"model": "resnet50", "device": "h200-sxm", "train": True, "optimizer": "adam", "batch": 8},
             {"model": "resnet50", "device": "l4", "runtimes": True, "explain": True, "batch": 8},
             {"model": "llama-3.1-8b", "device": ["l4", "h100-sxm"], "concurrency": 8, "input_tokens": {"mean": 500, "cv": 0.3}},
             {"model": "llama-3-8b", "device": "h100-sxm", "gpus": 4, "phase": "decode", "seq": 1024, "precision": "bf16"},
             {"model": "resnet50", "batch": 4, "device_spec": {**send("/v1/devices/l4"), "id": "mine", "name": "Mine"}}):
    hold(send("/v1/predict", body), "PredictReport")
    asked += 1
print(f"{asked} questions answered as described, through a generated client")
