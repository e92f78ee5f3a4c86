"""The benchmark of the labeling page measures what it says, and the hard limits hold. How fast is for `make bench`."""

import json
from pathlib import Path

import pytest

from bench import label_page
from bench.label_gold import chance_of_slower
from bench.label_hand import Traffic, _pairs
from bench.outcome import Requirement, Section, put_section

pytestmark = pytest.mark.long("the benchmarks' own tests")


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
    assert chance_of_slower([3, 4], [1, 2]) == 1
    assert chance_of_slower([1, 2], [1, 2]) == 0.5, "ties count for half"


def test_a_section_measured_alone_takes_the_place_of_its_former_self(tmp_path: Path) -> None:
    other = Section("Other", "how", [], [Requirement("other", "1", kept=True)])
    (tmp_path / "results.json").write_text(json.dumps({"kept": True, "sections": [other.to_json()]}))
    (tmp_path / "results.md").write_text(
        f"# Benchmarks\n\nWritten.\n\nEvery requirement is kept.\n\n{other.markdown()}\n"
    )
    for how, kept in (("first", False), ("second", True)):
        put_section(tmp_path, Section("Page", how, [], [Requirement("page", how, kept)]))
        text = (tmp_path / "results.md").read_text()
        assert text.split("\n\n")[2] == ("Every requirement is kept." if kept else "Missed: page.")
        assert json.loads((tmp_path / "results.json").read_text())["kept"] is kept
    assert (text.count("## Page"), text.count("## Other"), "first" in text) == (1, 1, False)


@pytest.mark.browser
@pytest.mark.postgres("measured on the database of a contest")
def test_a_few_labels_keep_the_limits_that_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"sections": []}')
    (tmp_path / "results.md").write_text("# Benchmarks\n\nWritten.\n\nEvery requirement is kept.\n")
    label_page.main(["--quick", "--out", str(tmp_path)])
    (section,) = json.loads((tmp_path / "results.json").read_text())["sections"]
    plan, found = section["plan"], section["found"]
    for pace in ("paced", "hurried"):
        taken = found[pace]["key_to_paint"]
        assert len(taken) == len(found[pace]["own"]) == plan[pace], "the page leaves none out of its own measure"
        assert all(own + 50 > truth > 0 for own, truth in zip(found[pace]["own"], taken, strict=True))
    weighs = found["cold"]["bytes"]
    assert {"document", "script", "stylesheet", "picture"} <= set(weighs)
    assert sum(weighs.values()) - weighs["picture"] < 1000 * label_page.MOST_KB
    assert found["warm"]["bytes"]["script"] == found["warm"]["bytes"]["stylesheet"] == 0
    # What a page builds once it may build late on a slow machine: what counts is that it does not go on growing.
    *_, first, last = found["memory"]
    assert last["nodes"] - first["nodes"] <= label_page.MOST_NODES
    assert last["listeners"] - first["listeners"] <= label_page.MOST_LISTENERS
    assert found["kept"] == plan["paced"] + plan["hurried"] + plan["marks"][-1]
    assert [len(found[kind][call]) for kind in ("gold", "ordinary") for call in ("claim", "submit")] == [
        plan["calls"]
    ] * 4
