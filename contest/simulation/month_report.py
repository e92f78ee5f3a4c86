"""Renders the report of simulated months from their figures. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from monitoring.statistics import wilson

Row = Sequence[object]
POLICY_NUMBERS = (
    "panel_size",
    "gold_percent",
    "gold_pass_percent",
    "gold_minimum",
    "gold_doubt_percent",
    "gold_most_uses",
    "min_box_fraction",
)
KINDS = {"careless": "careless", "random": "clicks at random", "copying": "copy from each other"}


def render_month(figures: Mapping[str, Any]) -> str:
    """Return the page in Markdown."""
    months = figures["months"]
    parts = [
        _head(figures),
        _found_section(months),
        _honest_section(months),
        _answers_section(months),
        _rules(figures["rules"]),
    ]
    return "\n\n".join(parts) + "\n"


def _head(figures: Mapping[str, Any]) -> str:
    plan, policy = figures["plan"], figures["policy"]
    numbers = ", ".join(f"`{name}` {policy[name]}" for name in POLICY_NUMBERS)
    seeds = ", ".join(str(month["seed"]) for month in figures["months"])
    people = (
        f"{plan['honest']} honest, {plan['careless']} careless, {plan['random']} who clicks at random and "
        f"{plan['copying']} who copy from each other"
    )
    return f"""# A simulated month of labeling

Made-up people answer made-up pictures through the services of the application; the clock is simulated. Nothing here is
a measurement of real people: it shows how soon the rules of monitoring find careless and dishonest taskers, and how
often they hit honest ones. How monitoring works is in [monitoring.md](monitoring.md). When each tasker was found, and
why, is in the file of figures beside this page.

Each month has {people}: {plan["days"]} working days of about {plan["pictures_a_day"]} pictures for each. Seeds:
{seeds}. Policy `{policy["name"]}`: {numbers}.

The same command writes the same page:

```
{figures["command"]}
```"""


def _found_section(months: Sequence[Mapping[str, Any]]) -> str:
    rows = [_kind_row(kind, words, months) for kind, words in KINDS.items()]
    head = ("who", "found", "on day (median, latest)", "after answers (median, most)", "by")
    words = (
        "A tasker is found when a rule first pauses them, sends them to a short qualification or links them with "
        "another tasker. One who passes the qualification goes on and is monitored as before."
    )
    return "\n\n".join(("## Careless and dishonest taskers, all months together", words, table(head, rows)))


def _kind_row(kind: str, words: str, months: Iterable[Mapping[str, Any]]) -> Row:
    people = [each for month in months for each in month["found"] if each["who"].startswith(kind)]
    found = [each for each in people if each["found_on_day"] is not None]
    by = Counter(each["by"] for each in found)
    return (
        words,
        f"{len(found)} of {len(people)}",
        _median_and_max([each["found_on_day"] for each in found]),
        _median_and_max([each["answers_until_then"] for each in found]),
        "; ".join(f"{rule}: {times}" for rule, times in by.most_common()) or "-",
    )


def _median_and_max(values: Sequence[int]) -> str:
    return f"{median(values):g}, {max(values)}" if values else "-"


def _honest_section(months: Sequence[Mapping[str, Any]]) -> str:
    honest = sum(month["honest"]["taskers"] for month in months)
    rows = [
        (words, *_of_all(sum(month["honest"][name] for month in months), honest))
        for name, words in (
            ("pause", "paused"),
            ("requalify", "sent to a short qualification"),
            ("linked", "linked with somebody"),
            ("warn", "warned"),
        )
    ]
    by_rule: Counter[str] = Counter()
    for month in months:
        by_rule.update(month["honest"]["by_rule"])
    rules = "; ".join(f"{rule}: {times}" for rule, times in by_rule.most_common())
    head = ("honest taskers", "how many", "share", "95 % interval of the share")
    page = "## Honest taskers, all months together\n\n" + table(head, rows)
    return page + (f"\n\nRules that fired for them (each time counts): {rules}." if rules else "")


def _of_all(part: int, whole: int) -> Row:
    interval = wilson(part, whole)
    between = "-" if interval is None else f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f} %"
    return f"{part} of {whole}", f"{100 * part / max(1, whole):.1f} %", between


def _answers_section(months: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (
            month["seed"],
            f"{month['answers']:,}",
            f"{month['gold']['dealt']:,} ({month['gold']['percent_of_answers']} %)",
            month["gold"]["pictures"],
            month["gold"]["flagged_as_leaked"],
            _shares(month["gold"]["right_percent"]),
            month["voided_answers"],
        )
        for month in months
    ]
    head = ("seed", "answers", "gold dealt", "gold pictures", "flagged as leaked", "gold fully right, %", "voided")
    rulings = [
        (
            month["seed"],
            *(f"{month['rulings'][name]:,}" for name in ("all", "valid", "wrongly_valid", "wrongly_rejected")),
            f"{month['rulings']['with_a_careless_or_random_answer']:,}",
        )
        for month in months
    ]
    ruling_head = ("seed", "rulings", "valid", "wrongly valid", "wrongly rejected", "with a careless or random answer")
    return "\n\n".join(("## Answers, gold and rulings", table(head, rows), table(ruling_head, rulings)))


def _shares(shares: Mapping[str, float | None]) -> str:
    return ", ".join(f"{kind} {'-' if share is None else share}" for kind, share in shares.items())


def _rules(rules: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (
            rule["name"],
            f"`{rule['collector']}` {rule['comparison']} {rule['threshold']:g}",
            f"last {rule['window']}, at least {rule['minimum']}",
            rule["action"],
        )
        for rule in rules
    ]
    return "## The rules in force\n\n" + table(("rule", "when", "over", "then"), rows)


def table(head: Sequence[str], rows: Iterable[Row]) -> str:
    """Return a table in Markdown."""
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, ["---"] * len(head), *rows])
