"""The tasker's page without a script (R8-R12), what it remembers for them, and their language and time zone."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from labeling.enums import AssignmentState, Origin
from labeling.models import Assignment, InstructionVersion, Notice, Panel, Response, Tasker
from labeling.preferences import ACTIONS, instructions_read, key_bindings
from tests import factories
from tests.contest.pages import one_line
from tests.labeling.cast import kept, shows

pytestmark = pytest.mark.django_db


URL = "/label/"


NO_TO_BOTH = {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"}


A_BIRD = {"contains_bird": "definitely_yes", "contains_bicycle": "definitely_no"}


TRIANGLE = "10,10\n200,10\n100,150.5"


TRUE = {"complete": "true", "unoccluded": "true", "real": "true"}


def unspeakable(page: str) -> list[str]:
    """The words of a page that say what a tasker must never learn (R3, R8), but those in encrypted addresses."""
    words = r"attack\w*|adversar\w*|targets?|origins?|weeks?|claim\w*|gold|dataset|defen[cs]e\w*|teams?|panels?|w\d\d"
    return re.findall(rf"\b({words})\b", re.sub(r"/pictures/[\w=-]+", "", page).lower())


@pytest.fixture
def panel(db: None) -> Panel:
    return factories.panel()


def open_form(client: Client) -> dict[str, str]:
    """Get the form and return its hidden fields."""
    return fields(client.get(URL))


def fields(page: Any) -> dict[str, str]:
    """The hidden fields of the form as the browser would post them."""
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.content.decode(), re.DOTALL)
    return {name: value for name, value in found if name != "csrfmiddlewaretoken"}


@pytest.mark.parametrize(
    ("who", "words"),
    [("olga", "Organizers see where pictures come from"), ("rita", 'href="/"'), ("stan", 'href="/"')],
)
def test_other_roles_are_told_what_their_account_is_for(
    who: str, words: str, request: pytest.FixtureRequest, signed_in: Any, panel: Panel
) -> None:
    client = signed_in(request.getfixturevalue(who))
    shows(client.get(URL), "This account does not label", words, status=403)
    assert (client.post(URL, NO_TO_BOTH).status_code, Assignment.objects.count()) == (403, 0)


@pytest.mark.parametrize(("state", "words"), [("learning", "Not qualified yet"), ("paused", "Your labeling is paused")])
def test_who_may_not_label_now_is_told_why(state: str, words: str, signed_in: Any, panel: Panel) -> None:
    shows(signed_in(factories.tasker("paul", state=state)).get(URL), words, status=403)


def test_the_form_carries_the_questions_of_the_founding_document(signed_in: Any, tara: Tasker, panel: Panel) -> None:
    shows(
        signed_in(tara).get(URL),
        "Does this photo contain a bird, or a depiction of a bird (e.g., a toy bird, a painting of a bird, a stuffed "
        "animal bird, a cartoon bird) anywhere in the image?",
        "Does this photo contain a bicycle, or a depiction of a bicycle (e.g., a drawing of a bicycle, a model "
        "bicycle, a toy bicycle) anywhere in the image?",
        "Definitely yes (and I am confident that no other tasker will guess &quot;no&quot;)",
        "I&#x27;m not sure, but my best guess is yes",
        "I&#x27;m not sure, but my best guess is no",
        "Definitely no (and I am confident that no other tasker will guess &quot;yes&quot;)",
        "label the pixels of the bird/bicycle",
        "This bird/bicycle is complete and not truncated. It does not go outside of the image at all",
        "This bird/bicycle is not occluded by anything else. I can see all of the bird/bicycle",
        "This is a picture of a [real, live bird] / [real bicycle]. It is not a painting, drawing, sculpture, toy, "
        "stuffed animal, or any other sort of depiction. (It is okay if the object is a photorealistic rendering of a "
        "bird/bicycle.)",
    )


@pytest.mark.parametrize(
    ("tie_break", "words"), [("leftmost", "outline the left-most one"), ("rightmost", "outline the right-most one")]
)
def test_the_form_says_which_of_equally_large_ones(
    tie_break: str, words: str, signed_in: Any, tara: Tasker, panel: Panel
) -> None:
    client = signed_in(tara)
    client.get(URL)
    Assignment.objects.update(tie_break=tie_break)
    assert words in client.get(URL).content.decode()


@pytest.mark.parametrize("origin", list(Origin))
def test_the_page_tells_nothing_of_where_a_picture_comes_from(
    origin: Origin, signed_in: Any, tara: Tasker, otto: Tasker
) -> None:
    told = {
        "source": "sent in by team red",
        "source_id": "2026-W47",
        "author": "Ada Lovelace",
        "original_format": "JPEG2000",
    }
    image = factories.image(origin=origin, **told)
    panel = factories.panel(image)
    factories.response(otto, panel)
    page = signed_in(tara).get(URL).content.decode()
    secrets = (
        image.public_id,
        image.pixels_sha256,
        "Ada Lovelace",
        "JPEG2000",
        otto.public_id,
        "otto",
        f"panel {panel.pk}",
    )
    assert (unspeakable(page), [each for each in secrets if each in page]) == ([], [])


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ("", ['"retryAfter": 60', "Nothing is left to label"]),
        ("abc", ['"retryAfter": 10', "Nothing is free just now", "1 picture that still needs you is with"]),
    ],
    ids=["nothing is there", "others have them in hand"],
)
def test_nothing_left_says_so(others: str, words: list[str], signed_in: Any, tara: Tasker) -> None:
    if others:
        factories.panel()
    for name in others:
        signed_in(factories.tasker(name)).get(URL)
    shows(signed_in(tara).get(URL), *words)


def test_the_instructions_have_every_question_in_full(signed_in: Any, nell: Tasker) -> None:
    shows(
        signed_in(nell).get("/label/instructions/"),
        "stuffed animal bird, a cartoon bird) anywhere in the image?",
        "photorealistic rendering of a bird/bicycle",
        "tick <strong>I cannot outline it</strong>; the picture then does not count as valid.",
    )


def test_a_negative_picture_is_received_and_the_next_one_follows(signed_in: Any, tara: Tasker, panel: Panel) -> None:
    """The page is not cached."""
    client = signed_in(tara)
    answer = client.post(URL, open_form(client) | NO_TO_BOTH)
    assert (answer.status_code, answer.url) == (303, URL)
    response = Response.objects.get()
    assert (response.contains_bird, response.contains_bicycle, response.outline) == (*NO_TO_BOTH.values(), "")
    page = client.get(URL)
    assert (
        shows(page, f'receipt <span class="receipt">{response.receipt}</span>.') and "no-store" in page["Cache-Control"]
    )


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        (TRIANGLE, "[[[10,10],[200,10],[100,150.5]]]"),
        ("\r\n10 , 10\r\n200;10\r\n100,150.5\r\n\r\n", "[[[10,10],[200,10],[100,150.5]]]"),
        ("1,1\n9,1\n5,9\n\n\n21,1\n29,1\n25,9", "[[[1,1],[9,1],[5,9]],[[21,1],[29,1],[25,9]]]"),
        ("[[[10,10],[200,10],[100,150.5]]]", "[[[10,10],[200,10],[100,150.5]]]"),
    ],
    ids=["a corner a line", "spaces, semicolons, Windows line ends", "two outlines", "JSON as the API takes it"],
)
def test_an_outline_is_typed(typed: str, kept: str, signed_in: Any, tara: Tasker, panel: Panel) -> None:
    client = signed_in(tara)
    client.post(URL, open_form(client) | A_BIRD | TRUE | {"outline": typed, "real": "false"})
    response = Response.objects.get()
    assert (response.outline, response.complete, response.unoccluded, response.real) == (kept, True, True, False)


@pytest.mark.parametrize(
    ("posted", "words"),
    [
        ({}, "Choose one of the four answers."),
        ({"contains_bird": "perhaps"}, "Choose one of the four answers."),
        (A_BIRD | TRUE, "Outline the largest single bird, or tick “I cannot outline it”."),
        (A_BIRD | TRUE | {"outline": "10,10\n20,ten\n1,2"}, "Line 2 of the outline is &#x27;20,ten&#x27;"),
        (A_BIRD | TRUE | {"outline": "[[10,10"}, "The outline begins like JSON and cannot be read"),
        (A_BIRD | TRUE | {"outline": "1,1\n9,9"}, "fewer than three different corners"),
        (A_BIRD | TRUE | {"outline": "0,0\n90,90\n90,0\n0,90"}, "crosses or touches itself"),
        (A_BIRD | TRUE | {"outline": "0,0\nnan,90\n90,0"}, "without a finite position"),
        (A_BIRD | {"outline": TRIANGLE, "complete": "true"}, "Choose true or false."),
        (A_BIRD | {"cannot_outline": "yes", "outline": "10,10\n20,ten"}, "Choose true or false."),
        (NO_TO_BOTH | {"outline": TRIANGLE}, "leave the field empty"),
        (NO_TO_BOTH | {"real": "true"}, "This is not asked with these answers"),
    ],
    ids=[
        "nothing",
        "no such answer",
        "no outline",
        "a corner that is no number",
        "broken JSON",
        "two corners",
        "crossing",
        "not a number",
        "statements missing",
        "statements missing where nothing can be outlined",
        "outline not asked",
        "statement not asked",
    ],
)
def test_what_is_wrong_is_said_at_the_field_and_the_rest_is_kept(
    posted: dict[str, str], words: str, signed_in: Any, tara: Tasker, panel: Panel
) -> None:
    client = signed_in(tara)
    hidden = open_form(client)
    page = client.post(URL, hidden | posted)
    text = shows(page, words, "Everything you filled in is kept", status=400)
    assert (Response.objects.count(), fields(page)["assignment"]) == (0, hidden["assignment"])
    assert one_line(posted.get("outline", "")) in text or "&#x27;" in words
    checked = set(re.findall(r'name="(\w+)" value="\w+"[^>]* checked', text))
    assert checked == {name for name, value in posted.items() if name != "outline" and value != "perhaps"}


@pytest.mark.parametrize(
    ("said", "typed"),
    [(A_BIRD | TRUE, ""), (A_BIRD | TRUE, TRIANGLE), (A_BIRD | TRUE, "10,10\n20,ten"), (NO_TO_BOTH, TRIANGLE)],
    ids=["nothing", "an outline", "half of one", "where no outline is asked"],
)
def test_the_tick_that_nothing_can_be_outlined_wins_over_what_was_typed(
    said: dict[str, str], typed: str, signed_in: Any, tara: Tasker, panel: Panel
) -> None:
    client = signed_in(tara)
    client.post(URL, open_form(client) | said | {"cannot_outline": "yes", "outline": typed})
    response = Response.objects.get()
    assert (response.outline, response.complete, response.box_xmin) == ("", True if said != NO_TO_BOTH else None, None)


def test_a_different_answer_afterwards_is_refused_in_words(signed_in: Any, tara: Tasker, panel: Panel) -> None:
    client = signed_in(tara)
    filled_in = open_form(client) | NO_TO_BOTH
    assert client.post(URL, filled_in).status_code == client.post(URL, filled_in).status_code == 303
    shows(client.post(URL, filled_in | {"contains_bird": "unsure_no"}, follow=True), "an answer is never replaced")
    assert Response.objects.get().contains_bird == "definitely_no"


def test_somebody_elses_assignment_is_not_there(signed_in: Any, tara: Tasker, otto: Tasker, panel: Panel) -> None:
    """Nor is one's own with another lease token."""
    client, another = signed_in(tara), signed_in(otto)
    filled_in = open_form(client) | NO_TO_BOTH
    shows(another.post(URL, filled_in, follow=True), "There is no such assignment of yours")
    forged = client.post(URL, filled_in | {"lease_token": "0" * 32})
    shows(forged, "The lease token is not that of this assignment", status=400)
    assert not Response.objects.exists()


