"""The audit trail: what a row keeps, how rows are sealed, and that a changed one is found. Queries that are composed
once and give what the ORM gives, marks of what was written, deadlocks, counts per hour."""

import hashlib
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from threading import Barrier
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, OperationalError, connection, models, transaction
from django.db.models.expressions import RawSQL
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from accounts.credentials import credentials_purge
from accounts.leaving import account_delete
from common import rates
from common.audit.chain import BEGINNING, ChainEnd, canonical, digest, problem, sealed
from common.audit.origin import OriginMiddleware, audit_origin, origin, place_of
from common.audit.seals import chain_check, chain_check_periodically, chain_link_of_seal, seal_entries, seals
from common.audit.trail import audit
from common.database.changes import change_mark
from common.database.deadlocks import retry_on_deadlock
from common.database.lookups import (
    Parameter,
    PreparedInsert,
    PreparedLookup,
    PreparedStatement,
    PreparedTogether,
    PreparedUpdate,
)
from common.models import AuditCheck, AuditEntry, AuditPlace, AuditSeal, AuditUnsealed, HourCount
from labeling.models import Assignment, Image, Panel, Tasker
from tests import factories
from tests.at_once import at_once
from tests.unprotected import unprotected

pytestmark = pytest.mark.django_db
TRIGGERS = pytest.mark.both("its rows are refused by triggers")
HASHED = pytest.mark.both("what is hashed is JSON that each database keeps in its own way")
ADDRESS = "192.0.2.7"


def record(by: User | None = None, *, number: int = 1, now: datetime = factories.NOW, **told: Any) -> AuditEntry:
    told = {"why": "It was due.", "public": {"kind": "stake"}, "private": {"cents": number}} | told
    return audit("stake.receive", by=by, subject={"stake": [number]}, now=now, **told)


def three_rows() -> list[AuditEntry]:
    return [record(number=number) for number in range(1, 4)]


def checked() -> AuditCheck:
    return chain_check(now=factories.NOW)


@pytest.mark.parametrize(
    ("who", "role"),
    [("olga", "organizer"), ("rita", "board"), ("tara", "tasker"), (None, "platform"), ("new", "")],
)
def test_it_keeps_who_acted_in_which_role_at_that_time(
    who: str | None, role: str, olga: User, rita: User, tara: Any
) -> None:
    factories.user("new")
    by = User.objects.get(username=who) if who else None
    entry = record(by)
    assert (entry.user, entry.role, entry.action, entry.why) == (by, role, "stake.receive", "It was due.")


@pytest.mark.parametrize("action", ["", "stake", "Stake.receive", "stake.receive.now", "stake receive"])
def test_an_action_is_two_plain_words(action: str) -> None:
    with pytest.raises(ValueError, match="no action"):
        audit(action, by=None, subject={}, now=factories.NOW)


def test_a_number_that_databases_write_differently_is_refused() -> None:
    for where in ("public", "private"):
        with pytest.raises(TypeError, match="keep it as text"):
            record(**{where: {"shares": [{"of": 0.1}]}})
    assert not AuditEntry.objects.exists()


@TRIGGERS
def test_a_row_is_never_changed_nor_deleted(olga: User) -> None:
    rows = AuditEntry.objects.filter(pk=record(olga).pk)
    changes: list[Callable[[], object]] = [
        lambda: rows.update(why="Another reason."),
        lambda: rows.update(role="board"),
        lambda: rows.update(salt=""),
        lambda: rows.update(user=None, at=None),
        lambda: rows._raw_delete("default"),
    ]
    for act in changes:
        with pytest.raises(DatabaseError), transaction.atomic():
            act()


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({}, "page"),
        ({"HTTP_AUTHORIZATION": "Token abc"}, "program"),
        ({"HTTP_AUTHORIZATION": "Bearer abc"}, "program"),
        ({"HTTP_AUTHORIZATION": "Basic abc"}, "page"),
    ],
)
def test_a_request_says_from_where_while_it_lasts(headers: dict[str, str], words: str) -> None:
    request = RequestFactory().get("/", REMOTE_ADDR=ADDRESS, **headers)  # type: ignore[arg-type]
    found: Any = OriginMiddleware(lambda _: origin())(request)  # type: ignore[arg-type, return-value]
    assert (found.words, found.place) == (words, place_of(ADDRESS))
    assert ADDRESS not in repr(found)
    assert (origin().words, origin().place) == ("shell", "")


