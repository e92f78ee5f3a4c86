"""What is handed in: a container, what a stranger's zip may do (nothing) and whose copy it is; and the private set,
whose pictures never change once it is complete (R31)."""

import hashlib
import io
import stat
import struct
import warnings
import zipfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError

from common.errors import Conflict, InvalidInput
from defense_kit.archive import UnpackingBudget
from labeling.enums import Label
from labeling.models import Image
from picture_files.png import decode_png, pixels_sha256
from picture_files.store import FolderStore, picture_key, picture_store
from scoring.enums import Likeness, RunState, TrialKind
from scoring.models import CopyFlag, Defense, Prediction, PrivatePicture, PrivateSet, Trial
from scoring.sealed import archive_key
from scoring.trials import answers, copies, selectors, submitted_files
from scoring.trials import private_set as private
from tests import factories, images
from tests.contest.release_fixtures import scored
from tests.refusals import refused
from tests.scoring import cast as scoring_cast
from tests.scoring.cast import SIZE
from tests.scoring.trials import cast

pytestmark = pytest.mark.django_db


def an_archive(folder: Path, *, count: int = 1, **values: Any) -> Path:
    layers = [images.files_layer(folder, {"app/defense.py": b"print('x')"})]
    image = images.Image(layers, ["python3", "/app/defense.py"], **values)
    return images.write_archive(folder / "image.tar", [image] * count)


def a_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return path


SOURCE = {"src/model.py": b"import torch\n" * 40, "Dockerfile": b"FROM scratch\n", "weights/net.pt": b"w" * 900}


def hand_in(archive: Path, now: datetime, **values: Any) -> tuple[Defense, bool]:
    return submitted_files.submit_files(archive, **{"name": "a", "source": None, "weights": [], "now": now, **values})


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_everything_is_kept_under_its_hash(tmp_path: Path, now: datetime) -> None:
    archive, source, weights = an_archive(tmp_path), a_zip(tmp_path / "source.zip", SOURCE), tmp_path / "net.pt"
    weights.write_bytes(b"w" * 900)
    defense, new = hand_in(archive, now, name=" steadfast ", source=source, weights=[weights], description="d")
    assert (new, defense.name, defense.description, defense.reference) == (True, "steadfast", "d", "")
    assert (defense.published_at, defense.demo) == (None, False)
    assert (defense.archive, defense.source) == (sha256(archive.read_bytes()), sha256(source.read_bytes()))
    assert defense.weights == sha256(b"w" * 900)
    assert [each.partition(":")[0] for each in (defense.digest, *defense.layers)] == ["sha256"] * 2
    assert defense.digest == defense.image
    assert picture_store().get(archive_key(defense.archive)) == archive.read_bytes()
    assert picture_store().get(submitted_files.source_key(defense.source)) == source.read_bytes()


def test_several_files_of_weights_have_one_hash_in_any_order(tmp_path: Path) -> None:
    for name in "12":
        (tmp_path / name).write_text(name)
    one, two = tmp_path / "1", tmp_path / "2"
    both = submitted_files.weights_sha256([one, two])
    assert both == submitted_files.weights_sha256([two, one]) and len(both) == 64
    assert both != submitted_files.weights_sha256([one]) == sha256(b"1")
    assert submitted_files.weights_sha256([]) == ""


NOT_TAKEN: list[tuple[Any, dict[str, Any], str, str]] = [
    (lambda p: p / "nothing.tar", {}, "no_file", "no archive"),
    (lambda p: p, {}, "no_file", "a folder"),
    (lambda p: a_zip(p / "image.tar", {"a": b""}), {}, "image_pull", "another kind of file"),
    (lambda p: an_archive(p, architecture="arm64"), {}, "image_pull", "another kind of machine"),
    (lambda p: an_archive(p, count=2), {}, "image_pull", "two images"),
    (lambda p: an_archive(p, more={"Volumes": {"/data": {}}}), {}, "image_pull", "it wants a volume"),
    (an_archive, {"name": " "}, "bad_name", "no name"),
    (an_archive, {"name": "a\nb"}, "bad_name", "a name of two lines"),
    (an_archive, {"name": "x" * 81}, "bad_name", "a long name"),
    (an_archive, {"source": "image.tar"}, "bad_source", "a source that is no zip"),
    (an_archive, {"source": "nothing.zip"}, "no_file", "a source that is not there"),
    (an_archive, {"weights": ["nothing.pt"]}, "no_file", "weights that are not there"),
]