def test_a_surplus_answer_is_kept_and_its_tasker_notified(signed_in: Any, tara: Tasker, panel: Panel) -> None:
    client = signed_in(tara)
    hidden = open_form(client)
    Assignment.objects.update(state=AssignmentState.EXPIRED)
    factories.settle(panel)
    shows(client.post(URL, hidden | NO_TO_BOTH, follow=True), "it is kept and published, and does not count")
    assert Response.objects.get().place_id is None


@pytest.mark.parametrize(
    ("posted", "milliseconds"),
    [
        ({"seconds": "12.5"}, range(12_500, 12_501)),
        ({"seconds": "-3"}, range(1)),
        ({"seconds": "soon"}, range(1)),
        ({"seconds": "nan"}, range(1)),
        ({"shown": "half a minute ago"}, range(30_000, 600_000)),
    ],
    ids=["said", "negative", "no number", "not a number", "no script: from when the form was shown"],
)
def test_the_time_taken_never_stands_in_the_way(
    posted: dict[str, str], milliseconds: range, signed_in: Any, tara: Tasker, panel: Panel
) -> None:
    client = signed_in(tara)
    if "shown" in posted:
        posted = {"shown": str(time.time() - 30)}
    client.post(URL, open_form(client) | NO_TO_BOTH | posted)
    assert Response.objects.get().milliseconds in milliseconds


