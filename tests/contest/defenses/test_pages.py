"""The pages and calls of entries and stakes: who may open what, what they show, and what they refuse (R8, R31-R33)."""

import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from common.models import HourCount
from contest.core import upload_rates
from contest.core.enums import StakeEnd, UploadKind
from contest.core.models import Case, Stake, StakeBatch, Team
from contest.defenses import entries, stake_ends, staking
from contest.defenses.models import DefenseEntry
from contest.web import defense_uploads
from labeling.models import Tasker
from scoring.enums import Fault, TrialKind
from scoring.models import CopyFlag, Defense
from scoring.trials.services import framework_check
from tests import factories, tables
from tests.contest.defenses import cast
from tests.contest.pages import answers, codes, main, one_line, plain, shows, words
from tests.scoring.trials import cast as trials

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)
NEW, API, DEFENSES = "/team/defenses/new/", "/api/v1/defenses/", "/defenses/"
JSON = {"HTTP_ACCEPT": "application/json"}


@pytest.fixture
def at() -> datetime:
    """These pages ask the real clock."""
    return timezone.now().replace(microsecond=0)


@pytest.fixture
def blue(at: datetime) -> Team:
    return cast.team("blue", now=at)


@pytest.fixture
def captain(blue: Team) -> User:
    return cast.captain(blue)


