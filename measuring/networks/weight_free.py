"""Strips weights from ONNX graphs: initialisers over 64 elements keep name, type and shape, and lose their data."""
import math

DATA_FIELDS = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data")


def strip(model, limit=64):
    tensors = list(model.graph.initializer)
    for node in model.graph.node:
        tensors += [a.t for a in node.attribute if a.HasField("t")]
    for t in tensors:
        if math.prod(t.dims) > limit:
            for field in DATA_FIELDS:
                t.ClearField(field)
    return model


def separate(model):
    """The exporter merges equal initialisers; no family here shares weights, so every use gets its own again."""
    import onnx
    graph = model.graph
    weights = {t.name: t for t in graph.initializer if t.data_type in (1, 10, 11, 16) and math.prod(t.dims) > 1}
    used = {}
    for node in graph.node:
        for k, name in enumerate(node.input):
            if name not in weights:
                continue
            n = used[name] = used.get(name, 0) + 1
            if n > 1:
                copy = onnx.TensorProto()
                copy.CopyFrom(weights[name])
                copy.name = f"{name}__use{n - 1}"
                graph.initializer.append(copy)
                node.input[k] = copy.name
    return model
