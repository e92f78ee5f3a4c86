"""Releases are signed once they are published, witnessed by mirrors, and checked by strangers (R39)."""

import json
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.utils import timezone

from adjudication import mirror, verify, witness
from adjudication.signatures.checking import read_signature
from adjudication.signatures.key_files import read_secret_key
from adjudication.signatures.key_history import read_keys
from adjudication.signatures.mirroring import keep_signature
from adjudication.signatures.signed_note import (
    MAX_NOTE_BYTES,
    SecretKey,
    SignatureKind,
    SignedNote,
    cosign_note,
    parse_note,
)
from common.errors import InvalidInput
from common.models import AuditEntry
from contest.core.models import Release
from contest.record.rebuild.services import rebuild
from contest.releases import signatures
from contest.releases.keys import make_key, rotate_key
from contest.releases.services import ReleaseResult, release_copy, release_week
from contest.releases.workplace import only_worker_in
from tests import tables
from tests.contest.pages import lacking, words
from tests.contest.record import cast
from tests.contest.record.cast import ERRATA, FIRST, NOW, SECOND
from tests.processes import ROOT
from tests.refusals import refused

pytestmark = pytest.mark.django_db
WITNESS = SecretKey("mirror.example.org", b"w" * 32)
SEEN = WITNESS.verifier_key(SignatureKind.COSIGNATURE)
SIG = "manifest.sig"


@pytest.fixture
def out(parts: list[ReleaseResult], settings: Any) -> Path:
    """The folder of two weeks and errata of the first, published before there was a key."""
    return Path(settings.RELEASE_DIR)


@pytest.fixture
def keyed(out: Path) -> Path:
    """The same with a key that signs all three: it was made before them, and they are not signed yet."""
    releases = list(Release.objects.order_by("pk"))
    Release.objects.all().delete()
    make_key(folder=out, now=NOW, name="contest.example.org/releases")
    Release.objects.bulk_create(releases)
    return out


@pytest.fixture
def signed(keyed: Path) -> Path:
    assert signatures.sign_left_releases() == 3
    return keyed


@pytest.fixture
def key(signed: Path, tmp_path: Path) -> Path:
    """The contest's public key, as a stranger keeps it."""
    path = tmp_path / "contest.key"
    path.write_text(run_key("show"))
    return path


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The secret key of a witness."""
    path = tmp_path / "witness.key"
    path.write_text(WITNESS.text())
    path.chmod(0o600)
    return path


@pytest.fixture
def url(signed: Path) -> Iterator[str]:
    with cast.served() as address:
        yield address


@pytest.fixture
def organizer(olga: User, signed_in: Any) -> Client:
    client: Client = signed_in(olga)
    return client


def run_key(*words: str, **options: Any) -> str:
    said = StringIO()
    call_command("release_key", *words, stdout=said, **options)
    return said.getvalue()


def checked(capsys: Any, *words: object) -> tuple[int, str]:
    status, told = verify.main([str(word) for word in words]), capsys.readouterr()
    return status, told.out + told.err


def witnessed(capsys: Any, *words: object) -> tuple[int, str]:
    status, told = witness.main([str(word) for word in words]), capsys.readouterr()
    return status, told.out + told.err


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Signing -------------------------------------------------------------------------------------------------------------


def test_what_was_published_before_the_key_stays_unsigned_and_what_comes_is_signed(out: Path, capsys: Any) -> None:
    before = files(out)
    make_key(folder=out, now=NOW)
    assert signatures.sign_left_releases() == 0 and files(out).keys() - before.keys() == {"keys.json"}
    assert checked(capsys, out / FIRST)[1].count("signature: unsigned") == 1
    assert Release.objects.count() == 3 and read_keys(out).statements[0].since == 4


def test_each_release_is_signed_in_its_place_and_no_published_byte_changes(keyed: Path, capsys: Any) -> None:
    before = files(keyed)
    assert (signatures.sign_left_releases(), signatures.sign_left_releases()) == (3, 0)
    after = files(keyed)
    assert after.keys() - before.keys() == {f"{name}/{SIG}" for name in (FIRST, SECOND, ERRATA)}
    assert after.items() >= before.items(), "folders and zips are what they were"
    texts = [after[f"{name}/{SIG}"].decode() for name in (FIRST, SECOND, ERRATA)]
    assert [text.split("\n")[1] for text in texts] == ["1", "2", "3"]
    assert all(text.startswith("contest.example.org/releases\n") for text in texts)
    for name in (FIRST, SECOND, ERRATA):
        (keyed / name / SIG).unlink()
    assert signatures.sign_left_releases() == 3 and files(keyed) == after, "the same bytes again"


def test_the_process_that_publishes_signs(keyed: Path) -> None:
    Release.objects.filter(week="2026-W47", part=1).delete()
    shutil.rmtree(keyed / ERRATA)
    made = release_week(cast.W47, out=keyed, now=NOW, incomplete=True)
    assert made.new and [read_signature(keyed / name) is not None for name in (FIRST, SECOND, ERRATA)] == [True] * 3


def test_killed_between_publishing_and_signing(keyed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not signed yet, the next sweep signs; a file that is half there is written over."""

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("contest.releases.signatures.write_whole", killed)
        signatures.sign_left_releases()
    (keyed / f".{SIG}.partial").write_bytes(b"half")
    (keyed / SECOND / SIG).write_bytes(b"half")
    assert signatures.sign_left_releases() == 3 and not list(keyed.glob(".*.partial"))


