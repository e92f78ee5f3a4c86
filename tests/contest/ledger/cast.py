"""A contest with money: teams, defenses as entries, stakes, attacks that were ruled upon, and what broke what."""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Max

from adjudication.models import Ruling
from contest.core.enums import AccountKind, StakeEnd, StakeKind
from contest.core.models import Attack, Award, BoardDecision, Break, Release, Stake, StakeBatch, Team
from contest.core.weeks import week_at
from contest.defenses import stake_ends, staking
from contest.defenses.models import DefenseEntry
from contest.ledger import withholding
from contest.ledger.models import Account, Correction, LedgerEntry, Payment
from contest.ledger.services import ledger_account, move, pool_deposit, stake_funded
from contest.payments import corrections
from contest.payments import services as payments
from contest.prizes.sweeps import prizes_settle
from labeling.enums import PanelState
from labeling.models import Image, Panel
from scoring.enums import RunState
from scoring.models import Defense, Prediction, Run, RunItem
from tests import factories

MONDAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
BEFORE = MONDAY - timedelta(30)
SETTLED = MONDAY + timedelta(12)  # the Saturday after the next: two weeks are over
CLOSED = MONDAY + timedelta(40)
PRIZE = 10_001
_numbers = count(1)


def team(name: str) -> Team:
    return Team.objects.create(name=name, created_at=BEFORE)


def deposit(cents: int, by: User, now: datetime = BEFORE) -> LedgerEntry:
    factories.policy_version()
    return pool_deposit(cents=cents, reason="A gift.", by=by, now=now)


def defense(name: str, of: Team | None = None, *, opened: bool = True, received: datetime = BEFORE) -> Defense:
    """A published defense, an entry of `of` where a team is given; its source is open unless said otherwise."""
    row = Defense.objects.create(
        name=name, digest=f"sha256:{next(_numbers)}", created_at=received, published_at=received
    )
    if of is not None:
        DefenseEntry.objects.create(
            team=of, defense=row, received_at=received, due_at=received, opened_at=received if opened else None
        )
    return row


def batch(now: datetime = MONDAY) -> StakeBatch:
    """A batch of the board, by a decision of nobody in particular."""
    decision = BoardDecision.objects.create(
        kind="stake", subject={}, reason="Good ones.", policy=factories.policy_version(), decided_at=now
    )
    return StakeBatch.objects.create(criteria="Good ones.", decision=decision, staked_at=now)


def staked(
    on: Defense, *, by: Team | None = None, at: datetime = MONDAY, cents: int = PRIZE, of: StakeBatch | None = None
) -> Stake:
    """A stake in force with its money: the board's, or that of the team `by`."""
    told: dict[str, Any] = {"kind": StakeKind.TEAM, "paid_by": by} if by else {"kind": StakeKind.BOARD}
    if by is None:
        told["batch"] = of or batch(at)
    stake = Stake.objects.create(defense=on, cents=cents, asked_at=at, staked_at=at, clock_from=at, **told)
    stake_funded(stake, now=at)
    return stake


def attack(by: Team, *, days: float = 1, image: Image | None = None, **more: Any) -> Attack:
    """A picture of `by`, received `days` after MONDAY."""
    at = MONDAY + timedelta(days=days)
    week = week_at(at)
    if image is None:
        image = factories.image(origin="attack", received_at=at, label_from=week.end, width=40, height=40)
    return Attack.objects.create(team=by, image=image, received_at=at, week=week.name, **more)


def ruled(image: Image, label: str = "bird", *, at: datetime | None = None) -> Ruling:
    """The next ruling on a picture, two days after its week unless said otherwise; no label rejects it."""
    panel = Panel.objects.filter(image=image).first() or factories.panel(image)
    factories.settle(panel)
    number = (Ruling.objects.filter(image=image).aggregate(n=Max("number"))["n"] or 0) + 1
    return Ruling.objects.create(
        image=image,
        number=number,
        panel=panel,
        verdict="valid" if label else "rejected",
        label=label,
        reasons=[] if label else ["uncertain"],
        policy=factories.policy_version(),
        response_ids=[],
        decided_at=at or week_at(image.received_at).end + timedelta(2),
        decided_by="rules",
    )


def answered(by: Defense, image: Image, answer: int, *, at: datetime, rounds: int = 3, **more: Any) -> Prediction:
    """The official answers of a defense on a picture, all alike; returns the first."""
    made = []
    for round in range(1, rounds + 1):
        run = Run.objects.create(
            defense=by,
            round=round,
            seed=1,
            batch_size=16,
            state=RunState.ASSESSED,
            created_at=at,
            finished_at=at,
            **more,
        )
        item = RunItem.objects.create(run=run, defense=by, round=round, image=image, position=0, **more)
        made.append(_prediction(item, answer, at, more))
    return made[0]


def _prediction(item: RunItem, answer: int, at: datetime, more: dict[str, Any]) -> Prediction:
    return Prediction.objects.create(
        item=item, image=item.image, defense=item.defense, round=item.round, answer=answer, score_bicycle=0.9,
        score_bird=0.1, pixels_sha256=item.image.pixels_sha256, defense_digest=item.defense.digest, device="cpu",
        batch_size=16, batch=0, row=0, seed=1, attempt=1, latency_us=1000, predicted_at=at, **more,
    )  # fmt: skip


