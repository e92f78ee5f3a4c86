"""What an upload holds, whatever a hostile archive says; what is refused of it (R25); its receipts and its letter;
and its clock, which is its last byte (R23).
"""

import io
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime, timedelta
from http.client import HTTPConnection
from threading import Event
from typing import Any
from urllib.parse import urlparse

import pytest
from django.db import connection
from django.http.multipartparser import MultiPartParser
from django.test import Client
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from accounts.tokens import issue_token
from common.errors import ServiceUnavailable
from common.models import HourCount
from common.outages import store_away
from contest.attacks import quota, services, uploads
from contest.attacks.models import QuotaDay
from contest.attacks.uploads import MAX_ENTRIES, UploadedFile, read_uploaded_files
from contest.core import upload_rates
from contest.core.enums import MessageKind, UploadKind
from contest.core.models import Attack, Team
from contest.outbox.models import Message
from contest.outbox.sending import messages_send
from contest.web.attack_uploads import UPLOADS, UPLOADS_OF_ONE
from picture_files.decoding import DECODING
from picture_files.refusals import refused as picture_refused
from policy.numbers import Policy
from tests import factories, tables
from tests.contest.attacks import cast
from tests.contest.attacks.cast import BOUNDARY, POLICY, picture, send, stored, upload, zipped
from tests.contest.pages import lacking
from tests.refusals import refused

pytestmark = pytest.mark.django_db


def parts(data: bytes, name: str = "sent") -> list[UploadedFile]:
    return list(read_uploaded_files([upload(data, name)]))


def test_files_and_the_pictures_of_a_zip_come_in_order() -> None:
    many = zipped(("b.png", b"two"), ("folder/a.png", b"three"))
    found = list(
        read_uploaded_files([upload(b"one", "first.png"), upload(many, "many.zip"), upload(b"four", "last.png")])
    )
    assert found == [
        UploadedFile("first.png", b"one"),
        UploadedFile("b.png", b"two"),
        UploadedFile("folder/a.png", b"three"),
        UploadedFile("last.png", b"four"),
    ]


def test_a_zip_is_known_by_its_content_and_what_systems_add_is_passed_over() -> None:
    assert parts(zipped(("a.png", b"one")), "picture.png") == [UploadedFile("a.png", b"one")]
    assert parts(picture(), "pictures.zip") == [UploadedFile("pictures.zip", picture())]
    added = (("__MACOSX/._a.png", b"x"), (".DS_Store", b"x"), ("a/Thumbs.db", b"x"), ("a/", b""))
    assert parts(zipped(*added, ("a/b.png", b"1"))) == [UploadedFile("a/b.png", b"1")]


@pytest.mark.parametrize("name", ["../../x.png", ".hidden.png", "__MACOSX/._a.png", "a/"])
def test_a_zip_without_a_picture_to_take_says_why(name: str) -> None:
    (found,) = parts(zipped((name, b"one")))
    assert (
        found.refused and found.refused.code == "wrong_zip" and "a name that begins with a dot" in found.refused.message
    )


ONE = struct.pack("<HH", 1, 1)  # entry or disk, of so many
END = b"PK\x05\x06"  # of the record at the end of a zip


def encrypted() -> bytes:
    data = bytearray(zipped(("a.png", b"one")))
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + at] |= 1
    return bytes(data)


def spliced(data: bytes, at: int, new: bytes) -> bytes:
    """Other bytes in the record at the end of a zip."""
    at += data.rindex(END)
    return data[:at] + new + data[at + len(new) :]


def sixty_four() -> bytes:
    data = zipped(("a.png", b"one"))
    at = data.rindex(END)
    return data[:at] + (b"PK\x06\x07" + struct.pack("<IQI", 0, at, 1)) + data[at:]


def record(*, entries: int, list_bytes: int, disks: tuple[int, int] = (0, 0)) -> bytes:
    """The record at the end of a zip whose list has `list_bytes` bytes and begins where the file does."""
    return END + struct.pack("<HHHHIIH", *disks, entries, entries, list_bytes, 0, 0)


