"""The decoder of build/forerun-lab against llama.cpp on SmolLM2-135M-Instruct, token for token: recorded and anew."""
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "frameworks"))
RECORDED = json.loads((ROOT / "tests" / "fixtures" / "decoder" / "decoder.json").read_text())


@pytest.fixture(scope="session")
def weights():
    path = ROOT / "build" / "frameworks" / "SmolLM2-135M-Instruct.gguf"
    if not path.exists():
        subprocess.run([sys.executable, ROOT / "measuring" / "fetch_language_model.py", "--out", path], check=True)
    return path


@pytest.mark.parametrize("row", RECORDED["rows"], ids=lambda row: row["prompt"][:24])
def test_decodes_as_recorded(weights, row):
    command = [ROOT / "build" / "forerun-lab", "decode", "--json", "--weights", weights, "--tokens", "40", "--prompt", row["prompt"]]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert answer["sha256"] == RECORDED["made_with"]["sha256"]
    assert answer["ids"] == row["ids"]
    assert answer["decoded"] == row["decoded"]


def test_llama_cpp_still_decodes_as_recorded(weights):
    from record_decoder import decoded_by_llama_cpp
    assert decoded_by_llama_cpp(str(weights)) == RECORDED["rows"]
