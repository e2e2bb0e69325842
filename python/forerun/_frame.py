"""Reports as data frames, where pandas is installed."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ._errors import MissingPackageError

if TYPE_CHECKING:
    import pandas


def frame(rows: list[dict[str, Any]], index: Optional[str] = None) -> "pandas.DataFrame":
    try:
        import pandas
    except ImportError as error:
        raise MissingPackageError("to_frame() needs pandas: pip install pandas") from error
    table = pandas.DataFrame(rows)
    return table.set_index(index) if index is not None and rows else table
