"""The private set: how its pictures come in, what is refused, and that a complete set never changes (R31)."""

import io
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError

from common.errors import Conflict, InvalidInput
from labeling.enums import Label
from labeling.models import Image
from labeling.png import decode_png, pixels_sha256
from labeling.store import picture_key, picture_store
from scoring.models import PrivatePicture, PrivateSet
from scoring.trials import private_set as private
from scoring.trials import selectors
from tests import factories
from tests.scoring.cast import SIZE
from tests.scoring.trials import cast

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_pictures(db: None) -> None:
    cast.policy_in_force()


def begun(now: datetime) -> PrivateSet:
    return private.private_set_begin(note="ours", by=None, now=now)[0]


def add(to: PrivateSet, seed: int, label: str = Label.BIRD) -> tuple[PrivatePicture, bool]:
    return private.private_picture_add(
        to, cast.photograph(label, seed), label=Label(label), source=f"{seed}.png", size=SIZE
    )


def test_a_picture_lies_in_the_private_part_of_the_store_alone(now: datetime) -> None:
    row, new = add(begun(now), 1)
    assert new and row.label == Label.BIRD
    width, height, pixels = decode_png(picture_store().get(private.private_key(row.pixels_sha256)))
    assert (width, height, pixels_sha256(width, height, pixels)) == (SIZE, SIZE, row.pixels_sha256)
    assert not picture_store().exists(picture_key(row.pixels_sha256))
    assert not Image.objects.exists()
    assert add(begun(now), 1) == (row, False), "the same picture again is known"
    with pytest.raises(Conflict) as refused:
        private.private_picture_add(begun(now), cast.photograph(seed=1), label=Label.BICYCLE, source="b", size=SIZE)
    assert refused.value.code == "in_both_classes"


def test_a_picture_of_the_contest_is_not_private(now: datetime) -> None:
    sha = pixels_sha256(*decode_png(cast.photograph(seed=1)))
    factories.image(pixels_sha256=sha)
    with pytest.raises(Conflict) as refused:
        add(begun(now), 1)
    assert refused.value.code == "not_private" and not PrivatePicture.objects.exists()


def test_an_unfinished_set_is_gone_on_with(olga: User, now: datetime) -> None:
    with pytest.raises(InvalidInput) as refused:
        private.private_set_begin(note="  ", by=None, now=now)
    assert refused.value.code == "no_note", "a set says where it comes from"
    first, new = private.private_set_begin(note="ours", by=olga, now=now)
    again, new_again = private.private_set_begin(note=" ", by=None, now=now)
    assert private.private_set_begin(note="ours ", by=None, now=now) == (first, False)
    assert (new, new_again, first) == (True, False, again)
    assert (first.number, first.imported_by) == (1, olga)


def test_a_set_is_in_force_once_it_is_complete_and_the_newest_is(now: datetime) -> None:
    assert selectors.private_set_in_force() is None
    first = cast.private(4)
    second = begun(now)
    shas = [add(second, seed, label)[0].pixels_sha256 for seed, label in ((1, Label.BIRD), (2, Label.BICYCLE))]
    assert selectors.private_set_in_force() == first
    private.private_set_complete(second, meant=shas, by=None, now=now)
    assert selectors.private_set_in_force() == second and second.number == first.number + 1


@pytest.mark.both("the set is locked while it is looked at")
def test_a_complete_set_never_changes(now: datetime) -> None:
    complete = cast.private(4)
    rows = list(PrivatePicture.objects.values_list("pk", "pixels_sha256", "label"))
    for change in (
        lambda: add(complete, 500),
        lambda: private.private_set_complete(complete, meant=[], by=None, now=now + timedelta(days=1)),
    ):
        with pytest.raises(Conflict) as refused:
            change()
        assert refused.value.code == "set_complete"
    assert list(PrivatePicture.objects.values_list("pk", "pixels_sha256", "label")) == rows
    assert PrivateSet.objects.get().completed_at == factories.NOW


def test_a_set_has_both_classes_and_what_was_meant(now: datetime) -> None:
    to = begun(now)
    sha = add(to, 1)[0].pixels_sha256
    with pytest.raises(InvalidInput, match="both classes"):
        private.private_set_complete(to, meant=[sha], by=None, now=now)
    other = add(to, 2, Label.BICYCLE)[0].pixels_sha256
    with pytest.raises(Conflict, match="--start-over"):
        private.private_set_complete(to, meant=[other], by=None, now=now)
    again, dropped = private.private_set_start_over(note="theirs", path="", by=None, now=now)
    assert (again.number, again.note, dropped) == (to.number, "theirs", 2)
    with pytest.raises(InvalidInput):
        private.private_set_complete(again, meant=[], by=None, now=now)
    with pytest.raises(Conflict) as refused:
        add(to, 3)
    assert refused.value.code == "set_dropped", "an import that goes on beside it adds nothing"


# The command


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """A folder with three birds and two bicycles."""
    folder = tmp_path / "garden"
    for label, seeds in ((Label.BIRD, (1, 2, 3)), (Label.BICYCLE, (4, 5))):
        (folder / label).mkdir(parents=True)
        for seed in seeds:
            (folder / label / f"{seed}.png").write_bytes(cast.photograph(label, seed))
    return folder


def run(*arguments: Any) -> tuple[int, str]:
    """Run the command as a person would; the exit status and what was said."""
    said = io.StringIO()
    try:
        call_command("import_private_set", *map(str, arguments), stdout=said)
    except CommandError as error:
        return error.returncode, said.getvalue() + str(error)
    return 0, said.getvalue()


