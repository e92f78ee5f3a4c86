"""The pages and calls of entries and stakes: who may open what, what they show, and what they refuse (R8, R31-R33)."""

import json
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from common.models import HourCount
from contest import upload_rates
from contest.enums import StakeEnd, UploadKind
from contest.models import Case, Entry, Stake, StakeBatch, Team
from contest.stakes import ends, entries, services, uploads
from labeling.models import Tasker
from scoring.enums import TrialKind
from scoring.models import CopyFlag, Defense
from tests import factories, tables
from tests.contest.pages import codes, lacking, main, plain, words
from tests.contest.stakes import cast
from tests.scoring.trials import cast as trials

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


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


def fields(**values: Any) -> dict[str, Any]:
    return {"name": "steadfast", "licence": "Apache-2.0", "image": cast.IN_REGISTRY} | values


# Who may open what


WHO = {
    "/team/defenses/": ({"captain", "member"}, "the team's own"),
    "/team/defenses/new/": ({"captain", "member"}, "any member hands in"),
    "/team/defenses/{id}/": ({"captain", "member"}, "the team's own defense"),
    "/board/stakes/": ({"board"}, "the board stakes"),
    "/organizer/stakes/": ({"organizer"}, "organizers record payments"),
}


REFUSAL = {"stranger": 302, "nobody": 404}


def test_who_may_open_what(blue: Team, tara: Tasker, signed_in: Any, at: datetime) -> None:
    made = cast.entry(blue, now=at)
    people = {"nobody": cast.person("stan"), "tasker": tara, "captain": cast.captain(blue), "member": cast.member(blue)}
    people |= {"rival": cast.captain(cast.team("red")), "board": cast.board(), "organizer": cast.organizer()}
    clients = {"stranger": Client()} | {who: signed_in(person) for who, person in people.items()}
    for address, (allowed, why) in WHO.items():
        answers = {who: client.get(address.format(id=made.defense.public_id)) for who, client in clients.items()}
        expected = {who: 200 if who in allowed else REFUSAL.get(who, 403) for who in clients}
        if address.startswith("/team/"):  # the rival has pages of their own, and finds none of this team's
            expected["rival"] = 404 if "{id}" in address else 200
        assert {who: each.status_code for who, each in answers.items()} == expected, (address, why)
        telling = [who for who, each in answers.items() if made.defense.name in each.content.decode()]
        assert {expected[who] for who in telling} <= {200} and "rival" not in telling, address


def test_a_stranger_and_a_rival_change_nothing(blue: Team, signed_in: Any, at: datetime) -> None:
    made = cast.entry(blue, now=at, published=at, closed=True)
    people = {"stranger": Client(), "nobody": signed_in(cast.person("stan"))}
    people["rival"] = signed_in(cast.captain(cast.team("red")))
    own = f"/team/defenses/{made.defense.public_id}/"
    for name in ("withdraw", "stake", "cancel", "ask", "source"):
        found = codes(people, f"{own}{name}/", {"sure": "yes", "reason": "r"})
        assert found == {"stranger": 302, "nobody": 404, "rival": 404}, name
        made.refresh_from_db()
        assert made.withdrawn_at is None and made.opened_at is None and not Stake.objects.exists(), name
    assert signed_in(cast.captain(blue)).post(f"{own}explode/").status_code == 404, "no such action"
    member = signed_in(cast.member(blue))
    page = words(member, own)
    assert "Your captain decides this." in page and "Ask to stake it" not in page
    assert member.post(f"{own}stake/", {"sure": "yes"}).status_code == 403 and not Stake.objects.exists()


# Handing in


@pytest.mark.parametrize("address", ["/team/defenses/new/", "/api/v1/defenses/"])
def test_a_team_hands_in_an_archive(address: str, tmp_path: Path, captain: User, signed_in: Any) -> None:
    client = signed_in(captain)
    page = client.get("/team/defenses/new/").content.decode()
    told = ("3 of 3 left this week", "it is published by", 'href="/docs/defenses/"', "One of the two is required")
    assert lacking(page, *told, "At most 256 MiB.", "At most 16 GiB.") == [] and page.count("(required)") == 2
    with open(cast.archive(tmp_path / "a"), "rb") as tar, open(cast.zipped(tmp_path / "s.zip"), "rb") as source:
        answer = client.post(address, fields(image="", archive=tar, source=source))
    made = Entry.objects.get()
    assert made.opened_at == made.received_at and made.handed_in_by == captain and made.defense.archive
    own = f"/team/defenses/{made.defense.public_id}/"
    assert answer.status_code == 201 or (answer.status_code, answer["Location"]) == (303, own)
    told = ["Published if eligible by", *["is received. Its trials begin by themselves."] * (answer.status_code == 303)]
    assert lacking(words(client, own), *told) == []
    assert not list(uploads.upload_folder().iterdir()), "what was uploaded is not left lying about"


