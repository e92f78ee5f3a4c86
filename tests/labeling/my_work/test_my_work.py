"""A tasker's own work: theirs alone, silent about gold (R6, R8), and signed so that every change is noticed."""

import base64
import hashlib
import io
import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.contrib.auth.models import User

from labeling.models import KnownPicture, Panel, Response, Tasker, VoidedResponse, Voiding
from labeling.my_work import selectors
from labeling.my_work.check import GENUINE, NOT_GENUINE, UNREADABLE, main
from labeling.my_work.feedback import weekly_shares
from labeling.my_work.keys import public_keys
from labeling.my_work.signing import (
    NotGenuine,
    check_signature,
    key_from,
    key_id_of,
    key_set,
    keys_from_jwks,
    public_bytes,
    signed_lines,
)
from labeling.selectors import forget_versions
from labeling.voiding import responses_void
from policy.enums import GoldFeedback
from policy.models import PolicyVersion
from policy.numbers import Policy
from tests import factories
from tests.contest.pages import one_line
from tests.labeling.cast import gold_answer, refused, shows, statements
from tests.labeling.test_views import unspeakable

pytestmark = pytest.mark.django_db


URL = "/my-work/"


def gold_response(by: Tasker, now: datetime, *, right: bool = True, known: KnownPicture | None = None) -> Response:
    """An answer to a gold picture: without a place, on a settled panel, marked."""
    return gold_answer(by, right=right, now=now, known=known).response


def feedback(value: GoldFeedback) -> None:
    PolicyVersion.objects.update(numbers=Policy(gold_feedback=value).to_json())
    forget_versions()


def shown(page: Any) -> str:
    """The rows of a page, without what differs between any two answers: picture address, id, receipt."""
    rows = re.search(
        r'<ol class="own-answers">.*?</ol>|<div class="one-answer">.*?</main>', page.content.decode(), re.S
    )
    own = r'/pictures/[^"]+|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|(?<=class="receipt">)[^<]+'
    return re.sub(own, "ITS OWN", rows[0])  # type: ignore[index]


def test_the_page_shows_own_answers_newest_first_and_nobody_elses(
    tara: Tasker, otto: Tasker, signed_in: Any, now: datetime
) -> None:
    panel = factories.panel()
    first = factories.response(tara, panel, now=now - timedelta(hours=1))
    second = factories.response(tara, factories.panel(), now=now)
    others = factories.response(otto, panel, now=now)
    page = shows(signed_in(tara).get(URL), second.receipt, first.receipt)
    assert page.index(second.receipt) < page.index(first.receipt)
    secrets = (others.receipt, otto.public_id, first.image.public_id, first.image.pixels_sha256)
    assert [each for each in secrets if each in page] == []


STATED = [("Complete", "true"), ("Not occluded", "false"), ("Real", "true")]


NOT_CHECKED = {"box": None, "complete": None, "unoccluded": None, "real": None, "bird": "definitely_no"}


@pytest.mark.parametrize(
    ("values", "said", "drawn"),
    [
        ({}, [("Bird", "Definitely yes"), ("Outline", "drawn"), *STATED], {"10,10 200,10.5 200,200"}),
        ({"box": None}, [("Bird", "Definitely yes"), ("Outline", "cannot be drawn"), *STATED], set()),
        (NOT_CHECKED, [("Bird", "Definitely no")], set()),
    ],
    ids=["drawn", "asked and impossible", "not asked"],
)
def test_a_row_says_what_was_said(
    values: dict[str, Any], said: list[tuple[str, str]], drawn: set[str], tara: Tasker, signed_in: Any
) -> None:
    given = {"unoccluded": False, "outline": "[[[10,10],[200,10.5],[200,200]]]"} | values
    factories.response(tara, factories.panel(), **given)
    rows = shown(signed_in(tara).get(URL))
    assert re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", rows) == [said[0], ("Bicycle", "Definitely no"), *said[1:]]
    assert (set(re.findall(r'points="(.*?)"', rows)), "4 s" in rows) == (drawn, True)


