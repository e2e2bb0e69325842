#!/bin/bash
# The operator sweep and the characterisation in one command on the GPU machine: results and logs under $OUT.
# Needs measuring/plans/build/{operators,probe}.jsonl (measuring/plans/operator_plan.py).
export PYTHONUNBUFFERED=1
work=$(mktemp -d)
nvidia-smi --query-gpu=name,driver_version,power.draw,temperature.gpu,clocks.sm,clocks.mem,memory.used --format=csv | tee "$OUT/state.txt"
( time nvcc -O3 -std=c++20 -arch=sm_90 -t 0 -Isrc -Ilab lab/profiler/cuda/*.cu lab/profiler/nvml.cpp -lcublasLt -ldl -o "$work/characterize" ) >"$OUT/build.log" 2>&1 &
build=$!
python3 measuring/worker/run_plan.py measuring/plans/build/probe.jsonl "$work/probe.jsonl" --log "$work/probe.log"
failed=$(grep -c -v '"status": "ok"' "$work/probe.jsonl")
echo "probe: $failed lines not ok, $(grep -c graph_error "$work/probe.jsonl") without a graph"
grep -v '"status": "ok"' "$work/probe.jsonl" | cut -c1-260
grep -o '"graph_error": "[^"]*".*"op": "[a-z_0-9]*"' "$work/probe.jsonl" | cut -c1-160
if [ "$failed" -gt 15 ]; then tail -30 "$work/probe.log"; exit 1; fi
python3 measuring/worker/run_plan.py measuring/plans/build/operators.jsonl "$OUT/operators.jsonl" --budget-s "${SWEEP_S:-340}" --log "$work/operators.log"
tail -5 "$work/operators.log"
wait $build; cat "$OUT/build.log"
sleep 2
mkdir -p "$OUT/characterization"
( time "$work/characterize" "$OUT/characterization" ) 2>&1
cat "$OUT"/characterization/*.csv
xz -T8 -3 "$OUT/operators.jsonl"; ls -la "$OUT"
