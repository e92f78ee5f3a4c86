"""Reads the results of a simulated contest and compares them with its plan."""

from collections import Counter
from dataclasses import asdict
from datetime import datetime
from statistics import median
from typing import Any

from django.db.models import Count, Q, Sum
from django.db.models.functions import TruncDate

from adjudication.enums import Verdict
from adjudication.models import Ruling
from contest.core.breaks import all_breaks, breaks_in_force
from contest.core.enums import AccountKind
from contest.core.models import Attack, Award, Release, Stake, StakeBatch
from contest.defenses.models import DefenseEntry
from contest.defenses.selectors import defense_states, stakes_in_force, unbroken_until
from contest.ledger import services as ledger
from contest.ledger.models import Account, LedgerEntry, Payment
from contest.prizes.checklist import award_checklist, contenders, never_reason
from contest.simulation.contest import SimulatedContest
from labeling.models import GoldMark, Image, Response, VoidedResponse
from scoring.models import Prediction, Run

_DAY = 86_400
_REFUSED = "refused:"


class Expectations:
    """Reads one contest."""

    def __init__(self, contest: SimulatedContest) -> None:
        self._world = contest.world
        self._plan = contest.world.plan
        self._rulings = self._first_rulings()

    def to_json(self) -> dict[str, Any]:
        """Return everything the story tells."""
        numbers = asdict(self._plan) | {"begin": self._plan.begin.isoformat()}
        return {
            "plan": numbers,
            "currency": self._world.policy.currency,
            "weeks": [self._week(name) for name in self._week_names()],
            "attacks": self._attacks(),
            "labels": self._labels(),
            "verdicts": self._verdicts(),
            "queue": self._queue(),
            "scoring": self._scoring(),
            "defenses": self._defenses(),
            "teams": self._teams(),
            "money": self._money(),
            "appeals": None,
            "releases": Release.objects.count(),
        }

    # Week by week -----------------------------------------------------------------------------------------------------

    def _week_names(self) -> list[str]:
        chronicle = self._world.chronicle
        return sorted({*chronicle.counts, *chronicle.notes, *(week.name for week in self._world.weeks)})

    def _week(self, name: str) -> dict[str, Any]:
        counts = self._world.chronicle.counts[name]
        sent = Attack.objects.filter(week=name)
        ruled = [row for row in self._rulings if row["week"] == name]
        return {
            "week": name,
            "attacks": sent.count(),
            "teams": sent.values("team").distinct().count(),
            "copies": sent.filter(copy_of__isnull=False).count(),
            "withdrawn": sent.filter(withdrawn_at__isnull=False).count(),
            "refused": sum(count for key, count in counts.items() if key.startswith(_REFUSED)),
            "handed_in": counts["handed in"],
            "published": counts["published"],
            "answers": counts["answers"],
            "ruled_later": len(ruled),
            "valid": sum(row["valid"] for row in ruled),
            "notes": self._world.chronicle.notes[name],
        }

    def _first_rulings(self) -> list[dict[str, Any]]:
        """Return the first ruling on each picture beside what was drawn: its week and days, and whether it is right."""
        rows = Ruling.objects.filter(number=1).select_related("image").order_by("pk")
        weeks = dict(Attack.objects.filter(copy_of__isnull=True).values_list("image", "week"))
        return [self._compared(row, weeks.get(row.image_id, "")) for row in rows]

    def _compared(self, row: Ruling, week: str) -> dict[str, Any]:
        truth, due = self._world.truths[row.image_id], row.image.label_from
        valid = row.verdict == Verdict.VALID
        right = valid == truth.valid and (not valid or row.label == truth.label)
        days = (row.decided_at - due).total_seconds() / _DAY if due else None
        return {"week": week, "valid": valid, "truly": truth.valid, "right": right, "days": days, "plea": truth.plea}

    # Figures ----------------------------------------------------------------------------------------------------------

    def _attacks(self) -> dict[str, Any]:
        totals: Counter[str] = Counter()
        for counts in self._world.chronicle.counts.values():
            totals.update({key: count for key, count in counts.items() if key.startswith(_REFUSED)})
        return {
            "received": Attack.objects.count(),
            "pictures": Image.objects.filter(attacks__isnull=False).distinct().count(),
            "copies": Attack.objects.filter(copy_of__isnull=False).count(),
            "near_duplicates": self._world.chronicle.total("near duplicates looked at"),
            "withdrawn": Attack.objects.filter(withdrawn_at__isnull=False).count(),
            "refused": {key.removeprefix(_REFUSED): count for key, count in sorted(totals.items())},
        }

    def _labels(self) -> dict[str, Any]:
        needed, rulings = Response.objects.count(), len(self._rulings)
        return {
            "answers": needed,
            "on_gold": GoldMark.objects.count(),
            "voided": VoidedResponse.objects.count(),
            "per_verdict": round(needed / max(1, rulings), 2),
            "cost_cents": needed * self._plan.cents_per_label,
            "cents_per_label": self._plan.cents_per_label,
        }

    def _verdicts(self) -> dict[str, Any]:
        rows = self._rulings
        days = sorted(row["days"] for row in rows if row["week"] and row["days"] is not None)
        wrong = [row for row in rows if not row["right"]]
        return {
            "all": len(rows),
            "valid": sum(row["valid"] for row in rows),
            "truly_valid": sum(row["truly"] for row in rows),
            "wrongly_valid": sum(row["valid"] for row in wrong),
            "wrongly_rejected": sum(not row["valid"] for row in wrong),
            "wrong_percent": round(100 * len(wrong) / max(1, len(rows)), 2),
            "wrongly_valid_with_words_to_taskers": sum(row["valid"] and row["plea"] for row in wrong),
            "days_median": round(median(days), 2) if days else None,
            "days_90_percent": round(_at_share(days, 0.9), 2) if days else None,
        }

    def _queue(self) -> dict[str, Any]:
        by_day = Response.objects.annotate(day=TruncDate("submitted_at")).values("day").order_by("day")
        answers = sorted(by_day.annotate(count=Count("pk")).values_list("count", flat=True))
        return {
            "days_with_answers": len(answers),
            "answers_a_day_median": median(answers) if answers else 0,
            "answers_a_day_most": answers[-1] if answers else 0,
            "pictures_without_a_verdict": Image.objects.filter(label_from__isnull=False, rulings__isnull=True).count(),
        }

    def _scoring(self) -> dict[str, Any]:
        faults = Run.objects.exclude(fault="").values_list("fault").annotate(count=Count("pk")).order_by("fault")
        return {
            "runs": Run.objects.count(),
            "answers": Prediction.objects.count(),
            "faults": dict(faults),
            "breaks": all_breaks().count(),
        }

    def _defenses(self) -> list[dict[str, Any]]:
        entries = list(DefenseEntry.objects.select_related("defense", "team").order_by("pk"))
        standing = defense_states([entry.defense for entry in entries], now=self._world.now)
        broken = dict(breaks_in_force().order_by().values_list("defense").annotate(count=Count("image", distinct=True)))
        return [
            {
                "name": entry.defense.name,
                "team": entry.team.name,
                "standing": standing[entry.defense_id].value,
                "open": entry.opened_at is not None,
                "staked": self._stakes(entry),
                "broken_by_pictures": broken.get(entry.defense_id, 0),
            }
            for entry in entries
        ]

    def _stakes(self, entry: DefenseEntry) -> list[dict[str, Any]]:
        rows = Stake.objects.filter(defense=entry.defense_id, staked_at__isnull=False).order_by("pk")
        return [
            {"kind": row.kind, "from": _date(row.staked_at), "until": _date(row.ended_at), "end": row.end}
            for row in rows
        ]

    def _teams(self) -> list[dict[str, Any]]:
        breaking = breaks_in_force().values("image")
        credited = Count("pk", filter=Q(image__in=breaking, copy_of__isnull=True, withdrawn_at__isnull=True))
        rows = Attack.objects.order_by().values_list("team").annotate(sent=Count("pk"), breaking=credited)
        counts = {team: (sent, breaks) for team, sent, breaks in rows}
        return [
            {
                "name": each.team.name,
                "kind": each.character.role.value,
                "sent": counts.get(each.team.pk, (0, 0))[0],
                "breaking": counts.get(each.team.pk, (0, 0))[1],
                "won_cents": _won(each.team.pk),
            }
            for each in self._world.teams
        ]

    def _why_no_award(self) -> str:
        """Return in words why nothing was awarded; empty where something was."""
        if Award.objects.exists():
            return ""
        policy, now = self._world.policy, self._world.now
        due = contenders(now=now)
        if due:
            first = due[0]
            lines = [line for line in award_checklist(first, policy=policy, now=now, among=due) if not line.passed]
            words = "; ".join(f"{line.title}: {line.figures} Waits for {line.waits_for}." for line in lines)
            return (
                f"{first.defense.name} is first, and waits. {words}"
                if words
                else f"The board has not decided on {first.defense.name}."
            )
        open_stakes = list(stakes_in_force())
        if not open_stakes:
            return "No stake was unbroken to the end of its time: each of them is over."
        return "; ".join(f"{each.defense.name}: {_why_not_due(each, now)}" for each in open_stakes)

    def _money(self) -> dict[str, Any]:
        found = ledger.check_ledger_sums()
        flows = LedgerEntry.objects.order_by("rule", "source__kind", "target__kind")
        summed = flows.values_list("rule", "source__kind", "target__kind").annotate(sum=Sum("cents"))
        balances = Account.objects.order_by("kind").values_list("kind").annotate(sum=Sum("balance_cents"))
        return {
            "no_award": self._why_no_award(),
            "flows": [{"rule": rule, "from": a, "to": b, "cents": cents} for rule, a, b, cents in summed],
            "balances": dict(balances),
            "attacker_prizes_cents": _given("R35"),
            "awards_cents": Award.objects.aggregate(sum=Sum("cents"))["sum"] or 0,
            "awards": Award.objects.count(),
            "batches": StakeBatch.objects.count(),
            "paid_cents": Payment.objects.filter(paid_at__isnull=False).aggregate(sum=Sum("cents"))["sum"] or 0,
            "accounts": found.accounts,
            "entries": found.entries,
            "wrong": list(found.wrong),
        }