@pytest.fixture(autouse=True)
def no_uploads_of_others(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def captains(captain: User, signed_in: Any) -> Any:
    return signed_in(captain)


@pytest.fixture
def boards(rita: User, signed_in: Any) -> Any:
    return signed_in(rita)


def fields(**values: Any) -> dict[str, Any]:
    return {"name": "steadfast", "licence": "Apache-2.0", "image": cast.IN_REGISTRY} | values


def file_of(data: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("s.zip", data)


def called(client: Client, body: Any) -> Any:
    """Hand in by the API, as JSON."""
    return client.post(API, body if isinstance(body, bytes) else json.dumps(body), content_type="application/json")


def own(of: Defense) -> str:
    return f"/team/defenses/{of.public_id}/"


# Who may open what


WHO = {
    "/team/defenses/": ({"captain", "member"}, "the team's own"),
    "/team/defenses/new/": ({"captain", "member"}, "any member hands in"),
    "/team/defenses/{id}/": ({"captain", "member"}, "the team's own defense"),
    "/board/stakes/": ({"board"}, "the board stakes"),
    "/organizer/stakes/": ({"organizer"}, "organizers record payments"),
}


def test_who_may_open_what(blue: Team, tara: Tasker, signed_in: Any, at: datetime) -> None:
    made = cast.entry(blue, now=at)
    people = {"nobody": cast.person("stan"), "tasker": tara, "captain": cast.captain(blue), "member": cast.member(blue)}
    people |= {"rival": cast.captain(cast.team("red")), "board": cast.board(), "organizer": cast.organizer()}
    clients = {"stranger": Client()} | {who: signed_in(person) for who, person in people.items()}
    for address, (allowed, why) in WHO.items():
        opened = {who: client.get(address.format(id=made.defense.public_id)) for who, client in clients.items()}
        expected = {"stranger": 302, "nobody": 404} | dict.fromkeys(people.keys() - {"nobody"}, 403)
        expected |= dict.fromkeys(allowed, 200)
        if address.startswith("/team/"):  # the rival has pages of their own, and finds none of this team's
            expected["rival"] = 404 if "{id}" in address else 200
        assert {who: each.status_code for who, each in opened.items()} == expected, (address, why)
        telling = [who for who, each in opened.items() if made.defense.name in each.content.decode()]
        assert {expected[who] for who in telling} <= {200} and "rival" not in telling, address


def test_a_stranger_and_a_rival_change_nothing(blue: Team, signed_in: Any, at: datetime) -> None:
    made = cast.entry(blue, now=at, published=at, closed=True)
    rival, member = signed_in(cast.captain(cast.team("red"))), signed_in(cast.member(blue))
    people = {"stranger": Client(), "nobody": signed_in(cast.person("stan")), "rival": rival}
    for name in ("withdraw", "stake", "cancel", "ask", "source"):
        found = codes(people, f"{own(made.defense)}{name}/", {"sure": "yes", "reason": "r"})
        assert found == {"stranger": 302, "nobody": 404, "rival": 404}, name
        made.refresh_from_db()
        assert (made.withdrawn_at, made.opened_at, Stake.objects.exists()) == (None, None, False), name
    assert member.post(f"{own(made.defense)}explode/").status_code == 404, "no such action"
    shows(words(member, own(made.defense)), "Your captain decides this.", but=["Ask to stake it"])
    assert member.post(f"{own(made.defense)}stake/", {"sure": "yes"}).status_code == 403 and not Stake.objects.exists()


# Handing in


@pytest.mark.parametrize("address", [NEW, API])
def test_a_team_hands_in_an_archive(address: str, tmp_path: Path, captain: User, captains: Client) -> None:
    page = captains.get(NEW).content.decode()
    shows(
        page,
        "3 of 3 left this week",
        "it is published by",
        'href="/docs/defenses/"',
        "One of the two is required",
        "At most 256 MiB.",
        "At most 16 GiB.",
    )
    assert page.count("(required)") == 2
    with open(cast.archive(tmp_path / "a"), "rb") as tar, open(cast.zipped(tmp_path / "s.zip"), "rb") as source:
        answer = captains.post(address, fields(image="", archive=tar, source=source))
    made = DefenseEntry.objects.get()
    assert made.opened_at == made.received_at and made.handed_in_by == captain and made.defense.archive
    assert answer.status_code == (201 if address == API else 303)
    shows(
        words(captains, answer.get("Location") or own(made.defense)),
        "Published if eligible by",
        *(["is received. Its trials begin by themselves."] * (address == NEW)),
    )
    assert not list(defense_uploads.upload_folder().iterdir()), "what was uploaded is not left lying about"


def test_a_refused_form_keeps_what_was_typed(captains: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(
        captains.post(NEW, fields(image="ghcr.io/blue/net", description="a <b> net")),
        400,
        'value="ghcr.io/blue/net"',
        "a &lt;b&gt; net",
        "Name the image with its digest",
    )
    answers(captains.post(NEW, fields(virus=file_of(b"v"))), 400)  # a file of an unknown name
    monkeypatch.setattr(defense_uploads, "MIN_FREE_BYTES", 1 << 62)
    answers(captains.post(NEW, fields()), 409, "The server has no room")
    assert not DefenseEntry.objects.exists()


def test_the_script_is_answered_in_json_and_told_what_differs_from_the_first_hand_in(
    tmp_path: Path, captains: Client
) -> None:
    wrong = captains.post(NEW, fields(name="", licence=""), **JSON)
    assert (wrong.status_code, set(wrong.json()["fields"])) == (400, {"name", "licence"})
    answer, made = captains.post(NEW, fields(), **JSON), DefenseEntry.objects.get()
    assert (answer.status_code, answer.json()) == (201, {"address": own(made.defense)})
    answers(captains.post(NEW, fields(), follow=True), 200, "was handed in before")
    with open(cast.zipped(tmp_path / "s.zip"), "rb") as source:
        refused = captains.post(NEW, fields(source=source), **JSON)
    assert (refused.status_code, refused.json()["code"]) == (409, "differs")
    answers(captains.post(NEW, fields(description="Better.")), 409, "Different now: description.", "another version")
    assert DefenseEntry.objects.get().opened_at is None


def test_a_file_that_is_too_large_is_refused_while_it_comes(captains: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(defense_uploads.FILES, "source", ("source zip", 1 << 20))
    answers(
        captains.post(NEW, fields(source=file_of(bytes((1 << 20) + 1)))),
        400,
        "The source zip has more than 1 MiB. Make it smaller.",
    )
    assert not DefenseEntry.objects.exists() and not list(defense_uploads.upload_folder().iterdir())


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no file be read."""
    monkeypatch.setattr(defense_uploads.StreamedFiles, "new_file", lambda *_, **__: pytest.fail("a file was read"))


def test_a_body_that_is_too_long_is_not_read(captains: Client, unread: None) -> None:
    for address in (NEW, API):
        body = fields(source=file_of(b"s"))
        answer = captains.post(address, body, CONTENT_LENGTH=str(defense_uploads.MAX_SUBMISSION_BYTES + 1), **JSON)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_at_the_end_of_the_weeks_number_no_file_is_read(
    blue: Team, captains: Client, at: datetime, unread: None
) -> None:
    for _ in range(3):
        cast.entry(blue, now=at)
    answers(captains.get(NEW), 200, "which is the most")
    answers(captains.post(NEW, fields(source=file_of(b"s"))), 429)
    answer = called(captains, fields())
    assert (answer.status_code, answer.json()["code"], DefenseEntry.objects.count()) == (429, "quota_used", 3)


def test_forged_requests_are_refused(captain: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(captain, backend="accounts.session_store.UserBackend")
    assert client.post(NEW, fields()).status_code == 403 and not DefenseEntry.objects.exists()


def test_what_a_killed_process_left_goes_after_a_day(captains: Client) -> None:
    old, young = (defense_uploads.upload_folder() / name for name in ("old.upload", "young.upload"))
    for file in (old, young):
        file.write_bytes(b"x")
    os.utime(old, (1, 1))
    captains.post(NEW, fields())
    assert (old.exists(), young.exists()) == (False, True)


# A team's own defense


def test_its_own_page_tells_totals_and_the_whole_log_of_the_smoke_test(
    blue: Team, captains: Client, at: datetime
) -> None:
    """What is missing is said, and no picture is named (R31)."""
    made = cast.entry(blue, now=at)
    trials.passed(made.defense, TrialKind.SMOKE, log="loading weights\n" * 400 + "the very last line")
    trials.passed(made.defense, TrialKind.PRIVATE, answers=b"secret")
    page = main(captains, own(made.defense))
    shows(page, "the very last line", "9 right", "1 abstained", "not yet", but=["pixels", "P-"])
    assert page.count("loading weights") == 400


def _out(made: DefenseEntry, at: datetime) -> Defense:
    Defense.objects.filter(pk=made.defense_id).update(published_at=at)
    return Defense.objects.get(pk=made.defense_id)


@pytest.mark.parametrize(
    ("state", "change", "said"),
    [
        ("received", lambda made, at: None, "A defense can be staked when it is published."),
        ("published", lambda made, at: Defense.objects.filter(pk=made.defense_id).update(published_at=at),
         "Your team can stake it itself"),
        ("staked", lambda made, at: cast.staked(_out(made, at), now=at), "Unbroken it wins in"),
        ("broken", lambda made, at: (cast.staked(_out(made, at), now=at), cast.broken(made.defense, at, found=at),
                                     stake_ends.stakes_end(now=at)), "broken"),
        ("withdrawn", lambda made, at: entries.entry_withdraw(made, by=cast.captain(made.team), now=at), "Withdrawn"),
    ],
)  # fmt: skip
def test_every_state_on_the_teams_pages(
    state: str, change: Any, said: str, blue: Team, captains: Client, at: datetime
) -> None:
    cast.funded(now=at)
    made = cast.entry(blue, now=at)
    change(made, at)
    amount = ["USD 1,000.00 by "] if state == "staked" else []
    answers(captains.get("/team/defenses/"), 200, f">{state}</span>", *amount)
    answers(captains.get(own(made.defense)), 200, f">{state}</span>", said)


def test_a_captain_asks_and_drops_and_asks_the_board(blue: Team, captains: Client, at: datetime) -> None:
    defense = cast.published(blue, now=at)

    def act(what: str, **form: str) -> Any:
        return captains.post(f"{own(defense)}{what}/", form)

    answers(act("stake"), 400, "Check the box to confirm")
    answers(act("stake", sure="yes"), 303)
    answers(captains.get(own(defense)), 200, f"name <strong>{defense.public_id}</strong> with the payment")
    answers(act("cancel"), 303)
    assert not Stake.objects.filter(ended_at=None).exists()
    stake = cast.self_staked(defense, at)
    answers(act("ask", reason=" "), 400, "Say why the board should return it.")
    act("ask", reason="a mistake")
    stake.refresh_from_db()
    assert stake.return_reason == "a mistake"
    answers(captains.get(own(defense)), 200, "The board was asked")
    answers(act("withdraw", sure="yes"), 409)


def test_a_closed_defense_is_opened_on_its_page(tmp_path: Path, blue: Team, captains: Client, at: datetime) -> None:
    made = cast.entry(blue, now=at, published=at, closed=True)
    address = f"{own(made.defense)}source/"
    answers(captains.post(address), 400, "Choose the zip of its source.")
    with open(cast.zipped(tmp_path / "s.zip"), "rb") as source:
        answers(captains.post(address, {"source": source}), 303)
    made.refresh_from_db()
    assert made.opened_at is not None and captains.get(address).status_code == 405


# The board's page


def test_the_board_stakes_a_batch(blue: Team, boards: Client, at: datetime) -> None:
    cast.funded(now=at)
    one, two, left = (cast.published(blue, name, now=at) for name in ("one", "two", "left"))
    address = "/board/stakes/"
    answers(boards.get(address), 200, one.name, two.name, left.name, "USD 1,000.00")
    body = {"defense": [one.public_id, two.public_id], "criteria": "reproducible", "reason": "Both are ready to stand."}
    # What was typed is kept.
    answers(
        boards.post(address, body | {"reason": ""}),
        400,
        "reproducible",
        f'value="{one.public_id}" id="defense_0" checked',
    )
    shows(
        plain(boards.post(address, body | {"do": "move"}, follow=True)),
        "A motion to stake defenses: one, two. Moved by you, 1 of 2 votes",
    )
    assert not StakeBatch.objects.exists(), "one vote is no decision"
    answers(boards.post(address, body), 409)  # the same is moved
    factories.carried(Case.objects.get(), factories.user("rosa", "review board"), at)
    batch = StakeBatch.objects.get()
    assert {stake.defense for stake in batch.stakes.all()} == {one, two}
    page = boards.get(address).content.decode()
    shows(page, batch.public_id, "90 × 24 h")
    assert page.count('class="clock"') == 2


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"criteria": "c", "reason": "r"}, 400, "Choose at least one defense."),
        ({"defense": ["D-00000"], "criteria": "c", "reason": "r"}, 400, "Choose at least one defense."),
        (
            {"action": "answer", "stake": "7", "granted": "yes", "reason": "r"},
            400,
            "The request for this defense is no longer open.",
        ),
        ({"action": "answer", "stake": "x" * 50}, 400, "The request for this defense is no longer open."),
    ],
)
def test_what_the_board_is_refused(body: dict[str, Any], status: int, said: str, boards: Client) -> None:
    answers(boards.post("/board/stakes/", body), status, said)


@pytest.mark.parametrize(("granted", "end"), [("yes", StakeEnd.WITHDRAWN), ("no", "")])
def test_the_board_answers_a_team(granted: str, end: str, blue: Team, boards: Client, at: datetime) -> None:
    cast.funded(now=at)
    stake, address = cast.staked(cast.published(blue, now=at), now=at).stakes.get(), "/board/stakes/"
    staking.return_request(stake, "we erred", by=cast.captain(blue), now=at)
    answers(boards.get(address), 200, "we erred")
    answers(boards.post(address, {"action": "answer", "stake": stake.pk, "reason": "r"}), 400)
    told = {
        "action": "answer",
        "stake": stake.pk,
        "granted": granted,
        "reason": "They erred, and say so.",
        "do": "move",
    }
    shows(plain(boards.post(address, told, follow=True)), "An answer is moved already.")
    factories.carried(Case.objects.get(state="open"), factories.user("rosa", "review board"), at)
    stake.refresh_from_db()
    assert stake.end == end


# The organizers' page


def test_an_organizer_records_a_payment_and_drops_a_wish(
    blue: Team, captain: User, organizer: Client, at: datetime
) -> None:
    first, second = (staking.stake_request(cast.published(blue, now=at), by=captain, now=at) for _ in range(2))
    late, address = cast.entry(blue, "late one", now=at - 30 * DAY), "/organizer/stakes/"
    page = words(organizer, address)
    shows(page, "USD 1,000.00")
    shows(page.partition("Publication overdue")[2].partition("Before publication")[0], late.defense.name)
    for receipt, status in (("", 400), ("wire 7", 303), ("wire 7", 409)):
        answers(organizer.post(address, {"stake": first.pk, "receipt": receipt}), status)
    first.refresh_from_db()
    assert first.receipt == "wire 7" and first.staked_at is not None
    answers(organizer.post(address, {"stake": second.pk, "drop": "1"}), 303)
    answers(organizer.get(address), 200, "never paid")


def test_an_organizer_sees_what_looks_like_a_copy(blue: Team, organizer: Client, at: datetime) -> None:
    original = cast.published(blue, "original", now=at)
    for defense in (cast.entry(blue, now=at - 30 * DAY).defense, cast.entry(blue, now=at).defense):
        for likeness, figures in (("layers", {"shared": 3, "of_theirs": 3}), ("weights", {"weights": "ff" * 32})):
            CopyFlag.objects.create(defense=defense, original=original, likeness=likeness, figures=figures, found_at=at)
    page = words(organizer, "/organizer/stakes/")
    assert page.count("looks like original (layers, weights)") == 2, "overdue and before publication"


# What everybody sees


def test_strangers_see_the_stake_its_clock_and_the_source(blue: Team, at: datetime, tmp_path: Path) -> None:
    cast.funded(now=at)
    made = cast.entry(blue, "closed one", now=at, published=at, closed=True)
    cast.staked(made.defense, cast.published(blue, "open one", now=at), now=at)
    page, shown = one_line(Client().get(DEFENSES).content.decode()), f"{DEFENSES}{made.defense.public_id}/"
    assert (page.count("at stake, unbroken"), page.count('class="clock"')) == (2, 1)
    answers(Client().get(shown), 200, "closed: it can be attacked and staked and cannot win", "none runs")
    answers(Client().get(f"{shown}source.zip"), 404)
    entries.source_open(made, cast.zipped(tmp_path / "s.zip"), by=cast.captain(blue), now=at)
    answer = Client().get(f"{shown}source.zip")
    assert answer.status_code == 200 and b"".join(answer.streaming_content)[:2] == b"PK"  # type: ignore[attr-defined]
    answers(Client().get(shown), 200, "90 × 24 h")


@pytest.mark.parametrize("failed", [False, True], ids=["waiting", "failed"])
def test_an_unpublished_defense_is_for_its_team_and_organizers(
    failed: bool, blue: Team, captains: Client, boards: Client, organizer: Client, at: datetime
) -> None:
    defense = cast.entry(blue, "hidden one", now=at).defense
    if failed:
        trials.passed(defense, TrialKind.SMOKE, totals={"accepted": False})
    for client in (Client(), captains, boards):
        answers(client.get(f"{DEFENSES}{defense.public_id}/"), 404)
        answers(client.get(DEFENSES), 200, but=["hidden one"])
    said = "The smoke test was not accepted" if failed else "Published if eligible by"
    shows(words(organizer, f"{DEFENSES}{defense.public_id}/"), said)


# The calls of the API


def test_the_api_takes_a_digest_as_json_and_says_when_it_is_due(captains: Client) -> None:
    answer, made = called(captains, fields()), DefenseEntry.objects.get()
    body = answer.json() | {"due_at": datetime.fromisoformat(answer.json()["due_at"])}
    told = {"id": made.defense.public_id, "due_at": made.due_at, "state": "received", "team": "blue", "stake": None}
    assert answer.status_code == 201 and body.items() >= (told | {"open_source": False}).items()
    again = called(captains, fields())
    assert (again.status_code, again.json()["id"], DefenseEntry.objects.count()) == (200, body["id"], 1)


def test_what_the_api_refuses(captains: Client) -> None:
    for body, status, code, why in (
        (fields(colour="red"), 400, "invalid", "unknown fields are refused by name"),
        (fields(name=7), 400, "invalid", "a number is no name"),
        (fields(name=None), 400, "invalid", "neither is nothing"),
        (fields(archive="text"), 400, "invalid", "an archive is a file"),
        (fields(image=""), 400, "invalid", "no image at all"),
        (fields(image="localhost/net@sha256:" + "ab" * 32), 400, "registry_unknown", "a registry of ours"),
        ([], 400, "invalid", "a list"),
        ("x", 400, "invalid", "a text"),
        (7, 400, "invalid", "a number"),
    ):
        answer = called(captains, body)
        assert (answer.status_code, answer.json()["code"]) == (status, code), why
    answers(called(captains, b"{"), 400)  # no JSON
    assert not DefenseEntry.objects.exists()


OUT, ALL = {"out"}, {"out", "mine"}


@tables.cases(
    "who status seen told why",
    ("stranger", 401, OUT, set(), "who is not signed in"),
    ("nobody", 404, OUT, set(), "without a role"),
    ("board", 403, OUT, set(), "of the board"),
    ("rival", 400, OUT, set(), "of another team, which hands in for itself"),
    ("member", 400, ALL, ALL, "of the team"),
    ("organizer", 403, ALL, ALL, "who organizes"),
)
def test_who_may_hand_in_by_the_api_and_what_is_listed(
    who: str, status: int, seen: set[str], told: set[str], why: str, blue: Team, signed_in: Any, at: datetime
) -> None:
    """A form without a name is refused to whom it is not forbidden."""
    cast.funded(now=at)
    cast.entry(blue, "mine", now=at)
    cast.staked(cast.published(blue, "out", now=at), now=at)
    people = {"nobody": cast.person("stan"), "member": cast.member(blue), "organizer": cast.organizer(),
              "rival": cast.captain(cast.team("red")), "board": cast.board()}  # fmt: skip
    client = signed_in(people[who]) if who in people else Client()
    assert (called(client, fields(name="")).status_code, DefenseEntry.objects.count()) == (status, 2), why
    body = client.get(API).json()["results"]
    assert ({row["name"] for row in body}, {row["name"] for row in body if row["received_at"]}) == (seen, told)
    (stake,) = (row["stake"] for row in body if row["name"] == "out")
    assert (stake["by"], stake["cents"], stake["currency"], stake["end"]) == ("board", 100_000, "USD", None)
    assert datetime.fromisoformat(stake["unbroken_until"]) == at + 90 * DAY


def test_a_tasker_calls_nothing_of_it(tara: Tasker, signed_in: Any) -> None:
    """R8."""
    client = signed_in(tara)
    assert (called(client, fields()).status_code, client.get(API).status_code) == (403, 403)
    assert not DefenseEntry.objects.exists()


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch, now: datetime, signed_in: Any) -> Any:
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    monkeypatch.setattr(upload_rates, "MAX_REFUSED_PER_HOUR", dict.fromkeys(UploadKind, 2))
    return signed_in(cast.captain(cast.team()))


@pytest.mark.parametrize("address", [NEW, API])
@tables.cases(
    "wrong why",
    (lambda: fields(source=file_of(b"no zip")), "a source that is no zip"),
    (lambda: fields(image="", archive=SimpleUploadedFile("a.tar", b"no tar")), "an archive that is none"),
    (lambda: fields(name=""), "no name"),
    (lambda: fields(other=file_of(b"no zip")), "a file that is not known"),
)
def test_after_so_many_refusals_nothing_is_read(
    address: str, wrong: Any, why: str, sender: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [sender.post(address, wrong(), **JSON).status_code for _ in range(2)] == [400, 400], why
    with monkeypatch.context() as patched:
        patched.setattr(defense_uploads.StreamedFiles, "new_file", None)  # no file is begun
        answer = sender.post(address, fields(source=file_of(b"no zip")), **JSON)
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (429, "too_many_refused", "3600")
    assert not DefenseEntry.objects.exists() and HourCount.objects.get().count == 2


def test_opening_the_source_is_counted_too(sender: Client) -> None:
    answers(sender.post(NEW, fields()), 303)
    address = f"{own(DefenseEntry.objects.get().defense)}source/"
    sent = [sender.post(address, {"source": file_of(b"no zip")}, **JSON).status_code for _ in range(3)]
    assert sent == [400, 400, 429]


def test_a_stranger_costs_no_team_anything(sender: Client) -> None:
    assert [Client().post(each, fields(name="")).status_code for each in (API, NEW)] == [401, 302]
    assert not HourCount.objects.exists()


# One that failed a condition of publication says so everywhere (R31)


@pytest.fixture
def net(blue: Team) -> DefenseEntry:
    return cast.passing(blue, "the net")


def test_every_page_and_call_says_so(net: DefenseEntry, signed_in: Any, monkeypatch: Any, now: datetime) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    waiting = cast.entry(net.team, "another net")
    trials.passed(net.defense, TrialKind.PRIVATE, totals=cast.WEAK)
    missed, by_then = "5 of 10 right. At least 80 % is needed: 8.", "if eligible"
    team, board = signed_in(cast.captain(net.team)), signed_in(cast.board())
    organizer, own, public = signed_in(cast.organizer()), "/team/defenses/", "/defenses/"
    of_it, of_the_other = (f"{each.defense.public_id}/" for each in (net, waiting))
    listed, page = words(team, own), words(team, own + of_it)
    shows(listed, "not eligible", "not published: why, and what to do")
    shows(page, missed, "Hand in a new version", but=[by_then])
    again = "begins again by itself when organizers import a new private set"
    assert (listed.count(by_then), page.count(again)) == (1, 1)
    shows(words(team, own + of_the_other), by_then)
    listing = {each["id"]: each for each in team.get(API).json()["results"]}
    mine, other = (listing[each.defense.public_id] for each in (net, waiting))
    (failed,) = mine["failed"]
    told = (mine["state"], mine["due_at"], failed["condition"], missed in failed["words"])
    assert told == ("not eligible", None, "private", True)
    assert (other["state"], other["failed"], bool(other["due_at"])) == ("received", [], True)
    shows(
        words(board, "/board/frameworks/"), "another net", "Left out: 1 defense that failed a trial.", but=["the net"]
    )
    shows(words(board, reverse("framework", args=[net.defense.public_id])), missed)
    overdue, _, stakes = words(organizer, "/organizer/stakes/").partition("Not eligible")
    shows(stakes.partition("At stake")[0], "the net", missed, but=["another net"])
    shows(overdue.partition("Publication overdue")[2], but=["the net"])
    shows(words(organizer, public), "not eligible")
    shows(words(organizer, public + of_it), missed, but=[by_then])
    trials.passed(net.defense, TrialKind.SMOKE, totals={"accepted": False})
    for client, address in ((team, own), (organizer, public)):
        shows(words(client, address + of_it), but=["import a new private set"])


def test_what_the_board_refused_stays_on_its_list_and_code_is_shown_as_code(
    net: DefenseEntry, signed_in: Any, now: datetime
) -> None:
    framework_check(net.defense, passed=False, reason="compiled", by=cast.board(), now=now)
    page = words(signed_in(cast.board()), "/board/frameworks/")
    shows(page, "the net", "not passed", but=["Left out"])
    trials.passed(net.defense, TrialKind.SMOKE, totals={"accepted": False, "rounds": 0}, fault=Fault.CRASHED)
    page = main(signed_in(cast.captain(net.team)), f"/team/defenses/{net.defense.public_id}/")
    shows(
        page.partition('aria-labelledby="failed"')[2].partition("</section>")[0],
        "call <code>serve</code> and run",
        but=["`"],
    )


@pytest.mark.parametrize("address", [API, "/team/defenses/"])
def test_a_list_reads_the_conditions_once(address: str, net: DefenseEntry, signed_in: Any) -> None:
    trials.passed(net.defense, TrialKind.PRIVATE, totals=cast.WEAK)
    client = signed_in(cast.captain(net.team))
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        answers(client.get(address), 200, "the net")
    assert sum('FROM "scoring_frameworkcheck"' in each["sql"] for each in queries.captured_queries) == 1
