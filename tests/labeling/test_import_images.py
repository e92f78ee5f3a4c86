"""Taking pictures in: the same pixels are one image for ever, and no row names a missing file (R2, R3)."""

import csv
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from PIL import Image as Pillow

from common.errors import InvalidInput
from common.models import AuditEntry
from labeling.enums import Origin
from labeling.models import Image
from labeling.pictures import intake
from labeling.pictures.intake import image_add, import_picture
from picture_files.decoding import CanonicalPicture, read_attack, read_dataset
from picture_files.png import decode_png
from picture_files.store import FolderStore, original_key, picture_key, picture_store
from tests.at_once import at_once
from tests.labeling.cast import kept, refused
from tests.tables import cases

ROOT = Path(__file__).parents[2]


MANIFEST = ROOT / "contest/demo/photos/manifest.csv"


GIVEN = ("--source", "our walks", "--licence", "CC0")


def _picture(path: Path, number: int = 0, size: tuple[int, int] = (320, 299), form: str = "PNG") -> Path:
    """A picture of a colour of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Pillow.new("RGB", size, (number % 256, number // 256, 99)).save(path, form)
    return path


def _run(*arguments: Any) -> tuple[int, str]:
    """Run the command as a person would; returns the exit status and what it said, without progress and each picture's
    line."""
    said = io.StringIO()
    try:
        call_command("import_images", *map(str, arguments), stdout=said)
    except SystemExit as end:
        return int(str(end.code)), said.getvalue()
    except CommandError as error:
        return error.returncode, str(error)
    return 0, re.sub(r"^(\d+ of \d+: |P-\w+ (added|known) ).*\n", "", said.getvalue(), flags=re.MULTILINE)


@pytest.fixture(scope="class")
def demo(class_world: Path) -> tuple[int, str]:
    """What the command says of the photographs of the demo."""
    return _run(MANIFEST)


@pytest.mark.django_db
class TestDemo:
    def test_its_photographs_come_in_once_with_their_credit(self, demo: tuple[int, str]) -> None:
        assert demo == (0, "29 of 29 files: 29 added, 0 known, 0 refused.\n")
        parrot = Image.objects.get(source_id="0f3ebab958f44f5f")
        assert (parrot.source, parrot.origin, parrot.width) == ("Open Images V4/V5", "dataset", 299)
        assert parrot.licence.startswith("CC BY 2.0") and parrot.label_from == parrot.received_at
        assert decode_png(picture_store().get(picture_key(parrot.pixels_sha256)))[:2] == (299, 299)
        assert _run(MANIFEST) == (0, "29 of 29 files: 0 added, 29 known, 0 refused.\n")
        assert Image.objects.count() == 29


@pytest.mark.django_db
def test_a_folder_is_taken_with_its_sub_folders(photos: Path) -> None:
    for number, name in enumerate(("birds/b.png", "birds/deep/c.jpg", "a", ".hidden/d.png")):
        _picture(photos / name, number, form={"a": "WEBP", "birds/deep/c.jpg": "JPEG"}.get(name, "PNG"))
    (photos / "README.md").write_text("what these are")
    said = "3 of 3 files: 3 added, 0 known, 0 refused; other files passed over: 1.\n"
    assert _run(photos, *GIVEN, "--author", "Ann", "--origin", "gold", "--no-labels") == (0, said)
    rows = Image.objects.order_by("pk").values_list("source_id", "source", "licence", "author", "origin", "label_from")
    assert list(rows) == [
        (name, "our walks", "CC0", "Ann", "gold", None) for name in ("a", "birds/b.png", "birds/deep/c.jpg")
    ]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """An empty folder for photographs; the store lies beside it."""
    (tmp_path / "photos").mkdir()
    return tmp_path / "photos"


def _text(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_text(text, encoding=encoding)
    return path


@pytest.mark.django_db
@cases(
    "arguments message reason",
    (lambda p: (p,), "needs --source and --licence", "a folder without provenance"),
    (lambda p: (p, "--source", "here"), "needs --source and --licence", "a folder without a licence"),
    (lambda p: (p, "--source", " ", "--licence", "CC0"), "needs --source and --licence", "a blank source"),
    (lambda p: (p / "nothing", *GIVEN), "no folder or manifest", "nothing there"),
    (lambda p: (_picture(p / "a.png"), *GIVEN), "neither a folder nor a manifest", "a picture by itself"),
    (lambda p: (_text(p / "m.csv", "file,name\n"),), "unknown columns name. The columns are", "an unknown column"),
    (lambda p: (_text(p / "m.csv", "source,licence\n"),), "no column named file", "no file column"),
    (lambda p: (_text(p / "m.csv", ""),), "no column named file", "an empty manifest"),
    (lambda p: (_text(p / "m.csv", "file\n\xe9", "latin-1"),), "not UTF-8", "a manifest in another encoding"),
)
def test_what_cannot_be_tried_is_said_at_once(photos: Path, arguments: Any, message: str, reason: str) -> None:
    status, said = _run(*arguments(photos))
    assert (status, message in said, Image.objects.count()) == (2, True, 0)


@pytest.mark.django_db
def test_refused_files_are_listed_with_the_reason_and_the_rest_come_in(tmp_path: Path, photos: Path) -> None:
    """What was left out of a picture is noted."""
    good, half = _picture(photos / "good.png"), _picture(photos / "half.png")
    good.write_bytes(good.read_bytes() + b"PK\x03\x04")
    half.write_bytes(half.read_bytes()[:-20])
    _picture(photos / "small.png", size=(299, 200))
    _text(photos / "letter.jpg", "Dear organizers")
    (photos / "huge.png").touch()
    os.truncate(photos / "huge.png", 10**10)
    status, said = _run(photos, *GIVEN, "--refused", tmp_path / "refused.csv")
    assert (status, said.endswith("5 of 5 files: 1 added, 0 known, 4 refused.\n")) == (1, True)
    rows = csv.DictReader((tmp_path / "refused.csv").read_text().splitlines())
    listed = {row["file"]: row["code"] for row in rows}
    assert listed == {
        "small.png": "too_small",
        "letter.jpg": "not_a_picture",
        "half.png": "truncated",
        "huge.png": "too_many_bytes",
    }
    assert all(f"refused {name}: " in said for name in listed)
    assert "note on good.png: 4 bytes behind the picture were left out" in said
    assert Image.objects.get().source_id == "good.png"


@pytest.mark.django_db
def test_nothing_outside_of_the_folder_is_read(tmp_path: Path, photos: Path) -> None:
    secret, _ = _picture(tmp_path / "secret.png", 1), _picture(photos / "good.png", 2)
    for link, to in (("link.png", secret), ("circle.png", photos / "circle.png")):
        (photos / link).symlink_to(to)
    files = ("good.png", "../secret.png", secret, "link.png", "gone.png")
    status, said = _run(
        _text(
            photos / "m.csv", "file,source,source_id,licence,author\n" + "".join(f"{file},s,,CC0,\n" for file in files)
        )
    )
    assert (status, said.count("outside of the folder")) == (1, 3)
    assert "5 of 5 files: 1 added, 0 known, 4 refused." in said and "refused gone.png: There is no such file." in said
    _, said = _run(photos, *GIVEN)
    assert "refused link.png: The file lies outside" in said and "refused circle.png: " in said
    assert Image.objects.count() == 1


@pytest.mark.django_db
def test_rows_of_a_manifest_need_a_licence_or_take_it_from_the_options(photos: Path) -> None:
    """A row with too many cells is refused."""
    for number, name in enumerate("ab"):
        _picture(photos / f"{name}.png", number)
    rows = "Ann,a.png,CC0,walks\n,b.png,,walks\n,a.png,CC0,walks,more\n"
    manifest = _text(photos / "m.csv", "\ufeffauthor,file,licence,source\n" + rows)
    _, said = _run(manifest)
    assert "refused b.png: Give the licence of the picture." in said and "refused line 4: " in said
    assert _run(manifest, "--licence", "CC BY 4.0", "--author", "Bea")[0] == 1
    rows_now = Image.objects.order_by("pk").values_list("author", "licence", "source")
    assert list(rows_now) == [("Ann", "CC0", "walks"), ("Bea", "CC BY 4.0", "walks")]


@pytest.mark.django_db
def test_a_jsonl_manifest_is_read_line_by_line(photos: Path) -> None:
    _picture(photos / "\u2028bird.png", 1)
    good = json.dumps({"file": "\u2028bird.png", "source": "s", "licence": "CC0"}, ensure_ascii=False)
    bad = ["not json", "[1]", '{"file": 7}', '{"file": "a", "license": "x"}', '{"source": "s"}', r'{"file": "\u0000"}']
    status, said = _run(_text(photos / "m.jsonl", "\n".join(["", good, *bad])))
    assert (status, "7 of 7 files: 1 added, 0 known, 6 refused." in said) == (1, True)
    lines = [f"refused line {number}: Line {number} of the manifest must hold" for number in range(3, 9)]
    assert [each for each in lines if each not in said] == []


@pytest.mark.django_db
def test_each_picture_is_named_with_what_became_of_it(tmp_path: Path) -> None:
    _picture(tmp_path / "a.png")
    said = io.StringIO()
    call_command("import_images", str(tmp_path), *GIVEN, stdout=said)
    assert said.getvalue().startswith(f"{Image.objects.get().public_id} added a.png\n")
    (entry,) = AuditEntry.objects.filter(action="picture.import")
    assert entry.private | {"from": tmp_path.name, "source": "our walks", "added": 1} == entry.private


@pytest.mark.django_db
def test_the_same_picture_under_two_names_is_one_image(photos: Path) -> None:
    for name in "ab":
        _picture(photos / f"{name}.png")
    with Pillow.open(photos / "a.png") as image:
        image.save(photos / "c.png", compress_level=1)  # the same pixels, other bytes
    assert _run(photos, *GIVEN) == (0, "3 of 3 files: 1 added, 2 known, 0 refused.\n")
    assert Image.objects.get().source_id == "a.png"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("stopped", "taken", "why"),
    [(True, 4, "Ctrl-C, heard after the present file"), (False, 3, "killed in the middle of a picture")],
)
def test_stopped_in_the_middle_it_goes_on_with_the_rest(
    stopped: bool, taken: int, why: str, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        _picture(photos / f"{number}.png", number)
    real, calls = intake.read_dataset, []

    def _at_the_fourth(data: bytes, *, size: int) -> Any:
        calls.append(data)
        if len(calls) == 4 and not stopped:
            raise KeyboardInterrupt
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return real(data, size=size)

    with monkeypatch.context() as patched:
        patched.setattr(intake, "read_dataset", _at_the_fourth)
        if stopped:
            status, said = _run(photos, *GIVEN)
            assert (status, "Stopped. What is in stays in" in said) == (130, True)
        else:
            refused(KeyboardInterrupt, _run, photos, *GIVEN)
    assert Image.objects.count() == taken, why
    assert _run(photos, *GIVEN) == (0, f"6 of 6 files: {6 - taken} added, {taken} known, 0 refused.\n")
    assert Image.objects.count() == 6


@pytest.mark.long("three processes and 180 pictures; within one process it is shown by the test before")
def test_ctrl_c_stops_after_the_present_file_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """A real process on a database of its own, so that a real signal arrives while it works."""
    for number in range(180):
        _picture(tmp_path / f"photos/{number:03}.png", number)
    environment = {
        **os.environ,
        "DATA_DIR": str(tmp_path / "data"),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
        "IMAGE_STORE_URL": f"file://{tmp_path / 'data/pictures'}",
        "SECRET_KEY": "x" * 50,
        "PYTHONUNBUFFERED": "1",
    }
    command = [sys.executable, "manage.py", "import_images", str(tmp_path / "photos"), *GIVEN]
    # With the settings of tests, which need not run every migration again.
    subprocess.run([*command[:2], "migrate", "-v0"], cwd=ROOT, env=environment, check=True)
    environment.pop("DJANGO_SETTINGS_MODULE", None)
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")  # on a busy machine there are others: one every few seconds
        assert "100 of 180: 100 added, 0 known, 0 refused\n" in lines
        process.send_signal(signal.SIGINT)
        said = process.stdout.read()
    database = sqlite3.connect(tmp_path / "db.sqlite3")
    rows = "SELECT count(*) FROM labeling_image"
    (taken,) = database.execute(rows).fetchone()
    assert process.returncode == 130 and 100 <= taken < 180
    assert f"{taken} of 180 files: {taken} added, 0 known, 0 refused.\nStopped. What is in stays in" in said
    again = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert again.stdout.endswith(f"180 of 180 files: {180 - taken} added, {taken} known, 0 refused.\n")
    assert database.execute(rows).fetchone() == (180,)
    database.close()


SIZE = 16


def _file(form: str = "PNG", colour: str = "teal", size: tuple[int, int] = (SIZE, SIZE), **options: Any) -> bytes:
    buffer = io.BytesIO()
    Pillow.new("RGB", size, colour).save(buffer, form, **options)
    return buffer.getvalue()


def _add(picture: CanonicalPicture, now: datetime, **changes: Any) -> tuple[Image, bool]:
    credit = {"source": "Open Images", "source_id": "7", "licence": "CC BY 2.0", "author": "A. B."}
    return image_add(picture, now=now, **({"origin": Origin.DATASET, "label_from": now} | credit | changes))


def _import(data: bytes, now: datetime, **changes: Any) -> tuple[Image, bool, tuple[str, ...]]:
    values = {"size": SIZE, "origin": Origin.DATASET, "source": "here", "licence": "CC0", "label_from": now}
    return import_picture(data, now=now, **(values | changes))


@pytest.mark.django_db
def test_a_new_picture_has_its_row_and_both_files(now: datetime) -> None:
    data, store = _file("JPEG"), picture_store()
    picture = read_attack(data, size=SIZE)
    image, new = _add(picture, now)
    credit = ("dataset", "Open Images", "7", "CC BY 2.0", "A. B.")
    assert (new, kept(image, "origin", "source", "source_id", "licence", "author")) == (True, credit)
    assert kept(image, "width", "height", "original_format") == (SIZE, SIZE, "JPEG")
    assert kept(image, "received_at", "label_from", "dealt_at") == (now, now, None)
    assert decode_png(store.get(picture_key(image.pixels_sha256))) == (SIZE, SIZE, picture.pixels)
    assert store.get(original_key(image.original_sha256)) == data


@pytest.mark.django_db
def test_the_same_pixels_are_the_same_image_whatever_the_file(now: datetime) -> None:
    first, _ = _add(read_attack(_file(), size=SIZE), now)
    other_file = _file("WEBP", lossless=True)
    again, new = _add(read_attack(other_file, size=SIZE), now, origin=Origin.ATTACK, source="elsewhere")
    assert (again.pk, new, again.origin, again.source) == (first.pk, False, "dataset", "Open Images")
    assert Image.objects.count() == 1
    assert picture_store().exists(original_key(read_dataset(other_file, size=SIZE).original_sha256))


@pytest.mark.django_db
@cases(
    "changes code field reason",
    ({"source": ""}, "no_provenance", "source", "no source"),
    ({"source": "  "}, "no_provenance", "source", "a blank source"),
    ({"licence": ""}, "no_provenance", "licence", "no licence"),
    ({"licence": "x" * 201}, "bad_provenance", "licence", "a licence too long"),
    ({"author": "A\0B"}, "bad_provenance", "author", "a zero byte, which PostgreSQL refuses"),
    ({"source_id": "1\n2"}, "bad_provenance", "source_id", "two lines"),
)
def test_provenance_is_required(now: datetime, changes: dict[str, str], code: str, field: str, reason: str) -> None:
    refusal = refused(InvalidInput, _import, _file(), now, **changes)
    assert (refusal.code, refusal.field, Image.objects.count()) == (code, field, 0)
    assert not picture_store().exists(picture_key(read_attack(_file(), size=SIZE).pixels_sha256))


@pytest.mark.django_db
def test_a_known_file_is_not_decoded_again(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = _import(_file(), now)
    monkeypatch.setattr(
        "labeling.pictures.intake.read_dataset", Mock(side_effect=AssertionError("decoded a known file"))
    )
    assert _import(_file(), now)[:2] == (first, False)


@pytest.mark.django_db
def test_the_same_file_at_another_size_is_another_picture(now: datetime) -> None:
    data = _file(size=(40, 40))
    made = [_import(data, now, size=size) for size in (16, 32)]
    assert [(image.width, new) for image, new, _ in made] == [(16, True), (32, True)]


@pytest.mark.django_db
def test_a_full_disk_leaves_no_row(now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(FolderStore, "put", Mock(side_effect=OSError(28, "No space left on device")))
        assert "No space" in str(refused(OSError, _import, _file(), now))
    assert not Image.objects.exists()
    assert _import(_file(), now)[1]


@pytest.mark.postgres("eight importers at once, and a unique constraint")
@pytest.mark.django_db(transaction=True)
def test_two_importers_of_one_picture_make_one_row(now: datetime) -> None:
    added = at_once(*[partial(_add, read_attack(_file(), size=SIZE), now)] * 8)
    assert {image for image, _ in added} == {Image.objects.get()}
    assert sorted(new for _, new in added) == [False] * 7 + [True]
