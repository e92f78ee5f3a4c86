"""What a benchmark found: tables, and requirements with what was measured beside them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promise: `measured` against `limit`, in words a reader can check."""

    promise: str
    measured: str
    kept: bool

    @classmethod
    def at_least(cls, promise: str, measured: float, limit: float, unit: str = "") -> "Requirement":
        """Promise that `measured` does not fall below `limit`."""
        return cls(f"{promise}: at least {limit:,g}{unit}", f"{measured:,.4g}{unit}", measured >= limit)

    @classmethod
    def at_most(cls, promise: str, measured: float, limit: float, unit: str = "") -> "Requirement":
        """Promise that `measured` does not exceed `limit`."""
        return cls(f"{promise}: at most {limit:,g}{unit}", f"{measured:,.4g}{unit}", measured <= limit)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text and numbers under headings."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def markdown(self) -> str:
        """Return the table as Markdown, numbers with three or four digits that matter."""
        lines = [self.headings, ["---"] * len(self.headings), *self.rows]
        return f"**{self.title}**\n\n" + "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark's findings; `data` is everything measured, for programs."""

    title: str
    how: str
    tables: Sequence[Table]
    requirements: Sequence[Requirement]
    data: dict[str, Any] = field(default_factory=dict)

    def markdown(self) -> str:
        """Return the section of the report."""
        parts = [f"## {self.title}", self.how, *(table.markdown() for table in self.tables)]
        promises = Table("Required", ["what", "measured", ""], [_row(each) for each in self.requirements])
        return "\n\n".join([*parts, promises.markdown()] if self.requirements else parts)

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        requirements = [
            {"promise": each.promise, "measured": each.measured, "kept": each.kept} for each in self.requirements
        ]
        tables = [
            {"title": table.title, "headings": list(table.headings), "rows": [list(row) for row in table.rows]}
            for table in self.tables
        ]
        return {"title": self.title, "requirements": requirements, "tables": tables, **self.data}


def _row(requirement: Requirement) -> list[str]:
    return [requirement.promise, requirement.measured, "kept" if requirement.kept else "**MISSED**"]


def verdict(missed: Sequence[str]) -> str:
    """Return the line of a report that tells whether all promises were kept."""
    return f"Missed: {'; '.join(missed)}." if missed else "Every requirement is kept."


def put_section(folder: Path, section: Section) -> None:
    """Put a section that was measured alone into results.json and results.md, in place of the one of its title."""
    results = json.loads((folder / "results.json").read_text())
    others = [each for each in results["sections"] if each["title"] != section.title]
    results["sections"] = [*others, section.to_json()]
    requirements = [each for part in results["sections"] for each in part["requirements"]]
    results["kept"] = all(each["kept"] for each in requirements)
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    head, *parts = (folder / "results.md").read_text().rstrip("\n").split("\n\n## ")
    introduction = head.split("\n\n")
    introduction[2] = verdict([each["promise"] for each in requirements if not each["kept"]])
    parts = [part for part in parts if not part.startswith(f"{section.title}\n")]
    written = ["\n\n".join(introduction), *(f"## {part}" for part in parts), section.markdown()]
    (folder / "results.md").write_text("\n\n".join(written) + "\n")


def percentiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return p50, p95 and p99; NaN for no values."""
    ordered = sorted(values) or [float("nan")]
    return tuple(ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99))  # type: ignore[return-value]


def median_ratio(over: Iterable[float], under: Iterable[float]) -> float:
    """Return the median of the ratios of pairs that ran one after the other, so that a neighbour's noise cancels."""
    return median(above / below for above, below in zip(over, under, strict=True))