@pytest.mark.both("a row that must not change goes on without its place")
def test_of_an_address_a_keyed_digest_is_kept_for_ninety_days_and_the_chain_holds(now: datetime, settings: Any) -> None:
    with audit_origin("page", ADDRESS):
        entry = record(now=now)
    seal_entries()
    credentials_purge(now=now + timedelta(days=90, seconds=-1))
    kept = AuditPlace.objects.get(entry=entry).digest
    assert kept == place_of(ADDRESS) != place_of("192.0.2.8")
    assert kept not in str(AuditEntry.objects.values().get()), "the row does not hold it"
    credentials_purge(now=now + timedelta(days=90))
    assert (AuditPlace.objects.count(), checked().wrong) == (0, "")
    settings.SECRET_KEY = "another key of fifty characters for this very test."
    assert kept != place_of(ADDRESS)


def test_an_account_that_goes_is_forgotten_with_its_places_and_the_chain_holds(olga: User, now: datetime) -> None:
    with audit_origin("page", ADDRESS):
        record(olga)
        seal_entries()
        account_delete(user=olga, now=now)
    seal_entries()
    assert list(AuditEntry.objects.values_list("action", "user", "role").order_by("pk")) == [
        ("stake.receive", None, "organizer"),
        ("account.delete", None, "organizer"),
    ]
    assert not AuditPlace.objects.exists()
    assert (checked().through, checked().wrong) == (2, "")


def test_rows_are_sealed_in_order_without_a_gap_and_once() -> None:
    entries = three_rows()
    assert (seal_entries(), seal_entries()) == (3, 0)
    entries.append(record(number=4))
    assert (seal_entries(), AuditUnsealed.objects.count()) == (1, 0)
    found = list(seals())
    assert [(seal.number, seal.entry) for seal in found] == list(enumerate(entries, start=1))
    assert [seal.previous for seal in found] == [BEGINNING, *(seal.sha256 for seal in found[:-1])]


@HASHED
def test_the_public_part_tells_what_is_public_and_the_private_digest_cannot_be_guessed() -> None:
    hidden, told = record(number=1), record(number=1, published=True)
    seal_entries()
    secret, public = (chain_link_of_seal(seal) for seal in seals())
    common = {"at": "2026-11-18T12:00:00.000000Z", "role": "platform", "action": "stake.receive"}
    common["facts"] = {"kind": "stake"}  # type: ignore[assignment]
    assert (secret.public, public.public) == (common, common | {"subject": {"stake": [1]}, "why": "It was due."})
    assert secret.private_sha256 != public.private_sha256 and hidden.salt != told.salt
    guess = {"salt": "", "origin": "shell", "facts": {"cents": 1}, "subject": {"stake": [1]}, "why": "It was due."}
    assert digest(guess) != secret.private_sha256 == digest(guess | {"salt": hidden.salt})


def test_a_hash_follows_from_what_is_published() -> None:
    """Worked out by hand, as anybody can who has a release."""
    public, private = {"action": "stake.receive", "at": "2026-11-18T12:00:00.000000Z"}, "1" * 64
    written = '{"action":"stake.receive","at":"2026-11-18T12:00:00.000000Z"}'
    said = f"1\n{BEGINNING}\n{hashlib.sha256(written.encode()).hexdigest()}\n{private}\n"
    link = sealed(ChainEnd(), public, private)
    assert (canonical({"b": "ä", "a": [1]}), link.previous) == ('{"a":[1],"b":"ä"}', BEGINNING)
    assert (link.sha256, problem(ChainEnd(), link)) == (hashlib.sha256(said.encode()).hexdigest(), "")
    assert "should have number 3" in problem(ChainEnd(2, link.sha256), link)
    assert "as the hash of the row before it" in problem(ChainEnd(0, "2" * 64), link)


def test_a_row_that_was_committed_late_is_sealed_late() -> None:
    early, late = record(number=1), record(number=2)
    AuditUnsealed.objects.filter(entry=early).delete()  # as a sweep sees it before that commit
    assert seal_entries() == 1
    AuditUnsealed.objects.create(entry=early)
    assert (seal_entries(), checked().wrong) == (1, "")
    assert list(AuditSeal.objects.order_by("number").values_list("entry", flat=True)) == [late.pk, early.pk]


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_two_sweeps_at_once_seal_each_row_once() -> None:
    for number in range(60):
        record(number=number)

    def late() -> int:
        for number in range(60, 100):
            with transaction.atomic():
                record(number=number)
        return 0

    sweep = lambda: sum(seal_entries() for _ in range(5))  # noqa: E731 - beside the others
    assert sum(at_once(late, *[sweep] * 4)) + seal_entries() == 100
    assert list(AuditSeal.objects.order_by("number").values_list("number", flat=True)) == list(range(1, 101))
    assert (checked().through, checked().wrong) == (100, "")