def test_a_folder_or_a_manifest_becomes_a_set_in_force(garden: Path, olga: User) -> None:
    for arguments, words in (((), "Give a note"), (("--note", "x", "--by", "nobody"), "no account nobody")):
        status, said = run(garden, *arguments)
        assert (status, words in said, PrivateSet.objects.exists()) == (2, True, False), said
    status, said = run(garden, "--note", "ours", "--by", "olga")
    assert (status, said.splitlines()) == (
        0,
        [
            "New set 1.",
            "5 files: 5 added, 0 known, 0 refused.",
            "Set 1 is complete and in force with 5 pictures.",
        ],
    )
    (facts,) = selectors.private_sets()
    assert (facts.birds, facts.bicycles) == (3, 2) and PrivateSet.objects.get().imported_by == olga
    manifest = written(garden / "set.csv", "file,label\nbird/1.png,bird\nbicycle/4.png,bicycle\n")
    assert run(manifest, "--note", "ours")[0] == 0
    rows = PrivatePicture.objects.filter(private_set__number=2).values_list("source", "label")
    assert set(rows) == {("bird/1.png", "bird"), ("bicycle/4.png", "bicycle")}


def test_refusals_are_named_and_the_set_waits_for_them(garden: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.png"
    outside.write_bytes(cast.photograph(seed=77))
    (garden / "bird/link.png").symlink_to(outside)
    (garden / "bird/notes.png").write_text("no picture")
    (garden / "bicycle/again.png").write_bytes(cast.photograph(seed=1))
    status, said = run(garden, "--note", "ours")
    assert status == 1 and "The set is not complete" in said
    refused = [line.split(":")[0] for line in said.splitlines() if line.startswith("refused")]
    # Bicycles come first, so the second place of the same picture is among the birds.
    assert refused == ["refused bird/1.png", "refused bird/link.png", "refused bird/notes.png"]
    assert selectors.private_set_in_force() is None
    status, said = run(garden, "--leave-out-refused")
    assert status == 0 and "Going on with set 1" in said and "0 added, 5 known, 3 refused" in said
    assert selectors.private_set_in_force() is not None


def test_an_interrupted_import_goes_on(garden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = private.private_picture_add, []

    def interrupted(*arguments: Any, **values: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **values)

    monkeypatch.setattr(private, "private_picture_add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(garden, "--note", "ours")
    assert PrivatePicture.objects.count() == 2 and selectors.private_set_in_force() is None
    monkeypatch.setattr(private, "private_picture_add", real)
    assert "5 files: 3 added, 2 known, 0 refused." in run(garden)[1]
    assert PrivateSet.objects.count() == 1 and selectors.private_set_in_force() is not None


@pytest.mark.parametrize("pictures", [0, 2])
def test_an_unfinished_set_takes_pictures_of_its_own_folder_alone(
    pictures: int, garden: Path, tmp_path: Path, now: datetime
) -> None:
    """Otherwise the pictures of two folders would be one set, with the note of the first."""
    first = private.private_set_begin(note="ours", path=str(tmp_path / "first"), by=None, now=now)[0]
    for seed in range(pictures):
        add(first, 90 + seed)
    manifest = written(garden / "set.csv", "file,label\nbird/1.png,bird\nbicycle/4.png,bicycle\n")
    for arguments in ((garden,), (garden, "--note", "ours"), (garden, "--note", "theirs"), (manifest,)):
        status, said = run(*arguments)
        assert status == 2 and f'{tmp_path / "first"} with the note "ours"' in said and "--start-over" in said
    assert PrivatePicture.objects.count() == pictures and selectors.private_set_in_force() is None
    assert run(garden, "--start-over")[0] == 2, "the note of another folder does not fit"
    assert PrivatePicture.objects.count() == pictures, "and nothing is dropped"
    status, said = run(garden, "--note", "theirs", "--start-over")
    assert status == 0 and f"{pictures} pictures of an earlier import dropped" in said
    (facts,) = selectors.private_sets()
    assert (facts.number, facts.note, facts.birds + facts.bicycles) == (1, "theirs", 5)


def test_pictures_of_an_earlier_import_of_the_folder_are_dropped_when_asked(garden: Path, now: datetime) -> None:
    add(private.private_set_begin(note="ours", path=str(garden), by=None, now=now)[0], 99)
    status, said = run(garden, "--note", "theirs")
    assert status == 2 and 'with the note "ours"' in said
    status, said = run(garden / "bird" / "..", "--note", "ours")
    assert status == 1 and "1 pictures of an earlier import" in said, "the same folder, written otherwise"
    status, said = run(garden, "--start-over")
    assert status == 0 and "6 pictures of an earlier import dropped" in said
    assert PrivatePicture.objects.count() == 5 and PrivateSet.objects.get().note == "ours"


@pytest.mark.parametrize(
    ("make", "words", "why"),
    [
        (lambda p: (p / "nothing", "--note", "x"), "neither a folder nor a manifest", "nothing there"),
        (lambda p: (p, "--note", "x"), "no pictures", "an empty folder"),
        (lambda p: (written(p / "m.csv", "file,kind\n"), "--note", "x"), "exactly the columns", "another column"),
        (lambda p: (written(p / "m.csv", "file,label\na.png,cat\n"), "--note", "x"), "One of", "another class"),
    ],
)
def test_what_cannot_be_tried_is_said(make: Any, words: str, why: str, tmp_path: Path) -> None:
    status, said = run(*make(tmp_path))
    assert status == 2 or "not complete" in said, why
    assert words.lower() in said.lower(), why
    assert selectors.private_set_in_force() is None


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