def test_a_refused_form_keeps_what_was_typed(captain: User, signed_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = signed_in(captain)
    answer = client.post("/team/defenses/new/", fields(image="ghcr.io/blue/net", description="a <b> net"))
    told = ('value="ghcr.io/blue/net"', "a &lt;b&gt; net", "Name the image with its digest")
    assert answer.status_code == 400 and lacking(answer.content.decode(), *told) == []
    unknown = fields(virus=SimpleUploadedFile("v", b"v"))
    assert client.post("/team/defenses/new/", unknown).status_code == 400, "a file of an unknown name"
    monkeypatch.setattr(uploads, "LEAST_FREE_BYTES", 1 << 62)
    answer = client.post("/team/defenses/new/", fields())
    assert answer.status_code == 409 and "The server has no room" in answer.content.decode()
    assert not Entry.objects.exists()


def test_the_script_is_answered_in_json_and_told_what_differs_from_the_first_hand_in(
    tmp_path: Path, captain: User, signed_in: Any
) -> None:
    client, asked, address = signed_in(captain), {"HTTP_ACCEPT": "application/json"}, "/team/defenses/new/"
    wrong = client.post(address, fields(name="", licence=""), **asked)
    assert wrong.status_code == 400 and set(wrong.json()["fields"]) == {"name", "licence"}
    answer, made = client.post(address, fields(), **asked), Entry.objects.get()
    assert (answer.status_code, answer.json()) == (201, {"address": f"/team/defenses/{made.defense.public_id}/"})
    assert "was handed in before" in client.post(address, fields(), follow=True).content.decode()
    with open(cast.zipped(tmp_path / "s.zip"), "rb") as source:
        refused = client.post(address, fields(source=source), **asked)
    assert (refused.status_code, refused.json()["code"]) == (409, "differs")
    page = client.post(address, fields(description="Better.")).content.decode()
    assert "Different now: description." in page and "another version" in page and Entry.objects.get().opened_at is None


def test_a_file_that_is_too_large_is_refused_while_it_comes(
    captain: User, signed_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(uploads.FILES, "source", ("source zip", 1 << 20))
    file = SimpleUploadedFile("s.zip", bytes((1 << 20) + 1))
    answer = signed_in(captain).post("/team/defenses/new/", fields(source=file))
    assert (
        answer.status_code == 400 and "The source zip has more than 1 MiB. Make it smaller." in answer.content.decode()
    )
    assert not Entry.objects.exists() and not list(uploads.upload_folder().iterdir())


def test_a_body_that_is_too_long_is_not_read(captain: User, signed_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stated = {"CONTENT_LENGTH": str(uploads.MOST_BYTES + 1), "HTTP_ACCEPT": "application/json"}
    body = fields(source=SimpleUploadedFile("s.zip", b"s"))
    monkeypatch.setattr(uploads.Streamed, "new_file", lambda *_, **__: pytest.fail("a file was read"))
    for address in ("/team/defenses/new/", "/api/v1/defenses/"):
        answer = signed_in(captain).post(address, body, **stated)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_at_the_end_of_the_weeks_number_no_file_is_read(
    blue: Team, captain: User, signed_in: Any, at: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        cast.entry(blue, now=at)
    monkeypatch.setattr(uploads.Streamed, "new_file", lambda *_, **__: pytest.fail("a file was read"))
    client = signed_in(captain)
    assert "which is the most" in client.get("/team/defenses/new/").content.decode()
    answer = client.post("/team/defenses/new/", fields(source=SimpleUploadedFile("s.zip", b"s")))
    assert answer.status_code == 429 and Entry.objects.count() == 3
    answer = client.post("/api/v1/defenses/", json.dumps(fields()), content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (429, "quota_used")


def test_forged_requests_are_refused(captain: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(captain, backend="common.sessions.UserBackend")
    assert client.post("/team/defenses/new/", fields()).status_code == 403 and not Entry.objects.exists()


def test_what_a_killed_process_left_goes_after_a_day(captain: User, signed_in: Any) -> None:
    old, young = (uploads.upload_folder() / name for name in ("old.upload", "young.upload"))
    for file in (old, young):
        file.write_bytes(b"x")
    os.utime(old, (1, 1))
    signed_in(captain).post("/team/defenses/new/", fields())
    assert (old.exists(), young.exists()) == (False, True)


# A team's own defense


def test_its_own_page_tells_totals_and_the_whole_log_of_the_smoke_test(
    blue: Team, captain: User, signed_in: Any, at: datetime
) -> None:
    made = cast.entry(blue, now=at)
    trials.passed(made.defense, TrialKind.SMOKE, log="loading weights\n" * 400 + "the very last line")
    trials.passed(made.defense, TrialKind.PRIVATE, answers=b"secret")
    page = main(signed_in(captain), f"/team/defenses/{made.defense.public_id}/")
    assert lacking(page, "the very last line", "9 right", "1 abstained", "not yet") == [], "what is missing is said"
    assert page.count("loading weights") == 400
    assert lacking(page, "pixels", "P-") == ["pixels", "P-"], "no picture is named (R31)"


STEPS = [
    ("received", lambda made, at: None, "A defense can be staked when it is published."),
    ("published", lambda made, at: Defense.objects.filter(pk=made.defense_id).update(published_at=at),
     "Your team can stake it itself"),
    ("staked", lambda made, at: cast.staked(_out(made, at), now=at), "Unbroken it wins in"),
    ("broken", lambda made, at: (cast.staked(_out(made, at), now=at), cast.broken(made.defense, at, found=at),
                                 ends.stakes_end(now=at)), "broken"),
    ("withdrawn", lambda made, at: entries.entry_withdraw(made, by=cast.captain(made.team), now=at), "Taken back"),
]  # fmt: skip


def _out(made: Entry, at: datetime) -> Defense:
    Defense.objects.filter(pk=made.defense_id).update(published_at=at)
    return Defense.objects.get(pk=made.defense_id)


@pytest.mark.parametrize(("state", "change", "said"), STEPS, ids=[row[0] for row in STEPS])
def test_every_state_on_the_teams_pages(
    state: str, change: Any, said: str, blue: Team, captain: User, signed_in: Any, at: datetime
) -> None:
    cast.funded(now=at)
    made = cast.entry(blue, now=at)
    change(made, at)
    client = signed_in(captain)
    assert f">{state}</span>" in client.get("/team/defenses/").content.decode()
    page = client.get(f"/team/defenses/{made.defense.public_id}/").content.decode()
    assert f">{state}</span>" in page and said in page


def test_a_captain_asks_and_drops_and_asks_the_board(blue: Team, captain: User, signed_in: Any, at: datetime) -> None:
    made, client = cast.entry(blue, now=at, published=at), signed_in(captain)
    address = f"/team/defenses/{made.defense.public_id}/"
    unsure = client.post(address + "stake/")
    assert unsure.status_code == 400 and "Check the box to confirm" in unsure.content.decode()
    assert client.post(address + "stake/", {"sure": "yes"}).status_code == 303
    assert f"name <strong>{made.defense.public_id}</strong> with the payment" in client.get(address).content.decode()
    assert client.post(address + "cancel/").status_code == 303 and not Stake.objects.filter(ended_at=None).exists()
    stake, refused = cast.self_staked(made.defense, at), client.post(address + "ask/", {"reason": " "})
    assert refused.status_code == 400 and "Say why the board should return it." in refused.content.decode()
    client.post(address + "ask/", {"reason": "a mistake"})
    stake.refresh_from_db()
    assert stake.return_reason == "a mistake" and "The board was asked" in client.get(address).content.decode()
    assert client.post(address + "withdraw/", {"sure": "yes"}).status_code == 409


def test_a_closed_defense_is_opened_on_its_page(
    tmp_path: Path, blue: Team, captain: User, signed_in: Any, at: datetime
) -> None:
    made, client = cast.entry(blue, now=at, published=at, closed=True), signed_in(captain)
    address = f"/team/defenses/{made.defense.public_id}/source/"
    assert "Choose the zip of its source." in client.post(address).content.decode()
    with open(cast.zipped(tmp_path / "s.zip"), "rb") as source:
        assert client.post(address, {"source": source}).status_code == 303
    made.refresh_from_db()
    assert made.opened_at is not None and client.get(address).status_code == 405


# The board's page


def test_the_board_stakes_a_batch(blue: Team, signed_in: Any, at: datetime) -> None:
    cast.funded(now=at)
    one, two, left = (cast.published(blue, name, now=at) for name in ("one", "two", "left"))
    client = signed_in(cast.board())
    page = client.get("/board/stakes/").content.decode()
    assert all(each.name in page for each in (one, two, left)) and "USD 1,000.00" in page
    body = {"defense": [one.public_id, two.public_id], "criteria": "reproducible", "reason": "Both are ready to stand."}
    unsaid = client.post("/board/stakes/", body | {"reason": ""})
    kept = ("reproducible", f'value="{one.public_id}" checked')
    assert unsaid.status_code == 400 and lacking(unsaid.content.decode(), *kept) == [], "what was typed is kept"
    moved = plain(client.post("/board/stakes/", body | {"do": "move"}, follow=True))
    assert "A motion to stake defenses: one, two. Moved by you, 1 of 2 votes" in moved
    assert not StakeBatch.objects.exists(), "one vote is no decision"
    assert client.post("/board/stakes/", body).status_code == 409, "the same is moved"
    factories.carried(Case.objects.get(), factories.user("rosa", "review board"), at)
    batch = StakeBatch.objects.get()
    assert {stake.defense for stake in batch.stakes.all()} == {one, two}
    page = client.get("/board/stakes/").content.decode()
    assert batch.public_id in page and page.count('class="clock"') == 2 and "90 × 24 h" in page


BOARD = [
    ({"criteria": "c", "reason": "r"}, 400, "Choose at least one defense."),
    ({"defense": ["D-00000"], "criteria": "c", "reason": "r"}, 400, "Choose at least one defense."),
    ({"stake": "7", "granted": "yes", "reason": "r"}, 400, "Nobody asks for this defense any more."),
    ({"stake": "x" * 50}, 400, "Nobody asks for this defense any more."),
]


@pytest.mark.parametrize(("body", "status", "said"), BOARD)
def test_what_the_board_is_refused(body: dict[str, Any], status: int, said: str, blue: Team, signed_in: Any) -> None:
    answer = signed_in(cast.board()).post("/board/stakes/", body)
    assert (answer.status_code, said in answer.content.decode()) == (status, True)


@pytest.mark.parametrize("granted", ["yes", "no"])
def test_the_board_answers_a_team(granted: str, blue: Team, signed_in: Any, at: datetime) -> None:
    cast.funded(now=at)
    defense = cast.published(blue, now=at)
    cast.staked(defense, now=at)
    stake = services.return_ask(cast.stake(defense), "we erred", by=cast.captain(blue), now=at)
    client = signed_in(cast.board())
    assert "we erred" in client.get("/board/stakes/").content.decode()
    assert client.post("/board/stakes/", {"stake": stake.pk, "reason": "r"}).status_code == 400
    told = {"stake": stake.pk, "granted": granted, "reason": "They erred, and say so.", "do": "move"}
    assert "An answer is moved already." in plain(client.post("/board/stakes/", told, follow=True))
    factories.carried(Case.objects.get(state="open"), factories.user("rosa", "review board"), at)
    stake.refresh_from_db()
    assert stake.end == (StakeEnd.WITHDRAWN if granted == "yes" else "")


# The organizers' page


def test_an_organizer_records_a_payment_and_drops_a_wish(
    blue: Team, captain: User, signed_in: Any, at: datetime
) -> None:
    first, second = (services.stake_ask(cast.published(blue, now=at), by=captain, now=at) for _ in range(2))
    late = cast.entry(blue, "late one", now=at - 30 * DAY)
    client, address = signed_in(cast.organizer()), "/organizer/stakes/"
    page = words(client, address)
    overdue = page.partition("Publication overdue")[2].partition("Before publication")[0]
    assert "USD 1,000.00" in page and late.defense.name in overdue
    told = [client.post(address, {"stake": first.pk, "receipt": said}).status_code for said in ("", "wire 7", "wire 7")]
    assert told == [400, 303, 409]
    first.refresh_from_db()
    assert first.receipt == "wire 7" and first.staked_at is not None
    assert client.post(address, {"stake": second.pk, "drop": "1"}).status_code == 303
    assert "never paid" in client.get(address).content.decode()


def test_an_organizer_sees_what_looks_like_a_copy(blue: Team, signed_in: Any, at: datetime) -> None:
    late, new = cast.entry(blue, "late one", now=at - 30 * DAY).defense, cast.entry(blue, "new one", now=at).defense
    for defense in (late, new):
        for likeness, figures in (("layers", {"shared": 3, "of_theirs": 3}), ("weights", {"weights": "ff" * 32})):
            original = Defense.objects.filter(name="original").first() or cast.published(blue, "original", now=at)
            CopyFlag.objects.create(defense=defense, original=original, likeness=likeness, figures=figures, found_at=at)
    page = words(signed_in(cast.organizer()), "/organizer/stakes/")
    assert page.count("looks like original (layers, weights)") == 2, "overdue and before publication"


# What everybody sees


def test_strangers_see_the_stake_its_clock_and_the_source(blue: Team, at: datetime, tmp_path: Path) -> None:
    cast.funded(now=at)
    made = cast.entry(blue, "closed one", now=at, published=at, closed=True)
    cast.staked(made.defense, cast.published(blue, "open one", now=at), now=at)
    page = Client().get("/defenses/").content.decode()
    assert page.count("at stake, unbroken") == 2 and page.count('class="clock"') == 1
    shown = Client().get(f"/defenses/{made.defense.public_id}/").content.decode()
    assert "closed: it can be attacked and staked and cannot win" in shown and "none runs" in shown
    source = f"/defenses/{made.defense.public_id}/source.zip"
    assert Client().get(source).status_code == 404
    entries.source_open(made, cast.zipped(tmp_path / "s.zip"), by=cast.captain(blue), now=at)
    answer = Client().get(source)
    assert answer.status_code == 200 and b"".join(answer.streaming_content)[:2] == b"PK"  # type: ignore[attr-defined]
    assert "90 × 24 h" in Client().get(f"/defenses/{made.defense.public_id}/").content.decode()


def test_an_unpublished_defense_is_for_its_team_and_organizers(blue: Team, signed_in: Any, at: datetime) -> None:
    made = cast.entry(blue, "hidden one", now=at)
    for client in (Client(), signed_in(cast.captain(blue)), signed_in(cast.board())):
        assert client.get(f"/defenses/{made.defense.public_id}/").status_code == 404
        assert "hidden one" not in client.get("/defenses/").content.decode()
    assert "Published if eligible by" in words(signed_in(cast.organizer()), f"/defenses/{made.defense.public_id}/")


# The calls of the API


def test_the_api_takes_a_digest_as_json_and_says_when_it_is_due(captain: User, signed_in: Any) -> None:
    client = signed_in(captain)
    answer = client.post("/api/v1/defenses/", json.dumps(fields()), content_type="application/json")
    body, made = answer.json(), Entry.objects.get()
    assert answer.status_code == 201 and body["id"] == made.defense.public_id
    assert (body["state"], body["team"], body["open_source"], body["stake"]) == ("received", "blue", False, None)
    assert datetime.fromisoformat(body["due_at"]) == made.due_at
    again = client.post("/api/v1/defenses/", json.dumps(fields()), content_type="application/json")
    assert (again.status_code, again.json()["id"], Entry.objects.count()) == (200, body["id"], 1)


API: list[tuple[Any, int, str, str]] = [
    (fields(colour="red"), 400, "invalid", "unknown fields are refused by name"),
    (fields(name=7), 400, "invalid", "a number is no name"),
    (fields(name=None), 400, "invalid", "neither is nothing"),
    (fields(archive="text"), 400, "invalid", "an archive is a file"),
    (fields(image=""), 400, "invalid", "no image at all"),
    (fields(image="localhost/net@sha256:" + "ab" * 32), 400, "registry_unknown", "a registry of ours"),
    ([], 400, "invalid", "a list"),
    ("x", 400, "invalid", "a text"),
    (7, 400, "invalid", "a number"),
]


def test_what_the_api_refuses(captain: User, signed_in: Any) -> None:
    client = signed_in(captain)
    for body, status, code, why in API:
        answer = client.post("/api/v1/defenses/", json.dumps(body), content_type="application/json")
        assert (answer.status_code, answer.json()["code"]) == (status, code), why
    assert client.post("/api/v1/defenses/", "{", content_type="application/json").status_code == 400, "no JSON"
    assert not Entry.objects.exists()


@pytest.mark.parametrize(
    ("who", "status"), [("stranger", 401), ("nobody", 404), ("tasker", 403), ("board", 403), ("organizer", 403)]
)
def test_who_may_hand_in_by_the_api(who: str, status: int, tara: Tasker, signed_in: Any, blue: Team) -> None:
    people = {"nobody": cast.person("stan"), "tasker": tara, "board": cast.board(), "organizer": cast.organizer()}
    client = signed_in(people[who]) if who in people else Client()
    answer = client.post("/api/v1/defenses/", json.dumps(fields()), content_type="application/json")
    assert answer.status_code == status and not Entry.objects.exists()
    assert client.get("/api/v1/defenses/").status_code == (403 if who == "tasker" else 200), "who may read the list"


LISTS = {
    "stranger": ({"out"}, set()),
    "nobody": ({"out"}, set()),
    "rival": ({"out"}, set()),
    "board": ({"out"}, set()),
    "member": ({"out", "mine"}, {"out", "mine"}),
    "organizer": ({"out", "mine"}, {"out", "mine"}),
}


@pytest.mark.parametrize("who", LISTS)
def test_the_list_of_the_api(who: str, blue: Team, signed_in: Any, at: datetime) -> None:
    cast.funded(now=at)
    out = cast.published(blue, "out", now=at)
    cast.entry(blue, "mine", now=at)
    cast.staked(out, now=at)
    people = {"nobody": cast.person("stan"), "member": cast.member(blue), "organizer": cast.organizer(),
              "rival": cast.captain(cast.team("red")), "board": cast.board()}  # fmt: skip
    body = (signed_in(people[who]) if who in people else Client()).get("/api/v1/defenses/").json()
    seen, told = LISTS[who]
    assert ({row["name"] for row in body}, {row["name"] for row in body if row["received_at"]}) == (seen, told)
    stake = next(row["stake"] for row in body if row["name"] == "out")
    assert (stake["by"], stake["cents"], stake["currency"], stake["end"]) == ("board", 100_000, "USD", None)
    assert datetime.fromisoformat(stake["unbroken_until"]) == at + 90 * DAY


def zip_of_nothing() -> SimpleUploadedFile:
    return SimpleUploadedFile("source.zip", b"no zip")


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch, now: datetime, signed_in: Any) -> Client:
    cast.policy()
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    monkeypatch.setattr(upload_rates, "MOST_REFUSED_AN_HOUR", dict.fromkeys(UploadKind, 2))
    client: Client = signed_in(cast.captain(cast.team()))
    return client


@pytest.mark.parametrize("address", ["/team/defenses/new/", "/api/v1/defenses/"])
@tables.cases(
    "wrong why",
    (lambda: fields(source=zip_of_nothing()), "a source that is no zip"),
    (lambda: fields(image="", archive=SimpleUploadedFile("a.tar", b"no tar")), "an archive that is none"),
    (lambda: fields(name=""), "no name"),
    (lambda: fields(other=zip_of_nothing()), "a file that is not known"),
)
def test_after_so_many_refusals_nothing_is_read(
    address: str, wrong: Any, why: str, sender: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"headers": {"Accept": "application/json"}}
    assert [sender.post(address, wrong(), **asked).status_code for _ in range(2)] == [400, 400], why
    with monkeypatch.context() as patched:
        patched.setattr(uploads.Streamed, "new_file", None)  # no file is begun
        answer = sender.post(address, fields(source=zip_of_nothing()), **asked)
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (429, "too_many_refused", "3600")
    assert not Entry.objects.exists() and HourCount.objects.get().count == 2


def test_opening_the_source_is_counted_too(sender: Client) -> None:
    assert sender.post("/team/defenses/new/", fields()).status_code == 303
    address = f"/team/defenses/{Entry.objects.get().defense.public_id}/source/"
    asked = {"headers": {"Accept": "application/json"}}
    answers = [sender.post(address, {"source": zip_of_nothing()}, **asked).status_code for _ in range(3)]
    assert answers == [400, 400, 429]


def test_a_stranger_costs_no_team_anything(sender: Client) -> None:
    assert Client().post("/api/v1/defenses/", fields(name="")).status_code == 401
    assert Client().post("/team/defenses/new/", fields(name="")).status_code == 302 and not HourCount.objects.exists()
