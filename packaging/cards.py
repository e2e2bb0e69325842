#!/usr/bin/env python3
"""Writes docs/cards/NAME.md for every shipped bundle from its manifest; `--check` fails where a card is out of date.
A card says what the bundle predicts, what it learned from, under which licences, and how accurate it was found to be."""
import json
import pathlib
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Where the rows of a manifest's campaigns come from, by the first part of their name, and their licence.
SOURCES = {
    "h200-2026-11": ("measured by this project on an H200 (data/measurements)", "Apache-2.0"),
    "hwgpt": ("HW-GPT-Bench, latencies of GPT-2 variants on other GPUs", "Apache-2.0"),
    "aic": ("AIConfigurator, operator tables of NVIDIA GPUs", "Apache-2.0"),
    "neusight": ("NeuSight, operators on other GPUs", "MIT"),
}
COMMANDS = {"trees": "forerun-lab train --out build/bundles", "gnn": "forerun-lab gnn train --out build/bundles",
            "compiled": "forerun-lab compiled --out bundles/compiled.bundle"}


def read_manifest(path):
    data = path.read_bytes()
    magic, _, sections, _, size, _, checksum = struct.unpack_from("<8sIIQQII", data)
    if magic != b"FORERUN1":
        sys.exit(f"{path}: not a bundle")
    start = 40 + 72 * sections
    return json.loads(data[start:start + size]), len(data), f"{checksum:08x}"


def table(head, rows):
    return "\n".join(["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]) + "\n"


def source_of(campaign):
    for prefix, (words, licence) in SOURCES.items():
        if campaign.startswith(prefix):
            return words, licence
    return None


def training_rows(name, provenance):
    """Rows by source and licence; a campaign that SOURCES does not know is an error: its licence must be stated."""
    totals = {}
    for part in ("networks", "networks_elsewhere", "operators", "measurements"):
        counts = provenance.get(part, {})
        for campaign, rows in (counts.items() if isinstance(counts, dict) else ()):
            source = source_of(campaign)
            if source is None:
                sys.exit(f"{name}: add the source and the licence of '{campaign}' to {__file__}")
            key = ("operators" if part == "operators" or "operators" in campaign or "_ops_" in campaign else "whole networks", *source)
            totals[key] = totals.get(key, 0) + int(rows)
    return [[f"{rows:,}", kind, words, licence] for (kind, words, licence), rows in sorted(totals.items())]


def accuracy_rows(evaluation):
    rows = []
    for row in evaluation if isinstance(evaluation, list) else []:
        if not all(key in row for key in ("domain", "metric", "mape", "protocol")):
            continue
        coverage = f"{row['coverage']:.0f} %" if row.get("coverage") else "–"
        rows.append([row["domain"].replace("_", " "), f"`{row['metric']}`", str(row["protocol"]).replace("_", " "),
                     f"{row.get('rows', 0):,}" if row.get("rows") else "–", f"{row['mape']:.1f} %", coverage])
    return rows


def card(path):
    manifest, size, checksum = read_manifest(path)
    parts = manifest["parts"]
    provenance = parts.get("provenance", {})
    text = f"# Bundle {path.stem}\n\nFor people who want to know what an answer of this predictor rests on. Generated from the "
    text += "manifest by `packaging/cards.py`.\n\n"
    text += table(["", ""], [
        ["file", f"`bundles/{path.name}`, {size / 2**20:.1f} MiB, checksum `{checksum}` (`forerun --version`)"],
        ["kind", manifest["kind"]],
        ["predicts", ", ".join(f"`{metric}`" for metric in manifest["metrics"])],
        ["features", f"{manifest['schema']['name']}, version {manifest['schema']['version']}, hash {manifest['schema']['hash']}"],
        ["licence", "Apache-2.0, as the program"],
        ["reproduced by", f"`{provenance.get('command') or COMMANDS[manifest['kind']]}` ([bundles](../method/bundles.md))"],
    ])
    counted = provenance.get("rows")
    if isinstance(counted, dict):
        text += "\nLearned from " + ", ".join(f"{int(rows):,} rows of `{metric}`" for metric, rows in counted.items()) + ".\n"
    rows = training_rows(path.name, provenance)
    if rows:
        text += "\n## What it learned from\n" + table(["rows", "of", "source", "licence"], rows)
    left_out = provenance.get("left_out", [])
    if left_out:
        total = sum(int(row["rows"]) for row in left_out)
        reasons = {}
        for row in left_out:
            reason = row["reason"].split(": ", 1)[-1]
            reasons[reason] = reasons.get(reason, 0) + int(row["rows"])
        text += f"\nLeft out: {total:,} rows (" + "; ".join(f"{n:,}: {reason}" for reason, n in reasons.items()) + ").\n"
    rows = accuracy_rows(parts.get("evaluation"))
    if rows:
        text += "\n## How accurate it was found to be\nOn rows that training left out; the split is in the third column.\n"
        text += table(["kind of run", "metric", "split", "rows", "MAPE", "90 % interval covers"], rows)
    else:
        text += "\nThe manifest holds no evaluation; see [accuracy](../accuracy.md).\n"
    return text + "\nSplits and tables of everything: [accuracy](../accuracy.md).\n"


def main():
    stale = []
    for path in sorted((ROOT / "bundles").glob("*.bundle")):
        page = ROOT / "docs/cards" / f"{path.stem}.md"
        text = card(path)
        if "--check" in sys.argv:
            if not page.exists() or page.read_text(encoding="utf-8") != text:
                stale.append(str(page.relative_to(ROOT)))
        else:
            page.parent.mkdir(exist_ok=True)
            page.write_text(text, encoding="utf-8")
    if stale:
        sys.exit(f"cards: {', '.join(stale)} out of date: run packaging/cards.py")


main()
