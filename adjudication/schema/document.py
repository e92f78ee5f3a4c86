"""`python -m adjudication.schema.document`: write docs/release-columns.md: how far columns can be verified (R39).

Standard library only.
"""

from collections.abc import Iterator
from pathlib import Path

from adjudication.schema.manifest_entries import ENTRIES
from adjudication.schema.release_tables import DECLARED, TABLES

_PLACE = Path(__file__).resolve().parents[2] / "docs" / "release-columns.md"
_HEAD = """# What can be known of each column of a release

Written by `python -m adjudication.schema.document` from the declarations in `adjudication/schema/`, which the verifier
and the tests that falsify releases follow. [release-format.md](release-format.md) says what the files are.

- **derived**: the verifier computes it again from the rest.
- **bound**: a reference, the order in time, a range or uniqueness holds it; within these bounds it is the word of the
  contest.
- **free**: nobody can know it from releases; the reason stands beside it. What signatures and mirrors keep is that it
  was said, and when.

What names an earlier release is checked where the releases before lie beside the one that is checked. Of two times that
different machines noted, the later one may be up to a minute earlier.
"""


def document() -> str:
    """Return the text of the document."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _HEAD
    yield "## `manifest.json`\n"
    yield from ("| entry | is | by | from, bound by, or why |", "|---|---|---|---|")
    for name, entry in ENTRIES.items():
        yield f"| `{name}` | {entry.standing} | {entry.rule} | {entry.words} |"
    for file, columns in TABLES.items():
        yield f"\n## `{file}`\n"
        yield f"By {', '.join(f'`{name}`' for name in DECLARED[file].key)}; since revision {DECLARED[file].since}.\n"
        yield from ("| column | is | by | from, bound by, or why |", "|---|---|---|---|")
        for name, column in columns.items():
            yield f"| `{name}` | {column.standing} | {column.rule} | {column.reason} |"
    yield ""


if __name__ == "__main__":
    _PLACE.write_text(document(), encoding="utf-8")
