"""One site that scores, in a process of its own: `python -m bench.scored STEP ARGUMENTS` prints what it measured.

It works on DATABASE_URL and DATA_DIR as the contest does: planned runs, the array cache, leases, answers kept as rows.
The pictures are noise that is put straight into the array cache, where a scorer finds pictures that were decoded.
"""

import json
import sys
import time
from datetime import datetime
from random import Random
from typing import Any

import django


def pictures(first: int, count: int, side: int, now: datetime) -> None:
    """Make `count` valid pictures of noise, numbered from `first`."""
    import numpy as np

    from adjudication.models import Ruling
    from labeling.models import Image, Panel
    from picture_files.png import pixels_sha256
    from policy.models import PolicyVersion
    from scoring.arrays import cache_picture

    policy = PolicyVersion.objects.latest("pk")
    numbers = range(first, first + count)
    rng = np.random.default_rng(first)
    images = []
    for number in numbers:
        flat = rng.integers(0, 256, side * side * 3, dtype=np.uint8)
        sha = pixels_sha256(side, side, flat.tobytes())
        cache_picture(sha, flat)
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


def defense(name: str, image: str, now: datetime) -> Any:
    """Publish a defense called `name`; without an image, what it runs is the runner's business."""
    from scoring.models import Defense

    what = {"image": image, "digest": image} if image else {"reference": "always-abstain", "digest": f"bench:{name}"}
    return Defense.objects.create(name=name, created_at=now, published_at=now, **what)


def policy_of(batch_size: int, side: int, rounds: int, now: datetime) -> Any:
    """Put a policy in force and return it."""
    from policy.models import PolicyVersion
    from policy.numbers import Policy

    policy = Policy(image_size=side, batch_size=batch_size, evaluation_runs=rounds)
    version = 1 + PolicyVersion.objects.count()
    PolicyVersion.objects.create(version=version, numbers=policy.to_json(), in_force_from=now, reason="bench")
    return policy


def flat(sizes: list[int], side: int = 16) -> dict[str, Any]:
    """Plan and score so many tiny pictures with a defense that abstains, one size after the other.

    Returns the number of new pictures, then seconds a picture for planning and for scoring, for each size.
    """
    from django.utils import timezone

    from scoring import services
    from scoring.engine import ScoringEngine
    from scoring.models import Prediction
    from scoring.reference import REFERENCES
    from scoring.runner import ReferenceRunner

    now = timezone.now()
    policy = policy_of(16, side, 1, now)
    declared = next(each for each in REFERENCES if each.key == "always-abstain")
    services.reference_publish(declared, now=now)
    costs: list[tuple[int, float, float]] = []
    done = 0
    for size in sizes:
        pictures(done + 1, size, side, now)
        started = time.perf_counter()
        services.runs_plan(policy=policy, now=now, rng=Random(1))
        planned = time.perf_counter()
        with ScoringEngine(
            name="bench", clock=timezone.now, device="cpu", find_runner=lambda _: ReferenceRunner()
        ) as scorer:
            while scorer.work():
                pass
        costs.append((size, (planned - started) / size, (time.perf_counter() - planned) / size))
        done += size
        assert Prediction.objects.count() == done
    return {"seconds_per_picture": costs}


def main(step: str, *arguments: str) -> None:
    """Do one step and print what it measured as JSON."""
    django.setup()
    found: Any
    if step == "turn":
        from bench.arms import turn

        found = turn(**json.loads(arguments[0]))
    else:
        found = flat([int(size) for size in arguments])
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
