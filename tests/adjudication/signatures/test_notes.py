"""Signed notes, checkpoints and keys: the specification's example, every wrong form, and nothing else raised."""

import base64
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudication.signatures.checkpoint_log import ForkError, open_checkpoint_log
from adjudication.signatures.checkpoints import Checkpoint, parse_checkpoint
from adjudication.signatures.key_files import (
    KeyFileError,
    make_secret_key,
    read_secret_key,
    read_trusted_keys,
    write_secret_key,
)
from adjudication.signatures.key_history import KeyHistory, follow_keys, parse_keys
from adjudication.signatures.signed_note import (
    MAX_NOTE_BYTES,
    NoteError,
    SecretKey,
    SignatureKind,
    SignedNote,
    cosign_note,
    parse_note,
    parse_secret_key,
    parse_verifier_key,
    sign_note,
)

# The example of https://c2sp.org/signed-note.
VKEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
EXAMPLE = (
    "This is an example message.\n\n\N{EM DASH} example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Zt"
    "g1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n"
).encode()
ORIGIN = "contest.example.org/releases"
KEY, NEXT, WITNESS = (
    SecretKey(ORIGIN, b"k" * 32),
    SecretKey(ORIGIN, b"n" * 32),
    SecretKey("mirror.example.org", b"w" * 32),
)
SEEN = WITNESS.verifier_key(SignatureKind.COSIGNATURE)
CHECKPOINT = Checkpoint(ORIGIN, 7, "ab" * 32, "release-2026-W47-errata-1")


def test_the_example_of_the_specification() -> None:
    note, key = parse_note(EXAMPLE), parse_verifier_key(VKEY)
    assert note.check(key) is not None and note.encode() == EXAMPLE and str(key) == VKEY
    with pytest.raises(NoteError, match="is not over this text"):
        replace(note, text="This is another message.\n").check(key)
    assert note.check(KEY.verifier_key()) is None, "a line of nobody who is known is passed over"


def test_a_checkpoint_is_signed_and_cosigned_and_read_again() -> None:
    text = CHECKPOINT.text()
    head = base64.b64encode(bytes.fromhex("ab" * 32)).decode()
    assert text == f"{ORIGIN}\n7\n{head}\nrelease-2026-W47-errata-1\n"
    note = SignedNote(text, (sign_note(text, KEY),)).with_line(cosign_note(text, WITNESS, at=1_800_000_000))
    read = parse_note(note.encode())
    assert read == note and parse_checkpoint(read.text) == CHECKPOINT
    line = read.check(SEEN)
    assert read.check(KEY.verifier_key()) is not None and line is not None and line.cosigned_at == 1_800_000_000
    late = replace(line, signature=(1_800_000_001).to_bytes(8, "big") + line.signature[8:])
    with pytest.raises(NoteError):
        SignedNote(text, (late,)).check(SEEN)
    plain = replace(sign_note(text, WITNESS), key_id=SEEN.key_id)
    with pytest.raises(NoteError):  # a signature of one kind is none of the other
        SignedNote(text, (plain,)).check(SEEN)


