"""Renders the report of a simulated contest from its figures. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from contest.ledger.amounts import money

Figures = Mapping[str, Any]


def render(figures: Figures) -> str:
    """Return the whole story."""
    weeks = (_week(week) for week in figures["weeks"])
    return "\n\n".join([_head(figures["plan"]), *weeks, _end(figures)]) + "\n"


def _head(plan: Figures) -> str:
    return (
        f"A simulated contest, seed {plan['seed']}: {plan['weeks']} weeks from {plan['begin']}, {plan['teams']} teams, "
        f"{plan['attacks']:,} attacks, {plan['taskers']} taskers.\n"
        "Every person, picture and answer is made up; what follows from them is what the services of the contest did."
    )


def _week(week: Figures) -> str:
    return "\n".join([f"Week {week['week']}", *(f"  {line}" for line in [*_counts(week), *week["notes"]])])


def _counts(week: Figures) -> Iterable[str]:
    if week["attacks"]:
        apart = _some({"copies": week["copies"], "withdrawn": week["withdrawn"]})
        refused = f" {_count(week['refused'], 'was', 'were')} refused." if week["refused"] else ""
        came = f"{_count(week['attacks'], 'picture', 'pictures')} came from {_count(week['teams'], 'team', 'teams')}"
        yield f"{came}{apart}.{refused}"
        yield f"Of {_count(week['ruled_later'], 'verdict', 'verdicts')} on them later, {week['valid']} were valid."
    if week["answers"]:
        yield f"Taskers gave {_count(week['answers'], 'answer', 'answers')}."
    if week["handed_in"]:
        yield f"{_count(week['handed_in'], 'defense was', 'defenses were')} handed in."


def _some(counts: Mapping[str, int]) -> str:
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f" ({said})" if said else ""


def _count(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


# The end --------------------------------------------------------------------------------------------------------------


def _end(figures: Figures) -> str:
    sections = (_labels, _verdicts, _queue, _defenses, _money, _teams)
    return "\n\n".join(section(figures) for section in sections)


def _labels(figures: Figures) -> str:
    labels, attacks = figures["labels"], figures["attacks"]
    refused = _some(attacks["refused"])
    cost = money(labels["cost_cents"], figures["currency"])
    each = money(labels["cents_per_label"], figures["currency"])
    return (
        "Labels\n"
        f"  {attacks['received']:,} attacks on {attacks['pictures']:,} pictures were received{refused and ', refused'}"
        f"{refused}.\n"
        f"  {labels['answers']:,} labels were needed, {labels['on_gold']:,} of them on gold, {labels['voided']:,} "
        f"voided: {labels['per_verdict']} for each verdict.\n"
        f"  At {each} for a label they cost {cost}."
    )


def _verdicts(figures: Figures) -> str:
    verdicts = figures["verdicts"]
    days = (
        f"  From the end of the week to the verdict: {verdicts['days_median']} days (median), "
        f"{verdicts['days_90_percent']} days for nine of ten.\n"
        if verdicts["days_median"] is not None
        else ""
    )
    return (
        "Verdicts\n"
        f"  {verdicts['all']:,} pictures were ruled upon, {verdicts['valid']:,} valid; {verdicts['truly_valid']:,} were"
        " drawn to be.\n"
        f"{days}"
        f"  {verdicts['wrong_percent']} % of the verdicts were wrong: {verdicts['wrongly_valid']} wrongly valid "
        f"({verdicts['wrongly_valid_with_words_to_taskers']} of them carried words to taskers), "
        f"{verdicts['wrongly_rejected']} wrongly rejected.\n"
        "  Appeals: the made-up teams make none."
    )


def _queue(figures: Figures) -> str:
    queue, scoring = figures["queue"], figures["scoring"]
    return (
        "Queues\n"
        f"  On {queue['days_with_answers']} days taskers answered, {queue['answers_a_day_median']:g} times a day "
        f"(median), {queue['answers_a_day_most']} at most. {queue['pictures_without_a_verdict']} pictures have no "
        "verdict.\n"
        f"  {scoring['runs']:,} runs gave {scoring['answers']:,} answers of defenses, and {scoring['breaks']:,} breaks."
    )


def _defenses(figures: Figures) -> str:
    lines = ["Defenses"]
    for each in figures["defenses"]:
        pictures = f", {_count(each['broken_by_pictures'], 'picture breaks', 'pictures break')} it"
        closed = "" if each["open"] else ", closed source"
        stakes = "".join(_stake(stake) for stake in each["staked"])
        lines.append(f"  {each['name']}: {each['standing']}{closed}{stakes}{pictures}.")
    return "\n".join(lines)


def _stake(stake: Figures) -> str:
    by = "by the board" if stake["kind"] == "board" else "by its team"
    over = f" to {stake['until']} ({stake['end']})" if stake["until"] else ""
    return f", staked {by} from {stake['from']}{over}"


def _money(figures: Figures) -> str:
    found, currency = figures["money"], figures["currency"]
    flows = (
        f"  {flow['rule']}: {money(flow['cents'], currency)} from {flow['from']} to {flow['to']}."
        for flow in found["flows"]
    )
    balances = ", ".join(f"{kind} {money(cents, currency)}" for kind, cents in found["balances"].items())
    check = "nothing is wrong" if not found["wrong"] else "; ".join(found["wrong"])
    prizes, awards, paid = (money(found[f"{name}_cents"], currency) for name in ("attacker_prizes", "awards", "paid"))
    return "\n".join(
        [
            "Money",
            f"  Attackers won {prizes}; {_count(found['awards'], 'award', 'awards')} gave defenders {awards}; "
            f"{paid} were paid out.",
            *([f"  No award was possible. {found['no_award']}"] if found["no_award"] else []),
            *flows,
            f"  On the accounts now: {balances}.",
            f"  The ledger's check of {found['entries']:,} entries on {found['accounts']:,} accounts: {check}.",
        ]
    )


def _teams(figures: Figures) -> str:
    lines = ["Teams"]
    for each in sorted(figures["teams"], key=lambda team: (-team["won_cents"], -team["breaking"], team["name"])):
        won = f", won {money(each['won_cents'], figures['currency'])}" if each["won_cents"] else ""
        if each["sent"] or each["won_cents"]:
            sent = _count(each["sent"], "picture", "pictures")
            lines.append(f"  {each['name']}: {sent}, {each['breaking']} of them break something{won}.")
    return "\n".join(lines)