def test_a_key_that_cannot_sign_holds_nothing_up_and_is_told(keyed: Path, settings: Any, organizer: Client) -> None:
    settings.RELEASE_KEY_FILE.chmod(0o644)
    assert signatures.sign_left_releases() == 0
    assert lacking(run_key("show"), "# cannot sign now", "chmod 600", f"# not signed yet: {FIRST}, {SECOND}") == []
    with pytest.raises(CommandError, match="has to sign"):
        run_key("rotate")
    assert lacking(words(organizer, "/organizer/releases/"), "not signed", FIRST, "release_key show") == []
    assert "3 releases are not signed" in words(organizer, "/organizer/")
    settings.RELEASE_KEY_FILE.unlink()
    assert (signatures.sign_left_releases(), "put it back" in run_key("show")) == (0, True)
    (keyed / "keys.json").write_text("{")
    assert lacking(words(organizer, "/organizer/releases/"), "cannot sign", "keys.json cannot be read") == []


def test_organizers_read_whether_releases_are_signed(out: Path, organizer: Client) -> None:
    assert lacking(words(organizer, "/organizer/releases/"), "unsigned There is no key", "release_key new") == []
    make_key(folder=out, now=NOW)
    assert "Every release from number 4 of the chain on is signed." in words(organizer, "/organizer/releases/")


def test_no_second_release_is_signed_in_one_place(signed: Path) -> None:
    """A database from a backup publishes another release where one is signed already: the key does not sign it."""
    (signed / SECOND / SIG).unlink()
    Release.objects.filter(week="2026-W48").update(manifest_sha256="0" * 64)
    assert signatures.sign_left_releases() == 0 and not (signed / SECOND / SIG).exists()


def test_publishing_again_keeps_the_lines_of_witnesses(signed: Path) -> None:
    """Also where the folder was damaged and is restored, and in a copy."""
    add_witness(signed, ERRATA)
    cosigned = (signed / ERRATA / SIG).read_bytes()
    copies = [signed / "copies", signed / "copies"]
    for damage in (False, True):
        if damage:
            (signed / ERRATA / "breaks.csv").write_text("")
        again = release_week(cast.W47, out=signed, now=NOW, incomplete=True)
        assert not again.new and (signed / ERRATA / SIG).read_bytes() == cosigned
        for out in copies:
            copied = release_copy(again, out)
            assert (copied.folder / SIG).read_bytes() == cosigned
            assert read_keys(out) == read_keys(signed), "whoever trusts the first key follows it here as well"
            (copied.folder / SIG).write_bytes(cosigned[: cosigned.rindex(b"\xe2\x80\x94")])  # as before the witness
    assert read_signature(signed / ".aside") is None


