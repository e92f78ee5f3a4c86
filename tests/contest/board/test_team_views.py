"""The pages and calls of appeals: who may open what, what they show, and what they refuse (R18, R24)."""

import json
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from contest.board.appeals import appeal_send, statement_send
from contest.enums import CaseState, StakeEnd, VoteChoice
from contest.models import Appeal, Attack, Case, Stake, Statement, Team
from contest.weeks import week_at
from labeling.models import Tasker
from labeling.people import TEAMS
from tests import factories
from tests.contest.attacks import cast as attacks
from tests.contest.board import cast as board
from tests.contest.board.appealing import ARGUMENT, Appealing, appealing, plain, sends
from tests.contest.board.case_cast import ANSWER
from tests.contest.money import cast as money

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
MARK = {"x": 120, "y": 88, "width": 40, "height": 36, "words": "the <branch>"}
SignIn = Callable[[User | Tasker], Client]


@pytest.fixture
def at() -> datetime:
    """These pages ask the real clock."""
    return timezone.now()


@pytest.fixture(scope="module")
def shared(module_world: Path) -> Appealing:
    made = appealing(timezone.now())
    attacks.team("green")
    return made


@pytest.fixture
def scene(shared: Appealing) -> Appealing:
    return deepcopy(shared)


@pytest.fixture
def green() -> Team:
    """A team that nothing here is about."""
    return Team.objects.get(name="team green")


@pytest.fixture
def blue(scene: Appealing, signed_in: SignIn) -> Client:
    """The captain of the team whose defense was at stake."""
    return signed_in(captain(scene.blue))


@pytest.fixture
def red(scene: Appealing, signed_in: SignIn) -> Client:
    """The captain of the team that sent both pictures."""
    return signed_in(captain(scene.red))


def captain(of: Team) -> User:
    return attacks.captain(of)


def sent(scene: Appealing, at: datetime, **told: Any) -> Appeal:
    """Blue's appeal against the valid verdict."""
    given = {"argument": ARGUMENT, "marks": [MARK]} | told
    return appeal_send(image=scene.valid.image, team=scene.blue, by=captain(scene.blue), now=at, **given)


def attackers(scene: Appealing, at: datetime) -> Appeal:
    """Red's appeal against the rejection."""
    red = scene.red
    return appeal_send(image=scene.rejected.image, team=red, argument=ARGUMENT, marks=[], by=captain(red), now=at)


def new(scene: Appealing) -> str:
    return f"/appeals/new/{scene.valid.image.public_id}/"


def main_of(answer: Any) -> str:
    return attacks.main_of(answer)


# Who may open what ----------------------------------------------------------------------------------------------------

REFUSED = {"signed out": 302, "nobody": 404, "tasker": 403, "organizer": 403, "board": 403, "no team": 403}
WHO: dict[str, dict[str, int]] = {
    "/appeals/": {"blue": 200, "red": 200, "green": 200},
    "/appeals/new/{valid}/": {"blue": 303, "red": 403, "green": 409},
    "/appeals/new/{rejected}/": {"blue": 409, "red": 200, "green": 409},
    "/appeals/new/{embargoed}/": {"blue": 404, "red": 409, "green": 404},
    "/appeals/new/P-00000000/": {"blue": 404, "red": 404, "green": 404},
    "/appeals/{appeal}/": {"blue": 200, "red": 404, "green": 404},
    "/appeals/case/{case}/": {"blue": 303, "red": 200, "green": 404},
}


@pytest.mark.parametrize("asks", [[*REFUSED][:3], [*REFUSED][3:], ["blue", "red", "green"]])
def test_who_may_open_what(
    asks: list[str], scene: Appealing, green: Team, at: datetime, tara: Tasker, olga: User, signed_in: SignIn
) -> None:
    """R8, R24: the argument of an appeal is read by the two sides alone."""
    appeal, embargoed = sent(scene, at), sends(scene.red, plain(7), at).image
    of = {
        "valid": scene.valid.image.public_id,
        "rejected": scene.rejected.image.public_id,
        "embargoed": embargoed.public_id,
        "appeal": appeal.public_id,
        "case": appeal.case.public_id,
    }
    people: dict[str, User | Tasker] = {
        "nobody": factories.user("stan"),
        "tasker": tara,
        "organizer": olga,
        "board": User.objects.get(username="rita"),
        "no team": factories.user("fay", TEAMS),
        **{team.name.removeprefix("team "): captain(team) for team in (scene.blue, scene.red, green)},
    }
    for who in asks:
        client = Client() if who == "signed out" else signed_in(people[who])
        answers = {address: client.get(address.format(**of)) for address in WHO}
        expected = {address: REFUSED.get(who, found.get(who)) for address, found in WHO.items()}
        assert {address: answer.status_code for address, answer in answers.items()} == expected, who
        if who not in ("blue", "red"):
            assert not any(ARGUMENT in answer.content.decode() for answer in answers.values()), who


