"""A large file of a hand-in comes in pieces: it goes on where the connection broke, and only for who sends it."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from contest.core.models import Team
from contest.defenses import entries
from contest.defenses.models import DefenseEntry
from contest.web import defense_uploads, upload_pieces
from contest.web.defense_uploads import MIN_FREE_BYTES, upload_folder
from contest.web.upload_pieces import PIECE_BYTES, keep_piece
from tests import factories
from tests.at_once import at_once
from tests.contest.defenses import cast

pytestmark = pytest.mark.django_db

KEY = "ab" * 32
HANDED_IN = {"name": "steadfast", "licence": "MIT", "image": cast.IN_REGISTRY}


@pytest.fixture
def blue(tmp_path: Path, settings: Any) -> Team:
    settings.DATA_DIR = tmp_path
    factories.policy_version()
    return cast.team()


@pytest.fixture
def captain(blue: Team, signed_in: Any) -> Client:
    client: Client = signed_in(User.objects.get(username="cap-blue"))
    return client


def send(
    client: Client, piece: bytes, at: int | str, *, field: str = "training_code", key: str = KEY, size: int | str = 1000
) -> Any:
    address = f"/team/defenses/pieces/{field}/{key}/?at={at}&size={size}"
    return client.post(address, piece, content_type="application/octet-stream", headers={"accept": "application/json"})


def kept(client: Client, field: str = "training_code", key: str = KEY) -> int:
    return int(client.get(f"/team/defenses/pieces/{field}/{key}/").json()["bytes"])


def left() -> list[str]:
    return sorted(path.name for path in upload_folder().iterdir())


def test_a_file_in_pieces_is_handed_in_as_one_in_a_row(captain: Client, tmp_path: Path) -> None:
    whole = cast.zipped(tmp_path / "training.zip", "train.py").read_bytes()
    assert (kept(captain), send(captain, whole[:50], 0).json()) == (0, {"bytes": 50})
    assert (kept(captain), send(captain, whole[50:], 50).json()) == (50, {"bytes": len(whole)})
    answer = captain.post("/team/defenses/new/", HANDED_IN | {"training_code_kept": f"{KEY}:{len(whole)}"})
    assert (answer.status_code, left()) == (303, [])
    assert DefenseEntry.objects.get().training_code


@pytest.mark.parametrize(
    ("sent", "status", "code", "why"),
    [
        ({"at": 49}, 409, "wrong_place", "a piece that is here already"),
        ({"at": 51}, 409, "wrong_place", "a byte is left out"),
        ({"at": "x"}, 400, "invalid", "no place"),
        ({"at": -1}, 400, "invalid", "no place either"),
        ({"at": 50, "piece": b""}, 400, "invalid", "nothing comes"),
        ({"at": 50, "key": "../../" + "a" * 58}, 404, None, "a path is no key"),
        ({"at": 50, "key": "AB" * 32}, 400, "invalid", "no key"),
        ({"at": 50, "field": "photo"}, 404, "not_found", "no file of the form"),
        ({"at": 50, "size": ""}, 400, "invalid", "no size"),
        ({"at": 300 << 20}, 400, "too_large", "beyond what the field takes"),
        ({"at": 50, "size": 300 << 20}, 400, "too_large", "it will be more than the field takes"),
        ({"at": 50, "key": "ef" * 32}, 409, "wrong_place", "nothing of that file is here"),
        ({"at": 50, "piece": bytes(PIECE_BYTES + 1)}, 413, "too_large", "longer than a piece may be"),
    ],
)
def test_a_piece_that_does_not_belong_is_refused_and_changes_nothing(
    sent: dict[str, Any], status: int, code: str | None, why: str, captain: Client
) -> None:
    send(captain, b"x" * 50, 0)
    answer = send(captain, **{"piece": b"y", **sent})
    assert answer.status_code == status, why
    if code:
        assert answer.json()["code"] == code, why
    assert (kept(captain), len(left())) == (50, 1)


def test_a_file_for_which_there_is_no_room_is_refused_at_its_first_piece(
    captain: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(upload_folder())
    room = usage._replace(free=MIN_FREE_BYTES + 1999)
    monkeypatch.setattr("contest.web.defense_uploads.shutil.disk_usage", lambda _: room)
    assert send(captain, b"x", 0, size=1000).json()["code"] == "no_room", "it comes once, and is stored once more"
    assert send(captain, b"x", 0, size=999).status_code == 200


def test_no_piece_changes_a_file_that_is_being_handed_in(
    captain: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = cast.zipped(tmp_path / "training.zip", "train.py").read_bytes()
    send(captain, whole, 0)
    checked, answers = entries.submit_defense, []

    def meanwhile(*given: Any, **named: Any) -> Any:
        answers.append(send(captain, b"y", len(whole)).json()["code"])
        answers.append(send(captain, b"z" * 9, 0).json())
        return checked(*given, **named)

    monkeypatch.setattr(entries, "submit_defense", meanwhile)
    answer = captain.post("/team/defenses/new/", HANDED_IN | {"training_code_kept": f"{KEY}:{len(whole)}"})
    assert (answer.status_code, answers) == (303, ["wrong_place", {"bytes": 9}])
    assert DefenseEntry.objects.get().training_code == hashlib.sha256(whole).hexdigest()
    assert kept(captain) == 9


@pytest.mark.parametrize("named", [f"{KEY}:51", f"{KEY}:0", f"{'c' * 64}:50", "nonsense"])
def test_a_file_that_is_not_whole_is_named_at_its_field_and_kept(named: str, captain: Client) -> None:
    send(captain, b"x" * 50, 0)
    answer = captain.post("/team/defenses/new/", HANDED_IN | {"training_code_kept": named})
    assert "did not arrive whole" in answer.content.decode()
    assert (answer.status_code, kept(captain), DefenseEntry.objects.count()) == (400, 50, 0)


def test_another_error_of_the_form_costs_no_file(captain: Client, tmp_path: Path) -> None:
    whole = cast.zipped(tmp_path / "training.zip", "train.py").read_bytes()
    send(captain, whole, 0)
    named = {"training_code_kept": f"{KEY}:{len(whole)}"}
    assert captain.post("/team/defenses/new/", HANDED_IN | named | {"name": ""}).status_code == 400
    assert captain.post("/team/defenses/new/", HANDED_IN | named).status_code == 303


@pytest.mark.parametrize("who", ["nobody", "olga", "tara", "red"])
def test_nobody_else_reads_or_adds_to_it(who: str, captain: Client, signed_in: Any, request: Any) -> None:
    send(captain, b"x" * 50, 0)
    if who == "red":
        cast.team("red")
        other = signed_in(User.objects.get(username="cap-red"))
        assert (kept(other), send(other, b"y", 50).json()["code"]) == (0, "wrong_place")
    else:
        other = Client() if who == "nobody" else signed_in(request.getfixturevalue(who))
        assert send(other, b"y", 50).status_code in (302, 403, 404)
    assert kept(captain) == 50


def test_another_file_for_the_field_takes_its_place(captain: Client) -> None:
    send(captain, b"x" * 50, 0)
    send(captain, b"z", 0, field="weights")
    send(captain, b"y" * 60, 0, key="cd" * 32)
    assert (kept(captain), kept(captain, key="cd" * 32), kept(captain, "weights")) == (0, 60, 1)


def test_a_team_keeps_one_file_for_a_field(captain: Client, signed_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    other = signed_in(User.objects.get(username="mem-blue"))
    send(captain, b"x" * 50, 0)
    assert send(other, b"y", 0, key="cd" * 32).json()["code"] == "other_member"
    assert (send(other, b"y", 0, field="weights").status_code, kept(captain)) == (200, 50)
    monkeypatch.setattr(upload_pieces, "_IDLE_SECONDS", -1)
    assert send(other, b"y", 0, key="cd" * 32).status_code == 200, "the first does not go on"
    assert (kept(captain), kept(other, key="cd" * 32)) == (0, 1)


def test_what_nobody_goes_on_with_is_removed_after_days(captain: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    send(captain, b"x" * 50, 0)
    monkeypatch.setitem(defense_uploads._LEFT_SECONDS, defense_uploads.PIECES, -1)
    send(captain, b"y", 0, field="weights")
    assert [name.split("-")[2] for name in left()] == ["weights"]


class _Broken:
    """A body of which the second half never comes."""

    def __init__(self) -> None:
        self.parts: Iterator[bytes] = iter([b"x" * 30])

    def read(self, size: int) -> bytes:
        if (part := next(self.parts, None)) is None:
            raise OSError("the connection broke")
        return part


def test_what_came_before_the_connection_broke_stays(blue: Team, captain: Client) -> None:
    user = User.objects.get(username="cap-blue")
    with pytest.raises(OSError, match="broke"):
        keep_piece(blue, user, "weights", KEY, at=0, length=60, size=60, body=_Broken())  # type: ignore[arg-type]
    assert kept(captain, "weights") == 30


def test_of_two_windows_at_once_no_byte_is_kept_twice(blue: Team) -> None:
    user = User.objects.get(username="cap-blue")

    class Whole:
        def __init__(self) -> None:
            self.parts = iter([b"x" * 1000, b""])

        def read(self, size: int) -> bytes:
            return next(self.parts)

    def add() -> int:
        body: Any = Whole()
        return keep_piece(blue, user, "weights", KEY, at=0, length=1000, size=1000, body=body)

    found = at_once(*[add] * 8)
    assert found.count(1000) == 1 and set(found) <= {1000, "wrong_place", "busy"}
    assert upload_pieces.bytes_kept(blue, user, "weights", KEY) == 1000