def test_a_sweep_that_fails_for_another_reason_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    record()
    monkeypatch.setattr(AuditSeal.objects, "bulk_create", Mock(side_effect=IntegrityError("something else")))
    with pytest.raises(IntegrityError):
        seal_entries()


def _by_hand(sql: str) -> None:
    """Change a row as somebody could who has the database itself."""
    tables = ("common_auditentry", "common_auditseal")
    with connection.cursor() as cursor, unprotected(connection, cursor, tables):
        cursor.execute(sql)


NO_HASH, NO_SEAL = "Row 2 has the hash", "Row 2 has a private part"
_ENTRY = "UPDATE common_auditentry SET {} WHERE id = (SELECT entry_id FROM common_auditseal WHERE number = 2)"


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        pytest.param(
            _ENTRY.format("why = 'Another reason.'"),
            f"{NO_SEAL} that is not the sealed one",
            id="reason",
            marks=TRIGGERS,
        ),
        (_ENTRY.format("origin = 'page'"), NO_SEAL),
        pytest.param(_ENTRY.format("private = '{\"cents\": 3}'"), NO_SEAL, id="facts", marks=HASHED),
        (_ENTRY.format("role = 'board'"), NO_HASH),
        (_ENTRY.format("action = 'stake.cancel'"), NO_HASH),
        (_ENTRY.format("public = '{}'"), NO_HASH),
        (_ENTRY.format("at = '2026-11-18 12:00:01+00:00'"), NO_HASH),
        ("UPDATE common_auditseal SET private_sha256 = sha256 WHERE number = 2", NO_HASH),
        (f"UPDATE common_auditseal SET previous = '{BEGINNING}' WHERE number = 2", "Row 2 names 0000"),
        ("DELETE FROM common_auditseal WHERE number = 2", "Row 3 follows row 1, so it should have number 2"),
        ("DELETE FROM common_auditseal WHERE number = 3", "has no seal and waits for none"),
    ],
)
def test_the_first_row_that_was_changed_is_named(sql: str, words: str) -> None:
    three_rows()
    out = StringIO()
    call_command("check_audit", stdout=out)
    last = AuditSeal.objects.get(number=3).sha256
    assert out.getvalue() == f"The chain holds through row 3, {last}.\n", "it seals what waits"
    _by_hand(sql)
    with pytest.raises(CommandError, match=words) as raised:
        call_command("check_audit", stdout=out)
    assert raised.value.returncode == 1


def test_a_chain_made_anew_or_cut_off_is_found_by_what_was_checked_before() -> None:
    three_rows()
    assert (seal_entries(), checked().wrong) == (3, "")
    _by_hand("DELETE FROM common_auditseal WHERE number = 3")
    AuditUnsealed.objects.create(entry=AuditEntry.objects.get(seal=None))
    assert checked().wrong == "The trail ends with row 2, and had 3 rows before."
    AuditUnsealed.objects.exclude(entry=record(number=4)).delete()
    seal_entries()
    assert checked().wrong.startswith("Row 3 had the hash")


def test_the_trail_is_checked_once_a_day(now: datetime) -> None:
    record()
    seal_entries()
    day = timedelta(days=1)
    asked = [now, now + timedelta(hours=23), now + day, now + day + timedelta(seconds=1)]
    assert [chain_check_periodically(now=at) for at in asked] == [0, 0, 0, 0]
    assert list(AuditCheck.objects.order_by("pk").values_list("checked_at", flat=True)) == [now, now + day]
    _by_hand("UPDATE common_auditseal SET private_sha256 = sha256")
    assert chain_check_periodically(now=now + 2 * day) == 1


by_tasker = PreparedLookup(
    "test_by_tasker",
    lambda: (
        Assignment.objects.filter(tasker_id=Parameter("tasker", models.BigIntegerField()), state="leased")
        .select_related("panel", "tasker__user")
        .order_by("-id")
    ),
)
by_name = PreparedLookup(
    "test_by_name", lambda: Assignment.objects.filter(public_id=Parameter("public_id", models.UUIDField()))
)
received_after = PreparedLookup(
    "test_received_after",
    lambda: Image.objects.filter(received_at__gt=Parameter("moment", models.DateTimeField())).order_by("id")[:2],
)
add_panel = PreparedInsert("test_add_panel", Panel)
start_waiting = PreparedUpdate(
    "test_start_waiting",
    lambda: (
        Panel.objects.filter(pk=Parameter("panel", models.BigIntegerField()), state="open"),
        {"leased": models.F("leased") + 1, "waiting_since": Parameter("now", models.DateTimeField())},
    ),
)
start_waiting_too = PreparedUpdate(
    "test_start_waiting_too",
    lambda: (
        Panel.objects.filter(pk=Parameter("other_panel", models.BigIntegerField())),
        {"leased": models.F("leased") + 1},
    ),
)