def test_others_send_and_answer_nothing(
    scene: Appealing, green: Team, at: datetime, stan: User, signed_in: Any, tara: Tasker
) -> None:
    case = sent(scene, at).case
    for who in (stan, tara, captain(green), *User.objects.filter(username__in=("rita", "sponsor"))):
        client = signed_in(who)
        for address in (f"/appeals/new/{scene.rejected.image.public_id}/", f"/appeals/case/{case.public_id}/"):
            answer = client.post(address, {"do": "send", "argument": ARGUMENT, "words": ANSWER})
            assert answer.status_code in (403, 404, 409), (who, address)
        assert post(client, asked(scene))[0] in (403, 404, 409), who
    assert [Client().get("/api/v1/appeals/").status_code, post(Client(), asked(scene))[0]] == [401, 401]
    assert Appeal.objects.count() == 1 and not Statement.objects.exists()


def test_a_page_opened_for_another_team_sends_nothing(scene: Appealing, blue: Client) -> None:
    answer = blue.post(new(scene), {"do": "send", "argument": ARGUMENT, "team": scene.red.public_id})
    page = main_of(answer)
    assert answer.status_code == 409 and "This page was opened for team team red" in page
    assert ARGUMENT in page, "what was typed is kept"
    assert not Appeal.objects.exists()


# The list -------------------------------------------------------------------------------------------------------------


def test_the_list_shows_what_each_side_may_appeal_and_when_that_ends(
    scene: Appealing, blue: Client, red: Client, green: Team, at: datetime, signed_in: SignIn
) -> None:
    """And then the appeals with their clock, and those of others."""
    defender, attacker = main_of(blue.get("/appeals/")), main_of(red.get("/appeals/"))
    assert new(scene) in defender and "A net that keeps still</a> was at stake" in defender
    assert "valid, a bird" in defender and scene.rejected.image.public_id not in defender
    assert scene.rejected.public_id in attacker and "rejected: a tasker was not sure" in attacker
    assert scene.valid.image.public_id not in attacker
    assert "in 6 days" in defender and "in 6 days" in attacker
    page = main_of(signed_in(captain(green)).get("/appeals/"))
    assert "Nothing. When a picture is ruled valid" in page
    assert "Your team has appealed nothing." in page and "None. When another team appeals" in page
    appeal = sent(scene, at)
    defender, attacker = main_of(blue.get("/appeals/")), main_of(red.get("/appeals/"))
    assert f"/appeals/{appeal.public_id}/" in defender
    assert "before the board" in defender and "is to decide" in defender
    assert f"/appeals/case/{appeal.case.public_id}/" in attacker and "may be given" in attacker
    assert "blue" not in attacker, "who appealed is not named before the release"


def test_the_list_asks_no_more_for_many_than_for_few(
    scene: Appealing, at: datetime, django_assert_max_num_queries: Any, blue: Client
) -> None:
    last = week_at(at).start - DAY
    for _ in range(30):
        image = factories.image(origin="attack", received_at=last, label_from=last)
        Attack.objects.create(team=scene.red, image=image, received_at=last, week=scene.valid.week)
        money.ruled(image, at=at)
    blue.get("/appeals/")
    with django_assert_max_num_queries(60):
        assert "(31)" in main_of(blue.get("/appeals/"))


# Sending --------------------------------------------------------------------------------------------------------------


def typed(**values: Any) -> dict[str, Any]:
    """A form with two marks, and an empty row between them."""
    columns = {
        "mark_x": ["120", "", "0"],
        "mark_y": ["88", " ", "0"],
        "mark_width": ["40", "", "299"],
        "mark_height": ["36", "", "299"],
        "mark_words": ["the <branch>", "", ""],
    }
    return {"argument": ARGUMENT, "do": "preview"} | columns | values


