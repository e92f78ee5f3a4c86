"""One site that scores, in a process of its own: `python -m bench.scored STEP ARGUMENTS` prints what it measured.

It works on DATABASE_URL and DATA_DIR as the contest does: planned runs, the array cache, leases, answers kept as rows.
The pictures are noise that is put straight into the array cache, where a scorer finds pictures that were decoded.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import django

SIDE = 299
# The slow one first: a defense is asked about all pictures there are.
NETWORKS = ("resnet50", "demo-cnn")


def pictures(first: int, count: int, side: int, now: datetime) -> None:
    """Make `count` valid pictures of noise, numbered from `first`."""
    import numpy as np

    from adjudication.models import Ruling
    from labeling.models import Image, Panel, PolicyVersion
    from scoring.arrays import cache_picture

    policy = PolicyVersion.objects.latest("pk")
    numbers = range(first, first + count)
    rng = np.random.default_rng(first)
    images = []
    for number in numbers:
        sha = f"{number:064x}"
        cache_picture(sha, rng.integers(0, 256, side * side * 3, dtype=np.uint8))
        images.append(_image(number, sha, side, now))
    images = Image.objects.bulk_create(images, batch_size=500)
    panels = Panel.objects.bulk_create(
        (Panel(image=image, size=3, missing=3, dealt_at=now, waiting_since=now) for image in images), batch_size=500
    )
    Ruling.objects.bulk_create(
        (
            Ruling(
                image=panel.image,
                number=1,
                panel=panel,
                verdict="valid",
                label="bird",
                policy=policy,
                response_ids=[],
                decided_at=now,
                decided_by="rules",
            )
            for panel in panels
        ),
        batch_size=500,
    )


def _image(number: int, sha: str, side: int, now: datetime) -> Any:
    from labeling.models import Image

    return Image(
        public_id=f"P-{number:08}",
        pixels_sha256=sha,
        original_sha256=sha,
        original_format="PNG",
        width=side,
        height=side,
        origin="dataset",
        source="bench",
        licence="CC0",
        received_at=now,
    )


def defense(name: str, now: datetime) -> Any:
    """Publish a defense called `name`; what it runs is the runner's business."""
    from scoring.models import Defense

    return Defense.objects.create(
        name=name, reference="always-abstain", digest=f"bench:{name}", created_at=now, published_at=now
    )


def policy_of(batch_size: int, side: int, rounds: int, now: datetime) -> Any:
    """Put a policy in force and return it."""
    from labeling.models import PolicyVersion
    from labeling.policy import Policy

    policy = Policy(image_size=side, batch_size=batch_size, evaluation_runs=rounds)
    version = 1 + PolicyVersion.objects.count()
    PolicyVersion.objects.create(version=version, numbers=policy.to_json(), in_force_from=now, reason="bench")
    return policy


def throughput(device: str, batch_size: int, rounds: int, *batches: int) -> dict[str, Any]:
    """Score so many full batches per round with each network, and do the same with the bare network, alternating."""
    from django.utils import timezone

    from scoring.inference import choose_device, describe_device

    now = timezone.now()
    policy = policy_of(batch_size, SIDE, 1, now)
    found: dict[str, Any] = {"device": describe_device(choose_device(device)), "batch_size": batch_size}
    with tempfile.TemporaryDirectory() as folder:
        for name, number in zip(NETWORKS, batches, strict=True):
            bare, runner = _bare_and_runner(name, choose_device(device), batch_size, Path(folder))
            made = defense(name, now)
            score = _scoring(runner, device, policy)
            score(batch_size * 2)  # what is loaded once is loaded now
            bare(2)
            turns = [(bare(number), score(batch_size * number)) for _ in range(rounds)]
            made.retired_at = now
            made.save()
            found[name] = {"bare": [turn[0] for turn in turns], "scored": [turn[1] for turn in turns]}
    return found