@pytest.mark.parametrize(("make", "values", "code", "why"), NOT_TAKEN)
def test_what_is_refused_leaves_nothing(
    make: Any, values: dict[str, Any], code: str, why: str, tmp_path: Path, now: datetime
) -> None:
    path = make(tmp_path)
    source = tmp_path / values["source"] if "source" in values else None
    weights = [tmp_path / each for each in values.get("weights", [])]
    refused(code, hand_in, path, now, name=values.get("name", "a"), source=source, weights=weights)
    assert not Defense.objects.exists() and not any((tmp_path / "pictures").rglob("*")), why


def test_a_file_too_large_is_refused_without_being_read(tmp_path: Path, now: datetime) -> None:
    with (tmp_path / "huge.tar").open("wb") as file:
        file.truncate(submitted_files.MAX_ARCHIVE_BYTES + 1)
    refused("too_large", hand_in, tmp_path / "huge.tar", now)


def listed(folder: Path, files: dict[str, bytes]) -> submitted_files.SourceListing:
    with a_zip(folder / "source.zip", files).open("rb") as file:
        return submitted_files.list_source(file)


def test_the_listing_names_files_sizes_and_languages(tmp_path: Path, now: datetime) -> None:
    source = a_zip(tmp_path / "source.zip", SOURCE)
    listing = submitted_files.source_listing(hand_in(an_archive(tmp_path), now, source=source)[0])
    assert [(each.path, each.bytes, each.language) for each in listing.files] == [
        ("Dockerfile", 13, "Dockerfile"),
        ("src/model.py", 520, "Python"),
        ("weights/net.pt", 900, "Weights"),
    ]
    assert listing.languages == (("Weights", 1, 900), ("Python", 1, 520), ("Dockerfile", 1, 13))


def test_languages_go_by_the_name(tmp_path: Path) -> None:
    languages = {
        **{"a.PY": "Python", "b.prototxt": "Caffe model", "lib.so": "Compiled"},
        **{"README": "Other", "x.bin": "Other"},
    }
    found = listed(tmp_path, dict.fromkeys(languages, b""))
    assert {each.path: each.language for each in found.files} == languages


def test_a_hostile_zip_is_only_listed(tmp_path: Path) -> None:
    """One that was taken in before there was a check of its names."""
    names = ["../../etc/passwd", "/root/.ssh/id", "a\x1b[31mred\nline.py", "x" * 5000]
    listing = listed(tmp_path, dict.fromkeys(names, b"x"))
    assert len(listing.files) == 4
    assert all(each.path.isprintable() and len(each.path) <= 200 for each in listing.files)
    assert {path.name for path in tmp_path.iterdir()} == {"source.zip", "pictures"}


def member(name: str, data: bytes = b"x", *, kind: int = 0, method: int = zipfile.ZIP_DEFLATED, flags: int = 0) -> Any:
    """One entry of a zip: its header and its content."""
    header = zipfile.ZipInfo(name)
    header.filename = name  # which the library would cut at a NUL
    header.external_attr, header.compress_type, header.flag_bits = kind << 16, method, flags
    return header, data


def zip_of(*members: Any, change: Any = lambda data: data) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that come twice
        for header, data in members:
            archive.writestr(header, data)
    return change(packed.getvalue())


