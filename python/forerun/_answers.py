"""Answers of a sweep on their way into files: columns of numbers, pieces of a part, the formats."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, List

from . import _core
from ._questions import Part, arrow

FORMATS = ("parquet", "arrow", "jsonl")
DIED = "the worker that was asked died, most likely for want of memory"


def answer(lines: List[str], first: int, form: str) -> Any:
    """What a worker does: columns, or JSON lines as they will be written. The predictors stay loaded in its process."""
    return _core.answer_lines(lines, first, 1) if form == "jsonl" else _core.answer(lines, first, 1)


def died(line: str, number: int, form: str) -> Any:
    """The row of a question that nobody survives."""
    if form == "jsonl":
        return json.dumps({"question": number, "asked": _asked(line), "error": DIED}, separators=(",", ":")) + "\n"
    number_bytes = number.to_bytes(8, "little")
    absent = b"\x00\x00\x00\x00\x00\x00\xf8\x7f"  # NaN
    return {"question": number_bytes, "device": [None], "fits": b"\x00", "warnings": [None], "error": [DIED],
            "numbers": {name: absent for name, _ in _core.answer_columns()}}


def _asked(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return line


def table_of(columns: Dict[str, Any], part: Part) -> Any:
    """The columns as an Arrow table, their buffers taken over."""
    pa = arrow()
    import pyarrow.compute as compute

    def numbers(kind: Any, data: bytes) -> Any:
        return pa.Array.from_buffers(kind, len(columns["error"]), [None, pa.py_buffer(data)])
    question = numbers(pa.int64(), columns["question"])
    error = pa.array(columns["error"], pa.string())
    asked = pa.array(part.lines, pa.string()).take(compute.subtract(question, part.first))
    out = {"question": question, "asked": asked, "device": pa.array(columns["device"], pa.string())}
    for name, data in columns["numbers"].items():
        column = numbers(pa.float64(), data)
        out[name] = compute.if_else(compute.is_nan(column), None, column)
    out["fits"] = compute.if_else(compute.is_valid(error), None, numbers(pa.uint8(), columns["fits"]).cast(pa.bool_()))
    out["warnings"] = pa.array(columns["warnings"], pa.string())
    out["error"] = error
    return pa.table(out)


def joined(pieces: List[Any], part: Part, form: str) -> Any:
    """The pieces of a part, in order, as they are written."""
    if form == "jsonl":
        return "".join(pieces)
    return arrow().concat_tables([table_of(piece, part) for piece in pieces])


def count_rows(answers: Any) -> "tuple[int, int]":
    """Rows, and those of them that are errors."""
    if isinstance(answers, str):
        lines = answers.splitlines()
        return len(lines), sum('"latency_ms":' not in line and "error" in json.loads(line) for line in lines)
    return answers.num_rows, answers.num_rows - answers.column("error").null_count


def write(answers: Any, path: str, form: str) -> None:
    """A file appears whole or not at all."""
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        if form == "jsonl":
            with open(beside, "w", encoding="utf-8") as file:
                file.write(answers)
        elif form == "arrow":
            with arrow().OSFile(beside, "wb") as sink, arrow().ipc.new_file(sink, answers.schema) as file:
                file.write_table(answers)
        else:
            import pyarrow.parquet
            pyarrow.parquet.write_table(answers, beside, compression="zstd")
        os.replace(beside, path)
    finally:
        if os.path.exists(beside):
            os.unlink(beside)


def read_tables(paths: List[str]) -> Any:
    """The files of a sweep as one table."""
    pa = arrow()
    import pyarrow.json
    import pyarrow.parquet
    tables = []
    for path in paths:
        if path.endswith(".parquet"):
            tables.append(pyarrow.parquet.read_table(path))
        elif path.endswith(".arrow"):
            tables.append(pa.ipc.open_file(pa.memory_map(path)).read_all())
        else:
            with open(path, encoding="utf-8") as file:
                tables.append(pa.Table.from_pylist([_flat(json.loads(line)) for line in file]))
    return pa.concat_tables(tables, promote_options="default")


def _flat(row: Dict[str, Any]) -> Dict[str, Any]:
    return {**{"device": None, "error": None}, **row, "asked": json.dumps(row["asked"])}
