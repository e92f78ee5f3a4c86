"""Simulated organizers: setup, admission, review, deposits and payments."""

from datetime import timedelta
from functools import partial

from accounts.roles import TEAMS
from common.errors import DomainError
from contest.attacks.near_duplicates import pair_review, unreviewed_pairs
from contest.core.enums import EntitlementState
from contest.defenses.models import DefenseEntry
from contest.defenses.selectors import stakes_requested
from contest.defenses.staking import stake_receive
from contest.ledger.amounts import money
from contest.ledger.services import pool_deposit
from contest.payments.payable import payables
from contest.payments.services import payment_pay, payment_request, payments_open
from contest.simulation import defenders
from contest.simulation.cast import SimulatedTeam, TeamRole
from contest.simulation.painting import PaintedPicture, paint
from contest.simulation.pictures import PictureTruth, draw_picture
from contest.simulation.world import SimulationWorld, TeamAtWork, person
from contest.teams import entitlements
from contest.teams.associations import association_declare
from contest.teams.models import Entitlement
from contest.teams.selectors import requests_waiting
from contest.teams.services import member_add, team_create
from labeling.enums import Label, Origin
from labeling.pictures.intake import import_picture
from scoring.models import FrameworkCheck
from scoring.trials.enums import ConditionStatus, EligibilityCondition
from scoring.trials.private_set import private_picture_add, private_set_begin, private_set_complete
from scoring.trials.selectors import eligibility_of
from scoring.trials.services import framework_check

MONDAY, TUESDAY, THURSDAY = 0, 1, 3
SMALLEST_POOL = 12  # attacker prizes
_ASKED_ABOUT = 5  # every so many-th paper is asked about before it is accepted

# Before the first week ------------------------------------------------------------------------------------------------


