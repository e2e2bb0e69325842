#!/bin/bash
# One part of the network campaign on the GPU machine; $1 = seconds for the main plan, $2 = name of the part; resumes from done.jsonl if present.
export PYTHONUNBUFFERED=1
work=$(mktemp -d)
nvidia-smi --query-gpu=name,driver_version,power.draw,temperature.gpu,clocks.sm,clocks.mem,memory.used --format=csv,noheader
if [ "$2" = first ]; then
  python3 measuring/worker/run_plan.py measuring/plans/build/network_probe.jsonl "$work/probe.jsonl" --workers 2 --budget-s 60 --log "$work/probe.log"
  ok=$(grep -c '"status": "ok", "metrics"' "$work/probe.jsonl")
  echo "probe: $ok ok"; cut -c1-700 "$work/probe.jsonl"
  grep -v Warning "$work/probe.log" | tail -15
  if [ "$ok" -lt 8 ]; then exit 1; fi
fi
if [ "$2" = last ]; then
  python3 measuring/worker/run_plan.py measuring/plans/build/repeat.jsonl "$OUT/repeat.jsonl" --log "$work/repeat.log"
fi
[ -f measuring/plans/build/done.jsonl ] && cp measuring/plans/build/done.jsonl "$OUT/networks.jsonl"
python3 measuring/worker/run_plan.py measuring/plans/build/${PLAN:-networks}.jsonl "$OUT/networks.jsonl" --workers "${WORKERS:-2}" --budget-s "$1" --log "$work/networks.log"
grep -v Warning "$work/networks.log" | tail -12
python3 - "$OUT/networks.jsonl" <<'PY'
import collections, json, sys
rows = [json.loads(l) for l in open(sys.argv[1])]
c = collections.Counter((r["request"]["mode"], r["status"]) for r in rows if "request" in r)
print(c, "without graph", sum("graph_error" in r.get("metrics", {}) for r in rows), "seconds per mode", {m: round(sum(r["seconds"] for r in rows if r.get("request", {}).get("mode") == m and "seconds" in r)) for m in ("inference", "training", "llm")})
print(collections.Counter(r["metrics"]["graph_error"][:90] for r in rows if "graph_error" in r.get("metrics", {})).most_common(5))
print(collections.Counter((r["request"]["network"].get("family", r["request"].get("model")), r["message"][:100]) for r in rows if r.get("status") in ("error", "crashed", "skipped", "oom")).most_common(25))
PY
rm -f "$OUT"/*.lock; ls -la "$OUT"