def test_a_broken_picture_is_reported_and_never_comes_back(signed_in: Any, tara: Tasker, panel: Panel) -> None:
    client = signed_in(tara)
    posted = open_form(client) | {"action": "report", "problem": "only the upper half is there"}
    told = ("Thank you. An organizer looks at that picture", "Nothing is left to label")
    shows(client.post(URL, posted, follow=True), *told)
    assert Assignment.objects.get().problem == "only the upper half is there"


def test_an_ended_sign_in_keeps_everything_and_sends_it(signed_in: Any, tara: Tasker, panel: Panel) -> None:
    client = signed_in(tara)
    filled_in = open_form(client) | A_BIRD | TRUE | {"outline": TRIANGLE}
    client.cookies.pop("sessionid")
    shows(asked := client.post(URL, filled_in), "Your sign-in has ended", status=401)
    assert fields(asked)["outline"] == TRIANGLE
    wrong = client.post(URL, fields(asked) | {"username": "tara", "password": "wrong"})
    shows(wrong, "Nobody was signed in", status=401)
    assert client.post(URL, fields(wrong) | {"username": "tara", "password": factories.PASSWORD}).status_code == 303
    assert Response.objects.get(tasker=tara).outline == "[[[10,10],[200,10],[100,150.5]]]"


def test_the_password_is_never_shown_again(client: Client, panel: Panel) -> None:
    posted = NO_TO_BOTH | {"username": "tara", "password": "hunter2hunter2"}
    assert "hunter2" not in shows(client.post(URL, posted), status=401)