HARMFUL = [
    (zip_of(member("../../etc/passwd")), "no plain relative path", "a way out of the folder"),
    (zip_of(member("a/../../b.py")), "no plain relative path", "a way out further in"),
    (zip_of(member("/root/.ssh/id")), "no plain relative path", "an absolute path"),
    (zip_of(member("C:/boot.ini")), "no plain relative path", "a drive"),
    (zip_of(member("..\\b.py")), "no plain relative path", "a way out on Windows"),
    (zip_of(member("a.py"), change=lambda d: d.replace(b"a.py", b"a\0py")), "no plain", "a name that ends early"),
    (zip_of(member("a\x1b[31mred.py")), "no plain relative path", "a name that colours a terminal"),
    (zip_of(member("a/./b.py")), "no plain relative path", "a name with two spellings"),
    (zip_of(member("././a.py")), "make the zip with `zip -r`", "a name with many spellings"),
    (zip_of(member("./../a.py")), "no plain relative path", "a way out behind a folder's own name"),
    (zip_of(member(".//etc/passwd")), "no plain relative path", "an absolute path behind it"),
    (zip_of(member("./a.py"), member("a.py", b"y")), "in it twice", "two spellings of one name"),
    (zip_of(member("x" * 1_001)), "no plain relative path", "a name that no file system takes"),
    (zip_of(member("a.py", b"/etc/passwd", kind=stat.S_IFLNK)), "links and devices", "a link"),
    (zip_of(member("a.py", kind=stat.S_IFCHR)), "links and devices", "a device"),
    (zip_of(member("a.py", kind=stat.S_IFIFO)), "links and devices", "a pipe"),
    (zip_of(member("a.py"), member("a.py", b"y")), "in it twice", "two files of one name"),
    (zip_of(member("a.py"), member("a.py/b.py")), "inside of a file", "a file that is a folder too"),
    (zip_of(member("a.py", method=zipfile.ZIP_LZMA)), "another way than deflate", "what few programs unpack"),
    (zip_of(member("a.py"), change=lambda d: d.replace(b"a.py", b"b.py", 1)), "damaged", "two names for one file"),
    (zip_of(member("bomb.py", bytes(200 << 20))), "100 times its size", "a bomb"),
    (zip_of(*[member(f"{n}.py", bytes(1 << 20)) for n in range(8)]), "100 times its size", "a bomb in pieces"),
]


def kept(folder: Path, data: bytes, *of: str) -> str:
    (folder / "source.zip").write_bytes(data)
    return submitted_files.keep_zip(folder / "source.zip", *of)


@pytest.mark.parametrize(("data", "words", "why"), HARMFUL, ids=[row[2] for row in HARMFUL])
def test_a_zip_that_would_harm_its_readers_is_refused(data: bytes, words: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=words) as found:
        kept(tmp_path, data, "source", "training_code")
    assert (found.value.code, found.value.field) == ("bad_source", "training_code"), why
    assert not any((tmp_path / "pictures").rglob("*"))


def zip64(data: bytes, *, listed: int, list_bytes: int, is_seen: bool = True) -> bytes:
    """The zip with the longer record at its end, as programs write it that do not know the size beforehand."""
    end = len(data) - 22
    size, start = struct.unpack_from("<II", data, end + 12)
    assert size <= list_bytes
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, listed, listed, list_bytes, start)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, end, 1)
    last = data[end:] if is_seen else data[end : end + 8] + b"\xff" * 12 + b"\0\0"
    return data[:end] + record + locator + last


@pytest.mark.parametrize("is_seen", [True, False])
def test_what_ordinary_programs_pack_is_taken(is_seen: bool, tmp_path: Path) -> None:
    small = (member("zeros.bin", bytes(1 << 20)), member("ä.py"))
    packed = zip_of(member("./", b""), member("./src/", b""), member("./src/a.py"), *small)
    size = struct.unpack_from("<I", packed, len(packed) - 10)[0]
    assert kept(tmp_path, zip64(packed, listed=5, list_bytes=size, is_seen=is_seen), "source", "source")


@pytest.mark.parametrize(("listed", "list_bytes"), [(submitted_files.MAX_FILES + 1, 200), (1, 1 << 40)])
def test_longer_numbers_are_held_to_the_same_caps(listed: int, list_bytes: int, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="lists too much"):
        kept(tmp_path, zip64(zip_of(member("a.py")), listed=listed, list_bytes=list_bytes), "source", "source")


def test_layers_are_not_unpacked_where_an_archive_is_taken_in(
    tmp_path: Path, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is the scorer's, before anything runs: a few megabytes may unpack to gigabytes."""
    monkeypatch.setattr(UnpackingBudget, "spend", None)
    assert hand_in(an_archive(tmp_path), now)[1]


def test_a_zip_of_too_many_files_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submitted_files, "MAX_FILES", 20)
    monkeypatch.setattr(submitted_files, "MIB", 97)  # the entries' marks lie across pieces
    assert len(listed(tmp_path, {str(number): b"" for number in range(20)}).files) == 20
    with a_zip(tmp_path / "more.zip", {str(number): b"" for number in range(21)}).open("rb") as file:
        monkeypatch.setattr(zipfile, "ZipFile", None)  # nothing may open it
        with pytest.raises(InvalidInput, match="at most 20"):
            submitted_files.list_source(file)


