import pathlib

import pytest

FIXTURES = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "onnx"


@pytest.fixture
def resnet_file() -> str:
    return str(FIXTURES / "resnet50.onnx")
