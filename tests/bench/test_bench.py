"""The benchmarks run, and what they measure is what they say: also in containers and without, and in a browser. How
fast is for `make bench` alone."""

import mmap
import os
import subprocess
import sys
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from bench import label_page, machine, run, scoring
from bench.forms import IMAGE_SIZE, form
from bench.label_gold import chance_of_slower
from bench.label_hand import Traffic, _pairs
from bench.networks import BARE_WAYS, CNN, RESNET50, Bare, build, source, weights
from bench.outcome import Figure, Report, Section, median_ratio, percentiles, record, record_sections
from bench.servers import Cluster
from bench.warmup_peers import nearest, seconds_to, success
from bench.warmup_runs import QUICK, chosen, moved, starts
from defense_kit.warmup.attacks import as_floats
from labeling.answers import read_form
from policy.enums import OutlineGate
from scoring.inference import load_torch
from tests.engine import VARIABLE

pytestmark = pytest.mark.long("the benchmarks' own tests")


def test_every_form_is_a_complete_answer_with_8_to_24_corners() -> None:
    for seed in range(200):
        read = read_form(form(Random(seed)), width=IMAGE_SIZE, height=IMAGE_SIZE, gate=OutlineGate.BEST_GUESS_YES)
        assert read.outline is not None
        assert [8 <= len(ring) <= 24 for ring in read.outline.rings] == [True]


def test_it_begins_without_settings_as_make_bench_calls_it() -> None:
    bare = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    subprocess.run([sys.executable, "-m", "bench.run", "--help"], env=bare, check=True, capture_output=True)


def test_cpu_seconds_count_children_that_live_and_that_ended() -> None:
    burn = "import time; end = time.process_time() + {0}\nwhile time.process_time() < end: pass"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn.format(0.3)!r}])\n"
    program += burn.format(0.3) + "\nprint('ready', flush=True); sys.stdin.readline()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        process.stdout.readline()
        assert 0.5 < machine.cpu_seconds(process.pid) < 5
        process.stdin.close()
    assert machine.cpu_seconds(os.getpid()) > 0


def test_a_peak_of_memory_is_forgotten() -> None:
    block = mmap.mmap(-1, 200 << 20)  # the system's own: an allocator may keep what it is given back
    for page in range(0, len(block), mmap.PAGESIZE):
        block[page] = 1
    peak = machine.peak_memory_mb()
    block.close()
    machine.forget_peak_memory()
    assert machine.peak_memory_mb() < peak - 100


def test_percentiles_and_ratios() -> None:
    assert percentiles([float(n) for n in range(100)]) == (50, 95, 99)
    assert median_ratio([2, 30, 8], [1, 10, 4]) == 2, "of pairs, not of medians"
    assert Figure.at_least("speed", 5, 5).met and not Figure.at_most("cost", 5.1, 5).met


@pytest.mark.parametrize(
    ("before", "now", "failures"),
    [
        (Figure.at_least("speed", 2, 1, floor="bare"), Figure.at_least("speed", 1.71, 1, floor="bare"), []),
        (
            Figure.at_least("speed", 2, 1, floor="bare"),
            Figure.at_least("speed", 1.69, 1, floor="bare"),
            ["Loop: speed is 1.69, and was 2"],
        ),
        (
            Figure.at_most("cost", 1, 2, floor="bare"),
            Figure.at_most("cost", 1.2, 2, floor="bare"),
            ["Loop: cost is 1.2, and was 1"],
        ),
        (Figure.at_most("page", 10, 20, " kB"), Figure.at_most("page", 19, 20, " kB"), []),  # no ratio
        (
            Figure.at_most("page", 10, 20, " kB"),
            Figure.at_most("page", 21, 20, " kB"),
            ["Loop: page is 21 kB, not at most 20 kB"],
        ),
        (Figure.at_least("other", 9, 1, floor="bare"), Figure.at_least("speed", 1, 1, floor="bare"), []),  # new
    ],
)
def test_a_missed_goal_and_a_ratio_that_fell_fail(
    before: Figure, now: Figure, failures: list[str], tmp_path: Path
) -> None:
    record(tmp_path, Report({}, [Section("Loop", "how", [], [before])]))
    later = Report({}, [Section("Loop", "how", [], [now])])
    assert later.failures(Report.read(tmp_path)) == failures
    assert record(tmp_path, later) == bool(failures)


