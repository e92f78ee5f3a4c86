"""What a scorer does on its machine: a device for one process, the cache of pictures, containers, and what its keeper
is told."""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from common import clock
from defense_kit import container
from defense_kit.conversation import ConversationDeadlines
from defense_kit.faults import Fault
from defense_kit.limits import DefenseLimits
from defense_kit.sealing import ATTEMPT_LABEL, DIGEST_LABEL, SCORER_LABEL
from picture_files.png import encode_png
from picture_files.store import PictureMissing, picture_store
from policy.numbers import Policy
from scoring import arrays, sealed
from scoring.enums import RunState
from scoring.machine import Slot, take_slot
from scoring.models import Defense, Run, Scorer, Trial
from scoring.runner import ReferenceRunner
from scoring.scorers import LocalScorer, Runners, deadlines_of, limits_of
from scoring.sealed import ContainerRunner, archive_key
from tests import factories
from tests.images import PYTHON, Image, files_layer, numpy_layer, python_layer, write_archive
from tests.refusals import faulted
from tests.registry import registry
from tests.scoring import cast

pytestmark = pytest.mark.django_db


HOLDER = """
import sys, time
from pathlib import Path
from scoring.machine import take_slot
slot = take_slot(Path(sys.argv[1]), "cuda", 2)
print(slot and slot.name, flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Any:
    """Start processes that take a slot each; they end with the test."""
    started: list[subprocess.Popen[str]] = []

    def hold() -> tuple[str, subprocess.Popen[str]]:
        command = [sys.executable, "-c", HOLDER, str(tmp_path)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout is not None
        return started[-1].stdout.readline().strip(), started[-1]

    yield hold
    for process in started:
        process.kill()
        process.communicate()


def test_each_process_has_a_device_of_its_own_and_a_killed_one_gives_it_back(holder: Callable[[], Any]) -> None:
    (first, killed), (second, _), (third, _) = holder(), holder(), holder()
    assert (first, second, third) == ("cuda-0", "cuda-1", "None")
    killed.kill()
    killed.wait()
    assert holder()[0] == "cuda-0"


def slot_in(folder: Path) -> Slot:
    slot = take_slot(folder, "cpu", 1)
    assert slot is not None
    return slot


def test_a_slot_knows_itself_again_whatever_the_machine_is_called(tmp_path: Path) -> None:
    first = slot_in(tmp_path / "one")
    assert first.folder.is_dir() and take_slot(tmp_path / "one", "cpu", 1) is None, "the processor is one device"
    first.lock.close()
    again, another = slot_in(tmp_path / "one"), slot_in(tmp_path / "two")
    assert again.identity == first.identity != another.identity


@pytest.mark.parametrize(("seconds", "works"), [(4, True), (-4, True), (6, False), (-3600, False)])
def test_nothing_is_begun_with_a_clock_of_its_own(
    seconds: int, works: bool, tmp_path: Path, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second scorer of the same device waits for the first."""
    factories.policy_version()
    cast.queued(now, "always-abstain")
    monkeypatch.setattr(clock, "clock_difference", lambda: timedelta(seconds=seconds))
    first, second = (LocalScorer(folder=tmp_path, device="cpu", runtime="process") for _ in range(2))
    assert (first.work(), second.work()) == (works, 0)
    (seen,) = Scorer.objects.all()
    assert ("clock" in seen.held) is not works, "the overview says why"
    assert (seen.name.rpartition(":")[2], seen.device[:5], seen.runtime) == ("cpu-0", "cpu, ", "process")
    assert Run.objects.filter(attempt=0).count() == (2 if works else 3)


def test_how_a_defense_is_run(tmp_path: Path, now: datetime) -> None:
    """What strangers handed in runs in a container or not at all."""
    factories.policy_version()
    theirs = Defense(name="theirs", image=f"sha256:{'0' * 64}", digest="sha256:1", created_at=now)
    ours = Defense(name="ours", reference="always-abstain", digest="sha256:1", created_at=now)
    sealed, plain = (Runners(slot_in(tmp_path / runtime), runtime) for runtime in ("docker", "process"))
    kinds = [type(runner) for runner in (sealed(theirs), sealed(ours), plain(ours))]
    assert kinds == [ContainerRunner, ReferenceRunner, ReferenceRunner]
    assert "runs no containers" in faulted(Fault.PLATFORM, plain, theirs).text