def test_without_a_readable_source_there_is_nothing_to_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in words: none was handed in, it is gone, the store does not answer."""
    refused("no_source", submitted_files.source_listing, cast.container())
    gone = cast.container("b", source="0" * 64)
    refused("picture_missing", submitted_files.source_listing, gone)
    monkeypatch.setattr(FolderStore, "fetch", None)
    assert "TypeError" in str(refused("source_unreadable", submitted_files.source_listing, gone))


def test_the_command_says_under_which_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = an_archive(tmp_path)
    call_command("import_defense", archive, "--name", "a")
    defense = Defense.objects.get()
    assert capsys.readouterr().out == f"{defense.public_id} a {defense.digest[:19]}: taken in\n"
    call_command("import_defense", archive, "--name", "a")
    assert "known already" in capsys.readouterr().out
    call_command("import_defense", archive, "--name", "b")
    assert Defense.objects.count() == 2, "the same image under another name"


def test_the_command_says_why_not(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no image archive"):
        call_command("import_defense", tmp_path / "x.tar", "--name", "a")


E = copies.EMPTY_LAYER


# the newcomer's layers, the other's, above the base, has the other's top layer; None where nothing is flagged
LAYERS: list[tuple[Sequence[str], Sequence[str], tuple[int, bool] | None, str]] = [
    (["py", "np", "a"], ["py", "np", "b"], None, "the same base, and their own on top"),
    (["py", "np", "b", "x"], ["py", "np", "b"], (0, True), "built on top of the other"),
    (["py", "np", "b"], ["py", "np", "b"], (0, True), "the same layers under another configuration"),
    (["ub", "np2", "b"], ["py", "np", "b"], (1, True), "the other's program on another base"),
    (["py", "new", "weights", "x"], ["py", "np", "weights", "b"], (1, False), "the other's weights"),
    (["py", E, "a", E], ["py", E, "b", E], None, "layers without a file prove nothing"),
    (["py", "b", E], ["py", "b"], (0, True), "an empty layer on top of the other"),
    (["a"], ["b"], None, "nothing in common"),
    ([], ["b"], None, "no image"),
    (["a"], [], None, "shipped with this project"),
]


PUBLISHED = {"published_at": factories.NOW}


@pytest.fixture
def older() -> Defense:
    return cast.container("older", layers=["py", "b"], weights="w" * 64, **PUBLISHED)


@pytest.mark.parametrize(("ours", "theirs", "found", "why"), LAYERS)
def test_layers_above_a_common_base_are_flagged(
    ours: Sequence[str], theirs: Sequence[str], found: tuple[int, bool] | None, why: str
) -> None:
    figures = copies.shared_layers(ours, theirs)
    assert (figures and (figures["above_the_base"], figures["their_top_layer"])) == found, why


def test_flags_are_made_once_with_figures_in_plain_numbers(older: Defense, now: datetime) -> None:
    newcomer = cast.container(layers=["py", "b", "c"], weights="w" * 64)
    assert [copies.copies_flag(now=now) for _ in range(2)] == [2, 0]
    layers, weights = CopyFlag.objects.order_by("likeness")
    assert (layers.likeness, weights.likeness) == (Likeness.LAYERS, Likeness.WEIGHTS)
    assert {(each.defense, each.original) for each in (layers, weights)} == {(newcomer, older)}
    assert weights.figures["same_name"] is False
    assert layers.figures == {
        "shared": 2, "of_theirs": 2, "of_ours": 3, "base": 2, "above_the_base": 0, "their_top_layer": True,
        "percent_of_theirs": 100.0, "same_name": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("newer", "older", "flags", "why"),
    [
        ({"weights": ""}, {"weights": ""}, 0, "no weights are nobody's weights"),
        ({"weights": "a"}, {"weights": "b"}, 0, "other weights"),
        ({"weights": "a"}, {"weights": "a", "published_at": None}, 0, "never published: nothing to copy"),
        ({"weights": "a"}, {"weights": "a", "retired_at": factories.NOW}, 1, "a retired one counts"),
    ],
)
def test_who_is_compared_with_whom(
    newer: dict[str, Any], older: dict[str, Any], flags: int, why: str, now: datetime
) -> None:
    cast.container("older", **(PUBLISHED | older))
    cast.container("newer", **newer)
    assert copies.copies_flag(now=now) == flags, why


def answered_with(labels: Sequence[int], *, off: float = 0.0, first: int = 1) -> bytes:
    rows = [(first + at, 0, label, 0.1 + at / 1000, 0.5 + off) for at, label in enumerate(labels)]
    return answers.pack_rows(rows)


LABELS = [1, 0, -1, 1, 0] * 10


@pytest.mark.parametrize(
    ("ours", "flagged", "why"),
    [
        (answered_with(LABELS), True, "all alike"),
        (answered_with(LABELS, off=0.00002), True, "scores to four places"),
        (answered_with(LABELS, off=0.01), False, "other scores"),
        (answered_with([-1, *LABELS[1:]]), False, "one answer differs"),
        (answered_with(LABELS[:49]), False, "too few"),
        (answered_with(LABELS, first=1000), False, "other pictures"),
        (b"", False, "a fault ended it at once"),
    ],
)
def test_answers_to_the_private_set_are_compared(
    ours: bytes, flagged: bool, why: str, older: Defense, now: datetime
) -> None:
    cast.passed(older, TrialKind.PRIVATE, answers=answered_with(LABELS))
    cast.passed(cast.container(), TrialKind.PRIVATE, answers=ours)
    assert copies.copies_flag(now=now) == int(flagged), why
    parts = {"pictures": 50, "same": 50, "answered": 40, "scores_vary": True}
    assert all(flag.figures | parts == flag.figures for flag in CopyFlag.objects.all())


def test_altered_pictures_and_other_kinds_of_number_are_kept_apart(older: Defense, now: datetime) -> None:
    newcomer = cast.container()
    cast.passed(older, TrialKind.PRIVATE, answers=answered_with(LABELS))
    cast.passed(newcomer, TrialKind.EARLIER, answers=answered_with(LABELS))  # the same numbers, of Images
    altered = [(at, 1, 1, 0.0, 0.0) for at in range(60)]
    cast.passed(newcomer, TrialKind.PROBE, answers=answers.pack_rows(altered))
    assert copies.copies_flag(now=now) == 0
    assert set(copies.trial_answers(newcomer)) == {("image", number) for number in range(1, 51)}


def test_official_answers_of_the_older_one_are_compared_too(older: Defense, now: datetime) -> None:
    newcomer = cast.container()
    for image, label in zip(scoring_cast.valid_pictures(50), LABELS, strict=True):
        scored(older, image, [label])
    official = Prediction.objects.order_by("image_id").values_list("image_id", "answer", "score_bicycle", "score_bird")
    rows = [(image, 0, answer, bicycle, bird) for image, answer, bicycle, bird in official]
    cast.passed(newcomer, TrialKind.EARLIER, answers=answers.pack_rows(rows))
    assert copies.copies_flag(now=now) == 1
    flag = CopyFlag.objects.get()
    assert (flag.likeness, flag.figures["scores_vary"]) == (Likeness.OUTPUTS, False)
    Trial.objects.filter(defense=newcomer).update(state=RunState.DEAD)
    assert copies.trial_answers(newcomer) == {}


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
    rows = set(PrivatePicture.objects.values_list("pk", "pixels_sha256", "label"))
    refused("set_complete", add, complete, 500)
    later = now + timedelta(days=1)
    refused("set_complete", private.private_set_complete, complete, meant=[], by=None, now=later)
    assert set(PrivatePicture.objects.values_list("pk", "pixels_sha256", "label")) == rows
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
    labels = sorted(PrivatePicture.objects.values_list("label", flat=True))
    assert (labels, PrivateSet.objects.get().imported_by) == (["bicycle"] * 2 + ["bird"] * 3, olga)
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
    in_force = selectors.private_set_in_force()
    assert in_force and (in_force.number, in_force.note, in_force.pictures.count()) == (1, "theirs", 5)


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
