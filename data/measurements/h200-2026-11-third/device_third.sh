#!/bin/bash
# The third campaign on the GPU machine, from source: builds forerun-lab with CUDA, characterises the GPU, measures the plan, then its repeat
# rows in a fresh worker; nothing else runs beside it. $1 = seconds for everything (default 585); PLAN = folder with networks.jsonl, repeat.jsonl
# and graphs/; SYSROOT = libraries, where the system lacks them; $OUT = results. A journal PLAN/done.jsonl of an earlier run is gone on with.
deadline=$((SECONDS + ${1:-585})); repeat_s=${REPEAT_S:-125}
export PATH=/usr/local/cuda/bin:$PATH PYTHONUNBUFFERED=1
work=$(mktemp -d); build=${BUILD:-build}; options=(-DCMAKE_BUILD_TYPE=Release -DFORERUN_TESTS=OFF -DFORERUN_WERROR=OFF -DFORERUN_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90)
say() { echo "[$SECONDS s] $*"; }
nvidia-smi --query-gpu=name,driver_version,power.draw,temperature.gpu,clocks.sm,clocks.mem,memory.used --format=csv,noheader
if [ -n "$SYSROOT" ]; then
  bash "$SYSROOT/links.sh"
  export CPATH=$SYSROOT/usr/include; libraries=$SYSROOT/usr/lib/x86_64-linux-gnu
  options+=("-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath-link,$libraries -Wl,--disable-new-dtags" -DCMAKE_PREFIX_PATH=$SYSROOT/usr -DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu -DPKG_CONFIG_EXECUTABLE=$SYSROOT/usr/bin/pkg-config)
fi
lab=$build/forerun-lab
if [ ! -x "$lab" ]; then
  cmake -S . -B "$build" -G Ninja "${options[@]}" > "$OUT/build.log" 2>&1 && say configured && cmake --build "$build" -j 16 --target forerun-lab >> "$OUT/build.log" 2>&1
  grep -E "Profiler|warning|error|FAILED" "$OUT/build.log" | head -20
  [ -x "$lab" ] || { tail -30 "$OUT/build.log"; exit 1; }
  say built
  strip -o "$work/forerun-lab" "$lab"; xz -1 -T16 -c "$work/forerun-lab" > "$OUT/forerun-lab.xz"
  mkdir -p "$work/c"; "$lab" characterize --out "$work/c/characterization" --largest-gemm 8192
  tar czf "$OUT/characterization.tgz" -C "$work/c" characterization; say characterised
fi
[ -f "$PLAN/done.jsonl" ] && cp "$PLAN/done.jsonl" "$OUT/third.jsonl"
measure() { timeout -s INT "$1" "$lab" measure "$PLAN/$2.jsonl" --out "$OUT/$3.jsonl" --store "$work/$3.db" --campaign "$4" --graphs "$PLAN/graphs" --license Apache-2.0 --row-timeout 60 2>&1 | cut -c1-300; }
if [ -n "$TRIAL" ]; then  # the first rows alone: no time is lost on a campaign that cannot work
  measure 50 networks third h200-2026-11-third
  ok=$(grep -c '"status":"ok"' "$OUT/third.jsonl"); say "$ok rows ok, $(grep -c '"energy_j"' "$OUT/third.jsonl") with energy, $(grep -vc '"workload_hash":""' "$OUT/third.jsonl") with a hash"
  [ "$ok" -ge "$TRIAL" ] || { cut -c1-900 "$OUT/third.jsonl" | tail -5; tail -20 "$OUT/third.jsonl.log"; exit 1; }
fi
measure $((deadline - SECONDS - repeat_s)) networks third h200-2026-11-third; say "plan done"
measure $((deadline - SECONDS)) repeat repeat h200-2026-11-third-repeat; say "repeat done"
"$lab" store stats --store "$work/third.db"
cat "$OUT"/*.log | grep -v Warning | grep -v "^\[\|^--" | tail -8; rm -f "$OUT"/*.jsonl.log; ls -la "$OUT"