def broken(of: Defense, by: Attack, *, found: datetime | None = None) -> Break:
    """A valid picture that a defense takes for the other class; every other published defense answers right."""
    ruling = Ruling.objects.filter(image=by.image).order_by("-number").first() or ruled(by.image)
    found = found or ruling.decided_at
    for each in Defense.objects.exclude(predictions__image=by.image):
        answered(each, by.image, 0 if each == of else 1, at=found)
    proof = Prediction.objects.filter(defense=of, image=by.image).order_by("pk")[0]
    return Break.objects.create(defense=of, image=by.image, ruling=ruling, prediction=proof, found_at=found)


def broken_stake(by: Team, makers: Team, name: str = "net", *, days: float = 1, **more: Any) -> Stake:
    """A stake in force on a defense of the makers that a team broke."""
    stake = staked(defense(name, makers), **more)
    broken(stake.defense, attack(by, days=days))
    return stake


def caught_up(late: Defense) -> Defense:
    """The same defense, with a right answer on every valid picture there is."""
    for ruling in Ruling.objects.filter(verdict="valid").exclude(image__predictions__defense=late):
        answered(late, ruling.image, 1, at=ruling.decided_at)
    return late


def all_caught_up() -> None:
    """Every defense has answered every valid picture there is."""
    for each in Defense.objects.all():
        caught_up(each)


def ended(stake: Stake, end: StakeEnd = StakeEnd.BROKEN, *, at: datetime = SETTLED) -> Stake:
    """The same stake, over."""
    over = staking.stake_end(stake, end, now=at)
    stake.refresh_from_db()
    return over


def swept(now: datetime) -> int:
    """What a sweep ends and posts; returns of how many stakes and awards it moved money."""
    stake_ends.stakes_end(now=now)
    return prizes_settle(now=now)


def settled(stake: Stake) -> int:
    """A broken stake is over and swept."""
    ended(stake)
    return prizes_settle(now=SETTLED)


def paid(team: Team, by: User, other: User, reference: str = "SEPA 7") -> Payment:
    """One organizer asks for what is due at CLOSED, and the other one pays it."""
    asked = payments.payment_request(team=team, by=by, now=CLOSED)
    return payments.payment_pay(payment_id=asked.pk, reference=reference, by=other, now=CLOSED)


def corrected(entry: LedgerEntry, cents: int, by: User, other: User, reason: str = "It came once.") -> Correction:
    """One organizer asks for a correction, and the other one confirms it."""
    asked = corrections.correction_request(entry=entry.pk, cents=cents, reason=reason, by=by, now=CLOSED)
    return corrections.correction_confirm(correction_id=asked.pk, by=other, now=CLOSED)


def repaid(team: Team, cents: int, by: User, other: User) -> Correction:
    """A team gives back what it owes."""
    asked = corrections.repayment_request(team=team, cents=cents, reason="Wire 9.", by=by, now=CLOSED)
    return corrections.correction_confirm(correction_id=asked.pk, by=other, now=CLOSED)


def overruled(image: Image, *, at: datetime = CLOSED, label: str = "") -> Ruling:
    return ruled(image, label, at=at)


def balance(of: Team | Stake | AccountKind) -> int:
    key = {Team: "team", Stake: "stake"}.get(type(of), "kind")
    return Account.objects.filter(**{key: of}).values_list("balance_cents", flat=True).first() or 0


def account_of(of: Team | Stake) -> Account:
    return (
        ledger_account(AccountKind.TEAM, team=of)
        if isinstance(of, Team)
        else ledger_account(AccountKind.STAKE, stake=of)
    )


def withheld(
    of: Team | Stake,
    cents: int,
    by: User,
    *,
    team: Team | None = None,
    now: datetime = CLOSED,
    why: str = "Looked into.",
) -> LedgerEntry | None:
    """The board withholds money of an account; of a stake, of the share of a team."""
    told = {"of": account_of(of), "cents": cents, "team": team, "reason": why, "now": now}
    return withholding.money_withhold(**told, by=factories.mandate("withhold", by, now))


def given_back(
    of: Team | Stake,
    by: User,
    *,
    team: Team | None = None,
    award: Award | None = None,
    now: datetime = CLOSED,
    why: str = "Cleared up.",
) -> BoardDecision:
    """The board gives back what it withheld."""
    told = {"of": account_of(of), "team": team, "award": award, "reason": why, "now": now}
    return withholding.money_return(**told, by=factories.mandate("return", by, now))


def paid_out(team: Team, cents: int | None = None, *, now: datetime = CLOSED) -> LedgerEntry | None:
    """What a team has, or so much of it, leaves its account; nothing of no money."""
    if cents := balance(team) if cents is None else cents:
        own, outside = ledger_account(AccountKind.TEAM, team=team), ledger_account(AccountKind.OUTSIDE)
        return move(own, outside, cents, rule="R34", why="Paid.", causes={}, now=now)
    return None


def open_again(image: Image) -> None:
    """Let a picture wait for answers again."""
    Panel.objects.filter(image=image).update(state=PanelState.OPEN, missing=1, answered=2)


def released(*weeks: str) -> None:
    for week in weeks:
        Release.objects.create(week=week, manifest_sha256=week, counts={}, bytes=1, released_at=SETTLED)
