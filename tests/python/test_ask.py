"""Questions, answers and errors of the installed package."""
import asyncio
import concurrent.futures
import json
import os
import pathlib
import signal
import threading
import time

import pytest

import forerun
from forerun import _core

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures"


def test_the_package_is_the_installed_wheel():
    assert "site-packages" in forerun.__file__
    assert (pathlib.Path(forerun.__file__).parent / "py.typed").exists()
    assert (pathlib.Path(forerun.__file__).parent / "_core.pyi").exists()


def test_a_shipped_network_is_found_by_name():
    answer = forerun.predict("bert-base-uncased", device="h200-sxm", batch=8, seq=128, precision="fp16")
    assert answer.workload.batch == 8 and answer.workload.sequence == 128 and answer.workload.precision == "fp16"
    latency = answer.latency_ms
    assert latency.low < latency.value < latency.high and latency.basis in ("learned", "roofline")
    assert float(latency) == latency.value
    assert answer.memory_mb.value < answer.device_memory_mb.value
    assert answer.advice.fits and answer.advice.mig.profile


def test_more_work_takes_longer():
    times = [float(forerun.predict("resnet50", device="h200-sxm", batch=batch, runtime="graph").latency_ms) for batch in (1, 16, 256)]
    assert times == sorted(times) and times[2] > 4 * times[1]
    step = forerun.predict("resnet50", device="h200-sxm", batch=256, train=True, optimizer="adam")
    assert step.workload.training and step.workload.optimizer == "adam" and float(step.latency_ms) > 2 * times[2]


def test_the_report_is_the_service_s(resnet_file):
    answer = forerun.predict(resnet_file, device=["h200-sxm", "l4"], batch=4)
    assert answer.to_dict() == json.loads(_core.predict(json.dumps({"model": resnet_file, "device": "h200-sxm,l4", "batch": 4})))
    assert [result.device for result in answer] == ["h200-sxm", "l4"] == [answer[0].device, answer["l4"].device]
    with pytest.raises(forerun.ForerunError, match="2 devices"):
        answer.latency_ms
    with pytest.raises(KeyError):
        answer["t4"]


def test_paths_may_be_path_objects(resnet_file):
    assert forerun.inspect(pathlib.Path(resnet_file)).parameters == forerun.inspect(resnet_file).parameters == 25557032


@pytest.mark.parametrize("name", ["parity/cnn.pt2", "parity/cnn.savedmodel.pb", "parity/cnn.keras", "parity/cnn.paddle.json", "parity/mobile.tflite"])
def test_bytes_may_be_of_any_format(name):
    file = FIXTURES / name
    from_bytes, from_file = forerun.inspect(file.read_bytes()), forerun.inspect(file)
    assert (from_bytes.macs, from_bytes.parameters, from_bytes.format) == (from_file.macs, from_file.parameters, from_file.format)


def test_a_file_that_does_not_state_its_input_takes_a_shape():
    file = FIXTURES / "torch" / "cnn_traced.pt"
    with pytest.raises(forerun.ForerunError, match="does not state the shapes"):
        forerun.inspect(file)
    macs = forerun.inspect(file, input={"x": [2, 3, 64, 64]}).macs
    assert macs == forerun.inspect(file, input=[2, 3, 64, 64]).macs == forerun.inspect(file, input="2x3x64x64").macs
    assert forerun.dippm.predict(file, batch=2, input="3,64,64").latency_ms > 0


def test_a_configuration_may_be_changed():
    config = forerun.network("gpt2")
    whole = forerun.inspect(config, seq=64)
    config["n_layer"] //= 2
    assert forerun.inspect(config, seq=64).parameters < whole.parameters == forerun.inspect("gpt2", seq=64).parameters


def test_mig_names_a_slice_and_all_others():
    report = forerun.mig("bert-base-uncased", device="a100-sxm-40gb", batch=1, seq=128)
    assert report.profile == "1g.5gb" == report.mig.profile
    assert [s.profile for s in report.slices][0] == "1g.5gb" and report.slices[0].fits
    with pytest.raises(forerun.ForerunError, match="no MIG"):
        forerun.mig("bert-base-uncased", device="l4")


def test_catalogues_are_lists_that_know_names():
    assert forerun.devices()["h200-sxm"].memory_gib > 100
    assert forerun.device("H200 SXM").id == "h200-sxm"
    assert forerun.networks()["gpt2"].task
    assert "roofline" in [predictor.name for predictor in forerun.predictors()]
    units = {metric.key: metric.unit for metric in forerun.metrics()}
    assert units["latency_ms"] == "ms" and units["tokens_per_s"] == "/s"
    assert all(isinstance(getattr(forerun.Result, key), property) for key in units)


@pytest.mark.parametrize("arguments, kind, words", [
    (dict(model="no-such-network", device="l4"), "not_found", "no-such-network"),
    (dict(model="gpt2", device="no-such-device"), "not_found", "no-such-device"),
    (dict(model="gpt2"), "bad_input", "no device"),
    (dict(model="gpt2", device="l4", batch=-1), "bad_input", "batch: "),
    (dict(model="gpt2", device="l4", precision="fp13"), "bad_input", "fp13"),
    (dict(model="gpt2", device="l4", colour="red"), "bad_input", "colour"),
    (dict(model=42, device="l4"), "bad_input", "int is not a model"),
    (dict(model=b"not onnx", device="l4"), "bad_input", "model"),
    (dict(model="gpt2", inputs=1, device="l4"), "bad_input", "torch module"),
    (dict(model="gpt2", device="l4", batch=object()), "bad_input", "cannot be sent"),
    (dict(model="gpt2", device="l4", input="wide"), "bad_input", "not a positive whole number"),
    (dict(model="gpt2", device="l4", input=[[1, 2], [3]]), "bad_input", "need names"),
])
def test_errors_say_what_is_wrong(arguments, kind, words):
    with pytest.raises(forerun.ForerunError) as caught:
        forerun.predict(**arguments)
    assert caught.value.kind == kind and words in str(caught.value)
    assert isinstance(caught.value, KeyError if kind == "not_found" else ValueError) and "--" not in str(caught.value)