PREFERENCES = "/api/v1/preferences/"


def change(client: Client, **values: Any) -> Any:
    return client.post(PREFERENCES, values, content_type="application/json")


def test_every_action_has_a_key_of_its_own() -> None:
    assert len({action.key for action in ACTIONS}) == len({action.name for action in ACTIONS}) == len(ACTIONS)


def test_a_key_is_kept_for_every_device_until_it_is_the_usual_one_again(signed_in: Any, tara: Tasker) -> None:
    factories.panel()
    client = signed_in(tara)
    answer = change(client, keys={"report": "X", "undo": "Delete", "remove_corner": "u"})
    assert (answer.status_code, answer.json()["keys"]["report"]) == (200, "x")
    assert kept(tara, "preferences")["keys"] == {"report": "x", "undo": "Delete", "remove_corner": "u"}
    shows(
        signed_in(tara).get("/label/"),
        '<kbd aria-hidden="true" data-key="report">X</kbd>',
        'data-shortcut="undo" aria-keyshortcuts="Del"',
    )
    assert change(client, keys={}).json()["keys"]["report"] == "r"
    assert kept(tara, "preferences")["keys"] == {}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"report": "u"}, "The key U is chosen twice"),
        ({"report": "x", "ask": "X"}, "The key X is chosen twice"),
        ({"dance": "x"}, "knows no action 'dance'"),
        ({"report": ""}, "Choose a key"),
        ({"report": "xy"}, "Choose a key"),
        ({"report": " "}, "Choose a key"),
        ({"report": "\n"}, "Choose a key"),
        ({"report": "Escape"}, "Choose a key"),
        ({"report": 7}, "Choose a key"),
        (["report", "x"], "as an object"),
    ],
    ids=["taken", "twice", "no such action", "none", "two", "space", "not printable", "named", "number", "list"],
)
def test_a_key_that_cannot_be_is_refused_in_words(keys: Any, words: str, signed_in: Any, tara: Tasker) -> None:
    answer = change(signed_in(tara), keys=keys)
    assert (answer.status_code, answer.json()["code"], kept(tara, "preferences")) == (400, "invalid", {})
    assert words in answer.json()["fields"]["keys"][0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("smoothing", "off"), ("simplify", 0), ("simplify", True)),
        *(("instructions", 0), ("instructions", "2"), ("x", 1)),
        *(("brightness", 49), ("brightness", 201), ("brightness", 100.5), ("contrast", True), ("contrast", "120")),
        *(("guides", 1), ("minimap", None)),
    ],
)
def test_what_no_page_would_send_is_refused(name: str, value: Any, signed_in: Any, tara: Tasker) -> None:
    answer = change(signed_in(tara), **{name: value})
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [name])