def test_limits_and_deadlines_are_the_policys() -> None:
    policy = Policy(
        batch_size=8, seconds_per_picture=5, start_seconds=7, hello_seconds=3, defense_memory_mib=512, defense_cpus=3
    )
    limits = limits_of(policy)
    assert (limits.memory_mib, limits.cpus, limits.processes, limits.scratch_mib) == (512, 3, 256, 1024)
    assert deadlines_of(policy, 8) == ConversationDeadlines(start=7, hello=3, batch=40)


@pytest.mark.parametrize(("runtime", "told"), [("docker", ""), ("process", "process")])
def test_a_scorer_tells_whether_a_container_engine_answers(
    runtime: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.policy_version()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setattr(clock, "clock_difference", lambda: timedelta(0))
    assert LocalScorer(folder=tmp_path, device="cpu", runtime=runtime).work() == 0
    assert Scorer.objects.get().runtime == told


@pytest.mark.parametrize("runtime", ["docker", "process"])
def test_what_runs_in_a_container_waits_for_a_scorer_with_an_engine(
    runtime: str, tmp_path: Path, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R30: no try is counted where none can succeed, neither of runs nor of trials; the shipped defenses go on."""
    factories.policy_version()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    monkeypatch.setattr(clock, "clock_difference", lambda: timedelta(0))
    told = {"image": NOWHERE, "digest": NOWHERE, "created_at": now}
    Defense.objects.create(name="theirs", published_at=now, **told)
    cast.queued(now, "always-abstain")
    long_ago, newcomer = now - timedelta(days=1), Defense.objects.create(name="new", **told)
    Trial.objects.create(defense=newcomer, kind="smoke", number=1, seed=1, batch_size=4, created_at=long_ago)
    scorer = LocalScorer(folder=tmp_path, device="cpu", runtime=runtime)
    assert sum(iter(scorer.work, 0)) == 3
    found = {("theirs", RunState.QUEUED, 0, 0), ("always-abstain", RunState.FINISHED, 1, 0)}
    assert set(Run.objects.values_list("defense__name", "state", "attempt", "tries")) == found
    assert Trial.objects.values_list("state", "attempt").get() == (RunState.QUEUED, 0)


def checked(settings: Any, runtime: str) -> None:
    settings.DEFENSE_RUNTIME, settings.SCORING_DEVICE = runtime, "cpu"
    call_command("scorer_check")


def test_a_scorer_for_shipped_defenses_needs_no_engine_and_another_says_so(
    settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/engine.sock")
    checked(settings, "process")
    assert "Device: cpu, " in (said := capsys.readouterr().out) and said.endswith("Ready.\n")
    with pytest.raises(CommandError, match="container engine"):
        checked(settings, "docker")


def test_an_engine_is_named_with_what_it_leaves_open(
    settings: Any,
    containers: Any,
    engine_address: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine_address)
    checked(settings, "docker")
    said = capsys.readouterr().out
    assert said.count("Open: ") == len(container.weaknesses(containers))
    assert "Container engine: " in said and "Ready." in said


CACHED_BYTES = 20 * 20 * 3 + 8


def pictures(count: int) -> Any:
    return np.random.default_rng(3).integers(0, 256, (count, 20, 20, 3), dtype=np.uint8)


def files(folder: Path) -> list[Path]:
    return [path for path in Path(folder).rglob("*") if path.is_file()]


def test_arrays_are_the_pixels_in_the_order_asked_for(settings: Any) -> None:
    drawn = pictures(3)
    shas = [cast.stored(picture).pixels_sha256 for picture in drawn]
    assert (arrays.load_arrays(shas[::-1], 20) == drawn[::-1]).all()
    assert sorted(path.stat().st_size for path in files(settings.ARRAY_CACHE_DIR)) == [CACHED_BYTES] * 3


def stored() -> tuple[Any, str]:
    """A picture in the store, and its name."""
    (drawn,) = pictures(1)
    return drawn, cast.stored(drawn).pixels_sha256


def is_loaded(drawn: Any, sha: str) -> bool:
    return bool((arrays.load_arrays([sha], 20)[0] == drawn).all())


def test_a_picture_is_decoded_once(settings: Any, tmp_path: Path) -> None:
    picture = stored()
    for store in (settings.IMAGE_STORE_URL, f"file://{tmp_path / 'an-empty-store'}"):
        settings.IMAGE_STORE_URL = store
        assert is_loaded(*picture)


DAMAGES: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda _: b"", "empty"),
    (lambda whole: whole[:-1], "cut off"),
    (lambda whole: whole + b"\0", "too long"),
    (lambda whole: bytes(len(whole)), "zeros, as after a power cut"),
    (lambda whole: bytes([whole[0] ^ 1]) + whole[1:], "one bit of the pixels"),
    (lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]), "one bit of the checksum"),
    (lambda whole: whole[:1200], "pixels alone, as earlier versions cached them"),
]


@pytest.mark.parametrize(("damage", "why"), DAMAGES, ids=[row[1] for row in DAMAGES])
def test_a_cache_file_that_is_not_the_picture_is_made_again(
    settings: Any, damage: Callable[[bytes], bytes], why: str
) -> None:
    picture = stored()
    assert is_loaded(*picture)
    (file,) = files(settings.ARRAY_CACHE_DIR)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert is_loaded(*picture) and file.read_bytes() == whole, why


def test_what_a_defense_writes_to_shared_memory_is_never_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, sha = stored()
    shared, cache = np.empty((1, 20, 20, 3), np.uint8), arrays.cache_picture

    def meanwhile(*values: Any) -> None:
        shared[:] = 0
        cache(*values)

    monkeypatch.setattr(arrays, "cache_picture", meanwhile)
    arrays.read_arrays([sha], shared)
    monkeypatch.undo()
    assert (shared == drawn).all() and is_loaded(drawn, sha)


def test_what_a_defense_writes_to_shared_memory_is_no_damage_of_the_cache(
    settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drawn, sha = stored()
    assert is_loaded(drawn, sha)
    settings.IMAGE_STORE_URL = f"file://{tmp_path / 'an-empty-store'}"
    shared, checksum = np.empty((1, 20, 20, 3), np.uint8), arrays._checksum

    def meanwhile(*values: Any) -> bytes:
        shared[:] = 0
        return checksum(*values)

    monkeypatch.setattr(arrays, "_checksum", meanwhile)
    monkeypatch.setattr(arrays.log, "warning", lambda *_, **__: pytest.fail("nothing is damaged"))
    arrays.read_arrays([sha], shared)
    assert (shared == drawn).all()


def test_a_cache_file_under_the_name_of_another_picture_is_made_again(settings: Any) -> None:
    drawn = pictures(2)
    one, other = (cast.stored(each).pixels_sha256 for each in drawn)
    arrays.load_arrays([one, other], 20)
    (first,), (second,) = (list(Path(settings.ARRAY_CACHE_DIR).rglob(f"{sha}*")) for sha in (one, other))
    second.write_bytes(first.read_bytes())
    assert is_loaded(drawn[1], other)


WRONG = [
    (lambda file: file.unlink(), 20, PictureMissing, ".", "not in the store"),
    (lambda file: file.write_bytes(file.read_bytes()[:-20]), 20, arrays.WrongPicture, "damaged", "damaged"),
    (
        lambda file: file.write_bytes(encode_png(20, 20, pictures(2)[1].tobytes())),
        *(20, arrays.WrongPicture, "other pixels", "other pixels under its name"),
    ),
    (lambda _: None, 30, arrays.WrongPicture, "20 x 20 in the store, not 30 x 30", "of another size"),
]


@pytest.mark.parametrize(("change", "size", "error", "words", "why"), WRONG, ids=[row[4] for row in WRONG])
def test_what_is_not_the_picture_is_an_error(
    change: Any, size: int, error: type[Exception], words: str, why: str, tmp_path: Path
) -> None:
    _, sha = stored()
    change(next((tmp_path / "pictures").rglob("*.png")))
    with pytest.raises(error, match=words):
        arrays.load_arrays([sha], size)


def test_a_full_disk_costs_only_time_and_leaves_no_half_file(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    picture = stored()
    monkeypatch.setattr("os.replace", full)
    assert is_loaded(*picture) and files(settings.ARRAY_CACHE_DIR) == []
    settings.ARRAY_CACHE_DIR = settings.ARRAY_CACHE_DIR.with_name("never-made")
    assert arrays.make_room(1 << 60) == 0, "there is always room without a cache"


@pytest.mark.parametrize(
    ("least", "free", "left", "why"),
    [
        (10_000, 10_000, 3, "there is room"),
        (10_000, 9_999, 0, "all of it is less than what is missing"),
        (600, 599, 2, "what was cached longest ago goes first"),
        (1_300, 1_299, 1, "as long as there is too little"),
    ],
)
def test_the_cache_gives_way_where_the_disk_is_short(
    least: int, free: int, left: int, why: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = []  # three files, the oldest first
    for age, picture in zip((300, 200, 100), pictures(3), strict=True):
        arrays.load_arrays([cast.stored(picture).pixels_sha256], 20)
        (new,) = set(files(settings.ARRAY_CACHE_DIR)) - set(cached)
        os.utime(new, (1_000_000 - age, 1_000_000 - age))
        cached.append(new)
    monkeypatch.setattr(arrays.shutil, "disk_usage", lambda _: SimpleNamespace(free=free, total=10**9))
    assert arrays.make_room(least) == 3 - left
    assert sorted(files(settings.ARRAY_CACHE_DIR)) == sorted(cached[3 - left :]), why


KIT = Path(container.__file__).parent


PROGRAM = b"""
import numpy as np
from defense_kit.serve import serve

def predict(images):
    shared = "/memfd:batches" in open("/proc/self/maps").read()
    labels = ["bird" if image.mean() > 127 else "bicycle" for image in images]
    return labels, [[0, shared]] * len(images)

serve(predict, name="by brightness")
"""


LIMITS = DefenseLimits(memory_mib=256, cpus=1, processes=32, scratch_mib=8)


def deadlines(rows: int) -> ConversationDeadlines:
    return ConversationDeadlines(start=60, hello=30, batch=15 * rows)


@pytest.fixture
def runner(engine_address: str, tmp_path: Path) -> Callable[..., ContainerRunner]:
    def _runner(**changes: Any) -> ContainerRunner:
        usual = {"scorer": "test-sealed", "folder": tmp_path / "scorer", "limits": LIMITS, "deadlines": deadlines}
        return ContainerRunner(**{**usual, "address": engine_address, "min_free_bytes": 1 << 20, **changes})

    return _runner


NOWHERE = f"sha256:{'cd' * 32}"


def kit_image(folder: Path, program: bytes = PROGRAM) -> Image:
    """A defense as a participant would write it, with the kit beside its program."""
    files = {f"opt/defense_kit/{path.name}": path.read_bytes() for path in KIT.glob("*.py")}
    layers = [python_layer(), numpy_layer(), files_layer(folder, files | {"opt/run.py": program})]
    return Image(layers, [PYTHON, "/opt/run.py"])


def handed_in(image: Image, tmp_path: Path, *, key: str = "") -> Defense:
    """A defense whose image archive is in the store."""
    archive = write_archive(tmp_path / "image.tar", [image]).read_bytes()
    sha256 = key or hashlib.sha256(archive).hexdigest()
    picture_store().put(archive_key(sha256), archive)
    return Defense(name="by brightness", image=image.id, digest=image.id, archive=sha256)


@pytest.fixture
def defense(tmp_path: Path) -> Defense:
    return handed_in(kit_image(tmp_path), tmp_path)


def opened(runner: ContainerRunner, defense: Defense, **changes: Any) -> Any:
    return runner.open(defense, **{"device": "cpu", "image_size": 32, "batch_size": 2, "seed": 7, **changes})


def test_a_defense_comes_out_of_the_store_and_answers(
    runner: Callable[..., ContainerRunner], containers: Any, defense: Defense, tmp_path: Path
) -> None:
    session = opened(runner(), defense, attempt="5")
    try:
        (running,) = containers.containers.list()
        labels = [running.labels[name] for name in (ATTEMPT_LABEL, DIGEST_LABEL)]
        assert labels == ["5", defense.image]
        batch = np.stack([np.full((32, 32, 3), shade, np.uint8) for shade in (10, 200)])
        session.send(batch)
        session.send(batch[::-1])
        answers = [session.receive() for _ in range(2)]
        assert [each.labels.tolist() for each in answers] == [[0, 1], [1, 0]]
        assert all((each.scores[:, 1] == 1).all() for each in answers), "its batches lie in shared memory"
        assert session.name == "by brightness"
        assert session.device.startswith("cpu, ") and session.device.endswith(", container")
    finally:
        session.close()
    assert containers.containers.list(all=True) == []
    assert list((tmp_path / "scorer").iterdir()) == [], "neither the archive nor the socket is left"


def test_what_a_killed_scorer_or_a_failed_stop_left_is_removed(
    runner: Callable[..., ContainerRunner], containers: Any, defense: Defense, tmp_path: Path
) -> None:
    """When it begins again, and before the next defense opens; another scorer's containers stay."""
    one, left = runner(), tmp_path / "scorer" / "gate-left"
    other = opened(runner(scorer="test-sealed-2"), defense)
    opened(one, defense)  # and never closed, as if its stop had failed
    opened(one, defense)  # nor this one, as if killed
    found = sorted(each.labels[SCORER_LABEL] for each in containers.containers.list(all=True))
    assert found == ["test-sealed", "test-sealed-2"]
    other.close()
    (tmp_path / "scorer" / "archive-half").mkdir()
    left.mkdir()
    (left / "link").symlink_to(tmp_path / "image.tar")
    assert runner().start_clean() == 1
    assert containers.containers.list(all=True) == list((tmp_path / "scorer").iterdir()) == []
    assert (tmp_path / "image.tar").exists(), "links are not followed"


@pytest.mark.long("waits for a deadline; `test_scorers` shows whose seconds they are")
def test_a_batch_has_the_seconds_of_the_pictures_that_were_asked_for(
    runner: Callable[..., ContainerRunner], containers: Any, tmp_path: Path
) -> None:
    slow = PROGRAM.replace(b"    shared =", b"    __import__('time').sleep(600)\n    shared =")
    short = runner(deadlines=lambda rows: ConversationDeadlines(start=60, hello=30, batch=0.5 * rows))
    session = opened(short, handed_in(kit_image(tmp_path, slow), tmp_path), batch_size=4)
    try:
        session.send(np.zeros((1, 32, 32, 3), np.uint8))
        started = time.monotonic()
        faulted(Fault.BATCH_TIMEOUT, session.receive)
        assert 1.5 < time.monotonic() - started < 10
    finally:
        session.close()


def test_a_program_that_kills_itself_may_have_been_killed_by_the_machine(
    runner: Callable[..., ContainerRunner], containers: Any, tmp_path: Path
) -> None:
    """In a batch and at its start: the fault is the platform's, and marked."""
    kill = b"__import__('os').kill(__import__('os').getpid(), 9)"
    in_a_batch = PROGRAM.replace(b"    shared =", b"    " + kill + b"\n    shared =")
    session = opened(runner(), handed_in(kit_image(tmp_path, in_a_batch), tmp_path))
    try:
        session.send(np.zeros((1, 32, 32, 3), np.uint8))
        assert faulted(Fault.PLATFORM, session.receive).killed
    finally:
        session.close()
    at_once = Image([python_layer()], [PYTHON, "-c", kill.decode()])
    assert faulted(Fault.PLATFORM, opened, runner(), handed_in(at_once, tmp_path)).killed


def test_a_defense_named_by_its_digest_comes_from_its_registry(
    runner: Callable[..., ContainerRunner], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is fetched no further where the disk fills up."""
    with registry() as source:
        name = source.offer(Image([python_layer()], [PYTHON, "-c", "raise SystemExit('from a registry')"]))
        fetched = Defense(name="d", image=name, digest=name)
        assert "from a registry" in faulted(Fault.CRASHED, opened, runner(), fetched).log
        source.slow = "blobs"
        other = source.offer(Image([files_layer(tmp_path, {"run": bytes(1 << 20)})], ["/run"]))
        monkeypatch.setattr(sealed, "FREE_WHILE_FETCHING", 1e-12)
        fault = faulted(Fault.PLATFORM, opened, runner(), Defense(name="d", image=other, digest=other))
        assert "disk is nearly full" in fault.text


def test_an_archive_that_changed_in_the_store_is_not_loaded(
    runner: Callable[..., ContainerRunner], containers: Any, tmp_path: Path
) -> None:
    changed = handed_in(Image([files_layer(tmp_path, {"run": b"changed"})], ["/run"]), tmp_path, key="ef" * 32)
    assert f"expected {'ef' * 32}" in faulted(Fault.IMAGE_PULL, opened, runner(), changed).text
    assert not container.present(containers, changed.image)


def test_a_full_disk_is_the_platforms_fault_and_old_images_go(
    runner: Callable[..., ContainerRunner], containers: Any, tmp_path: Path
) -> None:
    kept, wanted = (Image([files_layer(tmp_path, {"run": name})], ["/run"]) for name in (b"kept", b"wanted"))
    container.load_archive(containers, write_archive(tmp_path / "kept.tar", [kept]), kept.id)
    full = runner(min_free_bytes=1 << 60)
    assert "too full" in faulted(Fault.PLATFORM, opened, full, handed_in(wanted, tmp_path)).text
    assert not container.present(containers, kept.id)


GREEDY = DefenseLimits(memory_mib=1 << 30, cpus=1, processes=32, scratch_mib=8)


NOT_STARTED: list[tuple[DefenseLimits, dict[str, Any], Fault, str, str]] = [
    (LIMITS, {"archive": "cd" * 32}, Fault.IMAGE_PULL, "has no defenses/", "a store without the archive"),
    (LIMITS, {"device": "cuda"}, Fault.PLATFORM, "", "a card that is not named"),
    (GREEDY, {}, Fault.PLATFORM, "MiB of memory free", "what the machine could run out of memory with"),
]


@pytest.mark.parametrize(
    ("limits", "values", "fault", "words", "why"), NOT_STARTED, ids=[row[4] for row in NOT_STARTED]
)
def test_what_cannot_be_started_says_so(
    limits: DefenseLimits, values: dict[str, Any], fault: Fault, words: str, why: str, runner: Any, request: Any
) -> None:
    defense = (
        request.getfixturevalue("defense") if limits is GREEDY else Defense(name="d", image=NOWHERE, digest=NOWHERE)
    )
    defense.archive = values.get("archive", defense.archive)
    found = faulted(fault, opened, runner(limits=limits), defense, device=values.get("device", "cpu"))
    assert words in found.text, why


@pytest.mark.long("a container of its own; the fault stays with `test_scorers`")
def test_an_engine_that_is_away_is_asked_again_the_next_time(
    runner: Callable[..., ContainerRunner], engine_address: str, defense: Defense, tmp_path: Path
) -> None:
    away = tmp_path / "docker.sock"
    late = runner(address=f"unix://{away}")
    faulted(Fault.PLATFORM, opened, late, defense)
    away.symlink_to(engine_address.removeprefix("unix://"))
    opened(late, defense).close()


def test_a_run_that_somebody_stops_is_cancelled(
    runner: Callable[..., ContainerRunner], containers: Any, tmp_path: Path
) -> None:
    """While it starts; `tests/defense_kit/test_process.py` stops one in a batch."""
    idle = Image([python_layer()], [PYTHON, "-c", "import time; time.sleep(600)"])
    faulted(Fault.CANCELLED, opened, runner(), handed_in(idle, tmp_path), cancelled=lambda: True)
    assert containers.containers.list(all=True) == []
