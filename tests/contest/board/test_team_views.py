"""The pages and calls of appeals: who may open what, what they show, and what they refuse (R18, R24)."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from contest.appeals.services import appeal_send, statement_send
from contest.board.models import Appeal, AppealStatement
from contest.core.enums import StakeEnd, VoteChoice
from contest.core.models import Attack, Case, Stake, Team
from contest.core.weeks import week_at
from labeling.models import Tasker
from tests import factories
from tests.contest.attacks import cast as attacks
from tests.contest.attacks.cast import main_of
from tests.contest.board import cast as board
from tests.contest.board.appealing import ARGUMENT, Appealing, appealing, sends
from tests.contest.board.case_cast import ANSWER
from tests.contest.ledger import cast as money
from tests.contest.pages import main, posted, queries, shows

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
MARK = {"x": 120, "y": 88, "width": 40, "height": 36, "words": "the <branch>"}


@pytest.fixture
def at() -> datetime:
    """These pages ask the real clock."""
    return timezone.now()


@pytest.fixture(scope="module")
def shared_scene(module_world: Path) -> Appealing:
    """Both teams, and green, which nothing here is about."""
    attacks.team("green")
    return appealing(timezone.now())


@pytest.fixture
def green() -> Team:
    """A team that nothing here is about."""
    return Team.objects.get(name="team green")


@pytest.fixture
def blue(scene: Appealing, signed_in: Any) -> Client:
    """The captain of the team whose defense was at stake."""
    return signed_in(attacks.captain(scene.blue))


@pytest.fixture
def red(scene: Appealing, signed_in: Any) -> Client:
    """The captain of the team that sent both pictures."""
    return signed_in(attacks.captain(scene.red))


def sent(scene: Appealing, at: datetime, by: Team | None = None, argument: str = ARGUMENT) -> Appeal:
    """An appeal: blue's against the valid verdict unless said otherwise, red's against the rejection."""
    team, image = by or scene.blue, (scene.rejected if by == scene.red else scene.valid).image
    return appeal_send(image=image, team=team, argument=argument, marks=[MARK], by=attacks.captain(team), now=at)


def new(scene: Appealing) -> str:
    return f"/appeals/new/{scene.valid.image.public_id}/"


def decide(case: Case, ballot: Any, at: datetime) -> None:
    board.decided(case, list(User.objects.filter(groups__name="review board")), ballot, at)


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
    asks: list[str], scene: Appealing, green: Team, at: datetime, tara: Tasker, olga: User, signed_in: Any
) -> None:
    """R8, R24: the argument of an appeal is read by the two sides alone."""
    appeal, embargoed = sent(scene, at), sends(scene.red, attacks.picture(7, 299), at).image
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
        "no team": factories.user("fay", "teams"),
        **{team.name.removeprefix("team "): attacks.captain(team) for team in (scene.blue, scene.red, green)},
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
    for who in (stan, tara, attacks.captain(green), *User.objects.filter(username__in=("rita", "sponsor"))):
        client = signed_in(who)
        for address in (f"/appeals/new/{scene.rejected.image.public_id}/", f"/appeals/case/{case.public_id}/"):
            answer = client.post(address, {"do": "send", "argument": ARGUMENT, "words": ANSWER})
            assert answer.status_code in (403, 404, 409), (who, address)
        assert post(client, asked(scene))[0] in (403, 404, 409), who
    assert [Client().get("/api/v1/appeals/").status_code, post(Client(), asked(scene))[0]] == [401, 401]
    assert Appeal.objects.count() == 1 and not AppealStatement.objects.exists()


def test_a_page_opened_for_another_team_sends_nothing(scene: Appealing, blue: Client) -> None:
    form = {"do": "send", "argument": ARGUMENT, "team": scene.red.public_id}
    # What was typed is kept.
    shows(posted(blue, new(scene), form, 409), "This page was opened for team team red", ARGUMENT)
    assert not Appeal.objects.exists()


# The list -------------------------------------------------------------------------------------------------------------


def test_the_list_says_that_there_is_more_than_it_holds(
    scene: Appealing, blue: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "/appeals/new/ID/" not in main(blue, "/appeals/")
    for view in ("appeal_views", "defense_views"):
        monkeypatch.setattr(f"contest.pages.team.{view}.MAX_LISTED", 0)
    shows(main(blue, "/appeals/"), "whose time ends first", "/appeals/new/ID/", but=[new(scene)])
    shows(main(blue, f"/team/defenses/{scene.defense.public_id}/"), "More than 0 valid")


def test_the_list_shows_what_each_side_may_appeal_and_when_that_ends(
    scene: Appealing, blue: Client, red: Client, green: Team, at: datetime, signed_in: Any
) -> None:
    """And then the appeals with their clock, and those of others."""
    theirs, own = scene.rejected.image.public_id, scene.valid.image.public_id
    shows(
        main(blue, "/appeals/"),
        new(scene),
        "A net that keeps still</a> was at stake",
        "valid, a bird",
        "in 6 days",
        but=[theirs],
    )
    shows(main(red, "/appeals/"), scene.rejected.public_id, "rejected: a tasker was not sure", "in 6 days", but=[own])
    shows(
        main(signed_in(attacks.captain(green)), "/appeals/"),
        "Nothing. When a picture is ruled valid",
        "Your team has appealed nothing.",
        "None. When another team appeals",
    )
    appeal = sent(scene, at)
    shows(main(blue, "/appeals/"), f"/appeals/{appeal.public_id}/", "before the board", "is to decide")
    # Who appealed is not named before the release.
    shows(main(red, "/appeals/"), f"/appeals/case/{appeal.case.public_id}/", "may be given", but=["blue"])


def test_the_list_asks_no_more_for_many_than_for_few(scene: Appealing, at: datetime, blue: Client) -> None:
    last = week_at(at).start - DAY
    for _ in range(30):
        image = factories.image(origin="attack", received_at=last, label_from=last)
        Attack.objects.create(team=scene.red, image=image, received_at=last, week=scene.valid.week)
        money.ruled(image, at=at)
    blue.get("/appeals/")
    assert queries(lambda: main(blue, "/appeals/")) <= 60 and "(31)" in main(blue, "/appeals/")


# Sending --------------------------------------------------------------------------------------------------------------


def typed(do: str, argument: str = ARGUMENT, **columns: list[str]) -> dict[str, Any]:
    """A form with two marks, and an empty row between them."""
    marks = {
        "x": ["120", "", "0"],
        "y": ["88", " ", "0"],
        "width": ["40", "", "299"],
        "height": ["36", "", "299"],
        "words": ["the <branch>", "", ""],
    } | columns
    rows = {f"mark-{row}-{name}": value for name, values in marks.items() for row, value in enumerate(values)}
    counts = {"mark-TOTAL_FORMS": len(marks["x"]), "mark-INITIAL_FORMS": 0}
    return {"argument": argument, "do": do} | counts | rows


def test_a_team_types_looks_at_it_and_sends(scene: Appealing, blue: Client) -> None:
    form = main(blue, new(scene))
    # How large the box is, is told with the release.
    shows(form, "valid, a bird", "Every tasker is sure of both questions", but=["of at least"])
    more = main_of(blue.post(new(scene), typed("more", argument="")))
    # Empty rows first; then two are filled, and two are to be.
    assert [len(re.findall(r'name="mark-\d+-x"', each)) for each in (form, more)] == [2, 4]
    shows(
        main_of(blue.post(new(scene), typed("preview"))),
        "As the board and the other side will read it",
        ARGUMENT,
        "the &lt;branch&gt;",
        'width="299" height="299"/>',
    )
    shows(main_of(blue.post(new(scene), typed("change"))), 'value="the &lt;branch&gt;"', ARGUMENT)
    assert not Appeal.objects.exists()
    sent_to = [posted(blue, new(scene), typed("send")) for _ in range(2)]
    appeal = Appeal.objects.get()
    assert sent_to == [f"/appeals/{appeal.public_id}/"] * 2, "what was appealed meanwhile leads there"
    assert appeal.marks == [MARK, {"x": 0, "y": 0, "width": 299, "height": 299, "words": ""}]
    received = f"Receipt {appeal.public_id}: your appeal is received."
    shows(main(blue, sent_to[0]), received, "the &lt;branch&gt;", "before the board", "The board is to decide")


def test_an_attacker_reads_which_rule_failed_and_how_large_the_box_is(scene: Appealing, red: Client) -> None:
    page = main(red, f"/appeals/new/{scene.rejected.image.public_id}/")
    (failed,) = [line for line in page.split("<li>") if ">failed</span>" in line]
    assert "Every tasker is sure" in failed
    assert "40.37\N{NO-BREAK SPACE}% of at least 25.00\N{NO-BREAK SPACE}%." in page and scene.rejected.public_id in page


def test_who_appeals_an_overrule_reads_the_boards_explanation(scene: Appealing, at: datetime, blue: Client) -> None:
    decide(sent(scene, at, scene.red).case, board.OVERRULE_BIRD, at)
    page = main(blue, f"/appeals/new/{scene.rejected.image.public_id}/")
    shows(page, "The review board made it.", board.WHY, but=["Rule by rule"])


WRONG = [
    ({"argument": "too short"}, "There are 9 and 2."),
    ({"x": ["300", "", "0"]}, "Mark 1 is not inside the picture"),
    ({"y": ["88", "", "ten"]}, "Mark 2: give x, y, width and height as whole pixels."),
    ({"width": ["", "", "299"]}, "Mark 1: give x, y, width and height as whole pixels."),
    ({"height": ["-3", "", "299"]}, "Mark 1: give"),
    ({"words": ["w" * 201, "", ""]}, "write at most 200 characters"),
    ({name: ["1"] * 30 for name in ("x", "y", "width", "height", "words")}, "Draw at most 20 marks"),
]


@pytest.mark.parametrize("wish", ["preview", "send"])
def test_a_refused_form_says_what_to_change_and_keeps_what_was_typed(wish: str, scene: Appealing, blue: Client) -> None:
    for wrong, words in WRONG:
        shows(posted(blue, new(scene), typed(wish, **wrong), 400), words, wrong.get("argument", ARGUMENT))
        assert not Appeal.objects.exists(), wrong
    uncounted = {name: value for name, value in typed(wish).items() if not name.endswith("_FORMS")}
    shows(posted(blue, new(scene), uncounted, 400), "The marks did not arrive. Reload the page", ARGUMENT)
    assert not Appeal.objects.exists(), "marks without their number are not dropped"


# What became of it ----------------------------------------------------------------------------------------------------


def test_the_answer_of_the_other_side_is_read_once_the_board_decided(
    scene: Appealing, at: datetime, blue: Client, red: Client
) -> None:
    appeal, wing = sent(scene, at), "It is a &lt;wing&gt;."
    address, own = f"/appeals/case/{appeal.case.public_id}/", f"/appeals/{appeal.public_id}/"
    shows(main(red, address), ARGUMENT, "the &lt;branch&gt;", but=["blue", scene.defense.name])
    form = {"words": f"It is a <wing>. {ANSWER}", "team": scene.red.public_id}
    shows(main_of(red.post(address, form)), "As the board and the other side will read it", wing)
    changed = main_of(red.post(address, form | {"do": "change"}))
    assert wing in changed.partition("<textarea")[2] and "Look at it before sending" in changed
    assert not AppealStatement.objects.exists(), "it was only looked at"
    assert posted(red, address, form | {"do": "send"}) == address
    assert wing in main(red, address) and wing not in main(blue, own)
    decide(appeal.case, board.OVERRULE_REJECTED, at)
    # Red is named: its attack is public.
    shows(
        main(blue, own),
        wing,
        "team red",
        board.WHY,
        "2 to overrule",
        "rejected: the object is partly hidden",
        "ruling changed",
    )
    shows(main(red, address), board.WHY, but=["blue"])


def test_when_each_side_is_named(scene: Appealing, blue: Client, red: Client, at: datetime) -> None:
    """R24: a defender once the week is released; who sent an attack that is public at once."""
    defended, attacked = sent(scene, at).case.public_id, sent(scene, at, scene.red).case.public_id
    shows(main(blue, f"/appeals/case/{attacked}/"), "team red", ARGUMENT, "rejected: a tasker was not sure")
    assert "team blue" not in main(red, f"/appeals/case/{defended}/")
    money.released(scene.valid.week)
    assert "team blue" in main(red, f"/appeals/case/{defended}/")


def test_a_refused_answer_is_kept_in_the_form(scene: Appealing, red: Client, at: datetime) -> None:
    address = f"/appeals/case/{sent(scene, at).case.public_id}/"
    for words, told in (("", "Write what the board should know."), ("It is a wing.", "There are 13 and 4.")):
        for wish in ("preview", "send"):
            answer = red.post(address, {"words": words, "do": wish})
            # It is there to be changed, and not behind a preview.
            shows(main_of(answer), told, f"\n{words}</textarea>")
            assert answer.status_code == 400 and not AppealStatement.objects.exists(), (words, wish)


def test_a_second_answer_and_one_after_the_decision_are_refused(scene: Appealing, at: datetime, red: Client) -> None:
    case = sent(scene, at).case
    address = f"/appeals/case/{case.public_id}/"
    posted(red, address, {"words": ANSWER, "do": "send", "team": scene.blue.public_id}, 409)
    assert not AppealStatement.objects.exists(), "opened for another team"
    statement_send(case=case, team=scene.red, words=ANSWER, by=attacks.captain(scene.red), now=at)
    for wish in ("preview", "send"):
        assert "Each team answers once." in posted(red, address, {"words": f"Two wings. {ANSWER}", "do": wish}, 409)
    decide(case, VoteChoice.UPHOLD, at)
    shows(main(red, address), "The board upheld the ruling.", but=["<form"])
    assert AppealStatement.objects.count() == 1


def test_what_an_appeal_waits_for_is_said(scene: Appealing, blue: Client, at: datetime) -> None:
    appeal = sent(scene, at)
    Case.objects.update(due_at=at - DAY)
    shows(main(blue, f"/appeals/{appeal.public_id}/"), "The board was to decide", "it still waits for votes")
    decide(appeal.case, VoteChoice.MORE_TASKERS, at)
    shows(
        main(blue, f"/appeals/{appeal.public_id}/"),
        "more taskers are asked",
        "The ruling follows when they have answered.",
    )


def test_two_appeals_in_one_case_are_both_read(
    scene: Appealing, green: Team, blue: Client, red: Client, at: datetime
) -> None:
    money.staked(money.defense("hold", green, received=at - 30 * DAY), at=at - 20 * DAY)
    first, said = sent(scene, at), "The beak is not a beak but a twig, as the shadow below it shows."
    sent(scene, at, green, said)
    shows(main(blue, f"/appeals/{first.public_id}/"), "Appealed in the same case", said, but=["green"])
    both = main(red, f"/appeals/case/{first.case.public_id}/")
    assert [both.count(each) for each in (ARGUMENT, said, "<svg")] == [1, 1, 2]


# Where it is linked from ----------------------------------------------------------------------------------------------


def test_pages_of_attacks_and_defenses_lead_to_what_may_be_appealed(
    scene: Appealing, at: datetime, blue: Client, red: Client
) -> None:
    rejected = f"/appeals/new/{scene.rejected.image.public_id}/"
    attack, defense = f"/attacks/{scene.valid.public_id}/", f"/team/defenses/{scene.defense.public_id}/"
    assert rejected in main(red, f"/attacks/{scene.rejected.public_id}/")
    assert new(scene) in main(blue, attack) and new(scene) not in main(red, attack)
    assert "/appeals/" not in main(Client(), attack)
    assert "1 rejection can be appealed" in main(red, "/attacks/")
    assert "1 valid picture that could break a defense of yours can be appealed" in main(blue, defense)
    appeal = sent(scene, at)
    shows(main(blue, attack), f"/appeals/{appeal.public_id}/", but=[new(scene)])
    Stake.objects.update(ended_at=at, end=StakeEnd.WITHDRAWN)
    assert "can be appealed" not in main(blue, defense)


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
    assert blue.get("/api/v1/appeals/").json() == {"count": 1, "next": None, "results": [told]}
    assert red.get("/api/v1/appeals/").json()["results"] == []
    decide(appeal.case, board.OVERRULE_REJECTED, at + timedelta(seconds=9))
    (found,) = blue.get("/api/v1/appeals/").json()["results"]
    assert (found["state"], found["outcome"], found["changed"]) == ("closed", "overrule", True)
    assert found["decided_at"] > told["sent_at"]


def test_the_api_says_with_a_stable_code_what_stands_against_an_appeal(
    scene: Appealing, at: datetime, signed_in: Any, blue: Client, red: Client, green: Team
) -> None:
    embargoed = sends(scene.red, attacks.picture(7, 299), at).image.public_id
    earlier, other = sent(scene, at), signed_in(attacks.captain(green))
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
