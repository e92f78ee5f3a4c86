"""Why a team may attack: a paper that an organizer checked, or a grant of the board (R25)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from common.errors import Conflict, DomainError, InvalidInput, NotAllowed, NotFound
from contest.board.moves import grant_move, revoke_move
from contest.models import BoardDecision, Entitlement, Member, Team
from contest.teams.entitlements import (
    MOST_CHARACTERS,
    entitlement_accept,
    entitlement_answer,
    entitlement_ask,
    entitlement_grant,
    entitlement_question,
    entitlement_refuse,
    entitlement_revoke,
    entitlement_withdraw,
    grant_revoke,
)
from contest.teams.letters import link_to
from contest.teams.selectors import entitlement_in_force, is_entitled
from contest.teams.services import member_add, member_leave, member_remove
from labeling.accounts.leaving import account_delete
from tests.contest.teams.conftest import PAPER, refused, researcher
from tests.factories import mandate

pytestmark = pytest.mark.django_db
WHY = "A lab that has no papers yet."
GONE = "The team may not attack any more"


def asked(by: User, now: datetime, email: str = "rosa@example.org", paper: str = f"{PAPER}v2") -> Entitlement:
    return entitlement_ask(by=by, arxiv_id=paper, paper_email=email, now=now)


def accepted(by: User, olga: User, now: datetime, **what: str) -> Entitlement:
    return entitlement_accept(number=asked(by, now, **what).pk, by=olga, now=now)


def steps(row: Entitlement) -> list[tuple[str, str]]:
    return list(row.steps.order_by("pk").values_list("kind", "words"))


def test_a_paper_of_a_member_entitles(red: Team, carl: User, rosa: User, olga: User, now: datetime) -> None:
    row = asked(carl, now)
    assert (row.arxiv_id, row.email, row.author) == (PAPER, "rosa@example.org", rosa)
    assert not is_entitled(red, now)
    entitlement_accept(number=row.pk, by=olga, now=now)
    assert is_entitled(red, now)
    assert not is_entitled(red, now - timedelta(microseconds=1)), "from the moment of the decision"


def test_every_step_is_kept_and_told(red: Team, carl: User, olga: User, now: datetime, sent: Any) -> None:
    olga.email = "olga@example.org"
    olga.save()
    acts: list[Callable[[], Any]] = [
        lambda: asked(carl, now),
        lambda: entitlement_question(number=Entitlement.objects.get().pk, words="Which author?", by=olga, now=now),
        lambda: entitlement_answer(by=carl, words="The second.", now=now),
        lambda: entitlement_refuse(number=Entitlement.objects.get().pk, words="Not on it.", by=olga, now=now),
    ]
    told = [{(each.to[0], each.subject) for each in sent(act)} for act in acts]
    to_team = [
        "Team red asks to attack",
        "The organizers ask team red something",
        "Team red answered",
        "The request of team red is refused",
    ]
    to_olga = ["Team red asks to attack", None, "Team red answered your question", None]
    for letters, team, organizer in zip(told, to_team, to_olga, strict=True):
        people = {(f"{name}@example.org", team) for name in ("carl", "rosa")}
        assert letters == people | ({("olga@example.org", organizer)} if organizer else set())
    row = Entitlement.objects.get()
    assert steps(row) == [
        ("asked", ""),
        ("question", "Which author?"),
        ("answer", "The second."),
        ("refused", "Not on it."),
    ]
    assert (row.state, row.decided_by, row.decided_at) == ("refused", olga, now)
    accepted(carl, olga, now, paper="hep-th/9901001")
    assert is_entitled(red, now), "after a refusal the team may ask again"


WRONG: list[tuple[dict[str, str], str, str]] = [
    ({"paper": "1809.1"}, "arxiv_id", "no identifier"),
    ({"paper": "2612.00001"}, "arxiv_id", "next month's"),
    ({"email": "bea@example.org"}, "paper_email", "of another team's member"),
    ({"email": "nobody@example.org"}, "paper_email", "nobody's"),
    ({"email": ""}, "paper_email", "none, also where a member has none"),
]


def test_what_will_not_do(red: Team, blue: Team, carl: User, now: datetime) -> None:
    member_add(team=red, user=researcher("zoe"), now=now)
    User.objects.filter(username="zoe").update(email="")
    for what, field, why in WRONG:
        with pytest.raises(InvalidInput) as found:
            asked(carl, now, **what)
        assert (found.value.field, Entitlement.objects.exists()) == (field, False), why
    assert asked(carl, now, email=" Rosa@Example.ORG ").email == "rosa@example.org", "case does not matter"


def test_only_the_captain_asks_answers_and_withdraws(red: Team, carl: User, rosa: User, now: datetime) -> None:
    refused(NotAllowed, asked, rosa, now)
    asked(carl, now)
    refused(NotAllowed, entitlement_answer, by=rosa, words="x", now=now)
    refused(NotAllowed, entitlement_withdraw, by=rosa, now=now)


@pytest.mark.both("one open request of a team is a constraint")
def test_one_request_at_a_time(red: Team, carl: User, olga: User, now: datetime) -> None:
    row = asked(carl, now)
    for _ in range(2):
        assert refused(Conflict, asked, carl, now).code == "asked_already"
        Entitlement.objects.update(state="question")
    with pytest.raises(IntegrityError), transaction.atomic():
        Entitlement.objects.create(team=red, kind="paper", arxiv_id="x", email="x@example.org", asked_at=now)
    entitlement_withdraw(by=carl, now=now)
    row.refresh_from_db()
    assert row.state == "withdrawn"
    accepted(carl, olga, now)
    assert refused(Conflict, asked, carl, now).code == "entitled_already"


def test_organizers_alone_decide_and_once(
    red: Team, carl: User, rita: User, stan: User, olga: User, now: datetime
) -> None:
    number = asked(carl, now).pk
    acts = [
        partial(entitlement_accept, number=number, now=now),
        partial(entitlement_question, number=number, words="Who?", now=now),
        partial(entitlement_refuse, number=number, words="x", now=now),
    ]
    assert refused(Conflict, entitlement_answer, by=carl, words="Nobody asked.", now=now).code == "nothing_waits"
    codes = {refused(NotAllowed, act, by=by).code for act in acts for by in (carl, rita, stan)}
    assert codes == {"not_an_organizer"} and not is_entitled(red, now)
    acts[1](by=olga)
    acts[0](by=olga)
    assert is_entitled(red, now), "an organizer who found the answer need not wait"
    assert {refused(Conflict, act, by=olga).code for act in acts} == {"decided_already"}
    refused(Conflict, entitlement_withdraw, by=carl, now=now)
    refused(NotFound, entitlement_accept, number=0, by=olga, now=now)


def test_a_question_an_answer_and_a_refusal_need_words(red: Team, carl: User, olga: User, now: datetime) -> None:
    number = asked(carl, now).pk
    entitlement_question(number=number, words="Who?", by=olga, now=now)
    for words in ("", " \x00 ", "x" * (MOST_CHARACTERS + 1)):
        for act in (entitlement_question, entitlement_refuse):
            refused(InvalidInput, act, number=number, words=words, by=olga, now=now)
        refused(InvalidInput, entitlement_answer, by=carl, words=words, now=now)


# A paper speaks for the team its author is in.


def test_a_paper_goes_with_its_author(red: Team, blue: Team, carl: User, rosa: User, olga: User, now: datetime) -> None:
    accepted(carl, olga, now)
    User.objects.filter(pk=rosa.pk).update(email="rosa@elsewhere.example")
    assert is_entitled(red, now), "a new address changes nothing"
    member_leave(user=rosa, now=now)
    assert not is_entitled(red, now)
    member_add(team=blue, user=rosa, now=now)
    assert not is_entitled(blue, now), "another team asks for itself"
    member_leave(user=rosa, now=now)
    member_add(team=red, user=rosa, now=now)
    assert is_entitled(red, now)


def test_an_author_who_left_meanwhile_is_noticed(red: Team, carl: User, rosa: User, olga: User, now: datetime) -> None:
    row = asked(carl, now)
    member_leave(user=rosa, now=now)
    assert refused(Conflict, entitlement_accept, number=row.pk, by=olga, now=now).code == "author_left"


def test_with_the_author_s_account_the_address_goes_and_the_team_is_told(
    red: Team, carl: User, rosa: User, olga: User, now: datetime, sent: Any
) -> None:
    accepted(carl, olga, now)
    letters = [each for each in sent(lambda: account_delete(user=rosa, now=now)) if each.to == ["carl@example.org"]]
    assert GONE in letters[0].body
    row = Entitlement.objects.get()
    assert (row.email, row.author, row.arxiv_id) == ("", None, PAPER)
    assert not is_entitled(red, now)


# Grants of the board.


def test_the_board_grants_with_a_recorded_reason(red: Team, rita: User, now: datetime, sent: Any) -> None:
    letters = sent(
        lambda: entitlement_grant(team=red, reason="A lab without papers.", by=mandate("grant", rita, now), now=now)
    )
    made = BoardDecision.objects.get()
    assert (made.kind, made.subject, made.reason) == ("grant", {"team": [red.pk]}, "A lab without papers.")
    row = entitlement_in_force(red, now)
    assert row is not None and (row.kind, row.decision) == ("grant", made)
    assert {each.subject for each in letters} == {"Team red may attack"}
    assert all(f"Send attacks here: {link_to('attacks')}" in each.body for each in letters)
    assert "A lab without papers." in letters[0].body


def test_only_the_board_grants_and_once(red: Team, olga: User, carl: User, rita: User, now: datetime) -> None:
    for by in (olga, carl):
        refused(NotAllowed, grant_move, red, reason=WHY, by=by, now=now)
    refused(InvalidInput, entitlement_grant, team=red, reason=" ", by=mandate("grant", rita, now), now=now)
    assert not Entitlement.objects.exists()
    entitlement_grant(team=red, reason="x", by=mandate("grant", rita, now), now=now)
    refused(Conflict, entitlement_grant, team=red, reason="again", by=mandate("grant", rita, now), now=now)
    assert BoardDecision.objects.count() == 1
    for who in red.members.order_by("captain"):
        member_leave(user=who.user, now=now)
    assert is_entitled(red, now), "whoever leaves"


def test_a_grant_needs_its_decision_and_a_paper_its_name(red: Team, now: datetime, carl: User) -> None:
    for wrong in ({"kind": "grant"}, {"kind": "paper", "email": "x@example.org"}, {"kind": "paper", "arxiv_id": "x"}):
        author = carl if wrong["kind"] == "paper" else None
        with pytest.raises(IntegrityError), transaction.atomic():
            Entitlement.objects.create(team=red, asked_at=now, state="refused", author=author, **wrong)


# Taken back.


def test_what_was_accepted_by_mistake_is_revoked(
    red: Team, carl: User, rita: User, olga: User, now: datetime, sent: Any
) -> None:
    row = accepted(carl, olga, now)
    letters = sent(lambda: entitlement_revoke(number=row.pk, words="Another Rosa.", by=olga, now=now))
    assert not is_entitled(red, now)
    assert steps(row)[-1] == ("revoked", "Another Rosa.")
    row.refresh_from_db()
    assert (row.state, row.decided_by, row.decided_at) == ("revoked", olga, now), "who accepted it stays"
    assert {each.subject for each in letters} == {"An entitlement of team red is revoked"}
    assert "Another Rosa." in letters[0].body and "may not attack any more" in letters[0].body
    again = accepted(carl, olga, now)  # the team may ask again
    entitlement_grant(team=red, reason="A lab.", by=mandate("grant", rita, now), now=now)
    letters = sent(lambda: entitlement_revoke(number=again.pk, words="Withdrawn paper.", by=olga, now=now))
    assert is_entitled(red, now) and "may attack all the same" in letters[0].body, "the grant is left"


def test_the_board_takes_a_grant_back_by_a_decision(
    red: Team, rita: User, olga: User, now: datetime, sent: Any
) -> None:
    row = entitlement_grant(team=red, reason="A lab.", by=mandate("grant", rita, now), now=now)
    letters = sent(lambda: grant_revoke(number=row.pk, reason="No lab.", by=mandate("revoke", rita, now), now=now))
    assert not is_entitled(red, now)
    granted, revoked = BoardDecision.objects.order_by("pk")
    assert (revoked.kind, revoked.subject, revoked.reason) == ("revoke", {"team": [red.pk]}, "No lab.")
    row.refresh_from_db()
    assert (row.decision, row.state, steps(row)[-1]) == (granted, "revoked", ("revoked", "No lab."))
    assert "the review board took its grant back" in letters[0].body
    assert is_entitled(
        entitlement_grant(team=red, reason="A lab after all.", by=mandate("grant", rita, now), now=now).team, now
    )


@pytest.mark.both("what is taken back is locked")
def test_who_revokes_what(red: Team, carl: User, olga: User, rita: User, now: datetime) -> None:
    paper, by = accepted(carl, olga, now), mandate("revoke", rita, now)
    grant = entitlement_grant(team=red, reason="A lab.", by=mandate("grant", rita, now), now=now)
    takes, takes_grant = partial(entitlement_revoke, now=now), partial(grant_revoke, by=by, now=now)
    for code, act in (
        ("not_an_organizer", partial(takes, number=paper.pk, words="x", by=carl)),
        ("not_an_organizer", partial(takes, number=paper.pk, words="x", by=rita)),
        ("not_on_board", partial(revoke_move, grant, reason=WHY, by=carl, now=now)),
        ("not_on_board", partial(revoke_move, grant, reason=WHY, by=olga, now=now)),
        ("a_grant", partial(takes, number=grant.pk, words="x", by=olga)),
        ("not_a_grant", partial(takes_grant, number=paper.pk, reason="x")),
        ("invalid", partial(takes, number=paper.pk, words=" ", by=olga)),
        ("invalid", partial(takes_grant, number=grant.pk, reason=" ")),
        ("not_found", partial(takes, number=0, words="x", by=olga)),
    ):
        assert refused(DomainError, act).code == code
    assert set(Entitlement.objects.values_list("state", flat=True)) == {"accepted"}
    takes(number=paper.pk, words="x", by=olga)
    assert refused(DomainError, takes, number=paper.pk, words="x", by=olga).code == "not_accepted"


def test_who_takes_the_paper_along_is_told_of_in_the_letter(
    red: Team, carl: User, rosa: User, olga: User, rita: User, now: datetime, sent: Any
) -> None:
    assert GONE not in sent(lambda: member_leave(user=rosa, now=now))[0].body, "it never might attack"
    member_add(team=red, user=rosa, now=now)
    accepted(carl, olga, now)
    letters = sent(lambda: member_leave(user=rosa, now=now))
    assert GONE in letters[0].body
    member_add(team=red, user=rosa, now=now)
    assert GONE in sent(lambda: member_remove(by=carl, member_id=Member.objects.get(user=rosa).pk, now=now))[0].body
    member_add(team=red, user=rosa, now=now)
    entitlement_grant(team=red, reason="A lab.", by=mandate("grant", rita, now), now=now)
    assert GONE not in sent(lambda: member_leave(user=rosa, now=now))[0].body
