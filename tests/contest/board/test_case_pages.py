"""The board's pages of cases: the list, disclosing, the content of a case, voting, and deciding (R19-R22)."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from adjudication.selectors import rulings_with_panels
from contest.attacks.models import NearDuplicate
from contest.board.decisions import cases_close
from contest.board.models import CaseParty, Disclosure, Vote
from contest.core.enums import AppealSide, CaseOutcome, CaseState, ConflictKind, PartyRole, VoteChoice
from contest.core.models import Case, ConflictOfInterest
from contest.pages.board.case_content import picture_case_content, reliability_of
from contest.record.picture_answers import (
    AnswerShown,
    RulingShown,
    panel_answers,
    rulings_with_answers,
    smallest_box_of,
)
from labeling.enums import Answer
from labeling.models import GoldMark, Image
from tests import factories
from tests.contest.attacks.cast import entitle, main_of
from tests.contest.board import case_cast, cast
from tests.contest.board.cast import LATER, RULED, SURE, UNSURE, WHY, Scene
from tests.contest.ledger import cast as money
from tests.contest.pages import lacking, plain, posted, queries, shows, words

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("it_is_later")]
DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def shared_scene(module_world: Path) -> Scene:
    """A picture on which a tasker was not sure."""
    return Scene.make(valid=False)


@pytest.fixture
def case(scene: Scene) -> Case:
    """The case of the picture, which its sender appealed."""
    return case_cast.appealed(scene.opened(), scene.red, side=AppealSide.ATTACKER).case


@pytest.fixture
def client(mia: User, signed_in: Any) -> Any:
    return signed_in(mia)


def page(case: Case, part: str = "") -> str:
    return f"/board/cases/{case.public_id}/{part}"


# The list -------------------------------------------------------------------------------------------------------------


def test_what_waits_for_ones_vote_comes_first_then_what_is_due_first(scene: Scene, client: Client, mia: User) -> None:
    green = money.team("green")
    later, voted, first = (case_cast.another(scene, sender=green) for _ in range(3))
    for each, days in ((later, 3), (voted, 1), (first, 2)):
        Case.objects.filter(pk=each.pk).update(due_at=LATER + timedelta(days=days))
    cast.vote(voted, mia, VoteChoice.UPHOLD)
    shown = client.get("/board/").context
    assert [(row.case, row.my_vote) for row in shown["rows"]] == [(first, ""), (later, ""), (voted, "uphold")]
    assert (shown["to_vote"], shown["counts"]["open"]) == (2, 3)


def test_a_case_is_listed_with_its_clock_and_what_it_is_about_once_it_is_open_to_the_member(
    case: Case, scene: Scene, client: Client, mia: User
) -> None:
    shows(words(client, "/board/"), "to be decided in 14 days", but=[scene.image.public_id])
    Case.objects.filter(pk=case.pk).update(due_at=LATER)
    cast.tell(case, mia)
    shows(words(client, "/board/"), "past due , 0 s ago", scene.image.public_id)


def test_cases_are_found_by_what_they_are_about(case: Case, scene: Scene, client: Client) -> None:
    case_cast.another(scene, sender=money.team("green")).parties.filter(team=scene.red).delete()
    of_it = (case.public_id.lower(), scene.image.public_id, case.appeals.get().public_id, scene.red.public_id, "RED")
    for name in of_it:
        shown = [client.get("/board/", {"find": name, "kind": kind}).context for kind in ("picture", "motion")]
        assert [[row.case for row in each["rows"]] for each in shown] == [[case], []], name
        assert shown[0]["counts"]["all"] == 1, name
    assert client.get("/board/", {"find": "C-000000"}).context["counts"]["all"] == 0
    assert "remove the filter" in words(client, "/board/?find=zebra")


def test_states_are_tabs_with_their_counts(case: Case, scene: Scene, client: Client) -> None:
    asked, upheld = (
        cast.decided(case_cast.another(scene), scene.members, choice).case
        for choice in (VoteChoice.MORE_TASKERS, VoteChoice.UPHOLD)
    )
    shown = {"open": [case], "panel": [asked], "closed": [upheld], "all": [case, asked, upheld], "nonsense": [case]}
    for state, expected in shown.items():
        answer = client.get("/board/", {"state": state})
        assert {row.case.pk for row in answer.context["rows"]} == {each.pk for each in expected}, state
        assert answer.context["counts"] == {"open": 1, "panel": 1, "closed": 1, "all": 3}


def test_a_long_list_has_pages_costs_no_more_and_an_empty_one_says_what_fills_it(
    scene: Scene, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "No case is open. Appeals and motions open one" in words(client, "/board/")
    assert "No case was closed yet" in words(client, "/board/?state=closed")
    case_cast.another(scene)
    few = queries(lambda: client.get("/board/"))
    for _ in range(4):
        case_cast.another(scene)
    assert queries(lambda: client.get("/board/")) <= few <= 40
    monkeypatch.setattr("contest.pages.board.case_views.PAGE_SIZE", 3)
    first, second = (client.get("/board/", {"page": number}) for number in (1, 2))
    assert (len(first.context["rows"]), len(second.context["rows"])) == (3, 2)
    assert 'rel="next"' in main_of(first) and 'rel="prev"' in main_of(second)


# Disclosure -----------------------------------------------------------------------------------------------------------


def answered(scene: Scene, red: str = "none", blue: str = "none", **more: str) -> dict[str, str]:
    return {f"tie-{scene.red.public_id}": red, f"tie-{scene.blue.public_id}": blue} | more


def test_the_teams_alone_are_named_before_a_member_says_that_nothing_ties_them(
    case: Case, scene: Scene, client: Client
) -> None:
    disclose = page(case, "disclose/")
    assert client.get(page(case))["Location"] == disclose
    shows(
        words(client, disclose),
        *(scene.red.name, scene.red.public_id, scene.blue.name, "sent the picture", "has a defense"),
        but=[scene.image.public_id, case_cast.ARGUMENT, "rejected", case.appeals.get().public_id],
    )
    assert posted(client, disclose, answered(scene)) == page(case)
    assert Disclosure.objects.filter(member=scene.members[0], case=case).count() == 2
    assert case_cast.ARGUMENT in words(client, page(case)) and client.get(disclose)["Location"] == page(case)


def test_who_steps_aside_is_led_away_and_sees_nothing_of_it_any_more(
    case: Case, scene: Scene, client: Client, mia: User
) -> None:
    more = {f"kind-{scene.blue.public_id}": "advisor", f"words-{scene.blue.public_id}": "She was my student."}
    answer = client.post(page(case, "disclose/"), answered(scene, blue="aside", **more), follow=True)
    assert answer.redirect_chain[-1] == ("/board/", 303)
    assert f"You stepped aside from case {case.public_id}" in plain(answer)
    made = ConflictOfInterest.objects.get(member=mia)
    assert (made.team, made.kind, made.words) == (scene.blue, ConflictKind.ADVISOR, "She was my student.")
    assert not Disclosure.objects.filter(member=mia).exists() and client.get(page(case)).status_code == 404
    assert case.public_id not in words(client, "/board/?state=all")


def test_what_is_missing_is_said_at_its_team(case: Case, scene: Scene, client: Client) -> None:
    choose, kind = "Choose one of the two for this team.", "Choose the kind of conflict."
    was_in_it = {"red": "aside", f"kind-{scene.red.public_id}": "member"}
    kept = rf'name="tie-{scene.blue.public_id}" value="none"[^>]* checked'
    for said, told in (({"red": ""}, choose), ({"red": "maybe"}, choose), ({"red": "aside"}, kind), (was_in_it, kind)):
        answer = client.post(page(case, "disclose/"), answered(scene, **said))
        assert answer.status_code == 400 and told in plain(answer), said
        assert re.search(kept, main_of(answer)), "what was said of the other team stays as it was"
    assert not Disclosure.objects.exists() and not ConflictOfInterest.objects.exists()


def test_a_team_that_comes_later_is_asked_for_before_a_vote_and_the_words_are_kept(
    opened: Case, client: Client
) -> None:
    CaseParty.objects.create(case=opened, team=money.team("late"), role=PartyRole.DEFENDER, added_at=LATER)
    answer = client.post(page(opened, "vote/"), {"choice": "uphold", "words": "I thought about it for long."})
    shows(plain(answer), "Team late", "I thought about it for long.", but=[case_cast.ARGUMENT])
    assert answer.status_code == 409 and not Vote.objects.exists()


# The case -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def opened(case: Case, mia: User) -> Case:
    """The case, to whose teams nothing ties the member."""
    cast.tell(case, mia)
    return case


def test_a_case_shows_answers_certificate_arguments_and_where_it_came_from(
    opened: Case, scene: Scene, client: Client
) -> None:
    case_cast.said(opened, scene.blue)
    answer = client.get(page(opened))
    markup, taskers = main_of(answer), [each.response.tasker for each in answer.context["answers"]]
    shows(
        plain(answer),
        *(case_cast.ARGUMENT, case_cast.ANSWER, "Mark m1: the wing", "Not sure, best guess yes uncertain"),
        *("rejected: a tasker was not sure", "Every tasker is sure of both questions R13 no: uncertain 3"),
        *(scene.attack.public_id, "of team red", *(each.public_id for each in taskers)),
    )
    shows(markup, *(f'class="outline look-{number} of-{number}"' for number in (1, 2, 3)))
    assert len(taskers) == 3
    for each in taskers:  # R4
        shows(markup, but=[each.user.username, f"/organizer/taskers/{each.public_id}"])


def shown_answers(image: Image) -> list[AnswerShown]:
    return panel_answers(image, rulings_with_panels(image))


def shown_rulings(image: Image) -> list[RulingShown]:
    return rulings_with_answers(image, rulings_with_panels(image), shown_answers(image))


def test_answers_to_the_panel_asked_in_addition_are_shown_with_their_ruling(scene: Scene, client: Client) -> None:
    case = scene.opened()
    panel = cast.decided(case, scene.members, VoteChoice.MORE_TASKERS).panel
    cast.answers(panel, SURE, SURE, now=LATER + DAY)
    assert len(shown_answers(scene.image)) == 3 and "2 of 3 answers are in" in words(client, page(case))
    panel.refresh_from_db()
    cast.rule(panel, SURE, now=LATER + 2 * DAY)
    assert cases_close(now=LATER + 2 * DAY) == 1
    shown = shown_rulings(scene.image)
    assert [(each.ruling.number, len(each.columns)) for each in shown] == [(1, 3), (2, 3)]
    assert not set(shown[0].columns) & set(shown[1].columns)
    shows(words(client, page(case)), "Ruling 1: rejected", "Ruling 2: valid, a bird")


def test_the_smallest_box_is_exact_and_the_limit_beside_it_covers_what_is_asked(scene: Scene) -> None:
    image = scene.beside(SURE, SURE, case_cast.SMALL).image
    found = smallest_box_of(shown_rulings(image)[0], image)
    assert found is not None and (found.share.numerator, found.share.denominator) == (21_000, 89_401)
    assert (found.percent, found.is_enough, found.number) == ("23.48\N{NO-BREAK SPACE}%", False, 3)
    x, y, width, height = found.limit
    assert width * height == pytest.approx(299 * 299 / 4, rel=1e-3)
    assert 0 <= x <= 299 - width and 0 <= y <= 299 - height


def test_how_reliable_somebody_was_counts_gold_and_agreement_on_other_pictures(scene: Scene) -> None:
    tasker, gold, panel = shown_answers(scene.image)[0].response.tasker, factories.gold(), factories.panel()
    for right in (True, False):
        row = factories.response(tasker, factories.panel(), now=RULED, counted=False, known=gold)
        GoldMark.objects.create(response=row, known=gold, tasker=tasker, right=right, marks={}, marked_at=RULED)
    factories.response(tasker, panel, now=RULED)
    cast.answers(panel, SURE, {"bird": Answer.UNSURE_YES})
    first = reliability_of(shown_answers(scene.image)[:1], scene.image)[0][1]
    # Five questions with each of two others, of which one differs in one.
    assert [(each.part, each.whole) for each in (first.gold, first.agreed)] == [(1, 2), (9, 10)]


def test_settled_cases_like_it_are_offered_the_nearest_first(opened: Case, scene: Scene, mia: User) -> None:
    alike = case_cast.another(scene, SURE, SURE, UNSURE)
    small = case_cast.another(scene, SURE, UNSURE, case_cast.SMALL)
    for each in (alike, small, case_cast.another(scene)):
        cast.decided(each, scene.members, VoteChoice.UPHOLD)
    found = picture_case_content(opened, mia, now=LATER)["similar"]
    assert [each for each, _, _ in found] == [alike, small], "and none of what is unlike it"
    assert "also uncertain" in found[0][1] and "the ruling is upheld" in found[0][2]
    cast.conflict(mia, scene.blue)
    assert picture_case_content(opened, mia, now=LATER)["similar"] == []


def test_pictures_that_look_alike_are_shown_where_everybody_may_see_them(opened: Case, scene: Scene, mia: User) -> None:
    public, under_embargo = scene.beside().image, factories.image(origin="attack", received_at=LATER)
    money.attack(scene.red, days=8, image=under_embargo)
    for other in (public, under_embargo):
        NearDuplicate.objects.create(image=scene.image, like=other, distance=3, found_at=LATER)
    money.attack(money.team("secret"), days=7, image=scene.image)
    content = picture_case_content(opened, mia, now=LATER)
    assert [each.pk for each in content["attacks"]] == [scene.attack.pk]
    assert [(each["image"], each["ruling"]) for each in content["near"]] == [(public, "valid, a bird")]


def test_the_timeline_tells_everything_once_with_its_evidence(opened: Case, scene: Scene, mia: User) -> None:
    entries = picture_case_content(opened, mia, now=LATER)["timeline"]
    assert [each.at for each in entries] == sorted(each.at for each in entries)
    assert {
        f"Team red sent it in week {scene.attack.week}, aimed at: all at stake.",
        "Panel 1: 3 taskers were asked.",
        "Ruling 1 (rules). Rejected: a tasker was not sure.",
        f"Team red appealed ruling 1 as the sender of the picture: {opened.appeals.get().public_id}.",
        f"Case {opened.public_id} was opened by an appeal, about ruling 1.",
    } <= {each.words for each in entries}


def test_the_timeline_tells_nothing_of_a_case_before_the_member_declared_about_its_teams(
    case: Case, scene: Scene, mia: User
) -> None:
    """R21: another case of the picture may be about other teams."""
    case_cast.said(case, scene.blue)
    told = [each.words for each in picture_case_content(case, mia, now=LATER)["timeline"]]
    assert [each for each in told if case.public_id in each] == [
        f"Case {case.public_id} was opened by an appeal, about ruling 1."
    ]
    assert not any("appealed" in each for each in told)
    cast.tell(case, mia)
    assert any("appealed" in each.words for each in picture_case_content(case, mia, now=LATER)["timeline"])


def test_other_appeals_of_a_team_are_counted_as_far_as_the_reader_may_know(
    opened: Case, scene: Scene, mia: User
) -> None:
    changed, hidden = (
        case_cast.appealed(case_cast.another(scene), scene.red, side=AppealSide.ATTACKER).case for _ in range(2)
    )
    cast.decided(changed, scene.members, cast.OVERRULE_REJECTED)
    shown = picture_case_content(opened, mia, now=LATER)["appeals"][0]
    assert (shown.others, shown.decided, shown.changed) == (2, 1, 1)
    green = CaseParty.objects.create(case=hidden, team=money.team("green"), role=PartyRole.DEFENDER, added_at=LATER)
    cast.conflict(mia, green.team)
    assert picture_case_content(opened, mia, now=LATER)["appeals"][0].others == 1


# Voting ---------------------------------------------------------------------------------------------------------------

OWN = "My own words on this vote."
REJECT = {"choice": "overrule", "outcome": "reject"}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"choice": "uphold"}, ("uphold", "", [])),
        ({"choice": "more_taskers", "reasons": ["occluded"]}, ("more_taskers", "", [])),
        ({"choice": "overrule", "outcome": "bird", "reasons": ["occluded"]}, ("overrule", "bird", [])),
        (REJECT | {"reasons": ["truncated", "too_small"]}, ("overrule", "", ["too_small", "truncated"])),
    ],
)
def test_a_vote_is_for_what_was_chosen(told: Any, expected: Any, opened: Case, client: Client) -> None:
    answer = client.post(page(opened, "vote/"), told | {"words": OWN, "public": "1"}, follow=True)
    vote = Vote.objects.get()
    assert ((vote.choice, vote.label, vote.reasons), vote.words, vote.public) == (expected, OWN, True)
    assert "Your vote is recorded" in plain(answer)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({}, "Choose what you vote for."),
        ({"choice": "in_favour"}, "Choose what you vote for."),
        (REJECT, "Choose a class, or at least one reason"),
        ({"choice": "overrule", "outcome": "cat"}, "Choose bird, bicycle or rejected."),
        (REJECT | {"reasons": ["ugly"]}, "Choose reasons from the list."),
        (REJECT | {"reasons": ["uncertain"]}, "Uphold it instead."),
        ({"choice": "uphold", "public": "1", "words": " "}, "Write what is to be published"),
        ({"choice": "uphold", "words": "x" * 4_001}, "Write at most 4,000 characters."),
        ({"choice": "more_taskers", "words": "Why not?"}, "There are 8 and 2."),
    ],
)
def test_what_cannot_be_voted_for_is_refused_and_everything_typed_is_kept(
    told: dict[str, Any], why: str, opened: Case, client: Client
) -> None:
    answer, said = client.post(page(opened, "vote/"), {"words": OWN} | told), told.get("reasons", [])
    assert answer.status_code == 400 and why in plain(answer) and not Vote.objects.exists()
    assert told.get("words", OWN).strip() in main_of(answer)
    kept = [each for each in said if re.search(f'name="reasons" value="{each}"[^>]* checked', main_of(answer))]
    assert kept == [each for each in said if each != "ugly"]


def test_how_others_voted_is_shown_once_one_has_voted(opened: Case, scene: Scene, client: Client) -> None:
    cast.vote(opened, scene.members[1], cast.OVERRULE_BIRD, words="It is a whole bird to me.")
    told = ["It is a whole bird to me.", "overrule (valid, a bird)"]
    shows(words(client, page(opened)), "1 of 3 members have voted; a decision needs 2", but=told)
    client.post(page(opened, "vote/"), {"choice": "uphold"})
    # One to one: a tie upholds.
    shows(words(client, page(opened)), *told, "Your vote: uphold", "These votes decide: uphold .")


def test_a_vote_that_comes_after_the_decision_keeps_its_words(opened: Case, scene: Scene, client: Client) -> None:
    cast.decided(opened, scene.members, cast.OVERRULE_BIRD)
    late = {"choice": "uphold", "words": "It is too late for this."}
    shows(posted(client, page(opened, "vote/"), late, 409), "was decided meanwhile", "It is too late for this.")
    assert Vote.objects.count() == 2


# Deciding -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def voted(opened: Case, scene: Scene, mia: User) -> Case:
    """The case, which two votes to one overrule."""
    cast.vote(opened, mia, cast.OVERRULE_BIRD)
    cast.vote(opened, scene.members[1], cast.OVERRULE_BIRD, words="A folded wing hides nothing.", public=True)
    cast.vote(opened, scene.members[2], VoteChoice.UPHOLD, words="One of them was not sure.", public=True)
    return opened


def confirm(client: Client, case: Case, **more: str) -> Any:
    shown = client.get(page(case, "decide/"))
    told = {"seen": shown.context["count"].mark, "explanation": WHY, "previewed": WHY} if shown.context else {}
    return client.post(page(case, "decide/"), told | more)


WORDLESS = {"explanation": "", "previewed": ""}


def test_what_follows_and_what_the_public_reads_is_shown_before(voted: Case, scene: Scene, client: Client) -> None:
    answer = client.get(page(voted, "decide/"))
    assert answer.context["form"]["explanation"].value() == "A folded wing hides nothing."
    assert [each.repeated for each in answer.context["preview"].remarks] == [True, False], "and not told twice"
    shows(
        plain(answer),
        "They decide: overrule (valid, a bird)",
        "A ruling of the board is appended",
        "Defenses that never answered to it are run first, and may break then: keep.",
        "A message goes to each team that the case is about: red, blue.",
        "Votes: 2 × overrule (valid, a bird); 1 × uphold. 2 were needed; nobody had stepped aside.",
        "A dissenting member, who voted uphold: One of them was not sure.",
        "A folded wing hides nothing.",
    )
    assert scene.newest().number == 1


def test_a_decision_is_confirmed_and_shown_as_it_was_previewed_beside_what_the_answers_alone_give(
    voted: Case, scene: Scene, client: Client
) -> None:
    preview = client.post(page(voted, "decide/"), {"seen": "x", "explanation": WHY, "previewed": ""})
    assert preview.status_code == 200 and not hasattr(Case.objects.get(pk=voted.pk), "decision")
    assert confirm(client, voted)["Location"] == page(voted)
    closed = client.get(page(voted))
    assert public_part(preview) == public_part(closed) and 'id="vote-form"' not in main_of(closed)
    shows(plain(closed), "Ruling 2: valid, a bird", "The answers alone give: rejected: a tasker was not sure.")
    shown = shown_rulings(scene.image)
    assert [(each.by_board, each.as_answered, each.same_as) for each in shown] == [(False, True, 0), (True, False, 1)]


def public_part(answer: Any) -> str:
    part = answer.content.decode().partition('<div class="public-decision">')[2].partition("\n</div>")[0]
    return re.sub(r' <span class="muted"><time.*?</time></span>', "", part)


def test_markup_in_an_explanation_is_words(voted: Case, client: Client) -> None:
    said = f"{WHY} It is <b>one</b> bird."
    confirm(client, voted, explanation=said, previewed=said)
    shown = public_part(client.get(page(voted)))
    assert "It is &lt;b&gt;one&lt;/b&gt; bird." in shown and "<b>one</b>" not in shown


def test_the_same_words_of_two_members_are_said_once(opened: Case, scene: Scene, client: Client) -> None:
    for who in scene.members[:2]:
        cast.vote(opened, who, cast.OVERRULE_BIRD, words="A folded wing hides nothing.", public=True)
    assert client.get(page(opened, "decide/")).context["form"]["explanation"].value() == "A folded wing hides nothing."
    confirm(client, opened)
    told = words(client, page(opened)).partition("The board decided")[2]
    once = told.count("2 members who voted overrule (valid, a bird): A folded wing hides nothing.")
    assert (once, told.count("A member who voted")) == (1, 0)


@pytest.mark.parametrize(
    ("more", "status", "why"),
    [
        ({"seen": "1-2"}, 409, "The votes, the teams or what they say changed since you looked."),
        ({"explanation": "No.", "previewed": "No."}, 400, "Say more"),
        (WORDLESS, 400, "Give the public explanation"),
        ({"previewed": "Other words."}, 200, "This is how everybody will read it."),
    ],
)
def test_what_cannot_be_confirmed_is_said_and_keeps_what_was_typed(
    more: dict[str, str], status: int, why: str, voted: Case, client: Client
) -> None:
    answer = confirm(client, voted, **more)
    assert (answer.status_code, why in plain(answer)) == (status, True)
    assert lacking(main_of(answer), f"\n{more.get('explanation', WHY)}</textarea>") == []
    assert Case.objects.get(pk=voted.pk).state == CaseState.OPEN
    assert confirm(client, voted).status_code == 303, "what is shown now is confirmed"


def test_without_a_quorum_or_a_vote_of_ones_own_nothing_is_confirmed(
    opened: Case, scene: Scene, client: Client, mia: User
) -> None:
    """And a case that too few may decide says that it waits."""
    assert client.get(page(opened, "decide/"))["Location"] == page(opened)
    assert client.post(page(opened, "decide/"), {"explanation": WHY, "previewed": WHY}).status_code == 403
    cast.vote(opened, mia, VoteChoice.UPHOLD)
    assert "A decision needs 2 votes: 1 more. Your vote is kept." in plain(confirm(client, opened, **WORDLESS))
    for member in scene.members[1:]:
        cast.conflict(member, scene.red)
    assert "1 member is left who may decide this, and 2 are needed." in words(client, page(opened))
    assert Case.objects.get(pk=opened.pk).state == CaseState.OPEN


def test_more_taskers_say_who_is_asked(opened: Case, scene: Scene, client: Client) -> None:
    cast.votes(opened, scene.members[:2], VoteChoice.MORE_TASKERS)
    assert "A fresh panel of 3 taskers is asked before all others" in words(client, page(opened, "decide/"))
    assert confirm(client, opened, **WORDLESS).status_code == 303
    assert "waiting for taskers" in words(client, page(opened))


def test_the_board_may_not_decide_over_taskers_who_are_being_asked(voted: Case, scene: Scene, client: Client) -> None:
    money.open_again(scene.image)
    assert "This cannot be done now: Taskers are still being asked" in words(client, page(voted, "decide/"))
    assert confirm(client, voted).status_code == 409


# Motions --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def motion(scene: Scene, mia: User) -> Case:
    """A motion of another member, to whose team nothing ties this one."""
    made = case_cast.motion(scene, scene.members[1])
    cast.tell(made, mia)
    return made


def test_a_motion_is_carried_by_its_votes_unless_it_cannot_be_done_any_more(
    motion: Case, scene: Scene, client: Client
) -> None:
    client.post(page(motion, "vote/"), {"choice": "in_favour"})
    assert "The team may attack without a paper" in words(client, page(motion, "decide/"))
    entitled = entitle(scene.red)
    assert "This cannot be done now:" in words(client, page(motion, "decide/"))
    assert confirm(client, motion, **WORDLESS).status_code == 409
    assert Case.objects.get(pk=motion.pk).state == CaseState.OPEN
    entitled.delete()
    assert confirm(client, motion, **WORDLESS).status_code == 303
    assert "The board decided: the motion is carried." in words(client, page(motion))


def test_a_motion_says_what_is_moved_and_who_moved_takes_it_back(
    motion: Case, scene: Scene, client: Client, signed_in: Any
) -> None:
    answer, mover = client.get(page(motion)), signed_in(scene.members[1])
    shows(
        plain(answer),
        "a motion to let a team attack",
        f"Team red ({scene.red.public_id})",
        motion.reason,
        "by member1",
        but=["Take my motion back"],
    )
    assert f'href="/teams/{scene.red.public_id}/"' in main_of(answer)
    assert client.post(page(motion, "drop/")).status_code == 403
    assert "Take my motion back" in words(mover, page(motion))
    assert "is taken back" in plain(mover.post(page(motion, "drop/"), follow=True))
    motion.refresh_from_db()
    assert (motion.state, motion.decision.outcome) == (CaseState.CLOSED, CaseOutcome.DROPPED)


def test_a_picture_without_a_team_opens_at_once(scene: Scene, client: Client) -> None:
    image = factories.image(source="A library", author="Ann")
    cast.rule(factories.panel(image, dealt_at=RULED - DAY), SURE, SURE, UNSURE)
    assert "The organizers imported it from A library, by Ann" in words(
        client, page(replace(scene, image=image).opened())
    )
