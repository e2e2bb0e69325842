"""Where the questions of a sweep come from: a space, a list, a generator, a table, a file. Each becomes parts of lines."""
from __future__ import annotations

import itertools
import json
import os
import zlib
from typing import Any, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from . import _core
from ._ask import _told
from ._errors import InputError, MissingPackageError


class Part(NamedTuple):
    """Questions that are answered and written together."""
    number: int
    first: int  # number of the first question
    lines: List[str]

    def name(self, ending: str) -> str:
        """Its file's: with the checksum of the questions, so that answers to others are never taken for it."""
        total = zlib.crc32(b"".join(line.encode() + b"\n" for line in self.lines))
        return f"part-{self.number:06}-{total:08x}.{ending}"


def arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingPackageError("tables need pyarrow (pip install 'forerun[arrow]')") from error
    return pyarrow


def read_space(space: Any) -> _core.Space:
    """A search space as a dict, a file, or what it was read into before."""
    if isinstance(space, _core.Space):
        return space
    if isinstance(space, Mapping):
        return _told(lambda: _core.Space(json.dumps(space), "space"))
    with open(space, encoding="utf-8") as file:
        return _told(lambda: _core.Space(file.read(), os.fspath(space)))


def read_questions(questions: Any) -> Tuple[Optional[int], Any]:
    """Their number, where it is known, and a function of a part's size that yields the parts."""
    if isinstance(questions, (Mapping, _core.Space)):
        return _of_space(read_space(questions))
    if isinstance(questions, (str, os.PathLike)):
        return _of_file(os.fspath(questions))
    if hasattr(questions, "to_batches"):  # a pyarrow.Table
        return questions.num_rows, lambda size: _parts(_lines_of_batches(questions.to_batches()), size)
    count = len(questions) if hasattr(questions, "__len__") else None
    return count, lambda size: _parts(map(_line, questions), size)


def _of_space(space: _core.Space) -> Tuple[int, Any]:
    def parts(size: int) -> Iterator[Part]:
        for number, first in enumerate(range(0, len(space), size)):
            yield Part(number, first, space.questions(first, first + size))
    return len(space), parts


def _of_file(path: str) -> Tuple[Optional[int], Any]:
    ending = os.path.splitext(path)[1]
    if ending in (".yaml", ".yml", ".json"):
        return _of_space(read_space(path))
    if ending in (".jsonl", ".ndjson"):
        def lines() -> Iterator[str]:
            with open(path, encoding="utf-8", errors="replace") as file:
                yield from (line.strip() for line in file if line.strip())
        return None, lambda size: _parts(lines(), size)
    if ending == ".parquet":
        arrow()
        import pyarrow.parquet
        table = pyarrow.parquet.ParquetFile(path)
        return table.metadata.num_rows, lambda size: _parts(_lines_of_batches(table.iter_batches()), size)
    if ending in (".arrow", ".ipc", ".feather"):
        table = arrow().ipc.open_file(arrow().memory_map(path)).read_all()
        return table.num_rows, lambda size: _parts(_lines_of_batches(table.to_batches()), size)
    raise InputError(f"{path}: questions come as .yaml or .json (a space), .jsonl, .parquet or .arrow")


def _lines_of_batches(batches: Iterable[Any]) -> Iterator[str]:
    """Columns are fields of a request, empty ones left out; a column "asked" holds whole requests."""
    for batch in batches:
        if "asked" in batch.schema.names:
            yield from map(_line, batch.column(batch.schema.names.index("asked")).to_pylist())
        else:
            for row in batch.to_pylist():
                row = {key: value for key, value in row.items() if value is not None}
                if isinstance(row.get("config"), str):
                    row["config"] = json.loads(row["config"])
                yield _line(row)


def _line(question: Union[str, Mapping[str, Any]]) -> str:
    """One question as it is asked; a described network stands first, so that neighbours share its analysis."""
    if isinstance(question, str):
        return question.replace("\n", " ")
    try:
        ordered = {key: question[key] for key in sorted(question, key=lambda key: key != "config")}
        return json.dumps(ordered, separators=(",", ":"), default=str)
    except (TypeError, ValueError, AttributeError) as error:
        return json.dumps(f"not a question: {error}")  # its own row says so


def _parts(lines: Iterable[str], size: int) -> Iterator[Part]:
    every = iter(lines)
    for number in itertools.count():
        chunk = list(itertools.islice(every, size))
        if not chunk:
            return
        yield Part(number, number * size, chunk)