def test_a_team_types_looks_at_it_and_sends(scene: Appealing, blue: Client) -> None:
    form = main_of(blue.get(new(scene)))
    assert "valid, a bird" in form and "Every tasker is sure of both questions" in form
    assert "of at least" not in form, "how large the box is, is told with the release"
    preview = main_of(blue.post(new(scene), typed()))
    assert "As the board and the other side will read it" in preview and ARGUMENT in preview
    assert "the &lt;branch&gt;" in preview and 'width="299" height="299"/>' in preview
    assert not Appeal.objects.exists()
    assert form.count('name="mark_x"') == 2, "empty rows for marks"
    more = main_of(blue.post(new(scene), typed(do="more", argument="")))
    assert more.count('name="mark_x"') == 4, "two are filled, two are to be"
    changed = main_of(blue.post(new(scene), typed(do="change")))
    assert 'value="the &lt;branch&gt;"' in changed and ARGUMENT in changed
    answer = blue.post(new(scene), typed(do="send"))
    appeal = Appeal.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"/appeals/{appeal.public_id}/")
    assert appeal.marks == [MARK, {"x": 0, "y": 0, "width": 299, "height": 299, "words": ""}]
    page = main_of(blue.get(answer["Location"]))
    assert f"Receipt {appeal.public_id}: your appeal is received." in page and "the &lt;branch&gt;" in page
    assert "before the board" in page and "The board is to decide" in page


def test_an_attacker_reads_which_rule_failed_and_how_large_the_box_is(scene: Appealing, red: Client) -> None:
    page = main_of(red.get(f"/appeals/new/{scene.rejected.image.public_id}/"))
    failed = [line for line in page.split("<li>") if ">failed</span>" in line]
    assert len(failed) == 1 and "Every tasker is sure" in failed[0]
    assert "40.37\N{NO-BREAK SPACE}% of at least 25.00\N{NO-BREAK SPACE}%." in page and scene.rejected.public_id in page


def test_who_appeals_an_overrule_reads_the_boards_explanation(scene: Appealing, at: datetime, blue: Client) -> None:
    case = attackers(scene, at).case
    members = list(User.objects.filter(groups__name="review board"))
    board.votes(case, members, board.OVERRULE_BIRD, at)
    board.decide(case, members[0], at)
    page = main_of(blue.get(f"/appeals/new/{scene.rejected.image.public_id}/"))
    assert "The review board made it." in page and board.WHY in page
    assert "Rule by rule" not in page, "the rules did not make it"


WRONG = [
    ({"argument": "too short"}, "There are 9 and 2."),
    ({"mark_x": ["300", "", "0"]}, "Mark 1 is not inside the picture"),
    ({"mark_y": ["88", "", "ten"]}, "Mark 2: give x, y, width and height as whole pixels."),
    ({"mark_width": ["", "", "299"]}, "Mark 1: give x, y, width and height as whole pixels."),
    ({"mark_height": ["-3", "", "299"]}, "Mark 1: give"),
    ({"mark_words": ["w" * 201, "", ""]}, "write at most 200 characters"),
    ({f"mark_{name}": ["1"] * 30 for name in ("x", "y", "width", "height", "words")}, "Draw at most 20 marks"),
]


@pytest.mark.parametrize("wish", ["preview", "send"])
def test_a_refused_form_says_what_to_change_and_keeps_what_was_typed(wish: str, scene: Appealing, blue: Client) -> None:
    for wrong, words in WRONG:
        answer = blue.post(new(scene), typed(do=wish, **wrong))
        page = main_of(answer)
        assert answer.status_code == 400 and words in page and not Appeal.objects.exists(), wrong
        assert wrong.get("argument", ARGUMENT) in page, wrong


def test_what_was_appealed_meanwhile_leads_to_that_appeal(scene: Appealing, at: datetime, blue: Client) -> None:
    earlier = sent(scene, at)
    for answer in (blue.get(new(scene)), blue.post(new(scene), typed(do="send"))):
        assert (answer.status_code, answer["Location"]) == (303, f"/appeals/{earlier.public_id}/")
    assert Appeal.objects.count() == 1


# What became of it ----------------------------------------------------------------------------------------------------


def decide(case: Case, ballot: Any, at: datetime) -> None:
    members = list(User.objects.filter(groups__name="review board"))
    board.votes(case, members, ballot, at)
    board.decide(case, members[0], at)


