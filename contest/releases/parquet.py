"""Writes the file `responses.parquet` of a release: the rows of `responses.csv`, typed."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

_WORD = pa.dictionary(pa.int32(), pa.string())
_PIXELS = pa.decimal128(19, 2)
_SECONDS = pa.decimal128(19, 3)
_BOX = ("box_xmin", "box_ymin", "box_xmax", "box_ymax")

# A row group is held in memory until it is written; fewer, larger ones pack better.
_BYTES_IN_GROUP = 4 * 2**20
# In one of some thirty pieces that are read ahead; five times the longest line, with an outline of 1,000 corners.
_BYTES_READ = 3 * 2**15

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


def write_parquet(table: Path, path: Path) -> None:
    """Write the rows of `table`, a `responses.csv`, into the new file `path`."""
    # The default pool keeps what it once had; this one gives it back.
    pool = pa.system_memory_pool()
    with pq.ParquetWriter(path, SCHEMA, compression="zstd", memory_pool=pool) as writer:
        for group in _groups(_batches(table, pool)):
            writer.write_table(group, row_group_size=group.num_rows or None)
    # Freed is not yet given back: without this it stays with the process while the pictures are copied.
    pool.release_unused()


def _batches(table: Path, pool: pa.MemoryPool) -> Iterator[pa.RecordBatch]:
    rows = pyarrow.csv.open_csv(
        table,
        pyarrow.csv.ReadOptions(use_threads=False, block_size=_BYTES_READ),
        pyarrow.csv.ParseOptions(newlines_in_values=True),
        pyarrow.csv.ConvertOptions(
            column_types=SCHEMA, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
        memory_pool=pool,
    )
    last = SCHEMA.get_field_index("void_reason")
    for batch in rows:
        # Without the apostrophe that keeps a spreadsheet from taking free text for a formula.
        reasons = pc.replace_substring_regex(batch.column(last), "^'", "", memory_pool=pool)
        yield pa.RecordBatch.from_arrays([*batch.columns[:last], reasons], schema=SCHEMA)


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Gather batches into row groups; one without rows where there is no batch."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= _BYTES_IN_GROUP:
            yield pa.Table.from_batches(waiting, schema=SCHEMA)
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting, schema=SCHEMA)
