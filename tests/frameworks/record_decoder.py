"""Records what llama.cpp makes of SmolLM2-135M-Instruct: ids of prompts and of greedily decoded text, and what the gguf
package makes of quantised blocks. Needs the PyPI packages xllamacpp (llama.cpp) and gguf, and the weights that
measuring/fetch_language_model.py fetches.
record_decoder.py WEIGHTS: writes decoder.json and blocks.json to tests/fixtures/decoder."""
import hashlib
import importlib.metadata
import json
import pathlib
import sys
import tempfile
import urllib.request

import gguf
import numpy
import xllamacpp

CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
PROMPTS = [
    "The capital of France is",
    "def fibonacci(n):\n    if n < 2:",
    "Measured 12.75 ms on 2080 Ti, 31.5 ms on pixel3;  then",
    "Grüße aus Köln, naïve café: ½ + ٣ = \u4e2d\u6587 \U0001f600!\n\n\tWe're   done ",
    CHAT.format("Name three colours of the rainbow."),
    CHAT.format("What is 17 plus 25? Answer with the number."),
    CHAT.format("Summarise: a network of 30 convolutions and 5 additions has 12.5 million parameters."),
]
NEW_TOKENS = 40
BLOCK_TYPES = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]


def plain(path, folder):
    """The same weights as 32-bit floats: llama.cpp otherwise rounds activations to 8 bits in products with quantised weights."""
    reader = gguf.GGUFReader(path)
    out = str(pathlib.Path(folder) / "plain.gguf")
    writer = gguf.GGUFWriter(out, "llama")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        writer.add_key_value(field.name, field.contents(), kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return out


def ask(server, path, body):
    request = urllib.request.Request(server.listening_address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def record(path):
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = 1024
    params.warmup = False
    params.cpuparams.n_threads = 2
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    server = xllamacpp.Server(params)
    rows = []
    for prompt in PROMPTS:
        ids = ask(server, "/tokenize", {"content": prompt, "add_special": False, "parse_special": True})["tokens"]
        body = {"prompt": ids, "n_predict": NEW_TOKENS, "temperature": 0, "top_k": 1, "return_tokens": True, "cache_prompt": False, "repeat_penalty": 1.0}
        rows.append({"prompt": prompt, "ids": ids, "decoded": ask(server, "/completion", body)["tokens"]})
    return rows


def blocks():
    generator = numpy.random.default_rng(37)
    rows = []
    for name in BLOCK_TYPES:
        kind = gguf.GGMLQuantizationType[name]
        values = generator.normal(size=(1, 256)).astype(numpy.float32)
        try:
            stored = gguf.quants.quantize(values, kind)
        except NotImplementedError:  # random bits with modest scales
            size = gguf.GGML_QUANT_SIZES[kind][1]
            stored = generator.integers(0, 256, size=(1, size), dtype=numpy.uint8)
            scale = numpy.frombuffer(numpy.array([0.01, 0.02], dtype=numpy.float16).tobytes(), dtype=numpy.uint8)
            if name == "Q6_K":
                stored[0, -2:] = scale[:2]
            else:
                stored[0, :4] = scale
        back = gguf.quants.dequantize(stored, kind).astype(numpy.float32).reshape(-1)
        rows.append({"type": name, "bytes": stored.tobytes().hex(), "values": [float(f"{v:.8g}") for v in back]})
    return rows


def decoded_by_llama_cpp(weights):
    with tempfile.TemporaryDirectory() as folder:
        return record(plain(weights, folder))


def main():
    weights, out = sys.argv[1], pathlib.Path(__file__).parent.parent / "fixtures" / "decoder"
    made = {name: importlib.metadata.version(name) for name in ("xllamacpp", "gguf")}
    made["sha256"] = hashlib.sha256(pathlib.Path(weights).read_bytes()).hexdigest()
    for name, content in (("decoder", decoded_by_llama_cpp(weights)), ("blocks", blocks())):
        lines = ",\n".join(json.dumps(row) for row in content)
        (out / f"{name}.json").write_text(f'{{"made_with": {json.dumps(made)}, "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
