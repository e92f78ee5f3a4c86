"""Report of a simulated contest: reads the results, compares them with the true answers, and words them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from statistics import median, quantiles
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import TruncDate

from adjudication.enums import Verdict
from adjudication.models import Ruling
from common.database.grouping import grouped
from contest.attacks.models import NearDuplicate
from contest.core.breaks import all_breaks, breaks_in_force
from contest.core.models import Attack, Award, Release, Stake, StakeBatch
from contest.core.weeks import week_at
from contest.defenses.models import DefenseEntry
from contest.defenses.selectors import defense_states
from contest.ledger.amounts import money
from contest.ledger.models import Account, LedgerEntry, Payment
from contest.ledger.services import check_ledger_sums
from contest.simulation.world import SimulationWorld
from labeling.enums import TaskerState
from labeling.models import GoldMark, Image, Response, StateChange, VoidedResponse
from scoring.models import Defense, Prediction, Run

Figures = dict[str, Any]
_DAY = 86_400
# The events listed for each week: rows, the time of each, and the words.
_HAPPENED: tuple[tuple[QuerySet[Any], str, str], ...] = (
    (Defense.objects.filter(entry__isnull=False), "published_at", "{0.name} is eligible and published."),
    (Stake.objects.all(), "staked_at", "{0.defense.name} is at stake: the {0.kind} put up {money}."),
    (Stake.objects.all(), "ended_at", "The stake on {0.defense.name} is over: {0.end}."),
    (
        LedgerEntry.objects.filter(rule="R35", target__team__isnull=False),
        "made_at",
        "{0.why} {money} to {0.target.team.name}, by R35.",
    ),
    (Award.objects.all(), "awarded_at", "The board gave the defenders' half to {0.stake.defense.name}: {money}."),
    (LedgerEntry.objects.filter(rule="R38"), "made_at", "{0.why} {money}, by R38."),
    (Payment.objects.all(), "paid_at", "{money} were paid to {0.team.name}; two organizers signed."),
    (
        StateChange.objects.filter(after__in=(TaskerState.PAUSED, TaskerState.LEARNING), event__isnull=False),
        "changed_at",
        "The tasker “{0.tasker.user.username}” is {0.after}: a rule of monitoring fired.",
    ),
    (Release.objects.all(), "released_at", "{0.name} was published."),
)


def read_figures(world: SimulationWorld) -> Figures:
    """Return all facts of the report, and the numbers behind them."""
    rulings = [_compared(world, row) for row in Ruling.objects.filter(number=1).select_related("image").order_by("pk")]
    return {
        "plan": asdict(world.plan) | {"begin": world.plan.begin.isoformat()},
        "currency": world.policy.currency,
        "weeks": _weeks(world, rulings),
        "attacks": _attacks(world),
        "labels": _labels(world, len(rulings)),
        "verdicts": _verdicts(rulings),
        "queue": _queue(),
        "scoring": {
            "runs": Run.objects.count(),
            "answers": Prediction.objects.count(),
            "faults": dict(Run.objects.exclude(fault="").order_by("fault").values_list("fault").annotate(Count("pk"))),
            "breaks": all_breaks().count(),
        },
        "defenses": _defenses(world),
        "teams": _teams(world),
        "money": _money(),
        "releases": Release.objects.count(),
    }


def _compared(world: SimulationWorld, row: Ruling) -> Figures:
    """Return the first ruling on a picture compared with its true answers: week, days, and whether it is right."""
    truth, due, valid = world.truths[row.image_id], row.image.label_from, row.verdict == Verdict.VALID
    attack = row.image.attacks.filter(copy_of__isnull=True).first()
    return {
        "week": attack.week if attack else "",
        "valid": valid,
        "truly": truth.valid,
        "right": valid == truth.valid and (not valid or row.label == truth.label),
        "days": (row.decided_at - due).total_seconds() / _DAY if due else None,
        "plea": truth.plea,
    }


def _by_week(moments: Iterable[datetime]) -> Counter[str]:
    return Counter(week_at(at).name for at in moments)


def _weeks(world: SimulationWorld, rulings: list[Figures]) -> list[Figures]:
    rows = (
        Attack.objects.order_by()
        .values_list("week")
        .annotate(Count("pk"), Count("team", distinct=True), Count("copy_of"), Count("withdrawn_at"))
    )
    sent = {week: counts for week, *counts in rows}
    answers = _by_week(Response.objects.values_list("submitted_at", flat=True))
    handed_in = _by_week(DefenseEntry.objects.values_list("received_at", flat=True))
    refused: Counter[str] = Counter()
    for (week, _), times in world.refused.items():
        refused[week] += times
    notes = _notes(world.policy.currency)
    return [
        {
            "week": week,
            **dict(zip(("attacks", "teams", "copies", "withdrawn"), sent.get(week, [0] * 4), strict=True)),
            "refused": refused[week],
            "ruled_later": sum(row["week"] == week for row in rulings),
            "valid": sum(row["week"] == week and row["valid"] for row in rulings),
            "answers": answers[week],
            "handed_in": handed_in[week],
            "notes": notes.get(week, []),
        }
        for week in sorted({*sent, *notes, *answers})
    ]


def _notes(currency: str) -> dict[str, list[str]]:
    """Return what happened, by week, in its order."""
    happened = [
        (getattr(row, moment), words.format(row, money=money(getattr(row, "cents", 0), currency)))
        for rows, moment, words in _HAPPENED
        for row in rows.filter(**{f"{moment}__isnull": False})
    ]
    return grouped((week_at(at).name, f"{at:%a %d %b}: {words}") for at, words in sorted(happened))


def _attacks(world: SimulationWorld) -> Figures:
    refused: Counter[str] = Counter()
    for (_, code), times in sorted(world.refused.items()):
        refused[code] += times
    counts = Attack.objects.aggregate(
        received=Count("pk"),
        pictures=Count("image", distinct=True),
        copies=Count("copy_of"),
        withdrawn=Count("withdrawn_at"),
    )
    return counts | {"near_duplicates": NearDuplicate.objects.count(), "refused": dict(refused)}


def _labels(world: SimulationWorld, rulings: int) -> Figures:
    answers, cents = Response.objects.count(), world.plan.cents_per_label
    return {
        "answers": answers,
        "on_gold": GoldMark.objects.count(),
        "voided": VoidedResponse.objects.count(),
        "per_verdict": round(answers / max(1, rulings), 2),
        "cost_cents": answers * cents,
        "cents_per_label": cents,
    }


def _verdicts(rulings: list[Figures]) -> Figures:
    days = [row["days"] for row in rulings if row["week"] and row["days"] is not None]
    wrong = [row for row in rulings if not row["right"]]
    return {
        "all": len(rulings),
        "valid": sum(row["valid"] for row in rulings),
        "truly_valid": sum(row["truly"] for row in rulings),
        "wrongly_valid": sum(row["valid"] for row in wrong),
        "wrongly_rejected": sum(not row["valid"] for row in wrong),
        "wrong_percent": round(100 * len(wrong) / max(1, len(rulings)), 2),
        "wrongly_valid_with_words_to_taskers": sum(row["valid"] and row["plea"] for row in wrong),
        "days_median": round(median(days), 2) if days else None,
        "days_90_percent": round(quantiles(days, n=10, method="inclusive")[-1], 2) if len(days) > 1 else None,
    }


def _queue() -> Figures:
    by_day = Response.objects.annotate(day=TruncDate("submitted_at")).order_by("day").values_list("day")
    answers = [count for _, count in by_day.annotate(Count("pk"))] or [0]
    return {
        "days_with_answers": len(answers),
        "answers_a_day_median": median(answers),
        "answers_a_day_most": max(answers),
        "pictures_without_a_verdict": Image.objects.filter(label_from__isnull=False, rulings__isnull=True).count(),
    }


def _defenses(world: SimulationWorld) -> list[Figures]:
    entries = list(DefenseEntry.objects.select_related("defense", "team").order_by("pk"))
    standing = defense_states([entry.defense for entry in entries], now=world.now)
    broken = dict(breaks_in_force().order_by().values_list("defense").annotate(Count("image", distinct=True)))
    return [
        {
            "name": entry.defense.name,
            "team": entry.team.name,
            "standing": standing[entry.defense_id].value,
            "open": entry.opened_at is not None,
            "staked": [
                {
                    "kind": row.kind,
                    "from": f"{row.staked_at:%Y-%m-%d}",
                    "until": f"{row.ended_at:%Y-%m-%d}" if row.ended_at else None,
                    "end": row.end,
                }
                for row in entry.defense.stakes.filter(staked_at__isnull=False).order_by("pk")
            ],
            "broken_by_pictures": broken.get(entry.defense_id, 0),
        }
        for entry in entries
    ]


def _teams(world: SimulationWorld) -> list[Figures]:
    breaking = Q(image__in=breaks_in_force().values("image"), copy_of__isnull=True, withdrawn_at__isnull=True)
    rows = Attack.objects.order_by().values_list("team").annotate(Count("pk"), breaking=Count("pk", filter=breaking))
    counts, won = {team: found for team, *found in rows}, _gained("R35", "R36", "R37")
    return [
        {
            "name": each.name,
            "kind": each.role.value,
            **dict(zip(("sent", "breaking"), counts.get(each.team.pk, [0, 0]), strict=True)),
            "won_cents": won[each.team.pk],
        }
        for each in world.teams
    ]


def _gained(*rules: str) -> Counter[int]:
    """Return the cents that each team was given by rules, less what was taken back."""
    gained: Counter[int] = Counter()
    for source, target, cents in LedgerEntry.objects.filter(rule__in=rules).values_list(
        "source__team", "target__team", "cents"
    ):
        gained[source] -= cents
        gained[target] += cents
    del gained[None]  # accounts of nobody
    return gained


def _money() -> Figures:
    found = check_ledger_sums()
    flows = LedgerEntry.objects.order_by("rule", "source__kind", "target__kind")
    summed = flows.values_list("rule", "source__kind", "target__kind").annotate(Sum("cents"))
    return {
        "flows": [
            {"rule": rule, "from": source, "to": target, "cents": cents} for rule, source, target, cents in summed
        ],
        "balances": dict(Account.objects.order_by("kind").values_list("kind").annotate(Sum("balance_cents"))),
        "attacker_prizes_cents": sum(_gained("R35").values()),
        "awards_cents": sum(Award.objects.values_list("cents", flat=True)),
        "awards": Award.objects.count(),
        "batches": StakeBatch.objects.count(),
        "paid_cents": sum(Payment.objects.filter(paid_at__isnull=False).values_list("cents", flat=True)),
        "accounts": found.accounts,
        "entries": found.entries,
        "wrong": list(found.wrong),
    }


# In words -------------------------------------------------------------------------------------------------------------

_TEXT = """A simulated contest, seed {plan[seed]}: {plan[weeks]} weeks from {plan[begin]}, {plan[teams]} teams, \
{plan[attacks]:,} attacks, {plan[taskers]} taskers.
Every person, picture and answer is made up; what follows from them is what the services of the contest did.

