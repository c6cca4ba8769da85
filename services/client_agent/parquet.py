"""Parquet files: flat columns of numbers, nulls as NaN. Needs pyarrow, the extra "parquet" of this package."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from client_agent.datafile import MAX_BYTES, FloatArray
from fgpr.errors import DataError

MAGIC = b"PAR1"
"""How a Parquet file begins."""


def read_parquet(path: Path, only: Collection[str] | None = None) -> tuple[dict[str, FloatArray], dict[str, str]]:
    """The columns of a Parquet file.

    Args:
        path: the file.
        only: the columns that are read, with unit and cycle where both are there; None reads all that hold numbers.

    Returns:
        The columns, each of shape (rows,), NaN for null; and of columns that hold no numbers, the type.

    Raises:
        DataError: pyarrow is not installed, no Parquet file, no row, a repeated name, or more than `MAX_BYTES`.
    """
    try:
        from pyarrow import ArrowException
        from pyarrow import parquet as arrow
    except ImportError:
        raise DataError(
            f"{path}: a Parquet file, for which pyarrow is needed: pip install 'fgpr[agent,parquet]', or save it as CSV"
        ) from None
    try:
        with arrow.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            repeated = sorted({name for name in schema.names if schema.names.count(name) > 1})
            if repeated:
                raise DataError(f"{path}: {schema.names.count(repeated[0])} columns have the name {repeated[0]!r}")
            numeric = [field.name for field in schema if _is_numeric(field.type)]
            others = {field.name: str(field.type) for field in schema if not _is_numeric(field.type)}
            series = {"unit", "cycle"} if {"unit", "cycle"} <= set(numeric) else set()
            read = numeric if only is None else [name for name in numeric if name in {*only, *series}]
            size = 8 * rows * len(read)
            if size > MAX_BYTES:
                raise DataError(f"{path}: {size} bytes unpacked; at most {MAX_BYTES} are read: split it by client")
            if rows == 0:
                raise DataError(f"{path}: no row of data")
            table = file.read(columns=read, use_threads=False)
            return {name: _doubles(table.column(name)) for name in read}, others
    except (ArrowException, OSError) as error:
        raise DataError(f"{path}: no Parquet file that can be read (half written?): {error}") from error


def _is_numeric(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _doubles(column: Any) -> FloatArray:
    import pyarrow

    # Not by `to_numpy` alone: integers with nulls would go by way of objects.
    doubles = (
        column.cast(pyarrow.float64(), safe=False)
        if not pyarrow.types.is_boolean(column.type)
        else column.cast(pyarrow.uint8()).cast(pyarrow.float64())
    )
    return np.asarray(doubles.fill_null(float("nan")).to_numpy(), dtype=np.float64)