def test_a_misspelt_argument_is_a_type_error_that_names_the_nearest():
    with pytest.raises(TypeError, match=r"predict\(\) got an unexpected keyword argument 'btach'; did you mean 'batch'"):
        forerun.predict("gpt2", device="l4", btach=8)


def test_a_missing_answer_names_the_nearest():
    answer = forerun.predict("resnet50", device="h100-sxm,l4")
    with pytest.raises(KeyError, match="did you mean 'h100-sxm'"):
        answer["h100"]
    with pytest.raises(KeyError, match="did you mean 'gpt2'"):
        forerun.networks()["gpt"]


def test_many_questions_are_answered_in_their_order(resnet_file):
    requests = [{"batch": 1}, {"batch": 2, "device": "t4"}, {"batch": -1}]
    answers = forerun.predict_many(requests, model=resnet_file, device="l4", on_error="keep")
    assert [answer.workload.batch for answer in answers[:2]] == [1, 2] and answers[1].result.device == "t4"
    assert isinstance(answers[2], forerun.InputError) and "question 2: batch" in str(answers)
    assert answers[0].to_dict() == forerun.predict(resnet_file, device="l4", batch=1).to_dict()
    with pytest.raises(forerun.InputError, match="question 2: batch"):
        forerun.predict_many(requests, model=resnet_file, device="l4")


def test_an_event_loop_goes_on_while_a_question_is_answered(resnet_file):
    async def ask():
        ticks = 0
        question = asyncio.ensure_future(forerun.predict_async(resnet_file, device="all", batch=2))
        while not question.done():
            ticks += 1
            await asyncio.sleep(0.001)
        many = await forerun.predict_many_async([{"batch": 1}, {"batch": 2}], model=resnet_file, device="l4")
        return ticks, question.result(), many

    ticks, answer, many = asyncio.run(ask())
    assert ticks > 1 and len(answer) > 50 and len(many) == 2


def test_threads_ask_at_the_same_time(resnet_file):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda batch: forerun.predict(resnet_file, device="l4", batch=batch).to_dict(), [1, 2, 3, 4] * 16))
    assert answers[:4] * 16 == answers
    assert [answer["workload"]["batch"] for answer in answers[:4]] == [1, 2, 3, 4]


def test_the_typed_options_are_those_of_the_table():
    typed = {"inspect": forerun.InspectOptions, "mig": forerun.MigOptions, "predict": forerun.PredictOptions,
             "advise": forerun.AdviseOptions, "plan": forerun.PlanOptions}
    for command, options in typed.items():
        table = {row["key"] for row in json.loads(_core.options()) if command in row["commands"]}
        assert table == set(options.__annotations__), f"python/forerun/_options.py: {command}"


def test_advice_names_changes_that_pay():
    report = forerun.advise("resnet50", device="l4", constraint=["latency_ms<=50"])
    assert report.proposals and all(change.factor > 1 for change in report.proposals)
    best = report.proposals[0]
    again = forerun.predict("resnet50", device="l4", **best.settings)
    assert again[0].throughput_per_s.value == pytest.approx(best.after.value)
    assert "x " in report._repr_html_() and report.together[0].parts


def test_help_lists_the_options():
    assert "max_latency_ms: float" in forerun.predict.__doc__ and "max_latency_ms" not in forerun.inspect.__doc__


def test_ctrl_c_ends_a_question():
    # Minutes of work without it: 2,048 layers on every device, with a search for the largest batch.
    config = {
        "model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 2048, "num_attention_heads": 64,
        "num_key_value_heads": 8, "vocab_size": 128001, "intermediate_size": 28672,
    }
    sender = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    sender.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        forerun.predict(config, device="all", input_tokens=1000, memory_budget=1e8)
    assert time.monotonic() - start < 5
    sender.join()
    assert forerun.predict("resnet50", device="t4").latency_ms.value > 0, "the next question is answered"


def test_plans_are_layouts_or_deployments():
    layouts = forerun.plan("llama-3.2-1b", system="dgx-h100", precision="bf16", batch=8, seq=512)
    assert layouts.layouts[0]["step_ms"] <= layouts.layouts[-1]["step_ms"] and "tensor" in str(layouts)
    deployments = forerun.plan("llama-3.2-1b", device="l4", precision="bf16", engine="vllm", serve=True, rate=1,
                               input_tokens=200, output_tokens=50, slo_tpot_ms=60)
    best = deployments.deployments[0]
    assert best["instances"][0]["command"].startswith("vllm serve meta-llama/Llama-3.2-1B")
    assert best["is_on_front"] and "l4" in str(deployments)
    with pytest.raises(forerun.InputError, match="rate"):
        forerun.plan("llama-3.2-1b", device="l4", serve=True)