@pytest.mark.both("statements are composed for each database")
def test_the_rows_are_those_of_the_queryset_with_what_it_relates(tara: Tasker, otto: Tasker) -> None:
    panels = [factories.panel() for _ in range(3)]
    held = factories.assignment(tara, panels[0], state="leased")
    factories.assignment(tara, panels[1], state="expired")
    others = factories.assignment(otto, panels[2], state="leased")
    found, *rest = (by_tasker(tasker=each) for each in (tara.pk, otto.pk, -1))
    assert (found, rest) == ([held], [[others], []])
    with CaptureQueriesContext(connection) as queries:
        assert (found[0].panel, found[0].tasker.user) == (panels[0], tara.user)
        assert vars(found[0]).keys() >= {field.attname for field in Assignment._meta.concrete_fields}
    assert not queries.captured_queries, "everything came with the row"


@pytest.mark.both("statements are composed for each database")
def test_values_are_stored_as_their_field_stores_them(tara: Tasker) -> None:
    assignment = factories.assignment(tara, factories.panel())
    assert (by_name(public_id=assignment.public_id), by_name(public_id=uuid.uuid4())) == ([assignment], [])
    moment = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
    images = [factories.image(received_at=moment.replace(hour=hour)) for hour in (11, 13, 14, 15)]
    assert received_after(moment=moment) == images[1:3]
    with pytest.raises(KeyError):
        received_after()


@pytest.mark.both("statements are composed for each database")
def test_a_change_tells_how_many_rows_it_changed_and_is_undone_with_its_transaction(now: datetime) -> None:
    panel, other = factories.panel(), factories.panel()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        start_waiting(panel=other.pk, now=now)
        raise ZeroDivisionError
    assert [start_waiting(panel=pk, now=now) for pk in (panel.pk, -1)] == [1, 0]
    panel.refresh_from_db()
    other.refresh_from_db()
    assert (panel.leased, panel.waiting_since, other.leased) == (1, now, 0)


@pytest.mark.both("statements are composed for each database")
def test_a_row_is_added_with_its_defaults_and_key() -> None:
    images = [factories.image() for _ in range(2)]
    given = {"size": 4, "missing": 4, "dealt_at": factories.NOW, "waiting_since": factories.NOW}
    added = [add_panel({"image": image, **given}) for image in images]
    for row, image in zip(added, images, strict=True):
        kept = Panel.objects.get(image=image)
        assert {f.attname: getattr(row, f.attname) for f in Panel._meta.concrete_fields} == {
            f.attname: getattr(kept, f.attname) for f in Panel._meta.concrete_fields
        }
    added[0].full_at = factories.NOW
    added[0].save()
    assert Panel.objects.count() == 2, "what is saved again is the row that was added"
    with pytest.raises(IntegrityError), transaction.atomic():
        add_panel({"image": images[0], **given})
    with pytest.raises(TypeError, match="Panel has no sice"):
        add_panel({"image": factories.image(), "sice": 5, **given})


add_next_panel = PreparedInsert(
    "test_add_next_panel",
    Panel,
    number=RawSQL(
        "SELECT 1 + count(*) FROM labeling_panel WHERE image_id = %s", [Parameter("of_image", models.BigIntegerField())]
    ),
)
add_and_wait = PreparedTogether("test_add_and_wait", add_next_panel, start_waiting, start_waiting_too)


@pytest.mark.both("one statement or several")
def test_a_row_and_its_updates_come_together_or_not_at_all(now: datetime) -> None:
    first, second = factories.panel(), factories.panel()
    values = {"image": first.image, "size": 4, "missing": 4, "dealt_at": now, "waiting_since": now}
    row, changed = add_and_wait(values, of_image=first.image_id, panel=first.pk, now=now, other_panel=-1)
    assert (changed, row.number) == ([1, 0], first.number + 1), "what the database looked up is in the row"
    row.refresh_from_db()
    first.refresh_from_db()
    assert (row.number, first.leased, first.waiting_since) == (first.number + 1, 1, now)
    wrong = values | {"image": second.image, "size": 1}  # a panel has three places or more
    with pytest.raises(IntegrityError), transaction.atomic():
        add_and_wait(wrong, of_image=second.image_id, panel=second.pk, now=now, other_panel=first.pk)
    second.refresh_from_db()
    assert (second.leased, Panel.objects.filter(image=second.image).count()) == (0, 1)