@pytest.mark.postgres("measured on the database of a contest")
def test_all_of_them_run_at_tiny_size_and_the_audits_find_nothing(tmp_path: Path) -> None:
    run.main(["--quick", "--out", str(tmp_path)])
    sections = Report.read(tmp_path).sections
    assert [section.title for section in sections] == [
        *("The rules", "The labeling loop", "The weekly release", "The verifier"),
        *("What if", "Last minute of a week"),
        *("Scoring", "The wire alone", "Cost per picture", "Killed scorers"),
        *("Warm-up", "Warm-up against peers"),
    ]
    assert all(each.met for each in sections[9].figures), "the same answers, killed or not"
    assert all(each.met for each in sections[5].figures), sections[5]
    loop = sections[1].data
    assert {"one tab", "two tabs", "sent twice", "two tabs, sent twice"} <= set(loop["audits"])
    assert all(found == 0 for audit in loop["audits"].values() for found in audit.values()), loop["audits"]
    assert all(each["answers"]["submit 201"] > 0 for each in loop["rounds"])
    assert "| floor |" in (tmp_path / "results.md").read_text()


def test_every_answer_is_paired_with_the_picture_after_it() -> None:
    assert _pairs([10.0, 110.0], [[5.0, "a"], [40.0, "b"], [190.0, "c"]]) == [30.0, 80.0]


@pytest.mark.parametrize(
    ("paints", "reason"),
    [
        ([[5.0, "a"], [40.0, "b"]], "one picture was never painted"),
        ([[5.0, "a"], [40.0, "b"], [190.0, "b"]], "the same picture again is not the next one"),
        ([[5.0, "a"], [40.0, "b"], [190.0, "c"], [220.0, "d"]], "a picture that nobody asked for"),
    ],
)
def test_what_does_not_pair_is_refused(paints: list[list[object]], reason: str) -> None:
    with pytest.raises(RuntimeError, match="pictures painted"):
        _pairs([10.0, 110.0], paints)


def test_the_page_is_everything_but_its_pictures() -> None:
    traffic = Traffic({"document": 1, "script": 2, "picture": 3}, {"document": 40, "script": 60, "picture": 300})
    assert (traffic.before_picture, traffic.requests_before_picture) == (100, 3)


def test_the_chance_of_being_slower() -> None:
    assert [chance_of_slower(each, [1, 2]) for each in ([3, 4], [1, 2])] == [1, 0.5], "ties count for half"


def test_a_section_measured_alone_takes_the_place_of_its_former_self(tmp_path: Path) -> None:
    other = Section("Other", "how", [], [Figure.at_most("other", 1, 1)])
    record(tmp_path, Report({"cores": "2"}, [Section("Page", "first", [], [Figure.at_most("page", 2, 1)]), other]))
    assert record_sections(tmp_path, [Section("Page", "second", [], [Figure.at_most("page", 1, 1)])]) == 0
    text = (tmp_path / "results.md").read_text()
    assert (text.count("## Page"), text.count("## Other"), "first" in text) == (1, 1, False)
    assert text.index("## Page") < text.index("## Other")
    assert "| Page | page |  | 1 | at most 1 | yes |" in text and "| cores | 2 |" in text


@pytest.mark.browser
@pytest.mark.postgres("measured on the database of a contest")
def test_a_few_labels_keep_the_limits_that_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    label_page.main(["--quick", "--out", str(tmp_path)])
    (section,) = Report.read(tmp_path).sections
    plan, found = section.data["plan"], section.data["found"]
    for pace in ("paced", "hurried"):
        taken = found[pace]["key_to_paint"]
        assert len(taken) == plan[pace] and min(taken) > 0
    weighs = found["cold"]["bytes"]
    assert {"document", "script", "stylesheet", "picture"} <= set(weighs)
    assert sum(weighs.values()) - weighs["picture"] < 1000 * label_page.MAX_KB
    assert found["warm"]["bytes"]["script"] == found["warm"]["bytes"]["stylesheet"] == 0
    # What a page builds once it may build late on a slow machine: what counts is that it does not go on growing.
    *_, first, last = found["memory"]
    grown = {kind: last[kind] - first[kind] for kind in ("nodes", "listeners")}
    assert grown["nodes"] <= label_page.MAX_NODES and grown["listeners"] <= label_page.MAX_LISTENERS, grown
    assert found["kept"] == plan["paced"] + plan["hurried"] + plan["marks"][-1]
    assert [len(found[kind][call]) for kind in ("gold", "ordinary") for call in ("claim", "submit")] == [
        plan["calls"]
    ] * 4