def _date(at: datetime | None) -> str | None:
    return f"{at:%Y-%m-%d}" if at else None


def _why_not_due(stake: Stake, now: datetime) -> str:
    """Return why a stake in force is not among those that can win now."""
    until = unbroken_until(stake)
    if until is None:
        return "its source is closed, so that no time runs (R33)"
    return never_reason(stake, now=now) or f"its time is over on {_date(until)}"


def _at_share(ascending: list[float], share: float) -> float:
    """Return the value that so large a share of them does not exceed."""
    return ascending[max(0, -(-len(ascending) * round(share * 100) // 100) - 1)]


def _given(rule: str) -> int:
    """Return the cents that teams got by a rule, less what was taken back."""
    rows = LedgerEntry.objects.filter(rule=rule)
    there = rows.filter(target__kind=AccountKind.TEAM).aggregate(sum=Sum("cents"))["sum"] or 0
    back = rows.filter(source__kind=AccountKind.TEAM).aggregate(sum=Sum("cents"))["sum"] or 0
    return int(there - back)


def _won(team: int) -> int:
    """Return the cents that a team was given by R35 and R36, less what was taken back."""
    rows = LedgerEntry.objects.filter(rule__in=["R35", "R36", "R37"])
    there = rows.filter(target__team=team).aggregate(sum=Sum("cents"))["sum"] or 0
    back = rows.filter(source__team=team).aggregate(sum=Sum("cents"))["sum"] or 0
    return int(there - back)
