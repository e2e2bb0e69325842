#!/bin/bash
# Reads the counters of the listed operators on a CUDA machine: run.sh FOLDER; then forerun-lab counters, as README.md says.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd); root=$here/../../..; out=$1; mkdir -p "$out"
export PYTHONPATH=$here/../h200-2026-11-advice:$root/measuring/worker:$root/measuring/networks
python3 "$here/operators.py" list "$out"
python3 "$here/operators.py" times "$out/ops_conv.jsonl,$out/ops_rest.jsonl" "$out/times.json" 9999999999
metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum,l1tex__t_bytes.sum
for op in fadd fmul ffma hadd hmul hfma; do metrics+=,smsp__sass_thread_inst_executed_op_${op}_pred_on.sum; done
metrics+=,sm__ops_path_tensor_src_bf16_dst_fp32.sum,sm__ops_path_tensor_src_fp16.sum,sm__ops_path_tensor_src_tf32_dst_fp32.sum
for list in conv rest; do
  ncu --profile-from-start off --target-processes all --replay-mode kernel --clock-control none --cache-control all --nvtx --csv --page raw \
    --print-units base --log-file "$out/ncu_$list.csv" --metrics $metrics \
    python3 "$here/operators.py" run "$out/ops_$list.jsonl" "$out/done_$list.txt" 9999999999
done
