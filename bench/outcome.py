"""What a benchmark found: tables, and figures with their goals."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

# A ratio that is this much worse than the one in results.json fails, also where its goal is met.
MAX_RATIO_LOSS = 0.15
_HOW = "Written by `make bench`. Ratios count: they are taken within one run."


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure and its goal. Where it is a ratio, `floor` says what it is over; `more` says which way is better."""

    what: str
    measured: float
    goal: float
    more: bool
    unit: str = ""
    floor: str = ""

    @classmethod
    def at_least(cls, what: str, measured: float, goal: float, unit: str = "", *, floor: str = "") -> "Figure":
        """Return a figure that shall not fall below `goal`."""
        return cls(what, measured, goal, more=True, unit=unit, floor=floor)

    @classmethod
    def at_most(cls, what: str, measured: float, goal: float, unit: str = "", *, floor: str = "") -> "Figure":
        """Return a figure that shall not exceed `goal`."""
        return cls(what, measured, goal, more=False, unit=unit, floor=floor)

    @property
    def met(self) -> bool:
        """Say whether the goal is met."""
        return self.measured >= self.goal if self.more else self.measured <= self.goal

    def is_worse_than(self, before: float) -> bool:
        """Say whether it is a ratio that lost more than MAX_RATIO_LOSS of what it was."""
        better, worse = (before, self.measured) if self.more else (self.measured, before)
        return bool(self.floor) and worse < (1 - MAX_RATIO_LOSS) * better

    def row(self) -> list[str]:
        """Return its row in the table of all figures."""
        measured = f"{self.measured:,.4g}{self.unit}"
        goal = f"{'at least' if self.more else 'at most'} {self.goal:,g}{self.unit}"
        return [self.what, self.floor, measured, goal, "yes" if self.met else "**NO**"]


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
    figures: Sequence[Figure]
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that was measured: about which machine and libraries, and the sections in their order.

    It is kept as results.json, from which results.md is written.
    """

    machine: dict[str, str]
    sections: Sequence[Section]

    @classmethod
    def read(cls, folder: Path) -> "Report":
        """Return the report in `folder`; an empty one where there is none."""
        path = folder / "results.json"
        kept = json.loads(path.read_text()) if path.exists() else {"machine": {}, "sections": []}
        sections = []
        for each in kept["sections"]:
            tables = [Table(**table) for table in each.pop("tables")]
            figures = [Figure(**figure) for figure in each.pop("figures")]
            sections.append(Section(tables=tables, figures=figures, **each))
        return cls(kept["machine"], sections)

    def failures(self, before: "Report") -> list[str]:
        """Return which goals are missed, and which ratios are much worse than in an earlier report."""
        earlier = {
            (section.title, each.what, each.floor): each.measured
            for section in before.sections
            for each in section.figures
        }
        found = []
        for section in self.sections:
            for each in section.figures:
                was = earlier.get((section.title, each.what, each.floor))
                if not each.met:
                    found.append(f"{section.title}: {each.what} is {each.row()[2]}, not {each.row()[3]}")
                elif was is not None and each.is_worse_than(was):
                    found.append(f"{section.title}: {each.what} is {each.row()[2]}, and was {was:,.4g}")
        return found

    def table(self) -> Table:
        """Return the one table of all figures."""
        rows = [[section.title, *each.row()] for section in self.sections for each in section.figures]
        return Table("Figures", ["benchmark", "figure", "floor or peer", "ratio, or measured", "goal", "met"], rows)

    def write(self, folder: Path) -> None:
        """Write results.json and results.md into `folder`."""
        (folder / "results.json").write_text(json.dumps(asdict(self), indent=1) + "\n")
        parts = ["# Benchmarks", _HOW, self.table().markdown()]
        parts.append(Table("Machine", ["what", ""], list(self.machine.items())).markdown())
        for section in self.sections:
            parts += [f"## {section.title}", section.how, *(table.markdown() for table in section.tables)]
        (folder / "results.md").write_text("\n\n".join(parts) + "\n")


def record(folder: Path, report: Report) -> int:
    """Put a report in place of the one in `folder`, print its figures and what failed, and return the exit status."""
    before = Report.read(folder)
    report.write(folder)
    failures = report.failures(before)
    print("\n\n".join([report.table().markdown(), *failures, str(folder / "results.md")]))
    return 1 if failures else 0


def record_sections(folder: Path, sections: Sequence[Section]) -> int:
    """Put sections that were measured alone in the place of those of their titles; return the exit status."""
    before, measured = Report.read(folder), {section.title: section for section in sections}
    kept = [measured.pop(each.title, each) for each in before.sections]
    return record(folder, Report(before.machine, [*kept, *measured.values()]))


def percentiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return p50, p95 and p99; NaN for no values."""
    ordered = sorted(values) or [float("nan")]
    return tuple(ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99))  # type: ignore[return-value]


def median_ratio(over: Iterable[float], under: Iterable[float]) -> float:
    """Return the median of the ratios of pairs that ran one after the other, so that a neighbour's noise cancels."""
    return median(above / below for above, below in zip(over, under, strict=True))
