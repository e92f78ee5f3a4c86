"""Files that no row names: which those are, that they alone are removed, and that nobody's upload is lost meanwhile."""

import ast
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection, models, transaction
from django.db.models.signals import pre_save
from django.utils import timezone

from common.models import AuditEntry
from contest.attacks.services import attack_receive, attack_withdraw
from contest.core.models import Attack, Team
from contest.defenses import entries
from contest.defenses.models import DefenseEntry
from contest.operations import unused_files
from contest.operations.unused_files import NAMED_BY, find_unused_files, remove_unused_files
from labeling.enums import Label, Origin
from labeling.models import Image
from labeling.pictures.intake import import_picture
from picture_files.store import FolderStore, StoredFile, original_key, picture_key, picture_store
from picture_files.store_transactions import removing_files, storing_files
from scoring.trials import submitted_files
from scoring.trials.private_set import private_picture_add, private_set_begin
from tests.at_once import at_once
from tests.contest.attacks import cast as attacking
from tests.contest.attacks.test_services import as_webp
from tests.contest.defenses import cast as staking
from tests.refusals import refused
from tests.scoring.cast import SIZE
from tests.scoring.trials import cast as tried
from tests.sources import sources

ROOT = Path(settings.BASE_DIR)
EVER = datetime(2100, 1, 1, tzinfo=UTC)
SHA = "ab" * 32
OTHER_SHA = "cd" * 32
LEFT = original_key(SHA)
DAY = timedelta(days=1)


# The columns ----------------------------------------------------------------------------------------------------------

# Columns for the hash of something that is no file of the store, or of one that another column names.
NAMES_NO_FILE = {
    "axes.AccessLog.session_hash": "a session",
    "account.EmailConfirmation.key": "a link",
    "accounts.ApiToken.digest": "a token",
    "common.AuditCheck.sha256": "the audit trail",
    "common.AuditSeal.previous": "the audit trail",
    "common.AuditSeal.private_sha256": "the audit trail",
    "common.AuditSeal.sha256": "the audit trail",
    "core.Release.manifest_sha256": "a file of a release, which is not in the store",
    "core.Release.previous_sha256": "a file of a release, which is not in the store",
    "teams.TeamInvitation.token_sha256": "a link",
    "accounts.Invitation.digest": "a link",
    "labeling.Response.answers_sha256": "a submission",
    "scoring.Prediction.pixels_sha256": "the picture of its image, which names it",
}


def test_every_column_that_may_name_a_file_is_known() -> None:
    fields = {
        f"{model._meta.label}.{each.name}"
        for model in apps.get_models()
        for each in model._meta.concrete_fields
        if isinstance(each, models.FileField | models.BinaryField | models.CharField)
        and (isinstance(each, models.FileField) or each.max_length == 64 or "sha256" in each.name)
    }
    naming = {f"{each.model._meta.label}.{each.column}" for each in NAMED_BY}
    assert fields == naming | set(NAMES_NO_FILE), "does it name a file of the store? then into NAMED_BY, else here"
    assert not naming & set(NAMES_NO_FILE)


# Who puts a file into the store; each within `storing_files`, until the row is committed.
PUTTERS = {
    "labeling/pictures/intake.py::picture_put",  # image_add
    "scoring/trials/private_set.py::private_picture_add",
    "scoring/trials/submitted_files.py::put_files",  # before the transaction, and once more in it
    "contest/record/rebuild/pictures.py::_image",  # rebuild
}


def test_who_puts_a_file_is_known() -> None:
    found = {
        f"{name}::{function.name}"
        for name, path in sources().items()
        if "picture_store" in (text := path.read_text(encoding="utf-8"))
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr in {"put", "put_file"}
    }
    assert found == PUTTERS, "put it within storing_files, and race it with the remover below"


# One file of each kind ------------------------------------------------------------------------------------------------


def hand_in(team: Team, folder: Path, now: datetime, name: str = "steadfast", *, closed: bool = False) -> DefenseEntry:
    """A defense with a file of each kind, without source where it is `closed`."""
    weights = folder / f"{name}.weights"
    weights.write_bytes(name.encode())
    given = staking.given(
        name=name,
        image="",
        archive=staking.archive(folder / name),
        source=None if closed else staking.zipped(folder / f"{name}.zip"),
        training_code=staking.zipped(folder / f"{name}-train.zip", "train.py"),
        weights=weights,
    )
    return entries.submit_defense(team, given, by=staking.captain(team), policy=staking.policy(now), now=now)[0]


