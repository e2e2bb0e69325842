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
    assert html.count("<tr>") == 3 and "h200-sxm" in html and "90 %" in html
    for report in (answer["l4"], forerun.inspect(resnet_file), forerun.mig(resnet_file, device="h200-sxm"), forerun.devices(),
                   forerun.networks(), forerun.predictors()):
        assert report._repr_html_().startswith("<table>")


def test_names_from_files_cannot_inject_markup():
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnx.helper")
    tensor = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    node = onnx.helper.make_node("<script>", ["x"], ["y"])
    graph = onnx.helper.make_graph([node], "<script>alert(1)</script>", [tensor],
                                   [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])])
    report = forerun.inspect(onnx.helper.make_model(graph))
    assert "<script>" not in report._repr_html_() and "&lt;script&gt;" in report._repr_html_()
