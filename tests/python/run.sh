#!/usr/bin/env bash
# Builds the wheel, installs it into a fresh virtual environment and tests it there. Arguments go to pytest.
# The environment sees the system's packages, so that Debian's torch and onnx are tested where they are installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

python=${PYTHON:-/usr/bin/python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The compiler's plain name, as ./dev build uses it: what ccache has from there is not compiled again.
export CXX=${CXX:-/usr/bin/c++}
"$python" -m venv --system-site-packages "$work/venv"
"$work/venv/bin/pip" --disable-pip-version-check --quiet wheel --no-deps --wheel-dir "$work/wheel" .
# numpy stays the system's: its torch was built against it.
"$work/venv/bin/pip" --disable-pip-version-check --quiet install --only-binary :all: "$work"/wheel/forerun-*.whl pytest 'pandas<3' 'numpy<2' matplotlib
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# From elsewhere, so that the installed package is tested and not the source folder.
cd "$work"
"$work/venv/bin/python" -m pytest -q -p no:cacheprovider "$OLDPWD/tests/python" "$@"
