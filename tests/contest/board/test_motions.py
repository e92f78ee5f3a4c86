"""Everything that the board decides beside pictures: moved on its page, voted on, and done once most are for it
(R21)."""

import re
from collections import namedtuple
from collections.abc import Callable, Iterator
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import Http404
from django.test import Client

from common.models import AuditEntry
from contest.board import motion_handlers, motions
from contest.board.cases import count_of, disclose, vote_cast
from contest.board.decisions import case_decide
from contest.board.motions import motion_drop, motions_open
from contest.board.open_motions import open_motions_for
from contest.board.recusal import cases_seen_by, teams_stepped_aside_for
from contest.core.enums import AccountKind, CaseOutcome, CaseState, DecisionKind, VoteChoice
from contest.core.models import Award, BoardDecision, Case, ConflictOfInterest, Stake, Team
from contest.ledger.models import Account, LedgerEntry
from contest.ledger.services import check_ledger_sums, ledger_account
from contest.outbox.models import Message
from policy.models import PolicyVersion
from policy.numbers import Policy
from scoring.models import Defense
from tests import factories
from tests.contest.attacks.cast import main_of
from tests.contest.board import motions as made
from tests.contest.board.cast import conflict
from tests.contest.board.motions import GIFT, NOW, REASON, Make, Motion
from tests.contest.ledger import cast
from tests.contest.ledger.cast import BEFORE
from tests.contest.pages import main, plain, posted, shows
from tests.contest.prizes.test_awards import run_again
from tests.factories import carried, confirmed, voted
from tests.refusals import refused

pytestmark = pytest.mark.django_db
AGAINST = VoteChoice.AGAINST


