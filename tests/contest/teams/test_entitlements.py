"""Why a team may attack: a paper that an organizer checked, or a grant of the board (R25)."""

from datetime import date, datetime, timedelta
from functools import partial
from itertools import product
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from accounts.leaving import account_delete
from contest.board.motions import grant_move, revoke_move
from contest.core.models import BoardDecision, Member, Team
from contest.teams.arxiv import ARCHIVES, paper_id
from contest.teams.entitlements import (
    MAX_CHARACTERS,
    entitlement_accept,
    entitlement_answer,
    entitlement_grant,
    entitlement_question,
    entitlement_refuse,
    entitlement_revoke,
    entitlement_withdraw,
    grant_revoke,
)
from contest.teams.letters import link_to
from contest.teams.models import Entitlement
from contest.teams.selectors import entitlement_in_force, is_entitled
from contest.teams.services import member_add, member_leave, member_remove
from tests.contest.teams.conftest import PAPER, asked, researcher
from tests.factories import mandate
from tests.refusals import refused
from tests.tables import cases

pytestmark = pytest.mark.django_db
WHY = "A lab that has no papers yet."
GONE = "The team may not attack any more"


TODAY = date(2026, 11, 18)


@cases(
    "typed found why",
    ("1809.08352", "1809.08352", "the new form, five digits"),
    ("0704.0001", "0704.0001", "the first month of the new form"),
    ("1412.9999", "1412.9999", "the last month of four digits"),
    ("1501.00001", "1501.00001", "the first month of five digits"),
    ("2611.12345", "2611.12345", "this month"),
    (" 1809.08352v3 ", "1809.08352", "the version is dropped"),
    ("arXiv:1809.08352v12", "1809.08352", "as papers cite it"),
    ("https://arxiv.org/abs/1809.08352v2", "1809.08352", "the page"),
    ("http://www.arxiv.org/pdf/1809.08352v2.pdf", "1809.08352", "the file"),
    ("export.arxiv.org/abs/hep-th/9901001", "hep-th/9901001", "a mirror, the old form"),
    ("hep-th/9901001v1", "hep-th/9901001", "the old form, its version dropped"),
    ("math.GT/0309136", "math/0309136", "the subject class is dropped"),
    ("HEP-TH/9901001", "hep-th/9901001", "one way of writing"),
    ("cs/0703155", "cs/0703155", "the last month of the old form"),
    ("hep-th/9108001", "hep-th/9108001", "the first year"),
    ("", None, "nothing"),
    ("1809.0835", None, "five digits since 2015"),
    ("1412.12345", None, "four digits before 2015"),
    ("0703.0001", None, "the new form began in April 2007"),
    ("cs/0704155", None, "the old form had ended"),
    ("hep-th/9012001", None, "before arXiv"),
    ("2612.00001", None, "next month"),
    ("1813.00001", None, "no such month"),
    ("1800.00001", None, "no such month"),
    ("1809.00000", None, "numbers begin at 1"),
    ("hep-th/9901000", None, "numbers begin at 1"),
    ("1809.08352v0", None, "versions begin at 1"),
    ("1809.08352x", None, "something behind"),
    ("1809.083521", None, "too many digits"),
    ("birds/9901001", None, "no such archive"),
    ("١٨٠٩.٠٨٣٥٢", None, "digits of another script"),
    ("https://example.org/abs/1809.08352", None, "another site"),
)
def test_both_forms_of_identifiers(typed: str, found: str | None, why: str) -> None:
    assert paper_id(typed, today=TODAY) == found, why


def test_each_archive_is_known() -> None:
    assert all(paper_id(f"{name}/9901001", today=TODAY) == f"{name}/9901001" for name in ARCHIVES)


# Asking, and what organizers decide


def accepted(by: User, olga: User, now: datetime, **what: str) -> Entitlement:
    return entitlement_accept(number=asked(by, now, **what).pk, by=olga, now=now)


def steps(row: Entitlement) -> list[tuple[str, str]]:
    return list(row.steps.order_by("pk").values_list("kind", "words"))


def test_a_paper_of_a_member_entitles(red: Team, carl: User, rosa: User, olga: User, now: datetime) -> None:
    row = asked(carl, now)
    assert (row.arxiv_id, row.email, row.author, is_entitled(red, now)) == (PAPER, "rosa@example.org", rosa, False)
    entitlement_accept(number=row.pk, by=olga, now=now)
    before, since = (is_entitled(red, at) for at in (now - timedelta(microseconds=1), now))
    assert (before, since) == (False, True), "from the moment of the decision"


