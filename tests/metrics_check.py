#!/usr/bin/env python3
"""Fails when the page's, Python's or the docs' table of metrics differs from the program's. `--write` writes them anew.

    python tests/metrics_check.py build/forerun [--write]
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WRITTEN = "Written by tests/metrics_check.py --write from the program's table of metrics (src/records/metric.cpp)."


def page_table(metrics):
    rows = [f"  {m['key']}: " + "{ " + ", ".join(f"{k}: {json.dumps(v, ensure_ascii=False)}" for k, v in m.items() if k != "key") + " }," for m in metrics]
    return "\n".join([f"// {WRITTEN}", "export const kMetricTable = {", *rows, "} as const;", "",
                      "export type MetricKey = keyof typeof kMetricTable;", ""])


def python_table(metrics):
    keys = ", ".join(json.dumps(m["key"]) for m in metrics if m["scope"] == "pass")
    text = f'''"""{WRITTEN}"""
from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from ._reports import Estimate

PASS_METRICS = ({keys})


class MetricProperties:
    """One property per metric; None where it was not estimated."""

    def estimate(self, metric: str) -> Optional[Estimate]:
        raise NotImplementedError
'''
    for m in metrics:
        text += f'''
    @property
    def {m["key"]}(self) -> Optional[Estimate]:
        """{m["label"].capitalize()} in {m["unit"]}: {m["meaning"]}."""
        return self.estimate("{m["key"]}")
'''
    return text


def docs_table(metrics):
    names = {"pass": "Of one pass or training step", "serving": "Of a language model that serves requests"}
    text = f"""# Metrics

For everyone who reads an answer: after this page you know what each number means, its unit and whether more is better.

<!-- {WRITTEN} -->
Every metric comes with a 90 % interval, its basis and the predictor that answered. MB are 2^20 bytes. The program gives
the same table at `/v1/metrics` and as `forerun.metrics()` in Python.
"""
    for scope, title in names.items():
        text += f"\n## {title}\n| key | unit | better | meaning |\n|---|---|---|---|\n"
        text += "".join(f"| `{m['key']}` | {m['unit']} | {m['better']} | {m['meaning']} |\n" for m in metrics if m["scope"] == scope)
    return text


TABLES = {"web/src/metrics.ts": page_table, "python/forerun/_metrics.py": python_table, "docs/metrics.md": docs_table}


def main():
    answer = subprocess.run([sys.argv[1], "manual", "--metrics"], capture_output=True, text=True, check=True).stdout
    metrics = json.loads(answer)["metrics"]
    stale = []
    for name, table in TABLES.items():
        file = ROOT / name
        if "--write" in sys.argv:
            file.write_text(table(metrics), encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != table(metrics):
            stale.append(name)
    for name in stale:
        print(f"{name} differs from the program's metrics: python tests/metrics_check.py build/forerun --write")
    sys.exit(bool(stale))


if __name__ == "__main__":
    main()