@pytest.fixture(autouse=True)
def now_and_nothing_is_lost(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pages find the moment of the motions; after each test the ledger adds up."""
    factories.policy_version()
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    yield
    assert check_ledger_sums().wrong == ()


# Rita, who moves, and two other members; an organizer and a stranger.
Board = namedtuple("Board", "rita ron ruth olga stan")


@pytest.fixture
def board(rita: User, ron: User, ruth: User, olga: User, stan: User) -> Board:
    return Board(rita, ron, ruth, olga, stan)


def test_every_kind_is_carried_out_and_checked_without_doing_it() -> None:
    assert motion_handlers.CHECKS.keys() == motion_handlers.CARRIERS.keys() == set(DecisionKind)


# What may happen to a motion that rita made: to each kind, and to two kinds for all. ----------------------------------


def what_is_carried_is_done_with_its_decision(motion: Motion, case: Case, board: Board) -> None:
    assert not motion.done() and not BoardDecision.objects.filter(case=case).exists(), "moving alone changes nothing"
    assert (case.state, case.motion, case.opened_by, case.opened_at) == (CaseState.OPEN, motion.kind, board.rita, NOW)
    assert list(case.parties.values_list("team", "role")) == [(motion.team.pk, "concerned")]
    assert [(vote.member, vote.choice) for vote in count_of(case).votes] == [(board.rita, VoteChoice.IN_FAVOUR)]
    decided, row = carried(case, board.ron, NOW), BoardDecision.objects.get(case=case)
    assert (row.kind, dict(row.subject), dict(row.details)) == (motion.kind, motion.subject, motion.details)
    assert (row.reason, row.decided_by, row.decided_at) == (case.reason, board.ron, NOW)
    assert (decided.outcome, len(decided.votes), decided.quorum) == (CaseOutcome.CARRIED, 2, 2)
    refused("decided", confirmed, case, board.ron, NOW)
    assert motion.done()


def what_cannot_be_done_any_more_is_refused_and_stays_open(motion: Motion, case: Case, board: Board) -> None:
    voted(case, board.ron, NOW)
    motion.spoil()
    before = BoardDecision.objects.count()
    refused(motion.refused, confirmed, case, board.ron, NOW)
    assert BoardDecision.objects.count() == before and Case.objects.get(pk=case.pk).state == CaseState.OPEN
    board.ruth.groups.clear()
    voted(case, board.ron, NOW, AGAINST)
    assert confirmed(case, board.rita, NOW).outcome == CaseOutcome.LOST, "it is closed by votes against it"
    refused(motion.refused, motion.move, board.rita)  # nor moved again


def the_same_is_not_moved_twice(motion: Motion, case: Case, board: Board) -> None:
    for code, members in (("moved", (board.rita, board.ron)), ("not_on_board", (board.olga, board.stan))):
        for member in members:
            refused(code, motion.move, member)
    assert list(motions_open()) == [case]


def who_steps_aside_neither_moves_nor_sees_nor_votes(motion: Motion, case: Case, board: Board) -> None:
    ron, ruth = board.ron, board.ruth
    conflict(ron, motion.team)
    refused("recused", motion.move, ron)  # nor is told that it is moved
    assert not cases_seen_by(ron).filter(pk=case.pk).exists() and open_motions_for(ron) == []
    assert [each.case for each in open_motions_for(ruth)] == [case]
    for act in (
        lambda: disclose(case=case, teams=[motion.team.public_id], by=ron, now=NOW),
        lambda: vote_cast(case=case, by=ron, choice=AGAINST, now=NOW),
        lambda: case_decide(case=case, seen=count_of(case).mark, explanation="", by=ron, now=NOW),
        lambda: motion_drop(case=case, by=ron, now=NOW),
    ):
        with pytest.raises(Http404):
            act()
    assert carried(case, ruth, NOW).recused == 1 and motion.done()


def a_tie_changes_nothing(motion: Motion, case: Case, board: Board) -> None:
    refused("no_quorum", confirmed, case, board.rita, NOW)  # one vote is none
    board.ruth.groups.clear()  # of two members, both of whom voted
    assert confirmed(voted(case, board.ron, NOW, AGAINST), board.ron, NOW).outcome == CaseOutcome.LOST
    assert not motion.done()


def what_is_lost_changes_nothing_and_may_be_moved_again(motion: Motion, case: Case, board: Board) -> None:
    before = BoardDecision.objects.count()
    for member in (board.ron, board.ruth):
        voted(case, member, NOW, AGAINST)
    assert confirmed(case, board.rita, NOW).outcome == CaseOutcome.LOST
    assert not motion.done() and BoardDecision.objects.count() == before
    assert carried(motion.move(board.ruth), board.ron, NOW) and motion.done()


def a_vote_counts_no_more_when_its_member_steps_aside(motion: Motion, case: Case, board: Board) -> None:
    voted(case, board.ron, NOW)
    conflict(board.rita, motion.team)
    refused("no_quorum", confirmed, case, board.ron, NOW)
    assert carried(case, board.ruth, NOW) and motion.done()


def who_moved_it_drops_it(motion: Motion, case: Case, board: Board) -> None:
    voted(case, board.ron, NOW)
    refused("not_yours", motion_drop, case=case, by=board.ron, now=NOW)
    assert motion_drop(case=case, by=board.rita, now=NOW).outcome == CaseOutcome.DROPPED
    refused("decided", confirmed, case, board.ron, NOW)
    assert not motion.done()
    assert carried(motion.move(board.ron), board.rita, NOW) and motion.done()


def who_did_not_vote_confirms_nothing(motion: Motion, case: Case, board: Board) -> None:
    voted(case, board.ron, NOW)
    disclose(case=case, teams=[motion.team.public_id], by=board.ruth, now=NOW)
    refused("no_vote", confirmed, case, board.ruth, NOW)


EACH_KIND = [
    what_is_carried_is_done_with_its_decision,
    what_cannot_be_done_any_more_is_refused_and_stays_open,
    the_same_is_not_moved_twice,
]
ALL_KINDS_ALIKE = [
    who_steps_aside_neither_moves_nor_sees_nor_votes,
    a_tie_changes_nothing,
    what_is_lost_changes_nothing_and_may_be_moved_again,
    a_vote_counts_no_more_when_its_member_steps_aside,
    who_moved_it_drops_it,
    who_did_not_vote_confirms_nothing,
]
PAIRS = [(make, history) for make in made.MOTIONS for history in EACH_KIND]
PAIRS += [(make, history) for make in (made.granting, made.withholding) for history in ALL_KINDS_ALIKE]


@pytest.mark.parametrize(("make", "history"), PAIRS, ids=[f"{row[0].__name__}-{row[1].__name__}" for row in PAIRS])
def test_what_may_happen_to_a_motion(make: Make, history: Callable[[Motion, Case, Board], None], board: Board) -> None:
    motion = make(board.rita, board.olga)
    history(motion, motion.move(board.rita), board)


# What is particular ---------------------------------------------------------------------------------------------------


def test_a_conflict_that_is_over_lets_a_member_move(rita: User, ron: User, olga: User) -> None:
    motion = made.granting(rita, olga)
    conflict(rita, motion.team)
    refused("recused", motion.move, rita)
    assert not Case.objects.exists()
    ConflictOfInterest.objects.update(until=NOW)
    moments = (NOW - timedelta(seconds=1), NOW)
    assert [teams_stepped_aside_for(rita, now=moment) for moment in moments] == [{motion.team.pk}, set()]
    assert carried(motion.move(rita), ron, NOW) and motion.done()


def test_teams_that_were_merged_are_stepped_aside_for_together(rita: User) -> None:
    lab, whole = cast.team("lab"), cast.team("whole")
    conflict(rita, lab)
    Team.objects.filter(pk=lab.pk).update(merged_into=whole, merged_at=BEFORE)
    assert teams_stepped_aside_for(rita, now=NOW) == {lab.pk, whole.pk}


def test_a_motion_about_several_teams_is_seen_by_who_steps_aside_for_none(rita: User, ron: User, olga: User) -> None:
    cast.deposit(GIFT, olga)
    makers, others = cast.team("makers"), cast.team("others")
    both = [cast.defense("net", makers), cast.defense("other", others)]
    conflict(ron, makers)
    refused("recused", motions.stakes_move, both, "c", REASON, by=ron, now=NOW)
    motions.stakes_move(both, "c", REASON, by=rita, now=NOW)
    assert open_motions_for(ron) == []
    assert motions.stakes_move(both[1:], "c", REASON, by=ron, now=NOW).opened_by == ron, "the other one alone"


@pytest.fixture
def batch(olga: User) -> list[Stake]:
    """Two stakes of one batch; the second began 40 days later, and shares an award that is given after its time."""
    cast.deposit(GIFT, olga)
    batch, told = cast.batch(), (("makers", cast.MONDAY), ("others", cast.MONDAY + timedelta(days=40)))
    stakes = [cast.staked(cast.defense(f"of {name}", cast.team(name)), of=batch, at=at) for name, at in told]
    for each in stakes:
        run_again(each)
    return stakes


@pytest.mark.parametrize(("days", "teams"), [(0, {"makers"}), (30, {"makers", "others"})])
def test_an_award_is_moved_about_those_who_share_it(days: int, teams: set[str], batch: list[Stake], rita: User) -> None:
    now = NOW + timedelta(days=days)
    case = motions.award_move(batch[0], statement="It stood.", reason=REASON, by=rita, now=now)
    assert {party.team.name for party in case.parties.all()} == teams


def test_an_award_that_others_would_share_by_now_is_refused(batch: list[Stake], rita: User, ron: User) -> None:
    """Who votes for an award votes for those that share it: another one is another motion."""
    case = motions.award_move(batch[0], statement="It stood.", reason=REASON, by=rita, now=NOW)
    refused("others_share", confirmed, voted(case, ron, NOW), ron, NOW + timedelta(days=30))
    assert not Award.objects.exists() and not Stake.objects.exclude(ended_at=None).exists()


REASONS = [
    (" \n", "invalid", "none that could be read"),
    ("\x00", "invalid", "nor here"),
    ("They are a lab of one university. " * 200, "invalid", "more than anybody reads"),
    ("x", "says_too_little", "a letter"),
    ("ok ok ok ok ok ok ok ok", "says_too_little", "one word over and over"),
    ("They are a labs now", "says_too_little", "one character less than is asked for"),
    ("Extraordinarily well deserved", "says_too_little", "three words"),
]


def test_a_reason_that_says_something_is_asked_for_at_once(rita: User) -> None:
    lab = cast.team("lab")
    for reason, code, why in REASONS:
        assert refused(code, motions.grant_move, lab, reason=reason, by=rita, now=NOW).field == "reason", why
    assert not Case.objects.exists()
    assert motions.grant_move(lab, reason="It is a lab of Graz.", by=rita, now=NOW).reason, "short, and enough"


def test_what_is_nobodys_is_not_withheld(rita: User) -> None:
    refused("invalid", motions.withhold_move, ledger_account(AccountKind.DEFENDERS), 1, reason=REASON, by=rita, now=NOW)
    assert not Case.objects.exists()


def test_the_policy_says_how_many_votes_it_takes(rita: User, ron: User, ruth: User, olga: User) -> None:
    motion = made.granting(rita, olga)
    case = voted(motion.move(rita), ron, NOW)
    Case.objects.filter(pk=case.pk).update(
        policy=PolicyVersion.objects.create(
            version=9, numbers=Policy(board_quorum=3).to_json(), in_force_from=NOW, reason="Three votes."
        )
    )
    refused("no_quorum", confirmed, case, ron, NOW)
    assert carried(case, ruth, NOW).quorum == 3 and motion.done()


# The pages on which members move something ----------------------------------------------------------------------------


def address_of(motion: Motion) -> str:
    """The page on which it is moved."""
    if motion.kind in ("grant", "revoke"):
        return "/board/grants/"
    if motion.kind == "stake" or "granted" in motion.details:
        return "/board/stakes/"
    if motion.kind in ("award", "end", "forfeit") or (motion.kind == "withhold" and "award" in motion.subject):
        return f"/board/awards/{motion.team.entries.get().defense.stakes.get().pk}/"
    return "/board/withheld/"


@pytest.mark.parametrize(
    "make",
    [
        made.staking,
        made.keeping,
        made.granting,
        made.ending,
        made.giving_an_award_back,
        made.withholding_a_share,
    ],
)
def test_an_open_motion_is_shown_to_who_may_judge_it(
    make: Make, rita: User, ron: User, olga: User, signed_in: Any
) -> None:
    motion = make(rita, olga)
    address, board, other = address_of(motion), signed_in(rita), signed_in(ron)
    assert "Before the board" not in main(board, address)
    case = motion.move(rita)
    link = f'<a class="id" href="/board/cases/{case.public_id}/">{case.public_id}</a>'
    assert f"Moved by you, 1 of 2 votes; others vote at {link}." in main(board, address)
    # Of how many votes, and what about, nothing yet.
    waits = f"A motion waits for you. First state any conflict of interest with its teams, at {link}."
    shows(main(other, address), waits, but=["Moved by"])
    voted(case, ron, NOW)
    assert f"Moved by rita, 2 of 2 votes; the count can be confirmed at {link}." in main(other, address)
    conflict(ron, motion.team)
    shows(other.get(address).content.decode(), but=[case.public_id, "Before the board"])


def test_what_follows_of_an_award_is_shown_on_its_own_pages_alone(
    rita: User, ron: User, olga: User, signed_in: Any
) -> None:
    motion = made.awarding(rita, olga)
    other = cast.staked(cast.defense("other", cast.team("others")), at=cast.MONDAY + timedelta(1))
    case = motion.move(rita)
    assert case.public_id not in main(signed_in(rita), f"/board/awards/{other.pk}/")
    assert case.public_id not in main(signed_in(olga), address_of(motion)), "nor to organizers"
    voted(case, ron, NOW)
    people = (ron, olga, factories.user("stranger"))
    answers = [signed_in(who).get(f"/board/cases/{case.public_id}/decide/") for who in people]
    assert [answer.status_code for answer in answers] == [200, 403, 404]
    assert f"net is given USD {GIFT / 200:,.2f} of the defenders' half." in plain(answers[0])


# Each with the form that moves it, the words that stand where the form did (none where the whole page is gone), and how
# the form is answered all the same.
ASIDE, NOT_YOURS = "Other members decide what is theirs", (403, "You step aside for a team that this is about")
NOTHING_THERE, NOT_LISTED = (404, "There is no stake with this number."), (400, "Choose an account of the list.")
Form = Callable[[Motion], dict[str, str]]
FORMS: list[tuple[Make, Form, str, str, tuple[int, str]]] = [
    (made.staking, lambda m: {"defense": net(m).public_id, "criteria": "c"}, 'name="defense"', ASIDE, NOT_YOURS),
    (
        made.returning,
        lambda m: {"action": "answer", "stake": str(net(m).stakes.get().pk), "granted": "yes"},
        "We erred.",
        ASIDE,
        NOT_YOURS,
    ),
    (made.granting, lambda m: {"team": m.team.public_id}, 'name="team"', ASIDE, NOT_YOURS),
    (made.revoking, lambda m: {"action": "revoke", "grant": grant(m)}, "Move to revoke it", ASIDE, NOT_YOURS),
    (made.awarding, lambda m: {"statement": "It stood."}, 'name="statement"', "", NOTHING_THERE),
    (made.ending, lambda m: {"action": "end"}, 'value="end"', "", NOTHING_THERE),
    (made.withholding_an_award, lambda m: {"action": "withhold"}, 'value="withhold"', "", NOTHING_THERE),
    (made.forfeiting, lambda m: {"action": "forfeit"}, 'value="forfeit"', "", NOTHING_THERE),
    (made.withholding, lambda m: {"account": own(m), "sum": "5"}, ">Team lab: USD", ASIDE, NOT_LISTED),
    (made.giving_back, lambda m: {"account": own(m), "action": "return"}, 'value="return"', ASIDE, NOT_LISTED),
]


def net(motion: Motion) -> Defense:
    return motion.team.entries.get().defense


def grant(motion: Motion) -> str:
    return str(motion.team.entitlements.get().pk)


def own(motion: Motion) -> str:
    return str(Account.objects.get(team=motion.team).pk)


def kept(page: str) -> dict[str, list[str]]:
    """The fields that the page of a motion which is not made yet sends again."""
    fields = re.findall(r'<textarea name="([^"]+)" hidden>(.*?)</textarea>', page, re.DOTALL)
    return {name: [unescape(value) for each, value in fields if each == name] for name, _ in fields}


@pytest.mark.parametrize(
    ("make", "form", "offered", "instead", "answered"), FORMS, ids=[row[0].__name__ for row in FORMS]
)
def test_who_may_not_move_on_the_pages(
    make: Make,
    form: Form,
    offered: str,
    instead: str,
    answered: tuple[int, str],
    board: Board,
    signed_in: Any,
    client: Client,
) -> None:
    """Who steps aside for the team is offered nothing, and does not learn that it is moved already."""
    motion = make(board.rita, board.olga)
    Team.objects.filter(pk=motion.team.pk).update(name="lab")
    address, sent, ron = address_of(motion), form(motion) | {"reason": REASON, "do": "move"}, signed_in(board.ron)
    shows(main(ron, address), offered, but=[ASIDE])
    conflict(board.ron, motion.team)
    gone = ron.get(address)
    assert gone.status_code == (200 if instead else 404)
    shows(gone.content.decode(), instead, but=[offered])
    others = (client, signed_in(board.stan), signed_in(board.olga))
    assert [each.post(address, sent).status_code for each in others] == [302, 404, 403]
    assert not Case.objects.filter(state="open").exists()
    motion.move(board.rita)
    shows(posted(ron, address, sent, answered[0]), answered[1], but=["open already"])


@pytest.mark.parametrize(("make", "form"), [row[:2] for row in FORMS], ids=[row[0].__name__ for row in FORMS])
def test_what_is_looked_at_is_moved(make: Make, form: Form, rita: User, olga: User, signed_in: Any) -> None:
    motion, mover = make(rita, olga), signed_in(rita)
    address, sent = address_of(motion), form(motion) | {"reason": REASON}
    again = kept(mover.post(address, sent).content.decode())
    assert {name: values[0] for name, values in again.items()} == sent, "looking at it keeps what was typed"
    assert not Case.objects.filter(state="open").exists()
    assert mover.post(address, again | {"do": "move"}).status_code == 303
    case = Case.objects.get(state="open")
    assert (case.motion, case.reason, case.opened_by) == (motion.kind, REASON, rita)


@pytest.mark.parametrize(("make", "form"), [FORMS[2][:2], FORMS[8][:2]], ids=["granting", "withholding"])
def test_a_motion_is_looked_at_before_it_is_made(
    make: Make, form: Form, rita: User, ron: User, olga: User, signed_in: Any
) -> None:
    motion, said, board = make(rita, olga), f"<b>Two</b> lines:\n{REASON}", signed_in(rita)
    address, sent = address_of(motion), form(motion) | {"reason": said}
    rows = [model.objects.count() for model in (AuditEntry, Message, LedgerEntry)]
    looked, short = board.post(address, sent), board.post(address, sent | {"reason": "ok"})
    again = kept(looked.content.decode())
    changed = board.post(address, again | {"do": "change"})
    assert [answer.status_code for answer in (looked, changed, short)] == [200, 200, 400]
    shows(
        main_of(looked),
        "As the board will read it, and everybody once it is carried",
        "&lt;b&gt;Two&lt;/b&gt; lines:<br>",
        f"/teams/{motion.team.public_id}/",
    )
    assert "&lt;b&gt;Two&lt;/b&gt; lines:" in main_of(changed)
    # Said before it is shown, and what was typed is kept.
    shows(main_of(short), "There are 2 and 1.", "\nok</textarea>")
    scripts = ["js/posted" in answer.content.decode() for answer in (looked, changed, short, board.get(address))]
    assert scripts == [True, True, True, False], "going back sends nothing again"
    assert not Case.objects.filter(state="open").exists(), "so far it was only looked at"
    assert rows == [model.objects.count() for model in (AuditEntry, Message, LedgerEntry)], "and left nothing behind"
    moved, case = board.post(address, again | {"do": "move"}, follow=True), Case.objects.get(state="open")
    assert f"Moved as case {case.public_id}: 2 votes are needed, and yours is the first." in plain(moved)
    (draft,) = re.findall(r'data-draft="(motion (?:Grant|Withhold)Form rita)"', main_of(short))
    shows(main_of(moved), f'data-sent="{draft}"')
    assert (case.motion, case.reason) == (motion.kind, said)
    second = posted(signed_in(ron), address, sent | {"do": "move"}, 409)
    assert "A motion about the same is open already." in second