def send(team: Team, data: bytes, now: datetime) -> Attack:
    return attack_receive(team=team, data=data, policy=attacking.POLICY, now=now)


@pytest.fixture
def world(db: None, now: datetime, tmp_path: Path) -> None:
    """What names files: an attack, a copy of it in another file, a photograph, a private one, and a defense."""
    attacking.policy()
    red, blue = attacking.team("red"), attacking.team("blue")
    send(red, attacking.picture(), now)
    send(blue, as_webp(), now)
    import_photograph(now)
    add_private(now)
    hand_in(staking.team("yellow"), tmp_path, now)


def import_photograph(now: datetime, shade: int = 90) -> None:
    provenance, data = {"source": "a garden", "licence": "CC0"}, attacking.picture(shade)
    import_picture(data, size=attacking.SIDE, origin=Origin.DATASET, **provenance, now=now, label_from=None)


def add_private(now: datetime) -> None:
    begun, _ = private_set_begin(note="ours", by=None, now=now)
    private_picture_add(begun, tried.photograph(), label=Label.BIRD, source="1.png", size=SIZE)


def keys() -> set[str]:
    return {file.key for file in picture_store().files()}


def test_nothing_is_unused_in_a_world_that_names_every_file(world: None) -> None:
    found = find_unused_files(before=EVER)
    assert [file.key for file in found.unused] == []
    # two attacks of one picture, a photograph and its file, a private one, and the four files of a defense
    assert (found.named, found.unknown, len(keys())) == (10, 0, 10)