def test_times_are_in_the_taskers_zone_and_a_day_is_theirs(tara: Tasker, signed_in: Any) -> None:
    Tasker.objects.update(time_zone="America/New_York")
    # 20:30 on the evening before in New York.
    late = factories.response(tara, factories.panel(), now=datetime(2026, 11, 18, 1, 30, tzinfo=UTC))
    early = factories.response(tara, factories.panel(), now=datetime(2026, 11, 18, 12, 0, tzinfo=UTC))
    client = signed_in(tara)
    before, on = (client.get(URL, {"day": day}).content.decode() for day in ("2026-11-17", "2026-11-18"))
    assert [(late.receipt in page, early.receipt in page) for page in (before, on)] == [(True, False), (False, True)]
    assert "17 Nov 2026, 20:30 EST" in before
    later = client.get(URL, {"day": "2026-11-17", "before": early.assignment.public_id}).content.decode()
    assert late.receipt in later and early.receipt not in later, "a page may go on after an answer of another day"


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "0001-01-01", "9999-12-31", "20261101x"])
def test_what_is_no_day_is_refused(day: str, tara: Tasker, signed_in: Any) -> None:
    shows(signed_in(tara).get(URL, {"day": day}), "Choose a day as year-month-day", status=400)


def test_nothing_yet_says_so(nell: Tasker, signed_in: Any) -> None:
    client = signed_in(nell)
    shows(client.get(URL), "Nothing yet. Your answers appear here")
    shows(client.get(URL, {"day": "2026-11-01"}), "You sent no answer on this day.")


