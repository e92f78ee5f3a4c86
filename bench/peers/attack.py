"""Runs an attack of a peer: `python -m bench.peers.attack NAME IN.npz OUT.npz`, in the peer's environment.

IN has `pictures` float32 [N, 224, 224, 3], `is_bird` [N], `starts` (wrong pictures, for the boundary attack), `goals`
[N] (L2 distances at which it may end), `least` (rows of a picture before that), `max_seconds` and `steps`. OUT has
`pictures`, `seconds`, `rows` (forward passes) and `events` as `bench.peers.network` says.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from bench.peers.network import Enough, Record, Rows, recorded

EPSILON, SHIFT, ANGLE, SIDE = 16 / 255, 18, 30, 224


@dataclass(frozen=True, slots=True)
class Task:
    """What an attack is given: torch, tensors NCHW and classes, the network and its record."""

    torch: Any
    pictures: Any
    true: Any
    starts: Any
    steps: int
    network: Any
    record: Record


def foolbox_boundary(task: Task) -> Any:
    """All pictures at once; its time and its rows are shared by all."""
    foolbox = import_module("foolbox")
    model = foolbox.PyTorchModel(task.network, bounds=(0, 1), device="cpu")
    attack = foolbox.attacks.BoundaryAttack(steps=task.steps, spherical_step=0.01, source_step=0.01)
    return attack.run(model, task.pictures, foolbox.criteria.Misclassification(task.true), starting_points=task.starts)


def foolbox_grid(task: Task) -> Any:
    """All pictures at once, until each one is wrong."""
    foolbox = import_module("foolbox")
    model = foolbox.PyTorchModel(task.network, bounds=(0, 1), device="cpu")
    attack = foolbox.attacks.SpatialAttack(SHIFT, ANGLE, num_translations=5, num_rotations=31)
    return attack.run(model, task.pictures, foolbox.criteria.Misclassification(task.true))


def _art_classifier(task: Task) -> Any:
    classifiers = import_module("art.estimators.classification")
    return classifiers.PyTorchClassifier(
        task.network, task.torch.nn.CrossEntropyLoss(), (3, SIDE, SIDE), 2, clip_values=(0, 1), device_type="cpu"
    )


def art_boundary(task: Task) -> Any:
    """One picture after the other, each until the goal."""
    attack = import_module("art.attacks.evasion").BoundaryAttack(
        *(_art_classifier(task), 64), targeted=False, delta=0.01, epsilon=0.01, max_iter=5000, verbose=False
    )
    for number, (picture, start) in enumerate(zip(task.pictures.numpy(), task.starts.numpy(), strict=True)):
        task.record.at = number
        task.record.begin()
        with suppress(Enough):
            attack.generate(picture[np.newaxis], x_adv_init=start[np.newaxis])
    return task.pictures


def art_grid(task: Task) -> Any:
    """One picture a call: it returns one transform for all pictures of a call."""
    attacks, found = import_module("art.attacks.evasion"), []
    for picture in task.pictures.numpy():
        attack = attacks.SpatialTransformation(_art_classifier(task), 100 * SHIFT / SIDE, 5, ANGLE, 31, verbose=False)
        found.append(attack.generate(picture[np.newaxis]))
    return task.torch.from_numpy(np.concatenate(found))


def cleverhans_spsa(task: Task) -> Any:
    """It takes the pictures one by one."""
    spsa = import_module("cleverhans.torch.attacks.spsa").spsa
    values = {"eps": EPSILON, "nb_iter": task.steps, "clip_min": 0, "clip_max": 1, "spsa_samples": 32}
    return spsa(task.network, task.pictures, y=task.true, early_stop_loss_threshold=-1, sanity_checks=False, **values)


def torchattacks_spsa(task: Task) -> Any:
    """One picture a call: pictures of a call share their signs."""
    attack = import_module("torchattacks").SPSA(
        task.network, eps=EPSILON, delta=0.01, lr=0.01, nb_iter=task.steps, nb_sample=32, max_batch_size=32
    )
    pairs = zip(task.pictures.split(1), task.true.split(1), strict=True)
    return task.torch.cat([attack(picture, true) for picture, true in pairs])


ATTACKS: dict[str, Callable[[Task], Any]] = {
    each.__name__: each
    for each in (foolbox_boundary, foolbox_grid, art_boundary, art_grid, cleverhans_spsa, torchattacks_spsa)
}


def main(name: str, given: str, found: str) -> None:
    """Run one attack."""
    torch = import_module("torch")
    torch.manual_seed(1)
    np.random.seed(1)
    with np.load(given) as file:
        pictures, is_bird, starts = file["pictures"], file["is_bird"], file["starts"]
        goals, max_seconds = file["goals"], float(file["max_seconds"])
        least, steps = int(file["least"]), int(file["steps"])

    def tensor(rows: Rows) -> Any:
        return torch.from_numpy(rows).permute(0, 3, 1, 2).contiguous()

    record = Record(pictures, is_bird, goals, least, max_seconds)
    true = torch.from_numpy(is_bird.astype(np.int64))
    task = Task(torch, tensor(pictures), true, tensor(starts), steps, recorded(torch, record), record)
    import_module({"art": "art.attacks.evasion"}.get(name.partition("_")[0], name.partition("_")[0]))
    record.begin()
    result = task.pictures
    with suppress(Enough):
        result = ATTACKS[name](task)
    events = np.array(record.events).reshape(-1, 4)
    rows = result.permute(0, 2, 3, 1).numpy()
    np.savez(found, pictures=rows, seconds=np.array(record.seconds), rows=np.array(record.rows), events=events)


if __name__ == "__main__":
    main(*sys.argv[1:])