@pytest.mark.both("locks the row of the tasker; JSON")
def test_one_change_leaves_the_others(signed_in: Any, tara: Tasker) -> None:
    """Instructions once read stay read."""
    client = signed_in(tara)
    change(client, smoothing=False, keys={"report": "x"}, instructions=4)
    found = change(client, simplify=2.5, instructions=2, brightness=150).json()
    told = (found["smoothing"], found["simplify"], found["keys"]["report"], found["instructions"])
    assert (told, client.get(PREFERENCES).json()) == ((False, 2.5, "x", 4), found)
    looks = ("brightness", "contrast", "guides", "minimap")
    assert [found[name] for name in looks] == [150, 100, False, True]


def test_without_a_choice_the_usual_keys_hold_and_the_version_one_qualified_under_is_read(tara: Tasker) -> None:
    tara.instructions = 3
    assert (key_bindings(None)["submit"], instructions_read(tara)) == ("Enter", 3)


def notice(to: Tasker, text: str = "An organizer writes.") -> Notice:
    return Notice.objects.create(tasker=to, code="test", text=text, told_at=factories.NOW)


def test_a_notice_is_told_until_its_tasker_puts_it_away(signed_in: Any, tara: Tasker, otto: Tasker) -> None:
    mine, ottos = notice(tara), notice(otto, "Not for Tara.")
    client = signed_in(tara)
    told = client.get("/api/v1/notices/").json()
    assert told == [{"id": str(mine.public_id), "text": "An organizer writes.", "told_at": "2026-11-18T12:00:00Z"}]
    put_away = [client.post(f"/api/v1/notices/{each.public_id}/seen/").status_code for each in (mine, mine, ottos)]
    assert (put_away, client.get("/api/v1/notices/").json()) == ([204, 204, 404], [])
    assert kept(mine, "seen_at") and not kept(ottos, "seen_at")


