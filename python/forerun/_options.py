"""The keyword arguments' types. Their names are the option table's of the compiled part; a test compares the two."""
from __future__ import annotations

from typing import Mapping, Sequence, TypedDict, Union


class InspectOptions(TypedDict, total=False):
    batch: int
    seq: int
    dims: Mapping[str, int]
    input: Union[str, Sequence[int], Sequence[Sequence[int]], Mapping[str, Union[str, Sequence[int]]]]
    precision: str
    phase: str
    last_logits: bool
    steps: int


class _EstimateOptions(InspectOptions, total=False):
    device: Union[str, Sequence[str]]
    runtime: str
    train: bool
    optimizer: str
    predictor: str
    device_file: str


class MigOptions(_EstimateOptions, total=False):
    host_speed: float
    max_latency_ms: float
    rule: str


class _AnswerOptions(MigOptions, total=False):
    cloud: str
    dataset_samples: int
    epochs: int
    region: str
    pue: float
    price: str
    samples: int
    input_tokens: Union[int, Mapping[str, float]]
    output_tokens: Union[int, Mapping[str, float]]
    concurrency: int
    request_rate: float
    burstiness: float
    input_cv: float
    output_cv: float
    trace: str
    engine: str
    engine_version: str
    slo_ttft_ms: float
    slo_tpot_ms: float
    disaggregated: Union[str, Mapping[str, int]]
    prefill_tensor_parallel: int
    kv_precision: str
    seed: int
    gpus: int
    nodes: int
    system: str
    fabric: str
    tensor_parallel: int
    pipeline_parallel: int
    data_parallel: int
    expert_parallel: int
    context_parallel: int
    zero: Union[int, str]
    global_batch: int
    micro_batch: int
    schedule: str
    checkpointing: str
    offload_optimizer: bool
    lora_rank: int
    tokens: int
    samples_per_s_input: float


# A class cannot have a field of this name.
_Assertions = TypedDict("_Assertions", {"assert": Union[str, Sequence[str]]}, total=False)


class PredictOptions(_AnswerOptions, _Assertions, total=False):
    fits_only: bool
    fps: float
    max_usd_per_hour: float
    min_throughput: float
    remedies: bool
    sort: str
    top: int
    users: int
    runtimes: bool
    explain: bool
    memory_budget: float
    store: str


class AdviseOptions(_AnswerOptions, total=False):
    goal: str
    constraint: Sequence[str]


class PlanOptions(_AnswerOptions, total=False):
    serve: bool
    rate: float
