#!/usr/bin/env bash
# Installs PyTorch, TensorFlow with Keras, PaddlePaddle, and Ray with Optuna from PyPI, each into a virtual environment
# below build/frameworks, and checks there that live objects and networks made anew read as the committed fixtures do; with
# decoder, that build/forerun-lab decodes a language model as llama.cpp does; with ray, that a sweep on a cluster of two
# nodes, one of which dies, answers as this machine does.
# run.sh [torch|tensorflow|paddle|decoder|ray]... [-- arguments for pytest]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

python=${PYTHON:-/usr/bin/python3}
folder=$PWD/build/frameworks
tests=$PWD/tests
declare -A packages=(
  [torch]="torch torchvision numpy onnx"
  [tensorflow]="tensorflow-cpu keras keras-hub h5py"
  [paddle]="paddlepaddle setuptools"
  [decoder]="xllamacpp gguf numpy"
  [ray]="ray pyarrow optuna pandas"
)
declare -A files=(
  [torch]="$tests/frameworks/test_live_torch.py $tests/python/test_torch.py"
  [tensorflow]="$tests/frameworks/test_live_keras.py"
  [paddle]="$tests/frameworks/test_live_paddle.py"
  [decoder]="$tests/frameworks/test_live_decoder.py"
  [ray]="$tests/frameworks/test_ray.py $tests/python/test_sweep.py"
)

wanted=()
while [ $# -gt 0 ]; do
  case "$1" in
    --) shift; break ;;
    torch | tensorflow | paddle | decoder | ray) wanted+=("$1") ;;
    *) echo "check-frameworks: '$1' is none of torch, tensorflow, paddle, decoder, ray" >&2; exit 2 ;;
  esac
  shift
done
[ ${#wanted[@]} -gt 0 ] || wanted=(torch tensorflow paddle decoder ray)

mkdir -p "$folder"
rm -rf "$folder/wheel"
export CXX=${CXX:-/usr/bin/c++} PIP_DISABLE_PIP_VERSION_CHECK=1
"$python" -m venv "$folder/build"
"$folder/build/bin/pip" --quiet wheel --no-deps --wheel-dir "$folder/wheel" .

failed=0
for name in "${wanted[@]}"; do
  # An environment that is complete is kept: the packages are large. Remove build/frameworks for newer versions.
  if [ ! -f "$folder/$name/complete" ]; then
    echo "installing ${packages[$name]}" >&2
    rm -rf "${folder:?}/$name"
    "$python" -m venv "$folder/$name"
    "$folder/$name/bin/pip" --quiet install --only-binary :all: pytest ${packages[$name]}
    touch "$folder/$name/complete"
  fi
  "$folder/$name/bin/pip" --quiet install --no-deps --force-reinstall "$folder"/wheel/forerun-*.whl
  # From elsewhere, so that the installed package is tested and not the source folder; one session a file, for each has
  # a conftest of its own beside it.
  for file in ${files[$name]}; do
    (cd "$folder" && TF_CPP_MIN_LOG_LEVEL=3 "$folder/$name/bin/python" -m pytest -q -p no:cacheprovider -rs "$file" "$@") || failed=1
  done
done
exit $failed