@pytest.mark.postgres("prepared statements are PostgreSQL's")
@pytest.mark.django_db(transaction=True)
def test_each_connection_plans_a_statement_once() -> None:
    statement = PreparedStatement("test_planned_once", "SELECT %s + %s", [Parameter("n", models.IntegerField()), 2])
    assert [statement.rows(n=n) for n in (1, 5)] == [[(3,)], [(7,)]]
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements WHERE name = 'test_planned_once'")
        assert cursor.fetchall() == [("PREPARE test_planned_once AS SELECT $1 + 2",)]
    connection.close()
    assert statement.rows(n=4) == [(6,)], "a new connection plans it again"


@pytest.mark.django_db(transaction=True)
@pytest.mark.both("each database has a mark of its own")
def test_a_commit_of_another_connection_gives_another_mark() -> None:
    before = change_mark()
    at_once(lambda: Group.objects.create(name="new"))
    assert change_mark() != before


@pytest.mark.django_db(transaction=True)
@pytest.mark.both("each database has a mark of its own")
def test_reading_gives_no_other_mark() -> None:
    """Other tests commit to other databases of the cluster meanwhile, but not every time."""

    def unchanged() -> bool:
        before = change_mark()
        at_once(lambda: list(Group.objects.all()))
        list(Group.objects.all())
        return change_mark() == before

    assert any(unchanged() for _ in range(100))


@pytest.mark.django_db(transaction=True)
@pytest.mark.both("each database has a mark of its own")
def test_a_commit_counts_when_it_is_made_not_when_its_transaction_began() -> None:
    """A worker that looked while the transaction was open saw nothing of it, and has to look again."""
    written, seen = threading.Event(), threading.Event()

    @transaction.atomic
    def change() -> None:
        Group.objects.create(name="slow")
        written.set()
        seen.wait(10)

    thread = threading.Thread(target=at_once, args=(change,))
    thread.start()
    written.wait(10)
    while_open = change_mark()
    seen.set()
    thread.join()
    assert change_mark() != while_open


@pytest.mark.postgres("several at once: SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_two_that_lock_the_other_way_round_both_come_through() -> None:
    ids = [factories.tasker(name).pk for name in ("tara", "otto")]
    met, tries = Barrier(2), list[int]()

    @retry_on_deadlock
    @transaction.atomic
    def change(first: int, second: int) -> int:
        tries.append(first)
        Tasker.objects.filter(pk=first).update(left_at=None)
        if len(tries) <= 2:
            met.wait(10)
        return Tasker.objects.filter(pk=second).update(left_at=None)

    assert at_once(lambda: change(*ids), lambda: change(*reversed(ids))) == [1, 1]
    # One is ended and tries again, once or, where it is the faster one again, more often.
    assert len(tries) >= 3


@pytest.mark.django_db(transaction=True)
def test_another_error_is_raised_at_once() -> None:
    tries: list[int] = []

    @retry_on_deadlock
    def change() -> None:
        tries.append(1)
        raise OperationalError("disk I/O error")

    with pytest.raises(OperationalError, match="disk"):
        change()
    assert len(tries) == 1 and not connection.in_atomic_block


NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
NEXT = NOON + timedelta(hours=1)


def test_each_key_is_counted_by_itself_and_begins_again_with_the_hour() -> None:
    assert [rates.increment("a", now=NOON + timedelta(minutes=each)) for each in (0, 30, 59)] == [1, 2, 3]
    assert (rates.increment("b", now=NOON), [rates.increment("a", now=NEXT) for _ in range(2)]) == (1, [1, 2])
    assert (rates.read_count("a", now=NEXT), rates.read_count("a", now=NOON), rates.read_count("c", now=NEXT)) == (
        2,
        0,
        0,
    )


@pytest.mark.both("rows that somebody holds are skipped")
def test_a_late_clock_never_lowers_a_count_and_rows_of_hours_that_are_over_go() -> None:
    for key in "abc":
        rates.increment(key, now=NOON)
    rates.increment("a", now=NEXT)
    assert ([row.key for row in HourCount.objects.all()], rates.increment("a", now=NOON)) == (["a"], 2)
    assert rates.read_count("a", now=NEXT) == 2


@pytest.mark.both("it is a statement of its own")
def test_a_count_is_one_statement_so_that_nobody_removes_the_row_halfway() -> None:
    rates.increment("a", now=NOON)
    with CaptureQueriesContext(connection) as queries:
        assert rates.increment("a", now=NOON) == 2
    assert len(queries) == 1
