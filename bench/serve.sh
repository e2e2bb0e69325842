#!/usr/bin/env bash
# How much load `forerun serve` carries: bench/serve.sh [PROGRAM] (default build/forerun). Needs wrk.
# Three runs: the most predictions a second, 1,000 keep-alive clients for 30 s with the memory watched, and the latency at
# a given rate. The load generator runs on the same machine and takes its share of the cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
program=$(realpath "${1:-../build/forerun}")
port=${PORT:-8491}
seconds=${SECONDS_PER_RUN:-30}
command -v wrk >/dev/null || { echo "bench/serve.sh: install wrk first" >&2; exit 2; }

"$program" serve --port "$port" --access-log off 2>/dev/null &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 100); do curl -sf "http://127.0.0.1:$port/healthz" >/dev/null && break; sleep 0.1; done
url=http://127.0.0.1:$port/v1/predict
resident_kb() { awk '/VmRSS/ {print $2}' "/proc/$server/status"; }
ask() { wrk -t1 "$@" --timeout 10s -s serve.lua "$url" | grep RESULT; }

echo "machine: $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg) before the runs"
echo "== 64 clients, 256 questions (4 devices x 64 batch sizes), $seconds s"
FORERUN_BENCH_BATCHES=64 ask -c64 -d"${seconds}s"
echo "== 64 clients, 400,000 questions: almost none is asked twice, 10 s"
FORERUN_BENCH_BATCHES=100000 ask -c64 -d10s
echo "== 1,000 keep-alive clients, 256 questions, $seconds s"
ask -c1000 -d5s >/dev/null
before=$(resident_kb)
ask -c1000 -d"${seconds}s"
echo "resident memory: $before kB before, $(resident_kb) kB after"
echo "== 250 clients at about 2,500 requests a second, $seconds s"
FORERUN_BENCH_DELAY_MS=100 ask -c250 -d"${seconds}s"