def test_no_column_can_be_left_out(world: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for naming in NAMED_BY:
        monkeypatch.setattr(unused_files, "NAMED_BY", tuple(each for each in NAMED_BY if each is not naming))
        found = find_unused_files(before=EVER)
        assert found.unused or found.unknown, f"a file of the world is named by {naming.model}.{naming.column} alone"


def test_a_withdrawn_attack_keeps_its_file(world: None) -> None:
    """R26."""
    first, copy = Attack.objects.order_by("pk")
    attack_withdraw(attack=first, by=attacking.captain(first.team), now=first.received_at + timedelta(seconds=1))
    assert Image.objects.get(pk=first.image_id).original_sha256 == copy.original_sha256
    assert find_unused_files(before=EVER).unused == []


# The command ----------------------------------------------------------------------------------------------------------


def leave(key: str = LEFT, data: bytes = b"left", *, days: float = 2) -> Path:
    """Leave a file that no row names, written some days ago."""
    store = picture_store()
    assert isinstance(store, FolderStore)
    store.put(key, data)
    return aged(next(store.folder.rglob(key.partition("/")[2])), days)


def aged(path: Path, days: float) -> Path:
    then = (timezone.now() - days * DAY).timestamp()
    os.utime(path, (then, then))
    return path


def run(*options: str) -> str:
    said = StringIO()
    call_command("unused_files", *options, stdout=said)
    return said.getvalue()


def test_what_a_killed_writer_left_is_listed_and_then_removed(world: None, now: datetime) -> None:
    kept = keys()
    with pytest.raises(KeyboardInterrupt), transaction.atomic():  # it dies before the row is committed
        import_photograph(now, shade=200)
        raise KeyboardInterrupt
    left = keys() - kept
    assert len(left) == 2
    assert run("--remove").splitlines()[-1] == "Removed: 0 files (0 bytes) and 0 half-written.", "its writer may live"
    for key in left:
        leave(key)
    listed = run()
    assert all(f"\n{key}  " in f"\n{listed}" for key in left)
    assert "2 of 12 files are named by no row (" in listed
    assert listed.endswith("Nothing was removed: --remove does that.\n") and keys() == kept | left
    assert "Removed: 2 files (" in run("--remove") and keys() == kept
    entry = AuditEntry.objects.get(action="unused_file.remove")
    assert set(entry.private["files"]) == left and entry.origin == "command unused_files"
    assert run("--remove").startswith("0 of 10 files are named by no row (0 bytes).")


STAYS = [
    (original_key(OTHER_SHA), 0.9, "written in the last day"),
    (f"defenses/{SHA}.exe", 9, "a name that no file of a defense has"),
    ("pictures/notes.png", 9, "no hash"),
    (f"pictures/{SHA}0.png", 9, "more than a hash"),
    (f"exports/{SHA}.png", 9, "a kind of file that is not known"),
]


@pytest.mark.django_db
def test_what_may_be_somebody_s_stays() -> None:
    paths = {reason: leave(key, days=days) for key, days, reason in STAYS}
    assert "Removed: 0 files" in run("--remove", "--even-most")
    assert {reason for reason, path in paths.items() if not path.exists()} == set()


@pytest.mark.django_db
def test_half_written_files_go_when_they_are_a_day_old(world: None) -> None:
    folder = leave().parent
    old, new = folder / ".a.part", folder / ".b.part"
    for path, days in ((old, 2), (new, 0)):
        path.write_bytes(b"half")
        aged(path, days)
    assert "Half-written: 1." in run() and old.exists()
    assert run("--remove").endswith("Removed: 1 file (4 bytes) and 1 half-written.\n")
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.django_db
def test_a_store_of_another_database_is_left_alone(now: datetime) -> None:
    paths = [leave(), leave(original_key(OTHER_SHA))]
    import_photograph(now)
    assert run().startswith(f"{LEFT}  4 bytes, written "), "to be listed costs nothing"
    paths.append(leave(picture_key(SHA)))
    assert len(keys()) == 5  # two of the photograph, and three that no row names
    assert "DATABASE_URL and IMAGE_STORE_URL" in refused("mostly_unused", run, "--remove").message
    assert all(path.exists() for path in paths)
    assert "Removed: 3 files" in run("--remove", "--even-most")


@pytest.mark.both("a read-only transaction is another thing on each database")
@pytest.mark.django_db
def test_a_database_that_takes_no_row_is_no_reason_to_remove_a_file(now: datetime) -> None:
    """It may be a copy of the contest's own, whose lock keeps no upload out."""
    path, read_only = leave(), {"sqlite": "PRAGMA query_only = 1", "postgresql": "SET TRANSACTION READ ONLY"}
    found = find_unused_files(before=EVER)
    with connection.cursor() as cursor:
        cursor.execute(read_only[connection.vendor])
    try:
        with pytest.raises(DatabaseError, match="read-?only"):
            remove_unused_files(found.unused, now=now)
    finally:
        if connection.vendor == "sqlite":
            connection.cursor().execute("PRAGMA query_only = 0")
    assert path.exists()


@pytest.mark.django_db
def test_what_was_removed_before_the_store_failed_is_in_the_trail(now: datetime) -> None:
    store, path = picture_store(), leave()
    assert isinstance(store, FolderStore)
    (store.folder / "originals" / "cd" / OTHER_SHA).mkdir(parents=True)  # a file that cannot be removed
    files = [StoredFile(LEFT, 4, now), StoredFile(original_key(OTHER_SHA), 5, now)]
    with pytest.raises(OSError, match=OTHER_SHA):
        remove_unused_files(files, now=now)
    assert not path.exists()
    assert AuditEntry.objects.get().private == {"files": [file.key for file in files], "bytes": 9}


@pytest.mark.django_db
def test_more_files_than_a_batch_are_all_removed(now: datetime) -> None:
    for number in range(121):
        picture_store().put(original_key(f"{number:064x}"), b"x")
    told: list[str] = []
    assert len(remove_unused_files(find_unused_files(before=EVER).unused, now=now, progress=told.append)) == 121
    assert told == ["50 of 121 removed", "100 of 121 removed", "121 of 121 removed"]
    assert keys() == set() and AuditEntry.objects.count() == 3


@pytest.mark.django_db
def test_a_bucket_is_cleaned_as_a_folder_is(
    monkeypatch: pytest.MonkeyPatch, bucket: Any, endpoint: str, now: datetime
) -> None:
    monkeypatch.setattr(settings, "IMAGE_STORE_URL", f"s3://{bucket.name}/contest")
    monkeypatch.setattr(settings, "S3_ENDPOINT_URL", endpoint)
    import_photograph(now)
    kept = keys()
    bucket.put_object(Key=f"elsewhere/{LEFT}", Body=b"another's")
    picture_store().put(LEFT, b"left")
    assert "0 of 3 files are named by no row" in run("--remove"), "it is new"
    found = find_unused_files(before=EVER).unused
    remove_unused_files(found, now=now)
    assert ([file.key for file in found], keys()) == ([LEFT], kept)
    assert {each.key for each in bucket.objects.all()} == {
        f"elsewhere/{LEFT}",
        *(f"contest/{key}" for key in kept),
    }


# Uploads meanwhile ----------------------------------------------------------------------------------------------------


def attack(now: datetime) -> None:
    send(Team.objects.get(name="team red"), as_webp(), now)  # its picture is known, so only its own row names the file


def open_source(folder: Path, now: datetime) -> None:
    entry = DefenseEntry.objects.get(defense__name="closed")
    source, training = staking.zipped(folder / "later.zip"), staking.zipped(folder / "later-train.zip", "fit.py")
    entries.source_open(entry, source, by=staking.captain(entry.team), now=now, training_code=training)


WRITERS: dict[str, Callable[[Path, datetime], object]] = {
    "an attack": lambda folder, now: attack(now),
    "a photograph": lambda folder, now: import_photograph(now),
    "a private picture": lambda folder, now: add_private(now),
    "a team's defense": lambda folder, now: hand_in(Team.objects.get(name="yellow"), folder, now),
    "an organizer's defense": lambda folder, now: submitted_files.submit_files(
        staking.archive(folder / "ours"), name="ours", source=staking.zipped(folder / "ours.zip"), weights=[], now=now
    ),
    "the source of a closed defense": open_source,
}
LOCKS = pytest.mark.both("advisory locks on PostgreSQL, one writer on SQLite")


def in_a_thread(act: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        try:
            act()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def remover(now: datetime) -> threading.Thread:
    """Begin to remove whatever no row names, however new it is."""
    return in_a_thread(lambda: remove_unused_files(find_unused_files(before=EVER).unused, now=now))


@pytest.fixture
def people(transactional_db: None, now: datetime, tmp_path: Path) -> None:
    attacking.policy()
    attacking.team("red")
    send(attacking.team("blue"), attacking.picture(), now)
    hand_in(staking.team("yellow"), tmp_path, now, "closed", closed=True)


@contextmanager
def at_its_transaction(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` each time this thread's connection is about to begin a transaction in which files are stored."""

    locked: list[str] = []

    def wrapper(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        locks = "pg_advisory_xact_lock_shared" in sql
        if sql.startswith("BEGIN") or (locks and not locked):
            act()
        locked.extend([sql] if locks else [])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        yield


def lost() -> set[str]:
    """Return the keys that rows name and the store does not have."""
    named = {
        each.key(found)
        for each in NAMED_BY
        for found in each.model._default_manager.exclude(**{each.column: ""}).values_list(each.column, flat=True)
    }
    return named - keys()


@pytest.mark.parametrize("writer", WRITERS)
def test_files_that_are_removed_before_the_row_is_written_are_put_again(
    writer: str, people: None, tmp_path: Path, now: datetime
) -> None:
    kept = keys()
    with suppress(KeyboardInterrupt), transaction.atomic():  # an earlier try left its files
        WRITERS[writer](tmp_path, now)
        raise KeyboardInterrupt
    assert keys() > kept
    removed: list[bool] = []

    def remove_all() -> None:
        remover(now).join()
        removed.append(keys() == kept)

    with at_its_transaction(remove_all):
        WRITERS[writer](tmp_path, now)
    assert removed and removed[0], "the remover took what no row named"
    assert keys() > kept and lost() == set()


@LOCKS
@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_is_removed_while_a_row_is_being_written(
    writer: str, people: None, tmp_path: Path, now: datetime
) -> None:
    kept = keys()
    removers: list[threading.Thread] = []

    def remove_meanwhile(sender: Any, **_: Any) -> None:
        if sender in {each.model for each in NAMED_BY} and keys() > kept and not removers:
            removers.append(remover(now))
            removers[0].join(timeout=0.3)  # one that nobody keeps out is done by then

    pre_save.connect(remove_meanwhile)
    try:
        WRITERS[writer](tmp_path, now)
    finally:
        pre_save.disconnect(remove_meanwhile)
    for each in removers:
        each.join()
    assert removers and lost() == set()


@LOCKS
def test_who_uploads_while_files_are_removed_waits(people: None, now: datetime) -> None:
    left = original_key(sha256(as_webp()).hexdigest())
    picture_store().put(left, as_webp())
    with removing_files():
        writer = in_a_thread(lambda: attack(now))
        writer.join(timeout=0.3)
        assert writer.is_alive()
        picture_store().remove(left)
    writer.join()
    assert Attack.objects.count() == 2 and picture_store().exists(left) and lost() == set()


@pytest.mark.postgres("waits for an advisory lock; SQLite has one writer")
def test_the_remover_does_not_hold_uploads_up_for_long(people: None) -> None:
    """Somebody stores for minutes: who removes gives up, so that the uploads behind both go on."""
    with storing_files():
        assert at_once(removing_files().__enter__) == ["store_in_use"]