def test_the_answer_of_the_other_side_is_read_once_the_board_decided(
    scene: Appealing, at: datetime, blue: Client, red: Client
) -> None:
    appeal = sent(scene, at)
    address = f"/appeals/case/{appeal.case.public_id}/"
    page = main_of(red.get(address))
    assert ARGUMENT in page and "the &lt;branch&gt;" in page and "blue" not in page and scene.defense.name not in page
    told = {"words": f"It is a <wing>. {ANSWER}", "team": scene.red.public_id}
    preview = main_of(red.post(address, told))
    assert "As the board and the other side will read it" in preview and "It is a &lt;wing&gt;." in preview
    assert not Statement.objects.exists(), "it was only looked at"
    changed = main_of(red.post(address, told | {"do": "change"}))
    assert "It is a &lt;wing&gt;." in changed.partition("<textarea")[2] and "Look at it before sending" in changed
    answer = red.post(address, told | {"do": "send"})
    assert (answer.status_code, answer["Location"]) == (303, address)
    assert "It is a &lt;wing&gt;." in main_of(red.get(address))
    own = f"/appeals/{appeal.public_id}/"
    assert "It is a &lt;wing&gt;." not in main_of(blue.get(own))
    decide(appeal.case, board.OVERRULE_REJECTED, at)
    told = main_of(blue.get(own))
    assert "It is a &lt;wing&gt;." in told and "team red" in told, "whose attack is public"
    assert board.WHY in told and "2 to overrule" in told and "rejected: the object is partly hidden" in told
    assert "ruling changed" in told
    theirs = main_of(red.get(address))
    assert board.WHY in theirs and "blue" not in theirs


def test_when_each_side_is_named(scene: Appealing, blue: Client, red: Client, at: datetime) -> None:
    """R24: a defender once the week is released; who sent an attack that is public at once."""
    defended, attacked = sent(scene, at), attackers(scene, at)
    page = main_of(blue.get(f"/appeals/case/{attacked.case.public_id}/"))
    assert "team red" in page and ARGUMENT in page and "rejected: a tasker was not sure" in page
    address = f"/appeals/case/{defended.case.public_id}/"
    assert "team blue" not in main_of(red.get(address))
    money.released(scene.valid.week)
    assert "team blue" in main_of(red.get(address))


def test_a_refused_answer_is_kept_in_the_form(scene: Appealing, red: Client, at: datetime) -> None:
    case = sent(scene, at).case
    for words, told in (("", "Write what the board should know."), ("It is a wing.", "There are 13 and 4.")):
        for wish in ("preview", "send"):
            answer = red.post(f"/appeals/case/{case.public_id}/", {"words": words, "do": wish})
            page = main_of(answer)
            assert (answer.status_code, told in page, Statement.objects.exists()) == (400, True, False)
            assert f">{words}</textarea>" in page, "it is there to be changed, and not behind a preview"


def test_a_second_answer_and_one_after_the_decision_are_refused(scene: Appealing, at: datetime, red: Client) -> None:
    case = sent(scene, at).case
    address = f"/appeals/case/{case.public_id}/"
    other = red.post(address, {"words": ANSWER, "do": "send", "team": scene.blue.public_id})
    assert other.status_code == 409 and not Statement.objects.exists(), "opened for another team"
    statement_send(case=case, team=scene.red, words=ANSWER, by=captain(scene.red), now=at)
    for wish in ("preview", "send"):
        second = red.post(address, {"words": f"Two wings. {ANSWER}", "do": wish})
        assert second.status_code == 409 and "Each team answers once." in main_of(second), wish
    decide(case, VoteChoice.UPHOLD, at)
    page = main_of(red.get(address))
    assert "The board upheld the ruling." in page and "<form" not in page
    assert Statement.objects.count() == 1


def test_what_an_appeal_waits_for_is_said(scene: Appealing, blue: Client, at: datetime) -> None:
    appeal = sent(scene, at)
    Case.objects.update(due_at=at - DAY)
    page = main_of(blue.get(f"/appeals/{appeal.public_id}/"))
    assert "The board was to decide" in page and "it still waits for votes" in page
    decide(appeal.case, VoteChoice.MORE_TASKERS, at)
    page = main_of(blue.get(f"/appeals/{appeal.public_id}/"))
    assert "more taskers are asked" in page and "The ruling follows when they have answered." in page


def test_two_appeals_in_one_case_are_both_read(
    scene: Appealing, green: Team, blue: Client, red: Client, at: datetime
) -> None:
    money.staked(money.defense("hold", green, received=at - 30 * DAY), at=at - 20 * DAY)
    first = sent(scene, at)
    said = "The beak is not a beak but a twig, as the shadow below it shows."
    appeal_send(image=scene.valid.image, team=green, argument=said, marks=[MARK], by=captain(green), now=at)
    page = main_of(blue.get(f"/appeals/{first.public_id}/"))
    assert "Appealed in the same case" in page and said in page and "green" not in page
    both = main_of(red.get(f"/appeals/case/{first.case.public_id}/"))
    assert ARGUMENT in both and said in both and both.count("<svg") == 2


# Where it is linked from ----------------------------------------------------------------------------------------------


