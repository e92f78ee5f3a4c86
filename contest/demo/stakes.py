"""Seeds the demo's defenses and stakes.

Every step goes through the service that people's clicks use; only the clock is set, and the pictures of the private
set are drawings.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
from django.contrib.auth.models import User

from contest.board.motions import stakes_move
from contest.core.models import Team
from contest.defenses.entries import HandIn, defenses_publish, submit_defense
from contest.defenses.models import DefenseEntry
from contest.defenses.staking import stake_receive, stake_request
from contest.demo.programs import EAGER, PATIENT, SEALED, STEADFAST, Program, ProgramRunner, program_of
from contest.demo.voting import vote_through
from contest.ledger.services import pool_deposit
from labeling.enums import Label
from picture_files.png import encode_png
from policy.numbers import Policy
from scoring.engine import ScoringEngine
from scoring.models import Defense
from scoring.reference.drawing import draw
from scoring.runner import Runner
from scoring.trials.private_set import private_picture_add, private_set_begin, private_set_complete
from scoring.trials.services import framework_check, trials_plan

POOL_CENTS = 1_000_000
LICENCE = "Apache-2.0"
PRIVATE_PICTURES = 10
# Drawings that all programs classify correctly or abstain on; each is drawn small and enlarged, which is quick.
DRAWING_SEED, DRAWN_SIDE, TIMES = 15, 96, 4


class Staking:
    """The demo's defenses from submission to stake. `team` submits them; `begin` is when the attackers begin."""

    def __init__(self, team: Team, *, policy: Policy, begin: datetime, now: datetime) -> None:
        self._team, self._policy, self._begin, self._now = team, policy, begin, now
        self._captain = User.objects.get(membership__team=team, membership__captain=True)
        self._organizer = User.objects.get(username="organizer")
        self._board = User.objects.get(username="board1")
        self._at = now
        self._rng = Random("demo stakes")
        self._scorer = ScoringEngine(name="demo", clock=lambda: self._at, device="cpu", find_runner=_runner)

    def play(self) -> None:
        """Stake a defense whose time is over now, one to be broken, one that its team pays for, and a closed one."""
        long_ago = self._now - timedelta(days=97)
        self._prepare(long_ago)
        self._stake(self._published(STEADFAST, long_ago), self._now - timedelta(hours=self._policy.stake_hours + 24))
        self._stake(self._published(EAGER, self._begin - timedelta(days=6)), self._begin - timedelta(days=3))
        self._pay(self._published(PATIENT, self._begin - timedelta(days=5)), self._begin - timedelta(days=2))
        self._published(SEALED, self._begin - timedelta(days=4))
        self._scorer.close()

    def _prepare(self, at: datetime) -> None:
        pool_deposit(cents=POOL_CENTS, reason="Given for the prizes of the demo.", by=self._organizer, now=at)
        rng = np.random.default_rng(DRAWING_SEED)
        private_set_draw(
            PRIVATE_PICTURES,
            lambda label: _draw_picture(label, rng),
            note="Drawn for the demo.",
            policy=self._policy,
            by=self._organizer,
            now=at,
        )

    def _published(self, program: Program, at: datetime) -> Defense:
        """Submit a program at `at`; its trials end two hours later, and a day later it is published."""
        with _files(program) as given:
            entry, _ = submit_defense(self._team, given, by=self._captain, policy=self._policy, now=at)
        self._at = at + timedelta(hours=2)
        while trials_plan(policy=self._policy, now=self._at, rng=self._rng) + self._scorer.work():
            pass
        checked = at + timedelta(hours=20)
        reason = "Readable NumPy, as handed in or shown to the board."
        framework_check(entry.defense, passed=True, reason=reason, by=self._board, now=checked)
        defenses_publish(policy=self._policy, now=at + timedelta(days=1))
        return DefenseEntry.objects.select_related("defense").get(pk=entry.pk).defense

    def _stake(self, defense: Defense, at: datetime) -> None:
        criteria = "Published, unbroken, with open source, and quicker than a picture a minute."
        vote_through(stakes_move([defense], criteria, "It meets the criteria.", by=self._board, now=at), now=at)

    def _pay(self, defense: Defense, at: datetime) -> None:
        stake = stake_request(defense, by=self._captain, now=at)
        stake_receive(stake, "demo transfer 1", by=self._organizer, now=at + timedelta(hours=12))


def private_set_draw(
    count: int, draw_one: Callable[[Label], bytes], *, note: str, policy: Policy, by: User, now: datetime
) -> None:
    """Make a private set of `count` drawn pictures, bicycles and birds in turn (R31)."""
    private, _ = private_set_begin(note=note, by=by, now=now)
    meant = []
    for number in range(count):
        label, source = Label.BIRD if number % 2 else Label.BICYCLE, f"drawn {number + 1}"
        row, _ = private_picture_add(private, draw_one(label), label=label, source=source, size=policy.image_size)
        meant.append(row.pixels_sha256)
    private_set_complete(private, meant=meant, by=by, now=now)


def _runner(defense: Defense) -> Runner:
    program = program_of(defense)
    assert program is not None, "only the demo's own programs have trials in the demo"
    return ProgramRunner(program)


def _draw_picture(label: Label, rng: np.random.Generator) -> bytes:
    picture = draw(label, rng, DRAWN_SIDE).repeat(TIMES, axis=0).repeat(TIMES, axis=1)
    return encode_png(picture.shape[1], picture.shape[0], picture.tobytes())


@contextmanager
def _files(program: Program) -> Iterator[HandIn]:
    """Write a submission to files, as an upload does."""
    with TemporaryDirectory(prefix="unanimous-demo-") as folder:

        def file(name: str, data: bytes) -> Path:
            path = Path(folder) / name
            path.write_bytes(data)
            return path

        yield HandIn(
            name=program.name,
            licence=LICENCE,
            description=program.description,
            archive=file("image.tar", program.archive),
            source=None if program.closed else file("source.zip", program.source),
            training_code=None if program.closed else file("training.zip", program.training_code),
            weights=file("weights.json", program.weights),
        )