DASH = "\N{EM DASH}"
ONE_LINE = str(sign_note("text\n", KEY))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "nothing"),
        (b"\xff\n\n", "not UTF-8"),
        (b"text\n", "no signature"),
        (b"text\n\n", "no line below the blank one"),
        (f"text\n\n{ONE_LINE}".encode(), "no end of the last line"),
        (f"text\r\n\n{ONE_LINE}\n".encode(), "a control character"),
        (f"text\n{ONE_LINE}\n".encode(), "no blank line"),
        (f"text\n\n- {ORIGIN} AAAAAAA=\n".encode(), "a hyphen"),
        (f"text\n\n{DASH} {ORIGIN} AAAAAAA\n".encode(), "no padding"),
        (f"text\n\n{DASH} {ORIGIN} AAAAAAB=\n".encode(), "a second form of the same bytes"),
        (f"text\n\n{DASH} {ORIGIN} AAAAAA==\n".encode(), "an ID alone"),
        (f"text\n\n{DASH} a+b AAAAAAA=\n".encode(), "a plus in a name"),
        (f"text\n\n{DASH} a\N{NO-BREAK SPACE}b AAAAAAA=\n".encode(), "a space of another kind in a name"),
        (f"text\n\n{DASH} {'n' * 201} AAAAAAA=\n".encode(), "a long name"),
        (f"text\n\n{ONE_LINE}\n\n{ONE_LINE}x\n".encode(), "another line"),
        (f"text\n\n{(ONE_LINE + chr(10)) * 257}".encode(), "too many lines"),
        (b"a" * (MAX_NOTE_BYTES + 1), "too long"),
    ],
)
def test_what_is_no_note_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(NoteError):
        parse_note(data)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n7\n", "\n07\n"),
        lambda text: text.replace("\n7\n", "\n0\n"),
        lambda text: text.replace("\n7\n", "\n\N{ARABIC-INDIC DIGIT SEVEN}\n"),
        lambda text: text.replace("\n7\n", f"\n{10**11}\n"),
        lambda text: text.replace("release-", "../"),
        lambda text: text.replace("q6urq6", "q6ur", 1),
        lambda text: text.replace("q6urq6", "q\N{LATIN SMALL LETTER E WITH ACUTE}", 1),
        lambda text: text.removesuffix("\n"),
        lambda text: text + "more\n",
        lambda text: text.replace(ORIGIN, ""),
    ],
)
def test_what_is_no_checkpoint_is_refused(change: Callable[[str], str]) -> None:
    text = change(CHECKPOINT.text())
    assert text != CHECKPOINT.text()
    with pytest.raises(NoteError):
        parse_checkpoint(text)


WRONG_KEYS = [
    "", "a", "a+b+c", VKEY.replace("530d903a", "530d903b"), VKEY.replace("530d903a", "530D903A"), VKEY[:-4],
    VKEY + "\n", "+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k", f"{'n' * 500}{VKEY}",
    VKEY.replace("+A", "+B"),
    f"a+00000000+{base64.b64encode(bytes([1]) + bytes(32)).decode()}",
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG_KEYS)
def test_what_is_no_key_is_refused(text: str) -> None:
    for parse in (parse_verifier_key, parse_secret_key, lambda each: parse_secret_key(f"PRIVATE+KEY+{each}")):
        with pytest.raises(NoteError):
            parse(text)


ANY = st.one_of(
    st.binary(max_size=300),
    st.text(alphabet=f"{DASH} \n+a1=\x00\ud800\u2028", max_size=60).map(
        lambda text: text.encode("utf-8", "surrogatepass")
    ),
    st.tuples(st.integers(0, len(EXAMPLE) - 1), st.binary(max_size=3)).map(
        lambda cut: EXAMPLE[: cut[0]] + cut[1] + EXAMPLE[cut[0] + 1 :]
    ),
)


