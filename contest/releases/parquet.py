"""`responses.parquet`: the rows of `responses.csv`, typed."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_WORD = pa.dictionary(pa.int32(), pa.string())
_PIXELS = pa.decimal128(19, 2)
_SECONDS = pa.decimal128(19, 3)
_BOX = ("box_xmin", "box_ymin", "box_xmax", "box_ymax")

# A row group is held in memory until it is written; fewer, larger ones pack better.
_BYTES_IN_GROUP = 4 * 2**20

SCHEMA = pa.schema(
    [
        pa.field("response_id", pa.int64(), nullable=False),
        pa.field("image_id", pa.string(), nullable=False),
        pa.field("panel", pa.int32(), nullable=False),
        pa.field("tasker_id", _WORD, nullable=False),
        pa.field("submitted_at", pa.timestamp("us", "UTC"), nullable=False),
        pa.field("contains_bird", _WORD, nullable=False),
        pa.field("contains_bicycle", _WORD, nullable=False),
        pa.field("outline", pa.string()),
        *(pa.field(side, _PIXELS) for side in _BOX),
        pa.field("complete", pa.bool_()),
        pa.field("unoccluded", pa.bool_()),
        pa.field("real", pa.bool_()),
        pa.field("seconds", _SECONDS, nullable=False),
        pa.field("counted", pa.bool_(), nullable=False),
        pa.field("void_reason", pa.string()),
    ]
)


class ResponsesFile:
    """The file being written."""

    def __init__(self, path: Path) -> None:
        # The default pool keeps what it once had; this one gives it back.
        self._pool = pa.system_memory_pool()
        self._writer = pq.ParquetWriter(path, SCHEMA, compression="zstd", memory_pool=self._pool)
        self._waiting: list[pa.RecordBatch] = []

    def __enter__(self) -> "ResponsesFile":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._write_group()
        self._writer.close()
        # Freed is not yet given back: without this it stays with the process while the pictures are copied.
        self._pool.release_unused()

    def write(self, columns: Sequence[Sequence[Any]]) -> None:
        """Write rows: a sequence of values for each column, boxes in hundredths, time in milliseconds."""
        arrays = [self._array(values, field) for values, field in zip(columns, SCHEMA, strict=True)]
        self._waiting.append(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))
        if sum(batch.nbytes for batch in self._waiting) >= _BYTES_IN_GROUP:
            self._write_group()

    def _write_group(self) -> None:
        table = pa.Table.from_batches(self._waiting, schema=SCHEMA)
        self._writer.write_table(table, row_group_size=table.num_rows or None)
        self._waiting = []

    def _array(self, values: Sequence[Any], field: pa.Field) -> pa.Array:
        if not pa.types.is_decimal(field.type):
            return pa.array(values, field.type, memory_pool=self._pool)
        # The same integers, read with the point two or three digits further left: exact, and no Decimal object made.
        integers = pa.array(values, pa.int64(), memory_pool=self._pool)
        return integers.cast(pa.decimal128(19, 0), memory_pool=self._pool).view(field.type)