@pytest.mark.both("compares moments and keys")
@pytest.mark.parametrize("of_day", ["", "day=2026-11-18"], ids=["all", "a day"])
def test_pages_go_from_key_to_key_without_a_gap(
    of_day: str, tara: Tasker, signed_in: Any, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a day stay on the day."""
    monkeypatch.setattr(selectors, "ANSWERS_PER_PAGE", 3)
    # Three of them at the very same moment, over the edge of a page.
    moments = [now - timedelta(minutes=minute) for minute in (2000, 5, 4, 3, 3, 3, 2, 1)]
    receipts = [factories.response(tara, factories.panel(), now=moment).receipt for moment in moments][::-1]
    client, address, found = signed_in(tara), f"?{of_day}", []
    while address:
        page = one_line(client.get(URL + address.replace("&amp;", "&")).content.decode())
        found += re.findall(r'<code class="receipt">([0-9a-f]{16})</code>', page)
        (address, *_) = [*re.findall(r'href="(\?[^"]+)" rel="next"', page), ""]
    assert found == (receipts[:-1] if of_day else receipts)


def test_a_page_costs_the_same_statements_for_one_answer_and_for_many(tara: Tasker, signed_in: Any) -> None:
    client, costs = signed_in(tara), []
    client.get(URL)  # The policy is read once and remembered.
    for answers in (1, 6):
        for _ in range(answers):
            factories.response(tara, factories.panel())
        costs.append(len(statements(lambda: client.get(URL))))
    assert costs[0] == costs[1]


@pytest.mark.parametrize("path", ["", "download/", "{id}/"])
def test_nobody_but_a_tasker_has_work(
    path: str, olga: User, rita: User, stan: User, signed_in: Any, client: Any
) -> None:
    """A paused tasker still has it."""
    paul = factories.tasker("paul", state="paused")
    address = URL + path.format(id=factories.response(paul, factories.panel()).assignment.public_id)
    everybody = [client, *map(signed_in, (olga, rita, stan, paul))]
    assert [each.get(address).status_code for each in everybody] == [302, 403, 403, 403, 200]


def test_an_answer_of_somebody_else_is_not_there(tara: Tasker, otto: Tasker, signed_in: Any) -> None:
    theirs = factories.response(otto, factories.panel()).assignment.public_id
    client = signed_in(tara)
    answers = [client.get(f"{URL}{each}/") for each in (theirs, uuid4())]
    pages = [re.sub(r'value="(\w{64}|/my-work/[^"]+)"', "", answer.content.decode()) for answer in answers]
    assert pages[0] == pages[1]
    answers += [client.get(URL, {"before": each}) for each in (str(theirs), "nonsense")]
    assert [answer.status_code for answer in answers] == [404] * 4


def test_gold_an_open_and_a_settled_panel_look_alike(tara: Tasker, signed_in: Any, now: datetime) -> None:
    """On each page and in the download. How far a picture is would tell how many others have answered it (R8)."""
    answers = [factories.response(tara, factories.panel(), now=now) for _ in range(2)]
    Panel.objects.filter(pk=answers[0].panel_id).update(answered=3, missing=0, state="settled", full_at=now)
    answers.append(gold_response(tara, now))
    client = signed_in(tara)
    assert len(set(re.findall(r"<li>.*?</li>", shown(client.get(URL)), re.S))) == 1
    pages = [client.get(f"{URL}{each.assignment.public_id}/") for each in answers]
    assert len({(shown(page), tuple(sorted(page.headers))) for page in pages}) == 1
    told = record(client)["answers"]
    assert len({(each.pop("id"), each.pop("receipt")) for each in told}) == 3
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize("path", ["", "{gold}/", "{ordinary}/"])
@pytest.mark.parametrize("value", list(GoldFeedback))
def test_no_page_says_what_no_tasker_may_learn(
    value: GoldFeedback, path: str, tara: Tasker, signed_in: Any, now: datetime
) -> None:
    feedback(value)
    image = factories.image(origin="attack", source="sent in by team red", author="Ada Lovelace")
    ordinary = factories.response(tara, factories.panel(image), now=now)
    ids = {"gold": gold_response(tara, now).assignment.public_id, "ordinary": ordinary.assignment.public_id}
    page = signed_in(tara).get(URL + path.format(**ids)).content.decode()
    # A week is also what a tasker's own hours are summed by, on their own page.
    assert set(unspeakable(page)) <= ({"week", "weeks"} if not path else set())
    secrets = ("team red", "Ada Lovelace", image.public_id, image.pixels_sha256)
    assert [each for each in secrets if each in page] == []


@pytest.mark.parametrize(
    ("gold", "counted"), [(True, True), (True, False), (False, False)], ids=["gold", "late gold", "ordinary, surplus"]
)
def test_a_late_answer_is_told_as_its_receipt_told(
    gold: bool, counted: bool, tara: Tasker, signed_in: Any, now: datetime
) -> None:
    answer = gold_response(tara, now) if gold else factories.response(tara, factories.panel(), counted=False)
    type(answer.assignment).objects.update(seems_counted=counted)
    assert ("it arrived after the picture was given to somebody else" in shown(signed_in(tara).get(URL))) is not counted
    assert record(signed_in(tara))["answers"][0]["counted"] is counted


def test_voided_answers_and_gold_among_them_are_told_with_the_reason(
    tara: Tasker, olga: User, signed_in: Any, now: datetime
) -> None:
    long_ago = gold_response(tara, now - timedelta(days=9))
    ordinary = factories.response(tara, factories.panel(), now=now)
    among = gold_response(tara, now + timedelta(minutes=1))
    responses_void(tasker=tara, since=None, reason="Random clicks.", by=olga, now=now + timedelta(hours=1))
    after = gold_response(tara, now + timedelta(hours=2))
    told = {each["receipt"]: (each["state"], each["void_reason"]) for each in record(signed_in(tara))["answers"]}
    assert told[among.receipt] == told[ordinary.receipt] == ("voided", "Random clicks.")
    assert told[long_ago.receipt] == told[after.receipt] == ("counted", None)
    assert VoidedResponse.objects.count() == 1
    rows = shown(signed_in(tara).get(URL))
    assert rows.count("does not count any more") == rows.count("Random clicks.") == 2


def test_a_voiding_that_found_nothing_changes_nothing(tara: Tasker, olga: User, signed_in: Any, now: datetime) -> None:
    gold_response(tara, now)
    Voiding.objects.create(tasker=tara, reason="Nothing was open.", voided_at=now + timedelta(hours=1), voided_by=olga)
    assert record(signed_in(tara))["answers"][0]["state"] == "counted"


@pytest.mark.both("days and weeks of a zone")
def test_sums_by_day_and_week_are_those_of_the_zone(tara: Tasker, otto: Tasker, now: datetime) -> None:
    """Gold is among them."""
    # Sunday 15 November, 12:00 UTC is Monday the 16th in Auckland.
    for moment in (datetime(2026, 11, 15, 10, 0, tzinfo=UTC), datetime(2026, 11, 15, 12, 0, tzinfo=UTC)):
        factories.response(tara, factories.panel(), now=moment)
    gold_response(tara, now)
    factories.response(otto, factories.panel(), now=now)
    sums = selectors.sums_of(tara, zone=ZoneInfo("Pacific/Auckland"), now=now)
    assert (sums.answers, sums.milliseconds) == (3, 3 * 4200)
    assert [(f"{span.first:%d}", span.answers) for span in sums.days] == [("19", 1), ("16", 1), ("15", 1)]
    weeks = [(span.first.isoformat(), span.answers, span.milliseconds) for span in sums.weeks]
    assert weeks == [("2026-11-16", 2, 8400), ("2026-11-09", 1, 4200)]


MONDAY = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    ("weeks", "told"),
    [
        ([], []),
        ([(3, 4)], [(1, 1, 75)]),
        ([(3, 3)], []),
        ([(1, 2), (2, 2)], [(2, 1, 75)]),
        ([(4, 4), (1, 4)], [(1, 1, 25), (2, 2, 100)]),
        ([(4, 4), (0, 1)], [(2, 2, 100)]),
        ([(2, 3), (0, 0), (2, 3)], [(3, 1, 66)]),
    ],
    ids=[
        "nothing",
        "enough in one week",
        "too few",
        "two weeks combined",
        "newest first",
        "the rest waits for more",
        "over a week without any",
    ],
)
def test_shares_are_told_for_whole_weeks_with_enough_of_them(
    weeks: list[tuple[int, int]], told: list[tuple[int, int, int]], tara: Tasker, now: datetime
) -> None:
    for back, (right, many) in zip(range(len(weeks), 0, -1), weeks, strict=True):
        for number in range(many):
            gold_response(tara, MONDAY - timedelta(weeks=back) + timedelta(hours=number), right=number < right)
    for _ in range(9):
        gold_response(tara, MONDAY + timedelta(hours=1), right=False)
    shares = weekly_shares(tara, minimum=4, zone=ZoneInfo("UTC"), now=now)
    back = [(MONDAY - timedelta(weeks=first), MONDAY - timedelta(weeks=last), share) for first, last, share in told]
    assert [(share.first, share.last, share.percent) for share in shares] == back


def test_the_weeks_of_shares_are_not_the_taskers_to_move(tara: Tasker, signed_in: Any, now: datetime) -> None:
    for number in range(10):
        gold_response(tara, MONDAY - timedelta(hours=1), right=number < 8)
    told = set()
    for zone in ("Pacific/Kiritimati", "Etc/GMT+12", ""):
        Tasker.objects.update(time_zone=zone)
        page = shows(signed_in(tara).get(URL), "80 %", "9 Nov 2026 to 15 Nov 2026")
        told |= set(re.findall(r'id="known".*?</section>', page, re.S))
    assert len(told) == 1


@pytest.mark.parametrize(
    ("value", "section", "checks"),
    [(GoldFeedback.NONE, False, 404), (GoldFeedback.SHARE, True, 404), (GoldFeedback.RETIRED, True, 200)],
)
def test_as_much_is_told_as_the_policy_says(
    value: GoldFeedback, section: bool, checks: int, tara: Tasker, signed_in: Any, now: datetime
) -> None:
    feedback(value)
    gold_response(tara, now)
    client = signed_in(tara)
    assert ("Pictures with known answers" in client.get(URL).content.decode()) is section
    assert client.get("/my-work/checks/").status_code == checks


def test_retired_pictures_are_told_with_what_was_expected(tara: Tasker, otto: Tasker, signed_in: Any) -> None:
    feedback(GoldFeedback.RETIRED)
    now = factories.NOW
    old: dict[str, Any] = {"retired_at": now, "retired_because": "Old."}
    gold_response(tara, now, right=False, known=factories.gold(**old, outline="[[[1,1],[9,1],[9,9]]]", complete=False))
    for who, known in ((tara, {}), (tara, old | {"held_at": now}), (otto, old)):
        gold_response(who, now, known=factories.gold(**known))
    drawn = '<polygon class="expected" points="1,1 9,1 9,9"/>'
    page = shows(signed_in(tara).get("/my-work/checks/"), drawn, "Bird: wrong", "overlaps by at least 70 %")
    assert page.count("<li>") == 1, "in use, reported, and somebody else's are not told"


def download(client: Any) -> bytes:
    return b"".join(client.get("/my-work/download/").streaming_content)


def record(client: Any) -> Any:
    return json.loads(download(client))


def test_the_download_holds_own_answers_and_is_genuine(
    tara: Tasker, otto: Tasker, signed_in: Any, client: Any, now: datetime
) -> None:
    """Everybody may have the keys."""
    response = factories.response(tara, factories.panel(), now=now)
    factories.response(otto, factories.panel(), now=now)
    content = download(signed_in(tara))
    published = client.get("/.well-known/unanimous-signing-keys.json")
    assert (published.json(), "public" in published["Cache-Control"], published.cookies) == (public_keys(), True, {})
    check_signature(io.BytesIO(content), keys_from_jwks(published.json()))
    found = json.loads(content)
    assert (found["format"], found["tasker"], found["count"]) == ("unanimous-my-work-1", tara.public_id, 1)
    assert found["answers"] == [
        {
            "id": str(response.assignment.public_id),
            "receipt": response.receipt,
            "received_at": "2026-11-18T12:00:00Z",
            "contains_bird": "definitely_yes",
            "contains_bicycle": "definitely_no",
            "outline": [[[10, 10], [200, 10], [200, 200], [10, 200]]],
            "complete": True,
            "unoccluded": True,
            "real": True,
            "milliseconds": 4200,
            "instructions": 1,
            "counted": True,
            "state": "counted",
            "void_reason": None,
        }
    ]
    secrets = (response.image.public_id, response.image.pixels_sha256, otto.public_id)
    assert [each for each in secrets if each in content.decode()] == []


def test_a_download_from_before_a_change_of_the_secret_stays_genuine(
    tara: Tasker, signed_in: Any, settings: Any
) -> None:
    before, old = download(signed_in(tara)), settings.SECRET_KEY
    assert json.loads(before)["answers"] == []
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another" * 10, [old]
    assert len(public_keys()["keys"]) == 2
    check_signature(io.BytesIO(before), keys_from_jwks(public_keys()))
    settings.SECRET_KEY_FALLBACKS = []
    refused(NotGenuine, check_signature, io.BytesIO(before), keys_from_jwks(public_keys()))


def test_a_long_download_is_one_statement_and_comes_in_pieces(
    tara: Tasker, signed_in: Any, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minute in range(25):
        factories.response(tara, factories.panel(), now=now - timedelta(minutes=minute))
    monkeypatch.setattr("labeling.pages.my_work_views._LINES_AT_ONCE", 15)
    client, pieces = signed_in(tara), []
    sent = statements(lambda: pieces.extend(client.get("/my-work/download/").streaming_content))
    assert (len([sql for sql in sent if 'FROM "labeling_response"' in sql]), len(pieces)) == (1, 3)
    moments = [each["received_at"] for each in json.loads(b"".join(pieces))["answers"]]
    assert (len(moments), moments) == (25, sorted(moments))


KEY, OLDER, FOREIGN = (key_from(secret) for secret in ("secret", "an older secret", "somebody else's secret"))


KEYS = keys_from_jwks(key_set([KEY, OLDER]))


LINES = [
    b'{"format": "unanimous-my-work-1",\n',
    b'"tasker": "T-7Q4M2",\n',
    b'"made_at": "2026-11-20T23:59:00Z",\n',
    b'"answers": [\n',
    b'{"receipt": "AAAA-BBBB-CCCC", "counted": true}\n',
    b',{"receipt": "DDDD-EEEE-FFFF", "counted": false}\n',
    b"],\n",
    b'"count": 2,\n',
]


def file(lines: list[bytes] = LINES) -> bytes:
    return b"".join(signed_lines(lines, KEY))


def checked(content: bytes, keys: dict[str, bytes] = KEYS) -> str:
    return check_signature(io.BytesIO(content), keys).key_id


def test_a_file_is_json_and_genuine_also_after_its_key_was_replaced() -> None:
    assert json.loads(file())["count"] == 2
    assert [checked(b"".join(signed_lines(LINES, key))) for key in (KEY, OLDER)] == list(KEYS)
    assert KEYS.keys() == {key_id_of(public_bytes(key)) for key in (KEY, OLDER)}
    assert len({public_bytes(key) for key in (KEY, OLDER, FOREIGN, key_from("secret"))}) == 3


def test_a_stranger_can_check_it_from_the_description_alone() -> None:
    *lines, last = file().splitlines(keepends=True)
    said = json.loads(b"{" + last)["signature"]
    assert said["sha256"] == hashlib.sha256(b"".join(lines)).hexdigest()
    public = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key_set([KEY])["keys"][0]["x"] + "="))
    public.verify(base64.b64decode(said["value"]), f"unanimous-my-work-1\n{said['sha256']}\n".encode())


def _other_signature(content: bytes, name: str, value: str) -> bytes:
    *lines, last = content.splitlines(keepends=True)
    said = json.loads(b"{" + last)["signature"] | {name: value}
    return b"".join(lines) + b'"signature": ' + json.dumps(said).encode() + b"}\n"


TAMPERED = {
    "an answer turned": file().replace(b'"counted": false', b'"counted": true '),
    "a line left out": file().replace(LINES[5], b""),
    "a line added": file().replace(LINES[5], LINES[5] + LINES[5]),
    "lines swapped": file().replace(LINES[1] + LINES[2], LINES[2] + LINES[1]),
    "another tasker": file().replace(b"T-7Q4M2", b"T-7Q4M3"),
    "line ends of Windows": file().replace(b"\n", b"\r\n"),
    "cut off": file()[: len(file()) // 2],
    "without its signature": b"".join(LINES),
    "empty": b"",
    "a line after the signature": file() + b"\n",
    "a name after the signature": file().replace(b"}}\n", b'}, "answers": []}\n'),
    "the signature twice": file().replace(b"}}\n", b'}, "signature": {}}\n'),
    "signed by a foreign key": b"".join(signed_lines(LINES, FOREIGN)),
    "signed by a foreign key under a known name": _other_signature(
        b"".join(signed_lines(LINES, FOREIGN)), "key_id", key_id_of(public_bytes(KEY))
    ),
    "another digest": _other_signature(file(), "sha256", "0" * 64),
    "a signature of something else": _other_signature(file(), "value", base64.b64encode(b"x" * 64).decode()),
    "a signature that is no Base64": _other_signature(file(), "value", "???"),
    "a field more": _other_signature(file(), "note", "trust me"),
}


@pytest.mark.parametrize("content", TAMPERED.values(), ids=TAMPERED.keys())
def test_whatever_was_changed_is_noticed(content: bytes) -> None:
    refused(NotGenuine, checked, content)


def test_every_single_bit_counts() -> None:
    content = file(LINES[:2] + [b'"count": 0,\n'])
    for at in range(len(content) - 3):
        refused(NotGenuine, checked, content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])


@pytest.mark.parametrize("keys", [{}, {"keys": 7}, {"keys": [{"crv": "Ed25519"}]}, []])
def test_what_is_no_set_of_keys_is_refused(keys: object) -> None:
    refused(ValueError, keys_from_jwks, keys)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """The places of a file of work and of the keys, which are there."""
    (tmp_path / "keys.json").write_text(json.dumps(key_set([KEY])))
    return str(tmp_path / "work.json"), str(tmp_path / "keys.json")


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (file(), GENUINE, "Genuine: 2 answers of T-7Q4M2, as of 2026-11-20T23:59:00Z"),
        (TAMPERED["another tasker"], NOT_GENUINE, "NOT GENUINE. The file was changed after it was signed"),
    ],
    ids=["genuine", "tampered with"],
)
def test_the_command_says_what_is_wrong(
    content: bytes, status: int, words: str, files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    work, keys = files
    Path(work).write_bytes(content)
    assert (main([work, "--keys", keys]), words in capsys.readouterr().out) == (status, True)
    for given in (["nothing.json", "--keys", keys], [keys, "--keys", work]):
        assert main(given) == UNREADABLE


def test_the_command_needs_no_django(files: tuple[str, str]) -> None:
    Path(files[0]).write_bytes(file())
    code = "import sys; sys.modules['django'] = None; from labeling.my_work.check import main; sys.exit(main())"
    command = [sys.executable, "-c", code, files[0], "--keys", files[1]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