def prepare(world: SimulationWorld) -> None:
    """Fill the pool, take pictures in to be labeled, and the private set; teams register in the first two days."""
    prizes = max(SMALLEST_POOL, world.plan.teams) * world.policy.attacker_prize_cents
    pool_deposit(cents=prizes + 1, reason="Given for the prizes.", by=world.organizer, now=world.now)
    _pictures_taken_in(world)
    _private_set(world)
    for place, character in enumerate(world.cast):
        at = world.begin + timedelta(minutes=20 + place * (22 * 60 // len(world.cast)))
        world.at(at, partial(register, world, character))


def _pictures_taken_in(world: SimulationWorld) -> None:
    for number in range(world.plan.taken_in):
        painted = paint(draw_picture(world.rng), 0.0, world.rng)
        image, _, _ = import_picture(
            painted.data,
            size=world.policy.image_size,
            origin=Origin.DATASET,
            source="simulation",
            source_id=f"taken in {number + 1}",
            licence="none: it was drawn",
            now=world.now,
            label_from=world.now,
        )
        world.remember(image.pk, painted)


def _private_set(world: SimulationWorld) -> None:
    private, _ = private_set_begin(note="Drawn for a simulation.", by=world.organizer, now=world.now)
    meant = []
    for number in range(world.plan.private):
        painted = _clear(world, Label.BIRD if number % 2 else Label.BICYCLE)
        label = painted.truth.label
        assert label is not None
        size = world.policy.image_size
        row, _ = private_picture_add(private, painted.data, label=label, source=f"drawn {number + 1}", size=size)
        meant.append(row.pixels_sha256)
        world.remember(None, painted)
    private_set_complete(private, meant=meant, by=world.organizer, now=world.now)


def _clear(world: SimulationWorld, label: Label) -> PaintedPicture:
    truth: PictureTruth = draw_picture(world.rng)
    while truth.label is not label or not truth.valid:
        truth = draw_picture(world.rng)
    return paint(truth, 0.0, world.rng)


# Teams ----------------------------------------------------------------------------------------------------------------


def register(world: SimulationWorld, character: SimulatedTeam) -> None:
    """Let a researcher register and make a team, alone or with somebody else."""
    captain = person(character.name, TEAMS, email=True)
    team = team_create(name=character.name, captain=captain, now=world.now)
    if character.number % 3 == 0:
        member_add(team=team, user=person(f"{character.name}-b", TEAMS, email=True), now=world.now)
    at_work = TeamAtWork(character, team, captain)
    world.teams.append(at_work)
    world.count("teams")
    if character.by_paper:
        paper = f"18{1 + character.number % 12:02d}.{10_000 + character.number}"
        entitlements.entitlement_request(by=captain, arxiv_id=paper, paper_email=captain.email, now=world.now)
    if character.role is TeamRole.UNPAID:
        reason = "A member works for the contest."
        association_declare(team=team, since=world.now, until=None, reason=reason, by=world.organizer, now=world.now)
    if character.defends:
        first = world.begin + timedelta(hours=26 + 2 * (character.number % 10))
        world.at(first, partial(defenders.hand_in, world, at_work), alone=True)


# Every day ------------------------------------------------------------------------------------------------------------


def day(world: SimulationWorld) -> None:
    """Do what waits."""
    for request in list(requests_waiting()):
        _decide_request(world, request)
    _check_frameworks(world)
    _receive_stakes(world)
    if world.now.weekday() == THURSDAY:
        for pair in list(unreviewed_pairs(seen=False)):
            pair_review(pair_id=pair.pk, by=world.organizer, now=world.now)
            world.count("near duplicates looked at")
    if world.now.weekday() == MONDAY:
        _ask_for_payments(world)
    if world.now.weekday() == TUESDAY:
        _pay(world)


def _decide_request(world: SimulationWorld, request: Entitlement) -> None:
    team = next(each for each in world.teams if each.team.pk == request.team_id)
    asked_before = request.steps.count() > 1
    if request.state == EntitlementState.QUESTION:
        words = "It is the second author's address."
        entitlements.entitlement_answer(by=team.captain, words=words, now=world.now)
    elif team.character.number % _ASKED_ABOUT == 0 and not asked_before:
        words = "Which of the authors is it?"
        entitlements.entitlement_question(number=request.pk, words=words, by=world.organizer, now=world.now)
    else:
        entitlements.entitlement_accept(number=request.pk, by=world.organizer, now=world.now)


def _check_frameworks(world: SimulationWorld) -> None:
    """Read the source of what passed the trial before it (R31, 4)."""
    checked = FrameworkCheck.objects.values("defense")
    waiting = DefenseEntry.objects.filter(withdrawn_at=None, defense__published_at=None).exclude(defense__in=checked)
    for entry in waiting.select_related("defense").order_by("pk"):
        findings = {
            each.condition: each.standing
            for each in eligibility_of(entry.defense, world.policy, now=world.now).findings
        }
        if findings[EligibilityCondition.PRIVATE] is ConditionStatus.PASSED:
            reason = "Readable Python, as handed in or shown to the board."
            framework_check(entry.defense, passed=True, reason=reason, by=world.board[2], now=world.now)


def _receive_stakes(world: SimulationWorld) -> None:
    for stake in list(stakes_requested()):
        receipt = f"simulated transfer for {stake.defense.name}"
        try:
            stake_receive(stake, receipt, by=world.second_organizer, now=world.now)
        except DomainError as error:
            world.note(f"The payment for {stake.defense.name} went back: {error.message}")
            continue
        world.note(f"{stake.defense.name} is at stake: its own team paid {_money(world, stake.cents)}.")


def _ask_for_payments(world: SimulationWorld) -> None:
    for row in payables(now=world.now):
        if row.due:
            payment_request(team=row.team, by=world.organizer, now=world.now)


def _pay(world: SimulationWorld) -> None:
    for payment in list(payments_open()):
        try:
            reference = f"simulated transfer {payment.pk}"
            payment_pay(payment_id=payment.pk, reference=reference, by=world.second_organizer, now=world.now)
        except DomainError as error:
            world.note(f"A payment to {payment.team.name} was not made: {error.message}")
            continue
        world.note(f"{_money(world, payment.cents)} were paid to {payment.team.name}; two organizers signed.")


def _money(world: SimulationWorld, cents: int) -> str:
    return money(cents, world.policy.currency)