# Keys ----------------------------------------------------------------------------------------------------------------


def test_the_command_makes_a_key_once_and_shows_it(out: Path, settings: Any, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no key"):
        run_key("show")
    settings.PUBLIC_URL = "https://contest.example.org"
    said = run_key("new")
    vkey, *_ = said.splitlines()
    assert vkey.startswith("contest.example.org/releases+") and said == run_key("show")
    assert stat.S_IMODE(settings.RELEASE_KEY_FILE.stat().st_mode) == 0o600
    assert str(read_secret_key(settings.RELEASE_KEY_FILE).verifier_key()) == vkey
    refused("key_exists", make_key, folder=out, now=NOW)
    (out / "keys.json").unlink()  # killed after the secret was written
    assert run_key("new").splitlines()[0] == vkey, "no second key is made"
    assert [each.public for each in AuditEntry.objects.filter(action="release_key.make")] == [{"key": vkey}] * 2
    (out / "keys.json").write_text("{")
    refused("keys_damaged", make_key, folder=out, now=NOW)


def test_a_name_that_no_key_can_have_is_refused(out: Path, settings: Any) -> None:
    refused("invalid", make_key, folder=out, now=NOW, name="two words")
    assert not settings.RELEASE_KEY_FILE.exists()


def test_two_processes_do_not_make_keys_at_once(out: Path) -> None:
    with only_worker_in(out):
        refused("release_running", make_key, folder=out, now=NOW)


@pytest.mark.parametrize("killed_at", ["", "write_public_keys", "os.replace"])
def test_a_rotation_is_finished_by_the_next_run(
    killed_at: str, key: Path, signed: Path, settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    old = read_secret_key(settings.RELEASE_KEY_FILE)
    if killed_at:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(f"contest.releases.keys.{killed_at}", killed)
            rotate_key(folder=signed, now=NOW)
    rotate_key(folder=signed, now=NOW)
    first, second = read_keys(signed).statements
    assert (first.key, second.since) == (old.verifier_key(), 4)
    assert read_secret_key(settings.RELEASE_KEY_FILE).verifier_key() == second.key
    assert [path.name for path in settings.RELEASE_KEY_FILE.parent.glob("release-key*")].count("release-key.next") == 0
    assert run_key("show").startswith(f"{second.key}\n")
    assert checked(capsys, signed / ERRATA, "--key", key)[0] == verify.NOTHING_DIFFERS


# Checking ------------------------------------------------------------------------------------------------------------


def test_a_stranger_checks_with_the_key_and_python_alone(signed: Path, key: Path) -> None:
    command = [sys.executable, "-S", "-m", "adjudication.verify", str(signed / SECOND), "--key", str(key)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert lacking(done.stdout, "signature: contest.example.org/releases+", "signs release number 2 of the chain") == []


def as_zip(signed: Path, folder: Path) -> Path:
    """The zip of the second release, with what lies beside a download of it: its signature and the contest's keys."""
    folder.mkdir()
    zipped = folder / f"{SECOND}.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        for path in (signed / SECOND).rglob("*"):
            if path.is_file() and path.name != SIG:
                archive.write(path, path.relative_to(signed))
    shutil.copy(signed / SECOND / SIG, zipped.with_suffix(".sig"))
    shutil.copy(signed / "keys.json", folder)
    return zipped


def as_in_a_mirror(zipped: Path) -> None:
    folder = zipped.with_suffix("")
    folder.mkdir()
    shutil.move(zipped.with_suffix(".sig"), folder / SIG)


@tables.cases(
    "change status words why",
    (lambda zipped: None, 0, "signs release number 2 of the chain", "as it was downloaded"),
    (lambda zipped: zipped.with_suffix(".sig").unlink(), 1, "recorded unsigned", "its signature was not downloaded"),
    (as_in_a_mirror, 0, "signs release number 2 of the chain", "as it lies in a mirror"),
    (lambda zipped: zipped.with_suffix(".sig").write_bytes(b"x"), 1, "manifest.sig: checkpoint: recorded", "no note"),
    (lambda zipped: zipped.with_suffix(".sig").write_bytes(b"x" * (MAX_NOTE_BYTES + 1)), 2, f"{SECOND}.sig:",
     "longer than anybody reads"),
    (lambda zipped: (zipped.parent / "keys.json").write_bytes(b"{"), 1, "manifest.sig: checkpoint: recorded keys.json",
     "keys that cannot be read"),
)  # fmt: skip
def test_a_zip_is_checked_with_the_signature_and_the_keys_beside_it(
    change: Any, status: int, words: str, why: str, signed: Path, key: Path, tmp_path: Path, capsys: Any
) -> None:
    zipped = as_zip(signed, tmp_path / "downloads")
    change(zipped)
    found, said = checked(capsys, zipped, "--key", key)
    assert (found, words in said) == (status, True), (why, said)


def test_without_a_key_a_signature_is_said_to_be_unchecked(signed: Path, capsys: Any) -> None:
    status, said = checked(capsys, signed / SECOND)
    assert status == 0 and "signature: not checked" in said


def test_an_unsigned_release_is_covered_by_a_later_signature_or_differs(signed: Path, key: Path, capsys: Any) -> None:
    (signed / FIRST / SIG).unlink()
    (signed / SECOND / SIG).unlink()
    assert checked(capsys, signed / FIRST, "--key", key)[0] == 0
    assert "unsigned, and covered by the signature of" in checked(capsys, signed / FIRST, "--key", key)[1]
    shutil.move(signed / SECOND, signed.parent / SECOND)
    status, said = checked(capsys, signed / FIRST, "--key", key)
    assert status == 1 and "manifest.sig: signature: recorded unsigned" in said
    (signed / ERRATA / SIG).write_bytes(b"damaged")
    shutil.move(signed.parent / SECOND, signed / SECOND)
    assert "manifest.sig: signature: recorded unsigned" in checked(capsys, signed / FIRST, "--key", key)[1]


def change_place(note: SignedNote, secret: SecretKey) -> bytes:
    text = note.text.replace("\n2\n", "\n3\n")
    return SignedNote(text, (signatures.sign_note(text, secret),)).encode()


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (lambda note, secret: b"", "an empty file"),
        (lambda note, secret: b"\xff" * 100, "no text"),
        (lambda note, secret: b"a" * (MAX_NOTE_BYTES + 1), "longer than anybody reads"),
        (lambda note, secret: note.encode().replace(b"W48", b"W47"), "another release"),
        (change_place, "another place in the chain, truly signed"),
        (lambda note, secret: note.encode().replace(b"\n2\n", b"\n1\n"), "the first place"),
        (lambda note, secret: note.encode()[:-20] + b"A" * 18 + note.encode()[-2:], "another signature"),
        (lambda note, secret: note.encode().replace(b" contest.", b" other."), "a line of a stranger alone"),
    ],
)
def test_a_signature_of_something_else_differs(
    forge: Any, why: str, signed: Path, key: Path, settings: Any, capsys: Any
) -> None:
    note = read_signature(signed / SECOND)
    assert note is not None
    (signed / ERRATA / SIG).unlink()  # it would cover what has no line of the contest
    (signed / SECOND / SIG).write_bytes(forge(note, read_secret_key(settings.RELEASE_KEY_FILE)))
    status, said = checked(capsys, signed / SECOND, "--key", key, "--quiet")
    assert status == 1 and "manifest.sig" in said, why


def test_a_link_in_its_place_is_not_followed(signed: Path, key: Path, capsys: Any) -> None:
    path = signed / SECOND / SIG
    path.rename(signed / "elsewhere")
    path.symlink_to(signed / "elsewhere")
    assert checked(capsys, signed / SECOND, "--key", key)[0] == 1


def test_a_file_without_keys_is_told(signed: Path, tmp_path: Path, settings: Any, capsys: Any) -> None:
    for path, said in ((tmp_path / "none", "no such file"), (settings.RELEASE_KEY_FILE, "private key")):
        status, words = checked(capsys, signed / FIRST, "--key", path)
        assert status == verify.NO_RELEASE and said in words


@pytest.mark.parametrize("same", ["name", "predecessor", "beginning"])
def test_a_fork_is_said_plainly(same: str, signed: Path, capsys: Any) -> None:
    twin = signed / "twin"
    shutil.copytree(signed / (FIRST if same == "beginning" else SECOND), twin)
    assert checked(capsys, signed / SECOND)[0] == 0, "a copy is no fork"
    values = json.loads((twin / "manifest.json").read_text())
    values |= {"waiting": {}} if same == "name" else {"name": "release-2026-W49", "week": "2026-W49"}
    (twin / "manifest.json").write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n")
    status, said = checked(capsys, signed / (FIRST if same == "beginning" else SECOND))
    assert status == 1 and "manifest.json: fork: recorded" in said


# Mirrors and witnesses -----------------------------------------------------------------------------------------------


def add_witness(folder: Path, name: str, *, at: int = 1_800_000_000) -> tuple[Release, list[str]]:
    note = read_signature(folder / name)
    assert note is not None
    data = note.with_line(cosign_note(note.text, WITNESS, at=at)).encode()
    return signatures.add_witnesses(data, folder=folder, now=NOW, vkey=str(SEEN))


def test_a_mirror_fetches_signatures_and_keeps_its_own(
    url: str, signed: Path, key: Path, own: Path, tmp_path: Path, capsys: Any
) -> None:
    here = tmp_path / "mirror"
    (signed / FIRST / SIG).unlink()  # unsigned, and no error
    assert mirror.main([url, str(here), "--key", str(key), "--quiet"]) == mirror.NOTHING_DIFFERS
    assert (read_keys(here), read_signature(here / FIRST)) == (read_keys(signed), None)
    assert witnessed(capsys, here, "--key", own)[0] == witness.ALL_SIGNED
    kept = read_signature(here / SECOND)
    assert kept is not None and kept.check(SEEN) is not None
    assert mirror.main([url, str(here), "--key", str(key)]) == mirror.NOTHING_DIFFERS
    assert read_signature(here / SECOND) == kept, "its own line stays"
    add_witness(signed, ERRATA)
    mirror.main([url, str(here)])
    lines = read_signature(here / ERRATA)
    assert lines is not None and len(lines.lines) == 3, "lines of both"


def test_a_mirror_finds_two_checkpoints_of_one_release(
    url: str, signed: Path, tmp_path: Path, settings: Any, capsys: Any
) -> None:
    here = tmp_path / "mirror"
    assert mirror.main([url, str(here)]) == mirror.NOTHING_DIFFERS
    note, secret = read_signature(here / SECOND), read_secret_key(settings.RELEASE_KEY_FILE)
    assert note is not None
    (here / SECOND / SIG).write_bytes(change_place(note, secret))
    capsys.readouterr()
    assert mirror.main([url, str(here)]) == mirror.DIFFERENT
    assert f"{SECOND}: manifest.sig: fork: two checkpoints of one release" in capsys.readouterr().out
    (signed / "keys.json").write_bytes(type(read_keys(signed))().with_key(WITNESS, since=1, before=None).encode())
    mirror.main([url, str(here)])
    assert "keys.json: a statement that was published before is missing" in capsys.readouterr().out


@tables.cases(
    "forge said why",
    (lambda note: note.encode().replace(SECOND.encode(), FIRST.encode()), "a checkpoint of release-2026-W47",
     "of another release"),
    (lambda note: cosigned(note, by=SecretKey("mirror.example.org", b"x" * 32), like=SEEN), "is not over this text",
     "with a line in the name of a witness"),
    (lambda note: note.encode()[:-20] + b"A" * 18 + note.encode()[-2:], "is not over this text", "not by the contest"),
)  # fmt: skip
def test_a_mirror_keeps_no_signature_that_is_wrong(forge: Any, said: str, why: str, signed: Path) -> None:
    add_witness(signed, FIRST)  # from here on `keys.json` names the witness
    genuine = (signed / SECOND / SIG).read_bytes()
    (signed / SECOND / SIG).unlink()
    note = parse_note(genuine)
    (told,) = keep_signature(signed / SECOND, forge(note))
    assert (said in told, (signed / SECOND / SIG).exists()) == (True, False), why
    assert not list(keep_signature(signed / SECOND, genuine)) and read_signature(signed / SECOND) == note


def test_a_witness_passes_over_what_a_killed_mirror_left(signed: Path, own: Path, capsys: Any) -> None:
    partial = signed / f".{SECOND}.partial"
    partial.mkdir()
    (partial / "manifest.json").write_text("{")
    status, said = witnessed(capsys, signed, "--key", own)
    assert status == 0 and f"{ERRATA}: signed as mirror.example.org" in said


def test_a_link_to_a_mirror_is_followed(signed: Path, own: Path, key: Path, tmp_path: Path, capsys: Any) -> None:
    link = tmp_path / "link"
    link.symlink_to(signed)
    assert witnessed(capsys, link, "--key", own)[0] == witness.ALL_SIGNED
    release = tmp_path / "release"
    release.symlink_to(signed / SECOND)
    assert checked(capsys, release, "--key", key)[0] == verify.NOTHING_DIFFERS


def test_a_witness_needs_python_alone(signed: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-S", "-m", "adjudication.witness"]
    key = tmp_path / "own.key"
    made = subprocess.run([*command, "--new", "a.example", "--key", key], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0 and made.stdout.splitlines()[1].startswith("a.example+")
    done = subprocess.run([*command, signed / FIRST, "--key", key], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and f"{FIRST}: signed as a.example" in done.stdout
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_a_witness_signs_each_place_once_and_only_what_goes_on(signed: Path, own: Path, capsys: Any) -> None:
    assert witnessed(capsys, signed / FIRST, "--key", own)[0] == 0
    before = (signed / FIRST / SIG).read_bytes()
    status, said = witnessed(capsys, signed / FIRST, "--key", own)
    assert (status, (signed / FIRST / SIG).read_bytes()) == (0, before) and "was signed before" in said
    shutil.move(signed / SECOND, signed.parent / "kept")
    status, said = witnessed(capsys, signed / ERRATA, "--key", own)
    assert status == witness.REFUSED and "are not here: mirror them first" in said
    shutil.move(signed.parent / "kept", signed / SECOND)
    status, said = witnessed(capsys, signed, "--key", own)
    assert status == 0 and f"{ERRATA}: signed as mirror.example.org" in said
    (signed / SECOND / SIG).write_bytes((signed / SECOND / SIG).read_bytes().rsplit("\N{EM DASH}".encode(), 1)[0])
    status, said = witnessed(capsys, signed / SECOND, "--key", own)
    assert status == witness.REFUSED and "is older than" in said
    assert witnessed(capsys, signed, "--key", own)[0] == 0, "the newer signature commits to it"


def test_a_witness_does_not_sign_a_fork(signed: Path, own: Path, settings: Any, tmp_path: Path, capsys: Any) -> None:
    """The contest shows another first release, truly signed with its key, to who has seen one already."""
    assert witnessed(capsys, signed / FIRST, "--key", own)[0] == 0
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(signed / "keys.json", other)
    shutil.copytree(signed / FIRST, other / FIRST)
    manifest = other / FIRST / "manifest.json"
    values = json.loads(manifest.read_text())
    values["policy_reason"] = dict.fromkeys(values["policy_reason"], "another past")
    manifest.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n")
    secret, head = read_secret_key(settings.RELEASE_KEY_FILE), verify.read_manifest(other / FIRST)
    text = witness.Checkpoint(secret.name, 1, head.sha256, FIRST).text()
    (other / FIRST / SIG).write_bytes(SignedNote(text, (signatures.sign_note(text, secret),)).encode())
    status, said = witnessed(capsys, other / FIRST, "--key", own)
    assert status == witness.REFUSED and said.startswith("fork: release number 1 of contest.example.org/releases")
    assert (other / FIRST / SIG).read_bytes().count("\N{EM DASH}".encode()) == 1


def test_a_witness_does_not_sign_what_differs_or_is_unsigned(signed: Path, own: Path, capsys: Any) -> None:
    (signed / FIRST / "breaks.csv").write_text("")
    status, said = witnessed(capsys, signed / FIRST, "--key", own)
    assert status == witness.REFUSED and lacking(said, "breaks.csv", "differences found") == []
    (signed / SECOND / SIG).unlink()
    assert lacking(witnessed(capsys, signed / SECOND, "--key", own)[1], "unsigned: the contest signs first") == []
    assert witnessed(capsys, signed.parent / "nothing", "--key", own)[0] == witness.NOTHING_TO_SIGN
    assert witnessed(capsys, signed, "--key", signed / "none")[0] == witness.NOTHING_TO_SIGN


def test_a_witness_stays_with_the_contests_key_it_began_with(
    signed: Path, key: Path, own: Path, tmp_path: Path, capsys: Any
) -> None:
    status, said = witnessed(capsys, signed / FIRST, "--key", own)
    assert status == 0 and "it is trusted from now on" in said
    other = SecretKey("contest.example.org/releases", b"o" * 32)
    (signed / "keys.json").write_bytes(type(read_keys(signed))().with_key(other, since=1, before=None).encode())
    text = (signed / SECOND / SIG).read_text().partition("\n\n")[0] + "\n"
    (signed / SECOND / SIG).write_bytes(SignedNote(text, (signatures.sign_note(text, other),)).encode())
    status, said = witnessed(capsys, signed / SECOND, "--key", own)
    assert status == witness.REFUSED and "is not signed by contest.example.org/releases+" in said
    assert witnessed(capsys, signed / SECOND, "--key", own, "--contest", key)[0] == witness.REFUSED


def test_the_contest_adds_a_witness_after_checking_it(signed: Path, tmp_path: Path, capsys: Any, key: Path) -> None:
    note = read_signature(signed / FIRST)
    assert note is not None
    sent = tmp_path / "sent.sig"
    sent.write_bytes(note.with_line(cosign_note(note.text, WITNESS, at=1_800_000_000)).encode())
    with pytest.raises(InvalidInput, match="no line is of a witness that is known"):
        run_key("witness", str(sent))
    assert f"{FIRST}: added mirror.example.org+" in run_key("witness", str(sent), vkey=str(SEEN))
    assert "nothing is new" in run_key("witness", str(sent))
    kept = read_signature(signed / FIRST)
    assert kept is not None and kept.lines[0] == note.lines[0] and kept.check(SEEN) is not None
    assert read_keys(signed).witnesses == (SEEN,)
    key.write_text(f"{key.read_text()}{SEEN}\n")
    assert "witness: mirror.example.org+" in checked(capsys, signed / FIRST, "--key", key)[1]
    assert AuditEntry.objects.get(action="release_key.witness").subject == {"release": [FIRST]}


@pytest.mark.parametrize(
    ("data", "vkey", "said"),
    [
        (lambda note: b"nonsense", str(SEEN), "signature lines"),
        (lambda note: cosigned(note, text=note.text.replace("\n1\n", "\n2\n")), str(SEEN), "fork"),
        (lambda note: cosigned(note, by=SecretKey("mirror.example.org", b"x" * 32), like=SEEN), str(SEEN), "not over"),
        (lambda note: cosigned(note), str(WITNESS.verifier_key()), "is not the key of a witness"),
        (lambda note: cosigned(note), "nonsense", "no key of the form"),
        (lambda note: note.encode(), str(SEEN), "no line is of a witness"),
        (lambda note: cosigned(note, at=1_800_000_000_000), str(SEEN), "at a time that no calendar has"),
    ],
)
def test_what_no_witness_signed_is_not_added(data: Any, vkey: str, said: str, signed: Path) -> None:
    note, before = read_signature(signed / FIRST), files(signed)
    with pytest.raises(InvalidInput, match=said):
        signatures.add_witnesses(data(note), folder=signed, now=NOW, vkey=vkey)
    assert files(signed) == before


def cosigned(note: SignedNote, *, text: str = "", by: SecretKey = WITNESS, like: Any = None, at: int = 1) -> bytes:
    text = text or note.text
    line = cosign_note(text, by, at=at)
    if like is not None:
        line = type(line)(line.name, like.key_id, line.signature)
    return SignedNote(text, (*note.lines, line)).encode()


# Pages ---------------------------------------------------------------------------------------------------------------


def test_a_stranger_reads_that_nothing_is_signed(out: Path, client: Client) -> None:
    assert "There is no key, and every release is unsigned." in words(client, "/releases/keys/")
    assert lacking(words(client, f"/releases/{FIRST}/"), "Signature unsigned") == []
    for address in ("/releases/keys.json", f"/releases/{FIRST}/{SIG}"):
        assert client.get(address).status_code == 404
    assert [row["signature"] for row in client.get("/api/v1/releases/").json()["releases"]] == ["", "", ""]


def test_a_stranger_reads_keys_signatures_witnesses_and_the_newest_checkpoint(signed: Path, client: Client) -> None:
    add_witness(signed, SECOND)
    rotate_key(folder=signed, now=NOW)
    said, (first, second) = words(client, "/releases/keys/"), read_keys(signed).statements
    note = (signed / ERRATA / SIG).read_text()
    shown = (str(first.key), str(second.key), str(SEEN), *note.split("\n"), "from release number 4", "none")
    assert lacking(said, *shown) == []
    assert "15 Jan 2027" in said, "when the witness signed"
    sent = client.get(f"/releases/{SECOND}/{SIG}")
    assert (sent.content, sent["Content-Type"]) == ((signed / SECOND / SIG).read_bytes(), "text/plain; charset=utf-8")
    assert "no-cache" in sent["Cache-Control"], "a witness may add a line"
    assert client.get("/releases/keys.json").content == (signed / "keys.json").read_bytes()
    assert lacking(words(client, f"/releases/{SECOND}/"), "signs it as number 2 of the chain", "with 1 witness.") == []
    rows = client.get("/api/v1/releases/").json()["releases"]
    assert all(row["signature"].endswith(f"/releases/{row['name']}/{SIG}") for row in rows)


def test_a_file_in_its_place_that_is_no_signature_is_not_sent(signed: Path, client: Client) -> None:
    (signed / SECOND / SIG).write_text("<script>\n\n")
    assert client.get(f"/releases/{SECOND}/{SIG}").status_code == 404
    assert words(client, "/releases/keys/").count("unsigned") == 1


def test_a_copy_of_the_record_shows_the_same_signatures(
    parts: list[ReleaseResult], signed: Path, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    add_witness(signed, SECOND)
    addresses = ("/releases/keys/", "/releases/keys.json", f"/releases/{SECOND}/{SIG}")
    made, before = cast.mirror_of(tmp_path / "mirror", parts), [cast.shown(each) for each in addresses]
    shutil.copy(signed / "keys.json", made)
    cast.empty_database()
    copy = cast.elsewhere(settings, tmp_path / "copy")
    rebuild(made)
    assert [cast.shown(each) for each in addresses] == before
    assert read_keys(copy) == read_keys(made), "and no secret: what is published there is unsigned"
    assert signatures.sign_left_releases() == 0
