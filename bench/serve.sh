#!/usr/bin/env bash
# How much load `forerun serve` carries: bench/serve.sh [PROGRAM] (default build/forerun). Needs wrk (Debian's package).
# The load generator runs on the same machine and takes its share of the cores. What is asked: serve.lua.
set -euo pipefail
folder=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
program=$(realpath -e "${1:-$folder/../build/forerun}")
cd "$folder"
port=${PORT:-8491}
seconds=${SECONDS_PER_RUN:-30}
command -v wrk >/dev/null || { echo "bench/serve.sh: install wrk first" >&2; exit 2; }

"$program" serve --port "$port" --access-log off 2>/dev/null &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 100); do curl -sf "http://127.0.0.1:$port/healthz" >/dev/null && break; sleep 0.1; done
url=http://127.0.0.1:$port/v1/predict
resident_kb() { awk '/VmRSS/ {print $2}' "/proc/$server/status"; }
ticks() { awk '{print $14 + $15}' "/proc/$server/stat"; } # processor time of the server, in 1/100 s
ask() { # KIND CLIENTS SECONDS [DELAY_MS]
  local before after line
  before=$(ticks)
  line=$(FORERUN_BENCH_KIND=$1 FORERUN_BENCH_DELAY_MS=${4:-0} wrk -t1 -c"$2" -d"$3s" --timeout 10s -s serve.lua "$url" | grep RESULT)
  after=$(ticks)
  echo "$line; server used $(( (after - before) * 10 / $3 )) ms of processor time a second; load $(cut -d' ' -f1 /proc/loadavg)"
}

echo "machine: $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg) before the runs"
echo "== asked before: 64 clients, $seconds s"
ask asked 64 "$seconds"
echo "== new questions about known networks: 64 clients, $seconds s"
ask new 64 5 >/dev/null
ask new 64 "$seconds"
echo "== new questions, 250 clients at about 2,500 a second, $seconds s"
ask new 250 "$seconds" 100
echo "== new batch sizes: 64 clients, 10 s"
ask sizes 64 10
echo "== 1,000 keep-alive clients, new questions, $seconds s"
ask new 1000 5 >/dev/null
before=$(resident_kb)
ask new 1000 "$seconds"
echo "resident memory: $before kB before, $(resident_kb) kB after"
echo "== 1,000 keep-alive clients, asked before, $seconds s"
before=$(resident_kb)
ask asked 1000 "$seconds"
echo "resident memory: $before kB before, $(resident_kb) kB after"
