"""The benchmarks run, and what they measure is what they say. How fast is for `make bench` alone."""

import json
import mmap
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from bench import machine, run
from bench.forms import IMAGE_SIZE, form
from bench.outcome import Requirement, median_ratio, percentiles
from labeling.answers import read_answers
from labeling.enums import OutlineGate

pytestmark = pytest.mark.long("the benchmarks' own tests")


def test_every_form_is_a_complete_answer_with_8_to_24_corners() -> None:
    for seed in range(200):
        read = read_answers(form(Random(seed)), width=IMAGE_SIZE, height=IMAGE_SIZE, gate=OutlineGate.BEST_GUESS_YES)
        assert read.outline is not None
        (ring,) = read.outline.rings
        assert 8 <= len(ring) <= 24


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
    assert Requirement.at_least("speed", 5, 5).kept and not Requirement.at_most("cost", 5.1, 5).kept


@pytest.mark.postgres("measured on the database of a contest")
def test_all_of_them_run_at_tiny_size_and_the_audits_find_nothing(tmp_path: Path) -> None:
    run.main(["--quick", "--out", str(tmp_path)])
    results = json.loads((tmp_path / "results.json").read_text())
    titles = [section["title"] for section in results["sections"]]
    assert titles == [
        *("The rules", "The labeling loop", "The weekly release", "The verifier"),
        *("What if", "Last minute of a week"),
        *("Scoring", "The wire alone", "Cost per picture", "Killed scorers"),
    ]
    assert results["sections"][-1]["requirements"][0]["kept"], "the same answers, killed or not"
    assert all(each["kept"] for each in results["sections"][4]["requirements"]), results["sections"][4]
    audits = results["sections"][1]["audits"]
    assert {"one tab", "two tabs", "sent twice", "two tabs, sent twice"} <= set(audits)
    assert all(found == 0 for audit in audits.values() for found in audit.values()), audits
    assert all(each["answers"]["submit 201"] > 0 for each in results["sections"][1]["rounds"])
    assert "| floor |" in (tmp_path / "results.md").read_text()