NOWHERE = Cluster("postgres://nobody@127.0.0.1:1/none", 0)


def test_a_container_is_given_the_same_network() -> None:
    torch = load_torch()
    images = torch.randint(0, 256, (2, 64, 64, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    for name in (CNN, RESNET50):
        own: dict[str, Any] = {}
        exec(source(name), own)  # as in the image: without this project
        torch.manual_seed(1)
        here, there = build(name, torch).eval(), own["build_network"](torch).eval()
        there.load_state_dict(here.state_dict())
        with torch.inference_mode():
            assert torch.equal(here(images), there(images)), name


def test_resnet50_has_the_size_of_resnet50() -> None:
    network = build(RESNET50, load_torch())
    # 25,557,032 for ImageNet's thousand classes; here are two.
    assert sum(each.numel() for each in network.parameters()) == 25_557_032 - 998 * 2049


@pytest.mark.parametrize("way", BARE_WAYS)
def test_the_bare_forward_pass_is_timed_in_a_process_of_its_own(way: str, tmp_path: Any) -> None:
    with Bare(CNN, weights(CNN, tmp_path), "cpu", 2, BARE_WAYS[way]) as bare:
        assert bare(1) > 0 and bare(2) > 0


def test_the_wire_into_a_container(containers: Any, engine_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine_address)
    before = {image.id for image in containers.images.list(all=True)}
    section = scoring.wire(NOWHERE, scoring.QUICK)
    assert section.data["pictures_per_second"].keys() == {16}
    assert [each.what for each in section.figures] == ["pictures/s in batches of 16"]
    left = {image.id for image in containers.images.list(all=True)}
    assert (containers.containers.list(all=True), left) == ([], before), "the image is taken away again"


# Picture, queries of that picture, seconds, L2.
EVENTS = np.array([[0, 1, 1, 9], [1, 1, 2, 8], [0, 2, 3, 4], [1, 2, 4, 5], [1, 3, 5, 3]], float)


@pytest.mark.parametrize(("queries", "far"), [(0, [inf, inf]), (1, [9, 8]), (2, [4, 5]), (9, [4, 3])])
def test_the_nearest_wrong_pictures_after_some_queries(queries: int, far: list[float]) -> None:
    assert nearest(EVENTS, 2, column=1, most=queries).tolist() == far


@pytest.mark.parametrize(("far", "seconds"), [(8.5, 2), (6, 3), (4.5, 4), (3.5, 5), (3, inf)])
def test_when_half_of_the_pictures_were_so_near(far: float, seconds: float) -> None:
    assert seconds_to(EVENTS, 2, far) == seconds


def test_a_picture_beyond_the_bound_counts_as_no_success() -> None:
    of = chosen(QUICK)
    originals, bird = moved("spsa", of), as_floats(starts()[0].pixels)
    assert [success(of, originals, found) for found in (originals, np.stack([bird, bird]))] == [0, 0]
    assert success(of, np.stack([bird, bird]), np.stack([bird, bird])) == 100, "wrong, and nothing was added"


def test_without_an_engine_it_says_so_and_requires_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv(VARIABLE, "none")
    section = scoring.wire(NOWHERE, scoring.QUICK)
    assert section.how == f"Not measured: {VARIABLE} is none." and not section.figures


def test_ratios_are_of_pairs_and_the_other_bare_pass_is_not_held_to_anything() -> None:
    ways = ("bare", "bare, memory kept", "worker, answers", "worker, rows")
    times = {way: [share, 10 * share] for way, share in zip(ways, (1.0, 10.0, 9.6, 5.0), strict=True)}
    section = scoring.judged("cpu", {CNN: times, RESNET50: times}, scoring.Engine("", "no engine"), scoring.QUICK)
    assert [(each.what, each.floor, each.goal, each.met) for each in section.figures] == [
        ("pictures/s, demo-cnn, worker, answers", "bare, memory kept", 0.95, True),
        ("pictures/s, demo-cnn, worker, rows", "bare, memory kept", 0.95, False),
        ("pictures/s, resnet50, worker, answers", "bare, memory kept", 0.95, True),
        ("pictures/s, resnet50, worker, rows", "bare, memory kept", 0.95, False),
    ]
    assert "Nothing was measured in containers: no engine." in section.how
