"""What a peer does other than its paper or its documentation says: `python -m bench.peers.differences PEER`.

Prints a JSON list of [what, expected, measured], from networks of a line or two. Runs in the peer's environment.
"""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

SIDE = 224
Row = tuple[str, float, float]


def _network(torch: Any, score: Callable[[Any], Any], seen: list[Any]) -> Any:
    """Return a network whose second class has this score, against 0; `seen` gets what it is asked about."""

    class Scored(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.unused = torch.nn.Parameter(torch.zeros(1))  # some libraries read the device from a parameter

        def forward(self, rows: Any) -> Any:
            seen.append(rows.detach().clone())
            found = score(rows)
            return torch.stack([torch.zeros_like(found), found], dim=1)

    return Scored().eval()


def cleverhans(torch: Any) -> list[Row]:
    """Where SPSA asks for its gradient, and with how many rows a step."""
    seen: list[Any] = []
    network = _network(torch, lambda rows: rows.mean(dim=(1, 2, 3)), seen)
    spsa = import_module("cleverhans.torch.attacks.spsa").spsa
    x, true = torch.full((1, 3, 8, 8), 0.4), torch.tensor([1])
    spsa(network, x, 16 / 255, 1, clip_min=0, clip_max=1, y=true, spsa_samples=32, sanity_checks=False)
    return [
        ("SPSA: mean of the probes around a picture of 0.4", 0.4, float(seen[0].mean())),
        ("SPSA: rows of a step with spsa_samples=32", 32, float(len(seen[0]))),
    ]


def torchattacks(torch: Any) -> list[Row]:
    """Where SPSA's probes lie, whether pictures share them, and whether it stops."""
    seen: list[Any] = []
    network = _network(torch, lambda rows: rows.mean(dim=(1, 2, 3)) - 9, seen)
    module = import_module("torchattacks")
    attack = module.SPSA(network, eps=16 / 255, delta=0.01, lr=0.01, nb_iter=3, nb_sample=32, max_batch_size=32)
    attack(torch.zeros(2, 3, 8, 8), torch.tensor([1, 1]))
    probes = [rows for rows in seen if len(rows) == 64][0]
    shared = float((probes[0::2] == probes[1::2]).float().mean())
    return [
        ("SPSA: smallest value of a probe around black", 0, float(probes.min())),
        ("SPSA: share of equal probe values of two pictures of one call", 0.5, shared),
        ("SPSA: probes of a picture that is wrong from the start, 3 steps", 0, sum(map(len, seen)) / 2),
    ]


def foolbox(torch: Any) -> list[Row]:
    """The boundary attack's directions, starts and end; the grid's choice and shift."""
    module = import_module("foolbox")
    seen: list[Any] = []
    network = _network(torch, lambda rows: rows.mean(dim=(1, 2, 3)) - 0.6, seen)
    model = module.PyTorchModel(network, bounds=(0, 1), device="cpu")
    x, start = torch.full((2, 3, 8, 8), 0.4), torch.full((2, 3, 8, 8), 0.9)
    wrong = module.criteria.Misclassification(torch.tensor([0, 0]))
    attack = module.attacks.BoundaryAttack(steps=40)
    attack.run(model, x, wrong, starting_points=start, early_stop=1000.0)
    same = float((seen[5][0] - seen[5][1]).abs().max() < 1e-5)
    steps = float(len(seen))
    try:
        attack.run(model, x, wrong, starting_points=torch.cat([start[:1], x[:1]]))
        refused = 0.0
    except ValueError:
        refused = 1.0
    return [
        ("boundary: two equal pictures of a call get the same directions (1 = yes)", 0, same),
        ("boundary: forward passes of 40 steps with early_stop=1000, which the start fulfils", 1, steps),
        ("boundary: refuses all pictures of a call for one start that is not wrong (1 = yes)", 0, refused),
        *_foolbox_grid(torch, module),
    ]


def _foolbox_grid(torch: Any, module: Any) -> list[Row]:
    seen: list[Any] = []
    # Wrong everywhere but where it begins; ever more so the more of the white square is in view.
    network = _network(torch, lambda rows: torch.where(rows[:, 0, 0, 0] > 0.5, -1.0, rows.mean(dim=(1, 2, 3))), seen)
    model = module.PyTorchModel(network, bounds=(0, 1), device="cpu")
    x = torch.ones(1, 3, SIDE, SIDE)
    attack = module.attacks.SpatialAttack(18, 30, num_translations=5, num_rotations=31)
    attack.run(model, x, module.criteria.Misclassification(torch.tensor([0])))
    shift = import_module("foolbox.attacks.spatial_attack_transformations").rotate_and_shift
    edge = torch.zeros(1, 3, SIDE, SIDE)
    edge[..., SIDE // 2 :] = 1
    moved = shift(import_module("eagerpy").astensor(edge), translation=(18.0, 0.0)).raw
    shifted = float((edge - moved)[0, 0, SIDE // 2].abs().sum()) / 2  # as many columns come in black from outside
    return [
        ("grid: moves tried of 775 where all but the picture itself are wrong", 775, float(len(seen) - 1)),
        ("grid: columns that an edge moves with a translation of 18", 18, shifted),
    ]


def art(torch: Any) -> list[Row]:
    """Whose labels count, and what a second call does."""
    attacks, classifiers = import_module("art.attacks.evasion"), import_module("art.estimators.classification")
    seen: list[Any] = []

    def classifier(score: Callable[[Any], Any], side: int) -> Any:
        network = _network(torch, score, seen)
        loss = torch.nn.CrossEntropyLoss()
        return classifiers.PyTorchClassifier(network, loss, (3, side, side), 2, clip_values=(0, 1), device_type="cpu")

    bright = classifier(lambda rows: rows.mean(dim=(1, 2, 3)) - 0.6, 8)
    dark, white = (np.full((1, 3, 8, 8), value, np.float32) for value in (0.4, 0.9))
    boundary = attacks.BoundaryAttack(bright, targeted=False, max_iter=1, verbose=False)
    # The true class is 1, so the dark picture is wrong and there is nothing to do.
    found = boundary.generate(dark, y=np.array([1]), x_adv_init=white)
    grid = attacks.SpatialTransformation(
        classifier(lambda rows: rows[:, 0, 0, 0] - 0.5, 16), 25.0, 3, 0.0, 1, verbose=False
    )
    grid.generate(np.ones((1, 3, 16, 16), np.float32))
    seen.clear()
    grid.generate(np.zeros((1, 3, 16, 16), np.float32))
    return [
        ("boundary: a picture that is wrong from the start stays wrong (1 = yes)", 1, float(found.mean() < 0.6)),
        ("grid: moves tried of 9 in a second call with another picture", 9, float(len(seen))),
    ]


def main(peer: str) -> None:
    """Print what a peer does."""
    torch = import_module("torch")
    torch.manual_seed(1)
    np.random.seed(1)
    rows = {"art": art, "cleverhans": cleverhans, "foolbox": foolbox, "torchattacks": torchattacks}[peer](torch)
    print(json.dumps(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