def test_pages_of_attacks_and_defenses_lead_to_what_may_be_appealed(
    scene: Appealing, at: datetime, blue: Client, red: Client
) -> None:
    rejected = f"/appeals/new/{scene.rejected.image.public_id}/"
    assert rejected in main_of(red.get(f"/attacks/{scene.rejected.public_id}/"))
    assert new(scene) not in main_of(red.get(f"/attacks/{scene.valid.public_id}/"))
    assert new(scene) in main_of(blue.get(f"/attacks/{scene.valid.public_id}/"))
    assert "/appeals/" not in main_of(Client().get(f"/attacks/{scene.valid.public_id}/"))
    assert "1 rejection can be appealed" in main_of(red.get("/attacks/"))
    page = main_of(blue.get(f"/team/defenses/{scene.defense.public_id}/"))
    assert "1 valid picture that could break a defense of yours can be appealed" in page
    appeal = sent(scene, at)
    after = main_of(blue.get(f"/attacks/{scene.valid.public_id}/"))
    assert f"/appeals/{appeal.public_id}/" in after and new(scene) not in after
    Stake.objects.update(ended_at=at, end=StakeEnd.WITHDRAWN)
    assert "can be appealed" not in main_of(blue.get(f"/team/defenses/{scene.defense.public_id}/"))


# The API --------------------------------------------------------------------------------------------------------------


def asked(scene: Appealing, **changes: Any) -> dict[str, Any]:
    return {"image": scene.valid.image.public_id, "argument": ARGUMENT, "marks": [MARK]} | changes


def post(client: Client, body: Any) -> tuple[int, Any]:
    answer = client.post("/api/v1/appeals/", json.dumps(body), content_type="application/json")
    return answer.status_code, answer.json()


def test_an_appeal_is_sent_and_listed_by_the_api(scene: Appealing, at: datetime, blue: Client, red: Client) -> None:
    status, told = post(blue, asked(scene))
    appeal = Appeal.objects.get()
    assert status == 201 and told | {"sent_at": "", "due_at": ""} == {
        "id": appeal.public_id,
        "case": appeal.case.public_id,
        "image": scene.valid.image.public_id,
        "side": "defender",
        "defense": scene.defense.public_id,
        "ruling": 1,
        "argument": ARGUMENT,
        "marks": [MARK],
        "sent_at": "",
        "state": "open",
        "due_at": "",
        "outcome": None,
        "decided_at": None,
        "changed": None,
    }
    listed = blue.get("/api/v1/appeals/").json()
    assert listed == {"count": 1, "next": None, "results": [told]}
    assert red.get("/api/v1/appeals/").json()["results"] == []
    decide(appeal.case, board.OVERRULE_REJECTED, at + timedelta(seconds=9))
    found = blue.get("/api/v1/appeals/").json()["results"][0]
    assert (found["state"], found["outcome"], found["changed"]) == ("closed", "overrule", True)
    assert appeal.case.state == CaseState.OPEN and found["decided_at"] > told["sent_at"]


def test_the_api_says_with_a_stable_code_what_stands_against_an_appeal(
    scene: Appealing, at: datetime, signed_in: SignIn, blue: Client, red: Client, green: Team
) -> None:
    embargoed = sends(scene.red, plain(7), at).image.public_id
    earlier = sent(scene, at)
    other = signed_in(captain(green))
    status, told = post(blue, asked(scene))
    assert (status, told["code"], told["receipt"]) == (409, "appealed", earlier.public_id)
    for client, image, expected in (
        (red, scene.valid.image.public_id, (403, "wrong_side")),
        (other, scene.valid.image.public_id, (409, "not_ruled")),
        (blue, embargoed, (404, "not_found")),
        (blue, "P-00000000", (404, "not_found")),
        (blue, "P-\x00", (400, "parse_error")),
    ):
        status, told = post(client, asked(scene, image=image))
        assert (status, told["code"]) == expected, image


FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"argument": "short"}, "argument"),
    ({"argument": None}, "argument"),
    ({"marks": [{**MARK, "x": 1.5}]}, "marks"),
    ({"marks": {"x": 1}}, "marks"),
    ({"marks": [MARK] * 21}, "marks"),
    ({"image": ""}, "image"),
    ({"team": "G-00000"}, "team"),
]


def test_the_api_names_the_field_that_is_wrong(scene: Appealing, blue: Client) -> None:
    for changes, field in FIELDS:
        status, told = post(blue, asked(scene, **changes))
        assert status == 400 and field in told["fields"] and not Appeal.objects.exists(), changes
