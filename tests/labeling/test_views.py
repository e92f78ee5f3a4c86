"""The tasker's page without a script: who gets it, what it says, and the plain POST (R8-R12)."""

import re
import time
from typing import Any

import pytest
from django.test import Client

from labeling.enums import AssignmentState, Origin
from labeling.models import Assignment, Panel, Response, Tasker
from tests import factories
from tests.labeling.cast import shows

URL = "/label/"
NO_TO_BOTH = {"contains_bird": "definitely_no", "contains_bicycle": "definitely_no"}
A_BIRD = {"contains_bird": "definitely_yes", "contains_bicycle": "definitely_no"}
TRIANGLE = "10,10\n200,10\n100,150.5"
TRUE = {"complete": "true", "unoccluded": "true", "real": "true"}

# What a tasker must never learn (R3, R8).
UNSPEAKABLE = (
    r"\b(attack\w*|adversar\w*|targets?|origins?|weeks?|claim\w*|gold|dataset|defen[cs]e\w*|teams?|panels?|w\d\d)\b"
)
_PICTURE = re.compile(r"/pictures/[\w=-]+")  # encrypted: any letters


def unspeakable(page: str) -> list[str]:
    """The words of a page that say what a tasker must never learn."""
    return re.findall(UNSPEAKABLE, _PICTURE.sub("", page).lower())


@pytest.fixture(autouse=True)
def policy(db: None) -> None:
    factories.policy_version()


@pytest.fixture
def panel(db: None) -> Panel:
    return factories.panel()


def fields(page: Any) -> dict[str, str]:
    """The hidden fields of the form as the browser would post them."""
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.content.decode(), re.DOTALL)
    return {name: value for name, value in found if name != "csrfmiddlewaretoken"}


def open_form(client: Client) -> dict[str, str]:
    """Get the form and return its hidden fields."""
    return fields(client.get(URL))


# Who gets it.


@pytest.mark.parametrize("address", [URL, "/label/instructions/"])
def test_a_stranger_signs_in_first(address: str, client: Client) -> None:
    answer = client.get(address)
    assert (answer.status_code, answer["Location"]) == (302, f"/sign-in/?next={address}")


@pytest.mark.parametrize(
    ("who", "words"),
    [("olga", "Organizers see where pictures come from"), ("rita", 'href="/"'), ("stan", 'href="/"')],
)
def test_other_roles_are_told_what_their_account_is_for(
    who: str, words: str, request: pytest.FixtureRequest, signed_in: Any, panel: Panel
) -> None:
    client = signed_in(request.getfixturevalue(who))
    answer = client.get(URL)
    assert (answer.status_code, client.post(URL, NO_TO_BOTH).status_code) == (403, 403)
    assert all(each in answer.content.decode() for each in ("This account does not label", words))
    assert not Assignment.objects.exists()


@pytest.mark.parametrize(("state", "words"), [("learning", "Not qualified yet"), ("paused", "Your labeling is paused")])
def test_who_may_not_label_now_is_told_why(state: str, words: str, signed_in: Any, panel: Panel) -> None:
    shows(signed_in(factories.tasker("paul", state=state)).get(URL), words, status=403)


# What it shows.


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
    image = factories.image(
        origin=origin, source="sent in by team red", source_id="2026-W47", author="Ada", original_format="JPEG"
    )
    panel = factories.panel(image)
    factories.response(otto, panel)
    page = signed_in(tara).get(URL).content.decode()
    assert unspeakable(page) == []
    for secret in (image.public_id, image.pixels_sha256, "Ada", "JPEG", otto.public_id, "otto", f"panel {panel.pk}"):
        assert secret not in page


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ("", ['"retryAfter": 60', "Nothing is left to label"]),
        ("abc", ['"retryAfter": 10', "Nothing is free just now", "within 20 minutes at the latest"]),
    ],
    ids=["nothing is there", "others have them in hand"],
)
def test_nothing_left_says_so(others: str, words: list[str], signed_in: Any, tara: Tasker) -> None:
    if others:
        factories.panel()
    for name in others:
        signed_in(factories.tasker(name)).get(URL)
    page = signed_in(tara).get(URL)
    assert page.status_code == 200 and all(each in page.content.decode() for each in words)


def test_the_instructions_have_every_question_in_full(signed_in: Any, nell: Tasker) -> None:
    shows(
        signed_in(nell).get("/label/instructions/"),
        "stuffed animal bird, a cartoon bird) anywhere in the image?",
        "photorealistic rendering of a bird/bicycle",
        "tick <strong>I cannot outline it</strong>; the picture then does not count as valid.",
    )


# The plain POST.