def test_every_step_is_kept_and_told(red: Team, carl: User, olga: User, now: datetime, sent: Any) -> None:
    User.objects.filter(pk=olga.pk).update(email="olga@example.org")
    of_red = Entitlement.objects.values_list("pk", flat=True).get
    for act, team, organizer in (
        (lambda: asked(carl, now), "Team red asks to attack", "Team red asks to attack"),
        (
            lambda: entitlement_question(number=of_red(), words="Which author?", by=olga, now=now),
            *("The organizers ask team red something", ""),
        ),
        (
            lambda: entitlement_answer(by=carl, words="The second.", now=now),
            *("Team red answered", "Team red answered your question"),
        ),
        (
            lambda: entitlement_refuse(number=of_red(), words="Not on it.", by=olga, now=now),
            *("The request of team red is refused", ""),
        ),
    ):
        told = {"carl@example.org": team, "rosa@example.org": team, "olga@example.org": organizer}
        assert {each.to[0]: each.subject for each in sent(act)} == {who: said for who, said in told.items() if said}
    row = Entitlement.objects.get()
    words = [("asked", ""), ("question", "Which author?"), ("answer", "The second."), ("refused", "Not on it.")]
    assert (steps(row), row.state, row.decided_by, row.decided_at) == (words, "refused", olga, now)
    accepted(carl, olga, now, paper="hep-th/9901001")
    assert is_entitled(red, now), "after a refusal the team may ask again"


def test_what_will_not_do(red: Team, blue: Team, carl: User, now: datetime) -> None:
    member_add(team=red, user=researcher("zoe"), now=now)
    User.objects.filter(username="zoe").update(email="")
    for what, code, field, why in (
        ({"paper": "1809.1"}, "invalid", "arxiv_id", "no identifier"),
        ({"paper": "2612.00001"}, "invalid", "arxiv_id", "next month's"),
        ({"email": "bea@example.org"}, "not_a_member", "paper_email", "of another team's member"),
        ({"email": "nobody@example.org"}, "not_a_member", "paper_email", "nobody's"),
        ({"email": ""}, "not_a_member", "paper_email", "none, also where a member has none"),
    ):
        assert (refused(code, asked, carl, now, **what).field, Entitlement.objects.exists()) == (field, False), why
    assert asked(carl, now, email=" Rosa@Example.ORG ").email == "rosa@example.org", "case does not matter"


def test_only_the_captain_asks_answers_and_withdraws(red: Team, carl: User, rosa: User, now: datetime) -> None:
    refused("not_captain", asked, rosa, now)
    asked(carl, now)
    refused("not_captain", entitlement_answer, by=rosa, words="x", now=now)
    refused("not_captain", entitlement_withdraw, by=rosa, now=now)


@pytest.mark.both("one open request of a team is a constraint")
def test_one_request_at_a_time(red: Team, carl: User, olga: User, now: datetime) -> None:
    asked(carl, now)
    for _ in range(2):
        refused("asked_already", asked, carl, now)
        Entitlement.objects.update(state="question")
    with pytest.raises(IntegrityError), transaction.atomic():
        Entitlement.objects.create(team=red, kind="paper", arxiv_id="x", email="x@example.org", asked_at=now)
    entitlement_withdraw(by=carl, now=now)
    assert Entitlement.objects.get().state == "withdrawn"
    accepted(carl, olga, now)
    refused("entitled_already", asked, carl, now)


def test_organizers_alone_decide_and_once(
    red: Team, carl: User, rita: User, stan: User, olga: User, now: datetime
) -> None:
    number = asked(carl, now).pk
    acts = [
        partial(entitlement_accept, number=number, now=now),
        partial(entitlement_question, number=number, words="Who?", now=now),
        partial(entitlement_refuse, number=number, words="x", now=now),
    ]
    refused("nothing_waits", entitlement_answer, by=carl, words="Nobody asked.", now=now)
    for act, by in product(acts, (carl, rita, stan)):
        refused("not_an_organizer", act, by=by)
    assert not is_entitled(red, now)
    acts[1](by=olga)
    acts[0](by=olga)
    assert is_entitled(red, now), "an organizer who found the answer need not wait"
    for act in acts:
        refused("decided_already", act, by=olga)
    refused("nothing_waits", entitlement_withdraw, by=carl, now=now)
    refused("not_found", entitlement_accept, number=0, by=olga, now=now)


def test_a_question_an_answer_and_a_refusal_need_words(red: Team, carl: User, olga: User, now: datetime) -> None:
    number = asked(carl, now).pk
    entitlement_question(number=number, words="Who?", by=olga, now=now)
    for words in ("", " \x00 ", "x" * (MAX_CHARACTERS + 1)):
        refused("invalid", entitlement_question, number=number, words=words, by=olga, now=now)
        refused("invalid", entitlement_refuse, number=number, words=words, by=olga, now=now)
        refused("invalid", entitlement_answer, by=carl, words=words, now=now)


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
    number = asked(carl, now).pk
    member_leave(user=rosa, now=now)
    refused("author_left", entitlement_accept, number=number, by=olga, now=now)


def test_with_the_author_s_account_the_address_goes_and_the_team_is_told(
    red: Team, carl: User, rosa: User, olga: User, now: datetime, sent: Any
) -> None:
    accepted(carl, olga, now)
    letters = {each.to[0]: each.body for each in sent(lambda: account_delete(user=rosa, now=now))}
    assert GONE in letters["carl@example.org"]
    row = Entitlement.objects.get()
    assert (row.email, row.author, row.arxiv_id, is_entitled(red, now)) == ("", None, PAPER, False)


