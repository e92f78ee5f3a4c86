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
from tests.refusals import refused
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
    assert (new, row.label, Image.objects.exists()) == (True, Label.BIRD, False)
    width, height, pixels = decode_png(picture_store().get(private.private_key(row.pixels_sha256)))
    assert (width, height, pixels_sha256(width, height, pixels)) == (SIZE, SIZE, row.pixels_sha256)
    assert not picture_store().exists(picture_key(row.pixels_sha256))
    assert add(begun(now), 1) == (row, False), "the same picture again is known"
    other = {"label": Label.BICYCLE, "source": "b", "size": SIZE}
    refused("in_both_classes", private.private_picture_add, begun(now), cast.photograph(seed=1), **other)


def test_a_picture_of_the_contest_is_not_private(now: datetime) -> None:
    factories.image(pixels_sha256=pixels_sha256(*decode_png(cast.photograph(seed=1))))
    refused("not_private", add, begun(now), 1)
    assert not PrivatePicture.objects.exists()


def test_an_unfinished_set_is_gone_on_with(olga: User, now: datetime) -> None:
    # A set says where it comes from.
    refused("no_note", private.private_set_begin, note="  ", by=None, now=now)
    first, new = private.private_set_begin(note="ours", by=olga, now=now)
    assert (new, first.number, first.imported_by) == (True, 1, olga)
    for note in (" ", "ours "):
        assert private.private_set_begin(note=note, by=None, now=now) == (first, False)


def test_a_set_is_in_force_once_it_is_complete_and_the_newest_is(now: datetime) -> None:
    assert selectors.private_set_in_force() is None
    first, second = cast.private(4), begun(now)
    shas = [add(second, seed, label)[0].pixels_sha256 for seed, label in ((1, Label.BIRD), (2, Label.BICYCLE))]
    assert selectors.private_set_in_force() == first
    private.private_set_complete(second, meant=shas, by=None, now=now)
    assert selectors.private_set_in_force() == second and second.number == first.number + 1


@pytest.mark.both("the set is locked while it is looked at")
def test_a_complete_set_never_changes(now: datetime) -> None:
    complete = cast.private(4)
    rows = list(PrivatePicture.objects.values_list("pk", "pixels_sha256", "label"))
    refused("set_complete", add, complete, 500)
    later = now + timedelta(days=1)
    refused("set_complete", private.private_set_complete, complete, meant=[], by=None, now=later)
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
    refused("set_dropped", add, to, 3)  # an import that goes on beside it adds nothing


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
    lines = ("New set 1.", "5 files: 5 added, 0 known, 0 refused.", "Set 1 is complete and in force with 5 pictures.")
    assert run(garden, "--note", "ours", "--by", "olga") == (0, "".join(f"{line}\n" for line in lines))
    (facts,) = selectors.private_sets()
    assert (facts.birds, facts.bicycles, PrivateSet.objects.get().imported_by) == (3, 2, olga)
    manifest = written(garden / "set.csv", "file,label\nbird/1.png,bird\nbicycle/4.png,bicycle\n")
    assert run(manifest, "--note", "ours")[0] == 0
    rows = PrivatePicture.objects.filter(private_set__number=2).values_list("source", "label")
    assert set(rows) == {("bird/1.png", "bird"), ("bicycle/4.png", "bicycle")}


def test_refusals_are_named_and_the_set_waits_for_them(garden: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.png").write_bytes(cast.photograph(seed=77))
    (garden / "bird/link.png").symlink_to(tmp_path / "outside.png")
    (garden / "bird/notes.png").write_text("no picture")
    (garden / "bicycle/again.png").write_bytes(cast.photograph(seed=1))
    status, said = run(garden, "--note", "ours")
    assert status == 1 and "The set is not complete" in said
    lines = [line.split(":")[0] for line in said.splitlines() if line.startswith("refused")]
    # Bicycles come first, so the second place of the same picture is among the birds.
    assert lines == ["refused bird/1.png", "refused bird/link.png", "refused bird/notes.png"]
    assert selectors.private_set_in_force() is None
    status, said = run(garden, "--leave-out-refused")
    assert status == 0 and "Going on with set 1" in said and "0 added, 5 known, 3 refused" in said
    assert selectors.private_set_in_force() is not None


def test_an_interrupted_import_goes_on(garden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter([private.private_picture_add, private.private_picture_add])

    def interrupted(*arguments: Any, **values: Any) -> Any:
        if (add_one := next(calls, None)) is None:
            raise KeyboardInterrupt
        return add_one(*arguments, **values)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(private, "private_picture_add", interrupted)
        run(garden, "--note", "ours")
    assert PrivatePicture.objects.count() == 2 and selectors.private_set_in_force() is None
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
    assert run(garden, "--start-over")[0] == 2, "the note of another folder does not fit"
    assert (PrivatePicture.objects.count(), selectors.private_set_in_force()) == (pictures, None), "nothing is dropped"
    status, said = run(garden, "--note", "theirs", "--start-over")
    assert status == 0 and f"{pictures} pictures of an earlier import dropped" in said
    (facts,) = selectors.private_sets()
    assert (facts.number, facts.note, facts.birds + facts.bicycles) == (1, "theirs", 5)


def test_pictures_of_an_earlier_import_of_the_folder_are_dropped_when_asked(garden: Path, now: datetime) -> None:
    add(private.private_set_begin(note="ours", path=str(garden), by=None, now=now)[0], 99)
    for arguments, ends, words in (
        ((garden, "--note", "theirs"), 2, 'with the note "ours"'),
        ((garden / "bird" / "..", "--note", "ours"), 1, "1 pictures of an earlier import"),  # the folder, otherwise
        ((garden, "--start-over"), 0, "6 pictures of an earlier import dropped"),
    ):
        status, said = run(*arguments)
        assert (status, words in said) == (ends, True), said
    assert (PrivatePicture.objects.count(), PrivateSet.objects.get().note) == (5, "ours")


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
    assert (status == 2 or "not complete" in said, words.lower() in said.lower()) == (True, True), why
    assert selectors.private_set_in_force() is None


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path
