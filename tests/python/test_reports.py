"""How reports show themselves."""
import sys

import pytest

import forerun


def test_several_devices_become_a_frame(resnet_file):
    pandas = pytest.importorskip("pandas")
    frame = forerun.predict(resnet_file, device="all", batch=2).to_frame()
    assert isinstance(frame, pandas.DataFrame) and len(frame) > 50
    row = frame.loc["h200-sxm"]
    assert row["latency_ms_low"] < row["latency_ms"] < row["latency_ms_high"] and row["fits"]
    operators = forerun.inspect(resnet_file).to_frame()
    assert operators.loc["Conv", "count"] == 53
    assert "1g.18gb" in forerun.mig(resnet_file, device="h200-sxm").to_frame().index
    assert "h200-sxm" in set(forerun.devices().to_frame()["id"])


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(forerun.ForerunError, match="pip install pandas"):
        forerun.devices().to_frame()


def test_notebooks_get_tables(resnet_file):
    answer = forerun.predict(resnet_file, device="h200-sxm,l4")
    html = answer._repr_html_()
    assert html.count("<tr>") == 3 and "h200-sxm" in html and html.count("<svg") == 2
    assert "<circle" in answer["l4"]._repr_html_()
    for report in (answer["l4"], forerun.inspect(resnet_file), forerun.mig(resnet_file, device="h200-sxm"), forerun.devices(),
                   forerun.networks(), forerun.predictors()):
        assert report._repr_html_().startswith("<table>")


def test_print_shows_a_table(resnet_file):
    text = str(forerun.predict(resnet_file, device="h200-sxm,l4", batch=4))
    lines = text.splitlines()
    assert lines[0].startswith("Cheapest: ") and lines[2].startswith("resnet50")  # the verdict of several devices first
    assert "latency_ms" in lines[4] and lines[5].startswith("h200-sxm")
    assert max(map(len, lines[4:7])) < 200 and " – " in lines[6]
    assert repr(forerun.devices()).splitlines()[0].startswith("id")
    for report in (forerun.inspect(resnet_file), forerun.mig(resnet_file, device="h200-sxm"),
                   forerun.advise(resnet_file, device="l4"), forerun.predict(resnet_file, device="l4").result):
        assert len(str(report).splitlines()) > 3 and "Report(" not in repr(report)


def test_a_serving_question_shows_its_own_columns():
    text = str(forerun.serve_estimate("gpt2", device="l4", input_tokens=100, output_tokens=50, concurrency=2))
    assert "ttft_ms" in text and "tokens_per_s" in text and "throughput_per_s" not in text


def test_answers_are_drawn(resnet_file):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    answer = forerun.predict(resnet_file, device="h200-sxm,l4,t4")
    axes = answer.plot()
    assert [label.get_text() for label in axes.get_yticklabels()][0] == min(answer, key=lambda one: one.latency_ms).device
    assert "energy_j" in answer.plot("energy_j").get_xlabel()
    assert answer["l4"].plot(most=3).get_legend() and len(answer["l4"].plot(most=3).get_yticklabels()) == 3
    sweep = forerun.predict_many(({"batch": batch} for batch in (1, 4, 16)), model=resnet_file, device="l4,t4")
    assert len(sweep.plot(x="batch").get_lines()) == 2
    with pytest.raises(KeyError, match="latency_ms"):
        answer.plot("latency")
    pyplot.close("all")


def test_without_matplotlib_the_error_says_what_to_install(resnet_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        forerun.predict(resnet_file, device="l4").plot()


def test_names_from_files_cannot_inject_markup():
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnx.helper")
    tensor = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    node = onnx.helper.make_node("<script>", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "<script>alert(1)</script>", [tensor],
                                   [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])])
    report = forerun.inspect(onnx.helper.make_model(graph))
    assert "<script>" not in report._repr_html_() and "&lt;script&gt;" in report._repr_html_()
    assert "\x1b" not in str(forerun.predict("resnet50", device="l4"))