# Grants of the board.


def granted(team: Team, rita: User, now: datetime, reason: str = WHY) -> Entitlement:
    return entitlement_grant(team=team, reason=reason, by=mandate("grant", rita, now), now=now)


def test_the_board_grants_with_a_recorded_reason(red: Team, rita: User, now: datetime, sent: Any) -> None:
    letters = sent(lambda: granted(red, rita, now))
    made = BoardDecision.objects.get()
    assert (made.kind, made.subject, made.reason) == ("grant", {"team": [red.pk]}, WHY)
    row = entitlement_in_force(red, now)
    assert row is not None and (row.kind, row.decision) == ("grant", made)
    assert {each.subject for each in letters} == {"Team red may attack"}
    assert all(f"Send attacks here: {link_to('attacks')}" in each.body and WHY in each.body for each in letters)


def test_only_the_board_grants_and_once(red: Team, olga: User, carl: User, rita: User, now: datetime) -> None:
    for by in (olga, carl):
        refused("not_on_board", grant_move, red, reason=WHY, by=by, now=now)
    refused("invalid", granted, red, rita, now, " ")
    assert not Entitlement.objects.exists()
    granted(red, rita, now)
    refused("entitled_already", granted, red, rita, now)
    assert BoardDecision.objects.count() == 1
    for who in red.members.order_by("captain"):
        member_leave(user=who.user, now=now)
    assert is_entitled(red, now), "whoever leaves"


def test_a_grant_needs_its_decision_and_a_paper_its_name(red: Team, now: datetime, carl: User) -> None:
    paper = {"kind": "paper", "author": carl}
    for wrong in ({"kind": "grant"}, paper | {"email": "x@example.org"}, paper | {"arxiv_id": "x"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Entitlement.objects.create(team=red, asked_at=now, state="refused", **wrong)


# Taken back.


def test_what_was_accepted_by_mistake_is_revoked(
    red: Team, carl: User, rita: User, olga: User, now: datetime, sent: Any
) -> None:
    row = accepted(carl, olga, now)
    revokes = partial(entitlement_revoke, by=olga, now=now)
    letters = sent(lambda: revokes(number=row.pk, words="Another Rosa."))
    row.refresh_from_db()
    kept = (row.state, row.decided_by, row.decided_at, steps(row)[-1], is_entitled(red, now))
    assert kept == ("revoked", olga, now, ("revoked", "Another Rosa."), False), "who accepted it stays"
    assert {each.subject for each in letters} == {"An entitlement of team red is revoked"}
    assert "Another Rosa." in letters[0].body and "may not attack any more" in letters[0].body
    again = accepted(carl, olga, now)  # the team may ask again
    granted(red, rita, now)
    letters = sent(lambda: revokes(number=again.pk, words="Withdrawn paper."))
    assert is_entitled(red, now) and "may attack all the same" in letters[0].body, "the grant is left"


def test_the_board_takes_a_grant_back_by_a_decision(
    red: Team, rita: User, olga: User, now: datetime, sent: Any
) -> None:
    row = granted(red, rita, now)
    letters = sent(lambda: grant_revoke(number=row.pk, reason="No lab.", by=mandate("revoke", rita, now), now=now))
    grant, revoked = BoardDecision.objects.order_by("pk")
    assert (revoked.kind, revoked.subject, revoked.reason) == ("revoke", {"team": [red.pk]}, "No lab.")
    row.refresh_from_db()
    assert (row.decision, row.state, steps(row)[-1]) == (grant, "revoked", ("revoked", "No lab."))
    assert "the review board took its grant back" in letters[0].body and not is_entitled(red, now)
    assert is_entitled(granted(red, rita, now, "A lab after all.").team, now)


@pytest.mark.both("what is taken back is locked")
def test_who_revokes_what(red: Team, carl: User, olga: User, rita: User, now: datetime) -> None:
    paper, by = accepted(carl, olga, now), mandate("revoke", rita, now)
    grant = granted(red, rita, now)
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
        refused(code, act)
    assert set(Entitlement.objects.values_list("state", flat=True)) == {"accepted"}
    takes(number=paper.pk, words="x", by=olga)
    refused("not_accepted", takes, number=paper.pk, words="x", by=olga)


def test_who_takes_the_paper_along_is_told_of_in_the_letter(
    red: Team, carl: User, rosa: User, olga: User, rita: User, now: datetime, sent: Any
) -> None:
    leaves = partial(member_leave, user=rosa, now=now)
    assert GONE not in sent(leaves)[0].body, "it never might attack"
    member_add(team=red, user=rosa, now=now)
    accepted(carl, olga, now)
    assert GONE in sent(leaves)[0].body
    member_add(team=red, user=rosa, now=now)
    assert GONE in sent(lambda: member_remove(by=carl, member_id=Member.objects.get(user=rosa).pk, now=now))[0].body
    member_add(team=red, user=rosa, now=now)
    granted(red, rita, now)
    assert GONE not in sent(leaves)[0].body