def listed(times: int) -> bytes:
    data = zipped(("a.png", b""))
    return data[: data.index(b"PK\x01\x02")] + data[data.index(b"PK\x01\x02") : data.index(END)] * times


def two_ends() -> bytes:
    """A record whose numbers of disks spell its own mark again: who looks for the last mark reads another length."""
    data = listed(100_000)
    return data + END + struct.pack("<HHHHIIH", *struct.unpack("<HH", END), 1, 1, len(data), 0, 0)


@tables.cases(
    "make code why",
    (lambda: zipped(("inner.zip", zipped(("a.png", b"one")))), "zip_in_zip", "an archive in it"),
    (encrypted, "encrypted", "a password that nobody here has"),
    (
        lambda: zipped(*((f"{number}.png", b"") for number in range(MAX_ENTRIES + 1))),
        "wrong_zip",
        "too many pictures",
    ),
    (
        lambda: spliced(zipped(*((f"{number:04}{'x' * 1000}.png", b"") for number in range(1000))), 8, ONE),
        "wrong_zip",
        "a list too long to be read",
    ),
    (sixty_four, "wrong_zip", "a second list of its own"),
    (two_ends, "wrong_zip", "a mark that is found twice"),
    (lambda: spliced(zipped(("a.png", b"one")), 4, ONE), "wrong_zip", "one of several files"),
    (
        lambda: listed(2000) + record(entries=2000, list_bytes=2000 * 51),
        "wrong_zip",
        "a list of many entries",
    ),
    (
        lambda: zipped(("a.png", bytes(uploads.MAX_PICTURE_BYTES + 1))),
        "too_many_bytes",
        "it unpacks beyond the bound",
    ),
    (lambda: zipped(("a.png", b"one" * 100), method=zipfile.ZIP_LZMA), "wrong_zip", "another way of packing"),
    (
        lambda: zipped(("a.png", b"one"), method=zipfile.ZIP_STORED).replace(b"one", b"two"),
        "damaged_zip",
        "changed bytes",
    ),
    (lambda: zipped(("a/", b"")), "wrong_zip", "no picture at all"),
    (
        lambda: zipped(("a.png", random.Random(1).randbytes(2000)))[:1000],
        "damaged_zip",
        "its list is missing",
    ),
    (lambda: b"PK\x03\x04", "damaged_zip", "nothing but how it begins"),
)
def test_a_zip_is_refused(make: Callable[[], bytes], code: str, why: str) -> None:
    (found,) = parts(make())
    assert (found.refused.code, found.data) == (code, b""), why


def test_one_bad_picture_of_a_zip_leaves_the_others() -> None:
    inner = zipped(("x.png", b"x"))
    found = parts(zipped(("a.png", b"one"), ("b.zip", inner), ("c.png", b"three")))
    assert [(each.name, each.data, bool(each.refused)) for each in found] == [
        ("a.png", b"one", False),
        ("b.zip", b"", True),
        ("c.png", b"three", False),
    ]


def test_a_zip_that_unpacks_to_too_much_is_read_no_further_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_PICTURE_BYTES", 1 << 20)
    monkeypatch.setattr(uploads, "MAX_ZIP_BYTES", 3 << 19)
    data = zipped(*((f"{number}.png", bytes(uploads.MAX_PICTURE_BYTES)) for number in range(20)))
    tracemalloc.start()
    found = [(each.refused.code if each.refused else "taken") for each in read_uploaded_files([upload(data, "sent")])]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == ["taken"] + ["too_many_bytes"] * 19 and most < 4 * uploads.MAX_PICTURE_BYTES


def test_a_zip_that_is_too_long_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_ZIP_BYTES", 100)
    (found,) = parts(zipped(("a.png", random.Random(1).randbytes(200))))
    assert found.refused.code == "too_many_bytes"


GOOD = zipped(("a.png", b"one" * 50), ("b.png", b"two"))


@settings(max_examples=300)
@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255), st.integers(0, 40))
def test_a_changed_zip_is_read_or_refused_and_never_an_error(at: int, value: int, cut: int) -> None:
    damaged = bytearray(GOOD[: len(GOOD) - cut])
    damaged[min(at, len(damaged) - 1)] = value
    for each in parts(bytes(damaged)):
        assert each.refused is None or each.refused.message