{told_weeks}

Labels
  {attacks[received]:,} attacks on {attacks[pictures]:,} pictures were received. Refused: {refused}.
  {labels[answers]:,} labels were needed, {labels[on_gold]:,} of them on gold, {labels[voided]:,} voided: \
{labels[per_verdict]} for each verdict.
  They cost {cost}.

Verdicts
  {verdicts[all]:,} pictures were ruled upon, {verdicts[valid]:,} valid; {verdicts[truly_valid]:,} were drawn to be.
  From the end of the week to the verdict: {verdicts[days_median]} days (median), {verdicts[days_90_percent]} days \
for nine of ten.
  {verdicts[wrong_percent]} % of the verdicts were wrong: {verdicts[wrongly_valid]} wrongly valid \
({verdicts[wrongly_valid_with_words_to_taskers]} of them carried words to taskers), {verdicts[wrongly_rejected]} \
wrongly rejected.

Queues
  On {queue[days_with_answers]} days taskers answered, {queue[answers_a_day_median]:g} times a day (median), \
{queue[answers_a_day_most]} at most. Pictures without a verdict: {queue[pictures_without_a_verdict]}.
  {scoring[runs]:,} runs gave {scoring[answers]:,} answers of defenses, and {scoring[breaks]:,} breaks.

Defenses
{told_defenses}