@settings(max_examples=200, deadline=None)
@given(data=ANY)
def test_hostile_input_raises_nothing_else(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    for read in (
        lambda: parse_note(data),
        lambda: parse_keys(data),
        lambda: parse_checkpoint(text),
        lambda: parse_verifier_key(text),
        lambda: parse_secret_key("PRIVATE+KEY+" + text),
    ):
        try:
            read()
        except NoteError:
            continue


# Keys ----------------------------------------------------------------------------------------------------------------


def test_a_secret_key_is_its_owners_and_never_written_over(tmp_path: Path) -> None:
    path, key = tmp_path / "folder" / "key", make_secret_key("a.example")
    write_secret_key(path, key)
    assert (read_secret_key(path), stat.S_IMODE(path.stat().st_mode)) == (key, 0o600)
    assert [each.name for each in path.parent.iterdir()] == ["key"]
    assert key.seed.hex() not in repr(key) and base64.b64encode(key.seed).decode() not in repr(key)
    with pytest.raises(KeyFileError, match="is there already"):
        write_secret_key(path, make_secret_key("a.example"))
    path.chmod(0o640)
    with pytest.raises(KeyFileError, match="chmod 600"):
        read_secret_key(path)
    path.chmod(0o600)
    path.write_text(key.text()[:40])
    with pytest.raises(KeyFileError, match="holds no key"):
        read_secret_key(path)


def test_trusted_keys_are_the_contests_and_then_witnesses(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# of the contest\n{KEY.verifier_key()}\n\n{SEEN}\n")
    trusted = read_trusted_keys(path)
    assert (trusted.contest, trusted.witnesses) == (KEY.verifier_key(), (SEEN,))
    for text, why in (
        ("", "first line"), (f"{SEEN}\n", "first line"), (f"{VKEY}\n{VKEY}\n", "first line"), ("x\n", "no key"),
        (KEY.text(), "private key"),
    ):  # fmt: skip
        path.write_text(text)
        with pytest.raises(KeyFileError, match=why):
            read_trusted_keys(path)


HISTORY = KeyHistory().with_key(KEY, since=3, before=None).with_key(NEXT, since=9, before=KEY).with_witness(SEEN)


def test_keys_are_followed_from_the_one_that_is_trusted() -> None:
    assert parse_keys(HISTORY.encode()) == HISTORY
    followed = follow_keys(KEY.verifier_key(), HISTORY)
    signers = [followed.key_for(size) for size in (2, 3, 8, 9, 99)]
    assert signers == [None, *[KEY.verifier_key()] * 2, *[NEXT.verifier_key()] * 2]
    assert follow_keys(NEXT.verifier_key(), HISTORY).key_for(8) is None, "nothing leads back"
    assert follow_keys(KEY.verifier_key(), KeyHistory()).key_for(1) == KEY.verifier_key()


def test_a_statement_that_the_key_before_it_did_not_sign_is_found() -> None:
    first, second = HISTORY.statements
    alone = KeyHistory().with_key(NEXT, since=9, before=None).statements[0]
    swapped = KeyHistory().with_key(NEXT, since=2, before=KEY).statements[0]
    for statements, why in (
        ((first, alone), "is not signed by"),
        ((first, replace(second, note=replace(second.note, text=swapped.note.text))), "is not over this text"),
        ((first, swapped), "from an earlier release"),
    ):
        with pytest.raises(NoteError, match=why):
            follow_keys(KEY.verifier_key(), KeyHistory(statements))


# What was signed -----------------------------------------------------------------------------------------------------


def test_no_key_signs_two_releases_in_one_place(tmp_path: Path) -> None:
    key, other = tmp_path / "key", replace(CHECKPOINT, sha256="cd" * 32)
    with open_checkpoint_log(key) as log:
        log.add_contest(KEY.verifier_key())
        log.add(CHECKPOINT)
        log.add(CHECKPOINT)
    kept = (tmp_path / "key.signed").read_bytes()
    assert kept.count(b"\n") == 2
    with open_checkpoint_log(key) as log:
        assert (log.contest(ORIGIN), log.latest(ORIGIN), log.latest("other")) == (KEY.verifier_key(), CHECKPOINT, None)
        with pytest.raises(ForkError, match="fork: release number 7"):
            log.add(other)
        log.add(replace(other, size=8))
        log.add(replace(other, origin="another.example"))


def test_a_half_written_line_counts_for_nothing_and_a_damaged_one_stops(tmp_path: Path) -> None:
    key, path = tmp_path / "key", tmp_path / "key.signed"
    with open_checkpoint_log(key) as log:
        log.add(CHECKPOINT)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:30])
    with open_checkpoint_log(key) as log:
        assert path.read_bytes() == whole
        log.add(replace(CHECKPOINT, size=8))
    path.write_bytes(b"checkpoint nonsense\n" + whole)
    with pytest.raises(KeyFileError, match="line 1"), open_checkpoint_log(key):
        pass