def test_without_a_script_a_notice_is_put_away_with_a_button(signed_in: Any, tara: Tasker) -> None:
    mine, client = notice(tara), signed_in(tara)
    assert client.post(URL, {"action": "seen", "notice": "²"}).status_code == 404
    shows(client.get(URL), "An organizer writes.")
    put_away = client.post(URL, {"action": "seen", "notice": str(mine.public_id)}, follow=True)
    assert "An organizer writes." not in shows(put_away)


def test_what_changed_since_a_version_is_told_newest_first(signed_in: Any, tara: Tasker) -> None:
    """The instructions carry their version and all clarifications."""
    for version, summary, clarification, days in (
        (2, "Toys.", "A toy bird is a depiction.", -2),
        (3, "Shadows.", "A shadow alone is no bird.", -1),
        (4, "Not yet.", "Tomorrow.", 1),
    ):
        told = {"clarification": clarification, "in_force_from": timezone.now() + timedelta(days=days)}
        InstructionVersion.objects.create(version=version, summary=summary, **told)
    tasker = signed_in(tara)
    news = [tasker.get("/label/instructions/news/", {"since": since}).json() for since in (1, 2, 3)]
    assert [[each["version"] for each in told] for told in news] == [[3, 2], [3], []]
    assert (news[1][0]["summary"], news[1][0]["clarification"]) == ("Shadows.", "A shadow alone is no bird.")
    page = shows(tasker.get("/label/instructions/"), "Version 3, in force since")
    assert (
        page.index("A shadow alone is no bird.") < page.index("A toy bird is a depiction.") and "Tomorrow." not in page
    )


@pytest.fixture
def gerda(db: None) -> Tasker:
    """A tasker who reads German and lives in Berlin."""
    gerda = factories.tasker("gerda")
    gerda.language, gerda.time_zone = "de", "Europe/Berlin"
    gerda.save()
    return gerda


@pytest.mark.parametrize(
    ("address", "word"),
    [
        ("/label/", "Absenden"),
        ("/my-work/", "Meine Arbeit"),
        ("/questions/", "Fragen"),
        ("/learn/", "Anleitung"),
        ("/label/instructions/", "Umriss"),
        ("/account/", "Sprache"),
    ],
)
def test_a_page_is_in_the_taskers_language(address: str, word: str, gerda: Tasker, signed_in: Any) -> None:
    factories.panel()
    page = signed_in(gerda).get(address, headers={"accept-language": "en"})
    assert page["Content-Language"] == "de"
    shows(page, '<html lang="de" dir="ltr">', word)


@pytest.mark.parametrize(("accepted", "language"), [("de-AT,de;q=0.9", "de"), ("en", "en"), ("fr", "en"), ("", "en")])
def test_who_has_chosen_none_gets_the_browsers(accepted: str, language: str, client: Any) -> None:
    assert client.get("/sign-in/", headers={"accept-language": accepted})["Content-Language"] == language


def test_refusals_of_the_api_are_in_the_taskers_language(gerda: Tasker, signed_in: Any) -> None:
    address = "/api/v1/assignments/3f1c9a52-7d0e-4f5b-9a37-0c6f3f1d2b84/heartbeat/"
    answer = signed_in(gerda).post(address, {"lease_token": "x"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), "the code stays for programs"
    assert "There is no" not in answer.json()["detail"]


@pytest.mark.parametrize(
    ("zone", "shown", "why"),
    [
        ("", "23:30", "UTC where none was chosen"),
        ("Europe/Berlin", "00:30", "an hour ahead, and the next day"),
        ("Asia/Kolkata", "05:00", "half an hour off"),
    ],
)
def test_times_are_in_the_taskers_zone(zone: str, shown: str, why: str, gerda: Tasker, signed_in: Any) -> None:
    Tasker.objects.update(time_zone=zone)
    factories.response(gerda, factories.panel(), now=datetime(2026, 11, 17, 23, 30, tzinfo=UTC))
    assert shown in signed_in(gerda).get("/my-work/").content.decode(), why