def test_a_negative_picture_is_received_and_the_next_one_follows(signed_in: Any, tara: Tasker, panel: Panel) -> None:
    """The page is not cached."""
    client = signed_in(tara)
    answer = client.post(URL, open_form(client) | NO_TO_BOTH)
    assert (answer.status_code, answer.url) == (303, URL)
    response = Response.objects.get()
    assert (response.contains_bird, response.contains_bicycle, response.outline) == (*NO_TO_BOTH.values(), "")
    page = client.get(URL)
    assert f'receipt <span class="receipt">{response.receipt}</span>.' in page.content.decode()
    assert "no-store" in page["Cache-Control"]


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
    answer = client.post(URL, open_form(client) | A_BIRD | TRUE | {"outline": typed, "real": "false"})
    assert answer.status_code == 303
    response = Response.objects.get()
    assert response.outline == kept
    assert (response.complete, response.unoccluded, response.real) == (True, True, False)


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
    text = page.content.decode()
    assert page.status_code == 400
    assert words in text
    assert "Everything you filled in is kept" in text
    assert not Response.objects.exists()
    assert fields(page)["assignment"] == hidden["assignment"]
    for name, value in posted.items():
        kept = value in text if name == "outline" else f'name="{name}" value="{value}"' in text
        if value != "perhaps":
            assert kept or "&#x27;" in words
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
    posted = open_form(client) | said | {"cannot_outline": "yes", "outline": typed}
    assert client.post(URL, posted).status_code == 303
    response = Response.objects.get()
    assert (response.outline, response.complete, response.box_xmin) == ("", True if said != NO_TO_BOTH else None, None)


def test_a_different_answer_afterwards_is_refused_in_words(signed_in: Any, tara: Tasker, panel: Panel) -> None:
    client = signed_in(tara)
    filled_in = open_form(client) | NO_TO_BOTH
    assert client.post(URL, filled_in).status_code == client.post(URL, filled_in).status_code == 303
    client.post(URL, filled_in | {"contains_bird": "unsure_no"})
    assert "an answer is never replaced" in client.get(URL).content.decode()
    assert Response.objects.get().contains_bird == "definitely_no"


def test_somebody_elses_assignment_is_not_there(signed_in: Any, tara: Tasker, otto: Tasker, panel: Panel) -> None:
    """Nor is one's own with another lease token."""
    client, another = signed_in(tara), signed_in(otto)
    filled_in = open_form(client) | NO_TO_BOTH
    assert another.post(URL, filled_in).status_code == 303
    assert "There is no such assignment of yours" in another.get(URL).content.decode()
    shows(
        client.post(URL, filled_in | {"lease_token": "0" * 32}),
        "The lease token is not that of this assignment",
        status=400,
    )
    assert not Response.objects.exists()


def test_a_surplus_answer_is_kept_and_the_tasker_told(signed_in: Any, tara: Tasker, panel: Panel) -> None:
    client = signed_in(tara)
    hidden = open_form(client)
    Assignment.objects.update(state=AssignmentState.EXPIRED)
    factories.settle(panel)
    client.post(URL, hidden | NO_TO_BOTH)
    assert "it is kept and published, and does not count" in client.get(URL).content.decode()
    assert Response.objects.get().place_id is None


@pytest.mark.parametrize(
    ("posted", "milliseconds"),
    [
        ({"seconds": "12.5"}, range(12_500, 12_501)),
        ({"seconds": "-3"}, range(1)),
        ({"seconds": "soon"}, range(1)),
        ({"seconds": "nan"}, range(1)),
        ({"shown": str(time.time() - 30)}, range(30_000, 600_000)),
    ],
    ids=["said", "negative", "no number", "not a number", "no script: from when the form was shown"],
)
def test_the_time_taken_never_stands_in_the_way(
    posted: dict[str, str], milliseconds: range, signed_in: Any, tara: Tasker, panel: Panel
) -> None:
    client = signed_in(tara)
    assert client.post(URL, open_form(client) | NO_TO_BOTH | posted).status_code == 303
    assert Response.objects.get().milliseconds in milliseconds


def test_a_broken_picture_is_reported_and_never_comes_back(signed_in: Any, tara: Tasker, panel: Panel) -> None:
    client = signed_in(tara)
    posted = open_form(client) | {"action": "report", "problem": "only the upper half is there"}
    assert client.post(URL, posted).status_code == 303
    assert Assignment.objects.get().problem == "only the upper half is there"
    shows(client.get(URL), "Thank you. An organizer looks at that picture", "Nothing is left to label")


def test_an_ended_sign_in_keeps_everything_and_sends_it(signed_in: Any, tara: Tasker, panel: Panel) -> None:
    client = signed_in(tara)
    filled_in = open_form(client) | A_BIRD | TRUE | {"outline": TRIANGLE}
    client.cookies.pop("sessionid")
    asked = client.post(URL, filled_in)
    assert (asked.status_code, "Your sign-in has ended" in asked.content.decode()) == (401, True)
    kept = fields(asked)
    assert kept["outline"] == TRIANGLE
    wrong = client.post(URL, kept | {"username": "tara", "password": "wrong"})
    assert (wrong.status_code, "Nobody was signed in" in wrong.content.decode()) == (401, True)
    assert client.post(URL, fields(wrong) | {"username": "tara", "password": factories.PASSWORD}).status_code == 303
    assert Response.objects.get(tasker=tara).outline == "[[[10,10],[200,10],[100,150.5]]]"


def test_the_password_is_never_shown_again(client: Client, panel: Panel) -> None:
    page = client.post(URL, NO_TO_BOTH | {"username": "tara", "password": "hunter2hunter2"}).content.decode()
    assert "hunter2" not in page