HOUR, TEN_SECONDS = timedelta(hours=1), timedelta(seconds=10)
WRONG_SIZE = picture(side=17)


@pytest.fixture(autouse=True)
def _two_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_rates, "MAX_REFUSED_PER_HOUR", dict.fromkeys(UploadKind, 2))


def take(team: Team, data: bytes, *, now: datetime) -> Attack:
    return services.attack_receive(team=team, data=data, policy=POLICY, now=now)


def refuse_twice(team: Team, *, now: datetime) -> None:
    for _ in range(2):
        refused("wrong_size", take, team, WRONG_SIZE, now=now)


def refused_unread(patch: pytest.MonkeyPatch, code: str, team: Team, data: bytes, *, now: datetime) -> Any:
    """Refused before anything is decoded."""
    with patch.context() as patched:
        patched.setattr(services, "read_attack", None)
        return refused(code, take, team, data, now=now)


def all_zip(*pictures: bytes) -> bytes:
    return zipped(*((f"{number}.png", data) for number, data in enumerate(pictures)))


def test_after_so_many_refusals_the_team_waits_for_the_next_hour(
    red: Team, blue: Team, now: datetime, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_twice(red, now=now)
    assert not QuotaDay.objects.exists()
    late = now.replace(minute=59, second=30)
    clock(late)
    found = refused_unread(monkeypatch, "too_many_refused", red, picture(), now=late)
    assert "from Wed 18 Nov 2026 13:00:00 UTC" in found.message and found.retry_after == 30
    assert take(blue, picture(), now=late), "another team has its own"
    clock(now + HOUR)
    assert take(red, picture(8), now=now + HOUR), "the next hour"
    refuse_twice(red, now=now + HOUR)
    assert HourCount.objects.get().count == 2


def test_the_very_same_file_gets_its_receipt_without_being_decoded_and_counts_nothing(
    red: Team, captain: Client, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upload whose answer was lost is sent again, also by who has nothing left."""
    attack = send(red, now=now)
    refuse_twice(red, now=now)
    before = HourCount.objects.get().count
    for _ in range(4):
        assert refused_unread(monkeypatch, "sent_before", red, picture(), now=now).attack == attack
    answer = captain.post("/api/v1/attacks/", {"image": upload(picture())})
    assert (answer.status_code, answer.json()["code"], answer.json()["receipt"]) == (
        409,
        "sent_before",
        attack.public_id,
    )
    page = captain.post("/attacks/send/", {"image": upload(picture())})
    told = page.json()["outcomes"][0]["refused"]
    assert (told["code"], told["receipt"], HourCount.objects.get().count) == ("sent_before", attack.public_id, before)


def test_without_quota_nothing_is_decoded(red: Team, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who loses the race for the last place leaves no file."""
    cast.send_many(red, POLICY.attacks_per_day, now=now)
    before = stored()
    assert refused_unread(monkeypatch, "quota_used", red, picture(99), now=now).retry_after == 12 * 3600
    monkeypatch.setattr(quota, "check_quota", lambda *_, **__: None)  # as another upload saw it a moment ago
    refused("quota_used", take, red, picture(99), now=now)
    assert stored() == before and not HourCount.objects.exists()


def clear(shade: int) -> bytes:
    """A picture that is partly transparent, as its pixels alone say."""
    packed = io.BytesIO()
    Pillow.new("RGBA", (cast.SIDE, cast.SIDE), (shade, 0, 0, 9)).save(packed, "PNG")
    return packed.getvalue()


def test_of_a_zip_no_more_is_decoded_than_may_be_refused(captain: Client) -> None:
    parts = [clear(shade) for shade in range(6)]
    page = captain.post("/attacks/send/", {"image": upload(all_zip(*parts, picture()), "all.zip")})
    said = [each["refused"]["code"] for each in page.json()["outcomes"]]
    assert said == ["transparent", "transparent", "too_many_refused"] and not Attack.objects.exists()


@pytest.mark.parametrize("parts", [[WRONG_SIZE] * 6, [b"no picture"] * 6, [all_zip(WRONG_SIZE)] * 6])
def test_what_headers_alone_refuse_counts_once_for_an_upload(captain: Client, parts: list[bytes]) -> None:
    """A folder of pictures of the wrong size is one mistake, and nothing was decoded."""
    sent = {"image": upload(all_zip(*parts, picture()), "all.zip")}
    outcomes = captain.post("/attacks/send/", sent).json()["outcomes"]
    assert len(outcomes) == 7 and "receipt" in outcomes[-1] and HourCount.objects.get().count == 1


def test_the_same_pixels_in_another_file_count_because_they_were_decoded_and_an_outage_does_not(
    red: Team, now: datetime
) -> None:
    send(red, now=now)
    with pytest.raises(ServiceUnavailable), upload_rates.count_refusals(red, UploadKind.ATTACK):
        raise store_away()
    assert not HourCount.objects.exists()
    other = io.BytesIO()
    Pillow.open(io.BytesIO(picture())).save(other, "PNG", compress_level=0)
    refused("sent_before", take, red, other.getvalue(), now=now)
    assert HourCount.objects.get().count == 1


def taken(*places: AbstractContextManager[Any]) -> ExitStack:
    stack = ExitStack()
    for each in places:
        stack.enter_context(each)
    return stack


DOORS = pytest.mark.parametrize("address", ["/api/v1/attacks/", "/attacks/send/", "/attacks/"])


@DOORS
def test_every_door_says_until_when_and_a_stranger_costs_no_team_anything(
    address: str, captain: Client, red: Team, now: datetime
) -> None:
    assert Client().post(address, {"image": upload(WRONG_SIZE)}).status_code in (401, 302)
    assert not HourCount.objects.exists()
    refuse_twice(red, now=now)
    team = {} if "/api/" in address else {"team": red.public_id}
    answer = captain.post(address, {"image": upload(picture())} | team)
    assert (answer.status_code, answer["Retry-After"]) == (429, "3600") and "13:00:00" in answer.content.decode()


@DOORS
def test_while_many_upload_the_next_is_sent_away_and_pages_answer(
    address: str, captain: Client, red: Team, signed_in: Any
) -> None:
    """Who may not send is refused without a place."""
    nobody: Client = signed_in(factories.user("nobody"))
    with taken(*[UPLOADS] * UPLOADS.at_once):
        answer = captain.post(address, {"image": upload(picture())})
        assert (answer.status_code, answer["Retry-After"]) == (503, "2")
        assert "send this again in 2 seconds" in answer.content.decode()
        assert nobody.post(address, {"image": upload(picture())}).status_code in (403, 404)
        assert captain.get("/attacks/").status_code == captain.get("/api/v1/attacks/").status_code == 200
    assert captain.post("/api/v1/attacks/", {"image": upload(picture())}).status_code == 201
    assert not HourCount.objects.exists()


@DOORS
def test_one_account_does_not_hold_all_places(
    address: str, captain: Client, red: Team, blue: Team, signed_in: Any
) -> None:
    other = signed_in(cast.captain(blue))
    with taken(*(UPLOADS_OF_ONE.of(cast.captain(red).pk) for _ in range(UPLOADS_OF_ONE.at_once))):
        answer = captain.post(address, {"image": upload(picture())})
        assert (answer.status_code, answer["Retry-After"]) == (503, "2")
        assert "Your account is sending 2 uploads already" in answer.content.decode()
        assert other.post("/api/v1/attacks/", {"image": upload(picture(8))}).status_code == 201
    assert captain.post("/api/v1/attacks/", {"image": upload(picture())}).status_code == 201


def test_there_are_places_enough() -> None:
    """Several slow senders leave room. A resend after midnight is of the next week: whoever may upload may wait for a
    decode, and is not sent away while another is decoded."""
    assert UPLOADS_OF_ONE.at_once * 3 <= UPLOADS.at_once <= DECODING.at_once + DECODING.waiting


def sends(
    team: Team, *parts: UploadedFile, now: datetime, numbers: Policy = POLICY, **more: Any
) -> list[services.UploadResult]:
    by = cast.captain(team)
    return services.pictures_send(team=team, by=by, parts=parts, policy=numbers, now=now, **{"targets": [], **more})


def codes(outcomes: list[services.UploadResult]) -> list[str]:
    return [each.refused.code if each.refused else "received" for each in outcomes]


def test_one_bad_picture_does_not_refuse_the_others(red: Team, now: datetime) -> None:
    parts = [
        UploadedFile("a", picture(1)),
        UploadedFile("b", b"no picture"),
        UploadedFile("c", picture(1)),
        UploadedFile("d", picture(2)),
    ]
    outcomes = sends(red, *parts, UploadedFile("e", refused=picture_refused("empty")), now=now)
    assert codes(outcomes) == ["received", "not_a_picture", "sent_before", "received", "empty"]
    assert ([each.name for each in outcomes], outcomes[2].earlier) == (["a", "b", "c", "d", "e"], outcomes[0].attack)
    assert len(set(Attack.objects.values_list("upload", flat=True))) == 1


def test_a_quota_that_runs_out_in_the_middle_refuses_the_rest(red: Team, now: datetime) -> None:
    numbers = Policy(image_size=cast.SIDE, attacks_per_day=2)
    parts = [UploadedFile(str(shade), picture(shade)) for shade in range(4)]
    assert codes(sends(red, *parts, now=now, numbers=numbers)) == ["received"] * 2 + ["quota_used"] * 2


def test_what_concerns_all_of_them_is_said_once(red: Team, now: datetime) -> None:
    refused("not_staked", sends, red, UploadedFile("a", picture()), now=now, targets=["D-00000000"])
    refused("not_entitled", sends, cast.team("green", entitled=False), UploadedFile("a", picture()), now=now)
    assert not Attack.objects.exists()


def test_one_letter_has_all_the_receipts(
    red: Team, now: datetime, mailoutbox: list[Any], django_capture_on_commit_callbacks: Any
) -> None:
    defense = cast.staked("A net")
    with django_capture_on_commit_callbacks(execute=True):
        outcomes = sends(
            red,
            UploadedFile("heron.png", picture(1)),
            UploadedFile("x", b""),
            UploadedFile("b", picture(2)),
            now=now,
            targets=[defense.public_id],
        )
    messages_send(clock=lambda: now)
    (letter,) = mailoutbox
    assert (letter.to, letter.subject) == (["red@example.org"], "Receipts for 2 pictures")
    sent = [each.attack for each in outcomes if each.attack]
    ids = [words for each in sent for words in (f"Receipt {each.public_id}", f"/attacks/{each.public_id}/")]
    said = (
        *(*ids, *(each.image.pixels_sha256 for each in sent)),
        "arrived on Wed 18 Nov 2026 12:00:00 UTC, in week 2026-W47",
        "ends on Sat 21 Nov 2026 00:00:00 UTC",
        "quota for this day: 8",
        "heron.png",
        "Sent against: A net",
    )
    assert lacking(letter.body, *said) == [] and len(sent) == 2


@pytest.mark.parametrize(("email", "parts", "why"), [("", [picture()], "no address"), ("a@b.org", [b""], "no receipt")])
def test_no_letter(
    email: str,
    parts: list[bytes],
    why: str,
    red: Team,
    now: datetime,
    mailoutbox: list[Any],
    django_capture_on_commit_callbacks: Any,
) -> None:
    blue = cast.team("blue", email=email)
    with django_capture_on_commit_callbacks(execute=True):
        sends(blue, *(UploadedFile("a", data) for data in parts), now=now)
    messages_send(clock=lambda: now)
    assert mailoutbox == [], why


# A process that dies --------------------------------------------------------------------------------------------------


class Died(Exception):
    """The process ends at a statement."""


def receipts() -> list[str]:
    rows = Message.objects.filter(kind=MessageKind.ATTACK_RECEIVED)
    return sorted(each["id"] for row in rows for each in row.facts["receipts"])


@pytest.mark.django_db(transaction=True)
def test_an_attack_and_its_receipt_are_recorded_together_wherever_the_process_dies(now: datetime) -> None:
    """Die at each statement that writes, until there are no more of them."""
    numbers, red = cast.policy(attacks_per_day=1_000), cast.team("red")
    by, recorded, halves = cast.captain(red), 0, set()

    def dies_at(number: int) -> bool:
        written = 0

        def die(execute: Any, sql: str, *rest: Any) -> Any:
            nonlocal written
            if sql.startswith(("INSERT", "UPDATE", "DELETE")):
                written += 1
                if written == number:
                    raise Died
            return execute(sql, *rest)

        parts = [UploadedFile(str(shade), picture(2 * number + shade)) for shade in range(2)]
        with connection.execute_wrapper(die):
            try:
                services.pictures_send(team=red, by=by, parts=parts, targets=[], policy=numbers, now=now)
            except Died:
                return True
        return False

    number = 1
    while dies_at(number):
        attacks = sorted(Attack.objects.values_list("public_id", flat=True))
        assert receipts() == attacks, f"dead at statement {number}"
        halves.add(len(attacks) - recorded)
        recorded, number = len(attacks), number + 1
    assert halves == {0, 1, 2} and number < 60


@pytest.mark.both("the letter of an upload is locked while a receipt is added")
def test_the_letter_of_an_upload_that_was_cut_off_leaves_a_minute_later(red: Team, now: datetime) -> None:
    by, first = cast.captain(red), {"team": red, "policy": POLICY, "targets": (), "upload": "ab"}
    services.attack_receive(**first, data=picture(1), now=now, by=by)
    assert (messages_send(clock=lambda: now), messages_send(clock=lambda: now + timedelta(minutes=1))) == (0, 1)
    late = services.attack_receive(**first, data=picture(2), now=now, by=by)
    assert Message.objects.get(key=late.public_id).facts["count"] == 1, "its letter has left: this one has its own"


EDGE, HEAD = "x-edge-x", 'Content-Disposition: form-data; name="image"; filename="a.png"'
BODY = f"--{EDGE}\r\n{HEAD}\r\n\r\n".encode() + picture() + f"\r\n--{EDGE}--\r\n".encode()


@pytest.fixture
def begun(live_server: Any, clock: Callable[[datetime], None], red: Team) -> Callable[[], HTTPConnection]:
    """Return a function that begins an upload by team red, ten seconds before the end of the week, and sends its
    head."""
    clock(BOUNDARY - TEN_SECONDS)
    token = issue_token(cast.captain(red), now=BOUNDARY - TEN_SECONDS)

    def begin() -> HTTPConnection:
        connection = HTTPConnection(urlparse(live_server.url).netloc, timeout=30)
        connection.putrequest("POST", "/api/v1/attacks/")
        connection.putheader("Authorization", f"Token {token}")
        connection.putheader("Content-Type", f"multipart/form-data; boundary={EDGE}")
        connection.putheader("Content-Length", str(len(BODY)))
        connection.endheaders()
        return connection

    return begin


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("ended", "week", "why"),
    [
        (BOUNDARY, "2026-W48", "all but the last byte before the end"),
        (BOUNDARY - timedelta(milliseconds=1), "2026-W47", "the last byte at 23:59:59.999"),
    ],
)
def test_an_upload_that_straddles_the_end_counts_by_its_last_byte(
    ended: datetime,
    week: str,
    why: str,
    begun: Callable[[], HTTPConnection],
    clock: Callable[[datetime], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock moves once the server has begun to read: one that takes the time too early would take another."""
    real, reading = MultiPartParser.parse, Event()
    monkeypatch.setattr(MultiPartParser, "parse", lambda parser: (reading.set(), real(parser))[1])
    connection = begun()
    connection.send(BODY[:-1])
    assert reading.wait(30)
    clock(ended)
    connection.send(BODY[-1:])
    assert connection.getresponse().status == 201
    connection.close()
    attack = Attack.objects.get()
    assert (attack.received_at, attack.week, QuotaDay.objects.get().day) == (ended, week, ended.date()), why


@pytest.mark.django_db(transaction=True)
def test_an_upload_that_is_given_up_leaves_nothing(begun: Callable[[], HTTPConnection]) -> None:
    given_up, again = begun(), begun()
    given_up.send(BODY[:-50])
    given_up.close()
    again.send(BODY)
    assert again.getresponse().status == 201
    again.close()
    assert Attack.objects.count() == 1
