"""Appeals, votes, recusals, panels and rulings in any order (R18-R22)."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.http import Http404
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from adjudication.counting import Ballot
from adjudication.enums import DecidedBy
from adjudication.models import Ruling
from common.errors import DomainError
from contest.appeals.services import appeal_send
from contest.board.case_sweep import sweep_cases
from contest.board.cases import case_open, count_of
from contest.board.conflicts import conflict_declare, conflict_end
from contest.board.impact_preview import preview_impact
from contest.board.models import Appeal, CaseDecision, Vote
from contest.board.recusal import cases_seen_by
from contest.core.breaks import breaks_in_force, breaks_record
from contest.core.enums import CaseOutcome, CaseState, ConflictKind, VoteChoice
from contest.core.models import Break, Case, ConflictOfInterest
from contest.ledger.models import LedgerEntry
from labeling.enums import PanelState
from labeling.models import Panel, Response
from tests.contest.board import cast
from tests.contest.board.cast import OVERRULE_BICYCLE, OVERRULE_BIRD, OVERRULE_REJECTED, SURE, UNSURE, Scene
from tests.contest.ledger import cast as money

BALLOTS = [
    Ballot(VoteChoice.UPHOLD),
    Ballot(VoteChoice.MORE_TASKERS),
    OVERRULE_BIRD,
    OVERRULE_BICYCLE,
    OVERRULE_REJECTED,
]
_who, _side = st.integers(0, 3), st.sampled_from(["red", "blue"])
_reached: Counter[str] = Counter()
pytestmark = [pytest.mark.django_db, pytest.mark.slow("a state machine draws its steps at random")]


class Board(RuleBasedStateMachine):
    """Four members, two teams, one picture; each step is an hour later."""

    def __init__(self) -> None:
        super().__init__()
        self.atomic = transaction.atomic()
        self.atomic.__enter__()
        self.now = cast.LATER
        self.scene = Scene.make(members=4)
        money.answered(self.scene.stake.defense, self.scene.image, 0, at=cast.RULED)
        breaks_record(now=self.now)
        self.said = list(Response.objects.order_by("pk").values())

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.atomic.__exit__(None, None, None)

    # What people do ---------------------------------------------------------------------------------------------------

    @rule(side=_side)
    def appeal(self, side: str) -> None:
        team, image = getattr(self.scene, side), self.scene.image
        before = Appeal.objects.filter(team=team, image=image).exists()
        # Whose account it was matters to nobody here.
        if made := self._try(
            appeal_send,
            image=image,
            team=team,
            argument=cast.WHY,
            marks=[],
            by=self.scene.members[0],
            now=self._later(),
        ):
            _reached[f"appealed by {side}"] += 1
            assert not before, "one appeal per team and picture"
            assert (made.side, made.case.state) == ({"red": "attacker", "blue": "defender"}[side], CaseState.OPEN)

    @rule(who=_who)
    def doubt(self, who: int) -> None:
        case = self._try(case_open, image=self.scene.image, by=self.scene.members[who], now=self._later())
        assert case is None or who not in self._aside(case)

    @rule(members=st.sets(_who, min_size=1), ballot=st.sampled_from(BALLOTS))
    def vote(self, members: set[int], ballot: Ballot) -> None:
        for who in sorted(members) if (case := self._case()) else ():
            made = self._try(cast.vote, case, self.scene.members[who], ballot, self._later())
            if who in self._aside(case):
                assert made is None
                _reached["recused voter"] += 1

    @rule(ballot=st.sampled_from(BALLOTS))
    def agree(self, ballot: Ballot) -> None:
        """Open a case where there is none, and let everybody who may vote for the same and one of them confirm it."""
        self.doubt(0)
        self.vote({0, 1, 2, 3}, ballot)
        self.decide(0)
        self.decide(1)

    @rule(who=_who)
    def decide(self, who: int) -> None:
        if not (case := self._case()):
            return
        count, aside, ruling, state = count_of(case), self._aside(case), self.scene.newest(), case.state
        if not (made := self._try(cast.decide, case, self.scene.members[who], self._later())):
            return
        _reached[made.outcome] += 1
        voters = set(Vote.objects.filter(case=case).values_list("member", flat=True))
        counted = voters - {self.scene.members[each].pk for each in aside}
        assert who not in aside and len(made.votes) == len(counted) >= made.quorum
        assert count.is_enough and state == CaseState.OPEN
        assert (self.scene.newest() != ruling) == (made.outcome == CaseOutcome.OVERRULE)

    @rule(who=st.integers(1, 3), side=_side)
    def declare(self, who: int, side: str) -> None:
        member, team = self.scene.members[who], getattr(self.scene, side)
        if ConflictOfInterest.objects.filter(dismissed_at=None).count() < 2:
            self._try(
                conflict_declare,
                member=member,
                team=team,
                kind=ConflictKind.OTHER,
                since=self.now,
                words="",
                by=member,
                now=self._later(),
            )

    @rule(which=st.integers(0, 5))
    def end(self, which: int) -> None:
        if row := ConflictOfInterest.objects.order_by("pk")[which : which + 1].first():
            self._try(conflict_end, conflict_id=row.pk, reason="It is over.", by=row.member, now=self._later())

    @rule(said=st.lists(st.sampled_from([SURE, SURE, UNSURE]), min_size=1, max_size=3))
    def answer(self, said: list[dict[str, Any]]) -> None:
        if panel := Panel.objects.filter(image=self.scene.image, state=PanelState.OPEN).first():
            cast.answers(panel, *said[: panel.missing], now=self._later())
            if panel.state == PanelState.FULL:
                cast.rule(panel, now=self.now)
                _reached["ruled again"] += 1

    @rule()
    def sweep(self) -> None:
        sweep_cases(now=self._later())
        breaks_record(now=self.now)
        assert sweep_cases(now=self.now) == 0 == breaks_record(now=self.now), "running it twice changes nothing"

    @rule(ballot=st.sampled_from(BALLOTS))
    def look_ahead(self, ballot: Ballot) -> None:
        if (case := self._case()) and case.state == CaseState.OPEN:
            before = self._everything()
            self._try(preview_impact, case, ballot, now=self._later())
            assert self._everything() == before, "looking changes nothing"

    @rule(days=st.integers(1, 4))
    def wait(self, days: int) -> None:
        self.now += timedelta(days=days)

    # What always holds ------------------------------------------------------------------------------------------------

    @invariant()
    def rulings_are_appended_and_the_newest_holds(self) -> None:
        rulings = list(Ruling.objects.filter(image=self.scene.image).order_by("number"))
        assert [each.number for each in rulings] == list(range(1, len(rulings) + 1))
        decided = CaseDecision.objects.filter(outcome=CaseOutcome.OVERRULE).order_by("pk")
        by_board = [each for each in rulings if each.decided_by == DecidedBy.BOARD]
        assert [each.ruling for each in decided] == by_board, "each overrule made one ruling, and nothing else did"
        labels = breaks_in_force().filter(image=self.scene.image).values_list("ruling__label", flat=True)
        assert set(labels) <= {rulings[-1].label}

    @invariant()
    def responses_never_change(self) -> None:
        now = list(Response.objects.order_by("pk").values())
        assert now[: len(self.said)] == self.said
        self.said = now

    @invariant()
    def cases_are_in_one_state(self) -> None:
        assert Case.objects.exclude(state=CaseState.CLOSED).count() <= 1
        for case in Case.objects.all():
            decided = CaseDecision.objects.filter(case=case).first()
            assert (decided is None) == (case.state == CaseState.OPEN)
            assert case.state != CaseState.PANEL or decided.outcome == CaseOutcome.MORE_TASKERS
            assert case.state != CaseState.CLOSED or case.result is not None

    @invariant()
    def who_steps_aside_knows_of_nothing(self) -> None:
        for case in Case.objects.all():
            seen = [cases_seen_by(member).filter(pk=case.pk).exists() for member in self.scene.members]
            assert seen == [number not in self._aside(case) for number in range(4)]

    # Helpers ----------------------------------------------------------------------------------------------------------

    def _later(self) -> Any:
        self.now += timedelta(hours=1)
        return self.now

    def _case(self) -> Case | None:
        return Case.objects.filter(image=self.scene.image).order_by("-pk").first()

    def _aside(self, case: Case) -> set[int]:
        """Who steps aside, told by the rule's own words and not by the code's query."""
        parties = set(case.parties.values_list("team", flat=True))
        return {
            self.scene.members.index(row.member)
            for row in ConflictOfInterest.objects.filter(dismissed_at=None)
            if row.team_id in parties
            and (case.closed_at is None or row.since <= case.closed_at)
            and (row.until is None or row.until > case.opened_at)
        }

    def _everything(self) -> tuple[Any, ...]:
        return tuple(
            table.objects.count() for table in (Ruling, Break, Vote, CaseDecision, LedgerEntry, Panel, Response)
        )

    def _try(self, call: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """Call it; None where it was refused, which leaves nothing behind."""
        try:
            with transaction.atomic():
                return call(*args, **more)
        except (DomainError, Http404):
            return None


@pytest.mark.parametrize(
    ("examples", "steps"),
    [(4, 10), pytest.param(25, 30, marks=pytest.mark.long("the small form draws the same steps"))],
)
def test_in_any_order(examples: int, steps: int) -> None:
    quick = settings(max_examples=examples, stateful_step_count=steps, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Board, settings=quick)


def test_the_steps_lead_to_every_state() -> None:
    """What is drawn at random may miss a state: here each is reached on purpose, with the same checks on the way."""
    board = Board()
    steps = [
        lambda: board.appeal("blue"),
        lambda: board.declare(3, "red"),
        lambda: board.agree(BALLOTS[0]),
        lambda: board.agree(BALLOTS[1]),
        lambda: board.answer([SURE, SURE, UNSURE]),
        board.sweep,
        lambda: board.appeal("red"),
        lambda: board.look_ahead(OVERRULE_BICYCLE),
        lambda: board.agree(OVERRULE_BICYCLE),
        board.sweep,
    ]
    try:
        for step in steps:
            step()
            board.rulings_are_appended_and_the_newest_holds()
            board.responses_never_change()
            board.cases_are_in_one_state()
            board.who_steps_aside_knows_of_nothing()
    finally:
        board.teardown()
    assert _reached.keys() >= {"appealed by blue", "uphold", "overrule", "more_taskers", "ruled again", "recused voter"}
