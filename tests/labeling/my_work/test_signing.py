"""The signed file: it can be checked with the public key alone, and nothing in it can be changed unnoticed."""

import base64
import hashlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from labeling.my_work.check import GENUINE, NOT_GENUINE, UNREADABLE, main
from labeling.my_work.signing import NotGenuine, check, key_from, key_id_of, key_set, keys_of, public_bytes, signed

KEY, OLDER, FOREIGN = (key_from(secret) for secret in ("secret", "an older secret", "somebody else's secret"))
KEYS = keys_of(key_set([KEY, OLDER]))
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
    return b"".join(signed(lines, KEY))


def checked(content: bytes, keys: dict[str, bytes] = KEYS) -> str:
    return check(io.BytesIO(content), keys).key_id


def test_a_file_is_json_and_genuine_also_after_its_key_was_replaced() -> None:
    assert json.loads(file())["count"] == 2
    for key in (KEY, OLDER):
        assert checked(b"".join(signed(LINES, key))) == key_id_of(public_bytes(key))
    assert public_bytes(key_from("secret")) == public_bytes(KEY)
    assert len({public_bytes(key) for key in (KEY, OLDER, FOREIGN)}) == 3


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
    "signed by a foreign key": b"".join(signed(LINES, FOREIGN)),
    "signed by a foreign key under a known name": _other_signature(
        b"".join(signed(LINES, FOREIGN)), "key_id", key_id_of(public_bytes(KEY))
    ),
    "another digest": _other_signature(file(), "sha256", "0" * 64),
    "a signature of something else": _other_signature(file(), "value", base64.b64encode(b"x" * 64).decode()),
    "a signature that is no Base64": _other_signature(file(), "value", "???"),
    "a field more": _other_signature(file(), "note", "trust me"),
}


@pytest.mark.parametrize("content", TAMPERED.values(), ids=TAMPERED.keys())
def test_whatever_was_changed_is_noticed(content: bytes) -> None:
    with pytest.raises(NotGenuine):
        checked(content)


def test_every_single_bit_counts() -> None:
    content = file(LINES[:2] + [b'"count": 0,\n'])
    for at in range(len(content) - 3):
        changed = bytearray(content)
        changed[at] ^= 1
        with pytest.raises(NotGenuine):
            checked(bytes(changed))


@pytest.mark.parametrize("keys", [{}, {"keys": 7}, {"keys": [{"crv": "Ed25519"}]}, []])
def test_what_is_no_set_of_keys_is_refused(keys: object) -> None:
    with pytest.raises(ValueError):
        keys_of(keys)  # type: ignore[arg-type]


# The command.


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(key_set([KEY])))
    return path


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (file(), GENUINE, "Genuine: 2 answers of T-7Q4M2, as of 2026-11-20T23:59:00Z"),
        (TAMPERED["another tasker"], NOT_GENUINE, "NOT GENUINE. The file was changed after it was signed"),
    ],
    ids=["genuine", "tampered with"],
)
def test_the_command_says_what_is_wrong(
    content: bytes, status: int, words: str, tmp_path: Path, keys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work.json").write_bytes(content)
    assert main([str(tmp_path / "work.json"), "--keys", str(keys)]) == status
    assert words in capsys.readouterr().out
    for files in (tmp_path / "nothing.json", keys), (keys, tmp_path / "work.json"):
        assert main([str(files[0]), "--keys", str(files[1])]) == UNREADABLE


def test_the_command_needs_no_django(tmp_path: Path, keys: Path) -> None:
    (tmp_path / "work.json").write_bytes(file())
    code = (
        "import sys; sys.modules['django'] = None; from labeling.my_work.check import main; "
        f"sys.exit(main([{str(tmp_path / 'work.json')!r}, '--keys', {str(keys)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