def _bare_and_runner(name: str, device: str, batch_size: int, folder: Path) -> tuple[Callable[[int], float], Any]:
    """Return what times the network alone in pictures a second, and the runner of a defense made of it."""
    from bench import resnet50
    from scoring.inference import TorchForward, describe_device, load_torch, load_weights, save_weights
    from scoring.reference import REFERENCES, demo_cnn
    from scoring.reference.demo_cnn import DemoCnn
    from scoring.runner import ReferenceSession

    torch = load_torch()
    build = resnet50.network if name == "resnet50" else demo_cnn.network
    weights = next(each for each in REFERENCES if each.key == "demo-cnn").weights_path
    if name == "resnet50":
        torch.manual_seed(1)
        weights = folder / "resnet50.safetensors"
        save_weights(build(torch), weights, {})
    network = build(torch)
    load_weights(network, weights)
    network = network.eval().to(device)
    images = torch.randint(0, 256, (batch_size, SIDE, SIDE, 3), dtype=torch.uint8, device=device)

    def bare(batches: int) -> float:
        with torch.inference_mode():
            started = time.perf_counter()
            for _ in range(batches):
                numbers = network(images)
            numbers.cpu()  # waits for the card
        return batches * batch_size / (time.perf_counter() - started)

    class Runner:
        """Opens the network as the shipped defense opens its own."""

        def open(self, defense: Any, *, device: str, image_size: int, batch_size: int, **_: Any) -> Any:
            forward = TorchForward(build, weights, device=device, rows=batch_size, image_size=image_size)
            return ReferenceSession(DemoCnn(forward, describe_device(device)))

    return bare, Runner()


def _scoring(runner: Any, device: str, policy: Any) -> Callable[[int], float]:
    """Return what has `count` new pictures scored and says how many a second, from the claim to the answers' rows."""
    from django.utils import timezone

    from labeling.models import Image
    from scoring import selectors, services
    from scoring.engine import Scorer
    from scoring.models import Prediction

    scorer = Scorer(name="bench", clock=timezone.now, device=device, find_runner=lambda _: runner)

    def score(count: int) -> float:
        pictures(Image.objects.count() + 1, count, SIDE, timezone.now())
        services.runs_plan(policy=policy, now=timezone.now(), rng=Random(1))
        before = Prediction.objects.count()
        started = time.perf_counter()
        while scorer.work_one():
            pass
        seconds = time.perf_counter() - started
        answered = Prediction.objects.count() - before
        assert answered >= count and not selectors.runs_waiting(now=timezone.now()).exists()
        return answered / seconds

    return score


def flat(sizes: list[int], side: int = 16) -> dict[str, Any]:
    """Plan and score so many tiny pictures with a defense that abstains; seconds per picture for each number."""
    from django.utils import timezone

    from scoring import services
    from scoring.engine import Scorer
    from scoring.models import Prediction
    from scoring.reference import REFERENCES
    from scoring.runner import ReferenceRunner

    now = timezone.now()
    policy = policy_of(16, side, 1, now)
    declared = next(each for each in REFERENCES if each.key == "always-abstain")
    services.reference_publish(declared, now=now)
    costs: dict[str, Any] = {}
    done = 0
    for size in sizes:
        pictures(done + 1, size, side, now)
        started = time.perf_counter()
        services.runs_plan(policy=policy, now=now, rng=Random(1))
        with Scorer(name="bench", clock=timezone.now, device="cpu", find_runner=lambda _: ReferenceRunner()) as scorer:
            while scorer.work_one():
                pass
        costs[str(size)] = (time.perf_counter() - started) / size
        done += size
        assert Prediction.objects.count() == done
    return {"seconds_per_picture": costs}


def main(step: str, *arguments: str) -> None:
    """Do one step and print what it measured as JSON."""
    django.setup()
    if step == "throughput":
        device, *numbers = arguments
        found = throughput(device, *map(int, numbers))
    else:
        found = flat([int(size) for size in arguments])
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
