"""What became of an attack, from its receipt to the end of its appeals, as its team reads it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from adjudication.models import Ruling
from contest.attacks.attack_states import AttackState, attack_statuses
from contest.attacks.services import attack_withdraw
from contest.core.breaks import breaks_record
from contest.core.enums import MessageKind, VoteChoice
from contest.core.models import Attack, Team
from contest.outbox.models import Message
from contest.record.timeline.attack import attack_timeline
from labeling.dealing import panels_deal
from labeling.enums import PanelState
from labeling.models import Image, Panel
from scoring.enums import RunState
from scoring.models import Defense
from tests import factories
from tests.contest import release_fixtures as releases
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, POLICY, send
from tests.contest.board import case_cast
from tests.contest.board import cast as board
from tests.contest.ledger import cast as money
from tests.contest.pages import lacking

pytestmark = pytest.mark.django_db
LATER = BOUNDARY + timedelta(days=1)
KEPT_OUT = "Kept out by the organizers: nothing comes of it unless they let it in."
RECEIVED = "Team team red sent it in week 2026-W47."
ENDED = "Week 2026-W47 ended: its attacks became public."
BROKE = "It broke {}: confidently wrong on a valid bird (R29)."


@pytest.fixture
def attack(now: datetime) -> Attack:
    cast.policy(evaluation_runs=2)
    return send(cast.team("red"), now=now)


def dealt() -> None:
    panels_deal(policy=POLICY, now=BOUNDARY)


def ruled(attack: Attack, **values: Any) -> Ruling:
    dealt()
    panel = factories.settle(attack.image.panels.get(), now=LATER)
    told = {"verdict": "valid", "label": "bird", "number": 1, "reasons": [], "decided_by": "rules", "decided_at": LATER}
    told |= {"image": attack.image, "panel": panel, "policy": factories.policy_version(), "response_ids": []}
    return Ruling.objects.create(**(told | values))


def answered(attack: Attack, *answers: int, by: Defense | None = None) -> Defense:
    by = by or releases.defense(1, name="A net")
    releases.scored(by, attack.image, answers, state=RunState.FINISHED)
    breaks_record(now=LATER)
    return by


def state(attack: Attack, now: datetime) -> str:
    attack.refresh_from_db()
    return attack_statuses([attack], unrestricted=False, now=now)[attack.pk].words


def told(attack: Attack, now: datetime) -> list[str]:
    attack.refresh_from_db()
    return [each.words for each in attack_timeline(attack, own=True, organizer=False, now=now)]


def test_before_the_boundary_and_after_it(attack: Attack, now: datetime) -> None:
    """What taskers answered so far is told to nobody; a copy is under embargo like any other (R24)."""
    copy = send(cast.team("blue"), now=now + timedelta(seconds=1))
    assert state(attack, BOUNDARY - timedelta(seconds=1)) == "under embargo"
    assert told(attack, now) == [
        RECEIVED,
        "Under embargo until the week ends. Only your team and the organizers know of it.",
    ]
    assert (state(copy, now), told(copy, now)[1:]) == (state(attack, now), told(attack, now)[1:])
    assert state(attack, BOUNDARY) == "being labeled"
    dealt()
    assert told(attack, BOUNDARY)[1:] == [
        ENDED,
        "Panel 1: 3 taskers were asked.",
        "It is being labeled.",
    ]


def withdrawn(attack: Attack) -> None:
    attack_withdraw(attack=attack, by=cast.captain(attack.team), now=attack.received_at)


def rejected(attack: Attack) -> None:
    ruled(attack, verdict="rejected", label="", reasons=["uncertain", "too_small", "truncated"])


def scored(*answers: int) -> Callable[[Attack], object]:
    return lambda attack: (ruled(attack), answered(attack, *answers))


BECAME: list[tuple[Callable[[Attack], object], str, list[str]]] = [
    (withdrawn, "withdrawn", ["withdrew it. It counts for the quota of its day.",
                              "It is never labeled nor published."]),
    (rejected, "rejected", ["Ruling 1 (rules). Rejected: a tasker was not sure; the object is too small; "
                            "the object is cut off."]),
    (scored(1), "being scored", ["Being scored: 1 of 2 answers of the published defenses are in.",
                                 "Ruling 1 (rules). Valid, a bird."]),
    (scored(1, -1), "broke nothing", ["Every published defense was asked, and none was confidently wrong."]),
]  # fmt: skip


@pytest.mark.parametrize(("story", "word", "said"), BECAME, ids=[row[1] for row in BECAME])
def test_what_became_of_it(story: Callable[[Attack], object], word: str, said: list[str], attack: Attack) -> None:
    story(attack)
    assert state(attack, LATER) == word and lacking("\n".join(told(attack, LATER)), *said) == []


def test_it_broke_each_defense_once_until_the_board_overrules(attack: Attack) -> None:
    """R20, R22."""
    ruled(attack)
    answered(attack, 0, 0)
    answered(attack, 1, 0, by=releases.defense(2, name="Another"))
    assert state(attack, LATER) == "broke 2 defenses"
    assert [said for said in told(attack, LATER) if "broke" in said] == [BROKE.format("A net"), BROKE.format("Another")]
    overruled = {"verdict": "rejected", "label": "", "reasons": ["depiction"], "explanation": "A toy."}
    ruled(attack, number=2, decided_by="board", **overruled)
    said = told(attack, LATER)
    assert state(attack, LATER) == "rejected" and "Ruling 2 (board). Rejected: it is a depiction." in said
    assert "broke" not in " ".join(said)


@pytest.mark.parametrize(("days", "words"), [(6.99, "ends."), (7, "ended."), (30, "ended.")])
def test_the_window_for_appeals_is_counted_from_the_ruling_that_holds(attack: Attack, days: float, words: str) -> None:
    ruling = ruled(attack)
    told = attack_timeline(attack, own=True, organizer=False, now=ruling.decided_at + timedelta(days=days))
    assert [(each.at, each.words) for each in told if "window" in each.words] == [
        (ruling.decided_at + timedelta(days=7), f"The window for appeals {words}")
    ]


def test_a_page_of_attacks_costs_as_many_questions_as_one(
    attack: Attack, now: datetime, django_assert_max_num_queries: Any
) -> None:
    cast.send_many(attack.team, 6, now=now)
    attacks = list(Attack.objects.all())
    with django_assert_max_num_queries(9):
        found = attack_statuses(attacks, unrestricted=False, now=LATER)
    assert {each.state for each in found.values()} == {AttackState.LABELING}


# The contest's own pictures, and copies ------------------------------------------------------------------------------


def test_of_the_contests_own_pictures_the_page_says_what_it_says_of_one_with_a_report(attack: Attack) -> None:
    """Neither a lie nor a tell (R6): an earlier panel, its ruling and what defenses said are of another story."""
    ruled(attack, decided_at=BOUNDARY - timedelta(days=60))
    answered(attack, 0, 0)
    Image.objects.update(origin="gold")
    assert (state(attack, BOUNDARY - timedelta(seconds=1)), state(attack, LATER)) == ("under embargo", "kept out")
    own = told(attack, LATER)
    other = send(Team.objects.get(), 9, now=attack.received_at)
    dealt()
    Panel.objects.filter(image=other.image).update(state=PanelState.HELD)
    assert own == told(other, LATER) == [RECEIVED, "Week 2026-W47 ended.", KEPT_OUT]
    assert state(other, LATER) == "kept out"


def test_a_report_after_the_first_ruling_takes_nothing_from_the_story(attack: Attack) -> None:
    ruled(attack)
    Panel.objects.create(
        image=attack.image, number=2, size=3, missing=3, state=PanelState.HELD, dealt_at=LATER, waiting_since=LATER
    )
    assert state(attack, LATER) == "being scored"


def test_what_comes_of_a_copy_is_told_with_the_release(attack: Attack, now: datetime) -> None:
    copy = send(cast.team("blue"), now=now + timedelta(seconds=1))
    ruled(attack)
    answered(attack, 0, 0)
    assert (state(attack, LATER), state(copy, LATER)) == ("broke 1 defense", "waiting for the release")
    assert told(copy, LATER)[2:] == [
        "The same pixels were sent first with another receipt, which has the credit. What comes of them is told when "
        "their week is released."
    ]
    assert attack_statuses([copy], unrestricted=True, now=LATER)[copy.pk].words == "broke 1 defense", "organizers know"
    assert BROKE.format("A net") in [each.words for each in attack_timeline(copy, own=False, organizer=True, now=LATER)]
    cast.release()
    assert state(copy, LATER) == "broke 1 defense" and BROKE.format("A net") in told(copy, LATER)


# More taskers ---------------------------------------------------------------------------------------------------------


def test_who_sent_it_first_reads_of_more_taskers_when_the_board_tells_them_so() -> None:
    """R19, R24: the story says it no earlier than the letter about the decision, and to a copy's sender not at all."""
    scene = board.Scene.make()
    User.objects.filter(pk=case_cast.joins(scene.red, "rob").pk).update(email="rob@example.org")
    copy = Attack.objects.create(
        team=money.team("copies"), image=scene.image, received_at=scene.attack.received_at, week=scene.attack.week,
        copy_of=scene.attack,
    )  # fmt: skip
    case = scene.opened()
    board.votes(case, scene.members[:2], VoteChoice.MORE_TASKERS)
    assert joined(scene.attack) == [] and not Message.objects.filter(kind=MessageKind.CASE_DECIDED).exists()
    board.decide(case, scene.members[0])
    (letter,) = Message.objects.filter(kind=MessageKind.CASE_DECIDED, user__username="rob")
    assert letter.facts["outcome"] == "more taskers are asked"
    assert joined(scene.attack) == [letter.made_at] and joined(copy) == []
    cast.release(scene.attack.week)
    assert joined(scene.attack) == [letter.made_at]
    assert joined(copy) == joined(scene.attack, own=False) == [], "nobody else reads what taskers are asked (R8)"


def joined(attack: Attack, *, own: bool = True) -> list[datetime | None]:
    told = attack_timeline(attack, own=own, organizer=False, now=board.LATER + timedelta(days=1))
    return [each.at for each in told if "more taskers were asked to join" in each.words]
