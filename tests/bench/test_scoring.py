"""The benchmarks of scoring measure what they say, with containers and without. How fast is for `make bench` alone."""

from typing import Any

import pytest

from bench import scoring
from bench.networks import CNN, RESNET50, Bare, build, source, weights
from bench.servers import Cluster
from scoring.inference import load_torch
from tests.engine import VARIABLE

pytestmark = pytest.mark.long("the benchmarks' own tests")
NOWHERE = Cluster("postgres://nobody@127.0.0.1:1/none", 0)


def test_a_container_is_given_the_same_network() -> None:
    torch = load_torch()
    images = torch.randint(0, 256, (2, 64, 64, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    for name in (CNN, RESNET50):
        own: dict[str, Any] = {}
        exec(source(name), own)  # as in the image: without this project
        torch.manual_seed(1)
        here = build(name, torch).eval()
        there = own["network"](torch).eval()
        there.load_state_dict(here.state_dict())
        with torch.inference_mode():
            assert torch.equal(here(images), there(images)), name


def test_resnet50_has_the_size_of_resnet50() -> None:
    network = build(RESNET50, load_torch())
    # 25,557,032 for ImageNet's thousand classes; here are two.
    assert sum(each.numel() for each in network.parameters()) == 25_557_032 - 998 * 2049


@pytest.mark.parametrize("tuned", [False, True])
def test_the_bare_forward_pass_is_timed_in_a_process_of_its_own(tuned: bool, tmp_path: Any) -> None:
    with Bare(CNN, weights(CNN, tmp_path), "cpu", 2, tuned=tuned) as bare:
        assert bare(1) > 0 and bare(2) > 0


def test_the_wire_into_a_container(containers: Any, engine_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine_address)
    before = {image.id for image in containers.images.list(all=True)}
    section = scoring.wire(NOWHERE, scoring.QUICK)
    assert section.data["pictures_per_second"].keys() == {16}
    assert [each.promise for each in section.requirements] == ["pictures/s in batches of 16: at least 8,000"]
    assert containers.containers.list(all=True) == []
    assert {image.id for image in containers.images.list(all=True)} == before, "the image is taken away again"


def test_without_an_engine_it_says_so_and_requires_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv(VARIABLE, "none")
    section = scoring.wire(NOWHERE, scoring.QUICK)
    assert section.how == f"Not measured: {VARIABLE} is none." and not section.requirements


def test_ratios_are_of_pairs_and_the_other_bare_pass_is_not_held_to_anything() -> None:
    ways = ("bare", "bare, memory kept", "worker, answers", "worker, rows")
    times = {way: [share, 10 * share] for way, share in zip(ways, (10.0, 1.0, 9.6, 5.0), strict=True)}
    found = {"device": "cpu", "networks": {CNN: times, RESNET50: times}}
    section = scoring.judged(found, scoring.Engine("", "no engine"), scoring.QUICK)
    assert [(each.promise, each.kept) for each in section.requirements] == [
        ("demo-cnn, worker, answers, over bare: at least 0.95", True),
        ("demo-cnn, worker, rows, over bare: at least 0.95", False),
        ("resnet50, worker, answers, over bare: at least 0.95", True),
        ("resnet50, worker, rows, over bare: at least 0.95", False),
    ]
    assert "Nothing was measured in containers: no engine." in section.how