Money
  Attackers won {prizes}; defenders won {won} with {money[awards]} awards; {paid} were paid out.
{told_flows}
  On the accounts now: {balances}.
  The ledger's check of {money[entries]:,} entries on {money[accounts]:,} accounts: {check}.

Teams
{told_teams}
"""
_WEEK = """Week {week}
  Attacks: {attacks:,} of {teams} teams; copies {copies}, withdrawn {withdrawn}, refused {refused}.
  Verdicts on them later: {ruled_later}, of which valid {valid}. Answers of taskers: {answers:,}. \
Defenses handed in: {handed_in}."""


_DEFENSE = "  {name}: {standing}, {source} source, broken by {broken_by_pictures} pictures{stakes}."
_STAKE = "; staked by the {kind} from {from} to {until} ({end})"


def render_contest(figures: Figures) -> str:
    """Return the whole report in words."""
    found = figures["money"]

    def cents(amount: int) -> str:
        return money(amount, figures["currency"])

    weeks = ("\n  ".join([_WEEK.format(**week), *week["notes"]]) for week in figures["weeks"])
    flows = (
        f"  {each['rule']}: {cents(each['cents'])} from {each['from']} to {each['to']}." for each in found["flows"]
    )
    teams = sorted(figures["teams"], key=lambda team: (-team["won_cents"], -team["breaking"], team["name"]))
    line = "  {name}: sent {sent}, breaking {breaking}, won {money}."
    return _TEXT.format(
        **figures,
        told_weeks="\n\n".join(weeks),
        refused=", ".join(f"{times} {code}" for code, times in figures["attacks"]["refused"].items()) or "none",
        cost=f"{cents(figures['labels']['cost_cents'])}, {cents(figures['labels']['cents_per_label'])} each",
        told_defenses="\n".join(_defense(each) for each in figures["defenses"]),
        prizes=cents(found["attacker_prizes_cents"]),
        won=cents(found["awards_cents"]),
        paid=cents(found["paid_cents"]),
        told_flows="\n".join(flows),
        balances=", ".join(f"{kind} {cents(balance)}" for kind, balance in found["balances"].items()),
        check="; ".join(found["wrong"]) or "nothing is wrong",
        told_teams="\n".join(line.format(**each, money=cents(each["won_cents"])) for each in teams),
    )


def _defense(each: Figures) -> str:
    stakes = (_STAKE.format(**stake | {"end": stake["end"] or "in force"}) for stake in each["staked"])
    return _DEFENSE.format(**each, source="open" if each["open"] else "closed", stakes="".join(stakes))
