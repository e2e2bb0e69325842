#!/usr/bin/env bash
# packaging/check.sh [PART]...: what is shipped, tried as a user gets it. Parts: deb tar reproducible wheel client tutorials cards site
# services. Needs build/packages and build/wheels (./dev package, ./dev wheel); the network for debootstrap and PyPI.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
server=
cleanup() { [ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"; }
trap cleanup EXIT
python=${PYTHON:-/usr/bin/python3}
say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }
question() { "$@" predict resnet50 --device l4 --precision fp16 --json | grep -q '"latency_ms":{"value":'; }

# A new Debian with nothing in it: the package's dependencies are all it gets.
part_deb() {
  if [ "$(id -u)" -ne 0 ]; then say "deb: skipped, debootstrap needs root"; return; fi
  debootstrap --variant=minbase bookworm "$work/root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$work/debootstrap.log" ||
    { tail -5 "$work/debootstrap.log" >&2; return 1; }
  cp build/packages/*.deb "$work/root/tmp/forerun.deb"
  # libstdc++6 is what a minimal Debian has already; dpkg alone must be able to install the package.
  chroot "$work/root" dpkg -i /tmp/forerun.deb >/dev/null
  question chroot "$work/root" forerun
  chroot "$work/root" forerun --version
  test -s "$work/root/usr/share/man/man1/forerun.1.gz"
  bash -n "$work/root/usr/share/bash-completion/completions/forerun"
  chroot "$work/root" dpkg -r forerun >/dev/null
}

part_tar() {
  tar -C "$work" -xzf build/packages/*.tar.gz
  local program; program=$(echo "$work"/forerun-*/bin/forerun)
  question "$program"
  # glibc, libstdc++ and nothing else; no path of the machine that built it.
  objdump -p "$program" | awk '/NEEDED/ {print $2}' | grep -vE '^(libc|libm|libstdc\+\+|libgcc_s|ld-linux.*)\.so' && return 1
  ! strings "$program" | grep -F "$PWD"
}

# Two builds in two folders give the same bytes.
part_reproducible() {
  git worktree add --quiet --detach "$work/again" HEAD
  git diff HEAD --quiet || say "reproducible: the working tree differs from HEAD, which is what is built twice"
  (cd "$work/again" && ./dev package >/dev/null 2>"$work/log") || { tail -5 "$work/log" >&2; return 1; }
  ./dev package >/dev/null
  local file
  for file in build/packages/*.deb build/packages/*.tar.gz; do cmp "$file" "$work/again/$file"; done
  git worktree remove --force "$work/again"
}

environment() { # FOLDER PACKAGE...
  "$python" -m venv "$1"
  "$1/bin/pip" --disable-pip-version-check --quiet install "${@:2}"
}

# The wheel in an environment of its own: the command, the package, the notebook, the published scripts.
part_wheel() {
  environment "$work/venv" build/wheels/forerun-*.whl pandas matplotlib nbconvert ipykernel onnx
  question "$work/venv/bin/forerun"
  (cd "$work" && MPLBACKEND=agg "$work/venv/bin/jupyter" nbconvert --to notebook --execute --output-dir "$work" \
    --ExecutePreprocessor.kernel_name=python3 "$OLDPWD/docs/examples/forerun.ipynb") 2>"$work/log" || { tail -20 "$work/log" >&2; return 1; }
  (cd "$work" && "$work/venv/bin/python" "$OLDPWD/packaging/published_scripts.py" "$OLDPWD/tests/fixtures/onnx/resnet50.onnx")
}

start_server() {
  build/package/forerun serve --port 0 --access-log off 2>"$work/serve.log" &
  server=$!
  for _ in $(seq 100); do grep -q listening "$work/serve.log" && break; sleep 0.1; done
  url=$(grep -o 'http://[^ ]*[0-9]' "$work/serve.log")
}

# A client generated from the API's description asks every operation; answers hold no field that is not described.
part_client() {
  environment "$work/client" openapi-python-client==0.26.2 jsonschema # later ones leave out an import
  start_server
  "$work/client/bin/python" -c "import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1] + '/openapi.json').read().decode())" \
    "$url" >"$work/openapi.json"
  (cd "$work" && PATH=$work/client/bin:$PATH client/bin/openapi-python-client generate --path openapi.json --meta none --output-path "$work/forerun_client") >"$work/log" 2>&1 ||
    { tail -20 "$work/log" >&2; return 1; }
  # NDJSON is the one thing that this generator does not take.
  if grep -A2 '^WARNING' "$work/log" | grep -v '^WARNING\|^$\|^--\|application/x-ndjson'; then return 1; fi
  PYTHONPATH=$work "$work/client/bin/python" packaging/use_client.py "$url" "$work/openapi.json"
  kill "$server"; wait "$server" || true; server=
}

# Every command line of the tutorials answers.
part_tutorials() { "$python" packaging/run_tutorials.py build/package/forerun; }

part_cards() { "$python" packaging/cards.py --check; }

part_site() { packaging/site.sh "$work/site" && test -s "$work/site/tutorials/chat-service/index.html"; }

part_services() {
  if command -v systemd-analyze >/dev/null; then
    sed "s|/usr/bin/forerun|$PWD/build/package/forerun|" docs/examples/forerun.service >"$work/forerun.service"
    systemd-analyze verify "$work/forerun.service"
  else say "services: no systemd here, the unit is not checked"; fi
  if command -v nginx >/dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=x -keyout "$work/key" -out "$work/cert" 2>/dev/null
    { echo "events {} pid $work/nginx.pid; http {"; sed "s|/etc/ssl/private/forerun.key|$work/key|; s|/etc/ssl/forerun.pem|$work/cert|" \
      docs/examples/nginx.conf; echo "}"; } >"$work/nginx.conf"
    nginx -t -q -c "$work/nginx.conf"
  else say "services: no nginx here, its file is not checked"; fi
}

[ $# -gt 0 ] || set -- deb tar reproducible wheel client tutorials cards site services
for part in "$@"; do
  say "check-packages: $part"
  started=$SECONDS
  "part_$part" || { say "check-packages: $part FAILED"; exit 1; }
  say "check-packages: $part holds ($((SECONDS - started)) s)"
done
