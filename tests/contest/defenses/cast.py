"""Teams, entries, breaks and stakes that the tests of this folder share."""

import zipfile
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group, User

from adjudication.models import Ruling
from contest.core.models import Attack, Break, Stake, StakeBatch, Team
from contest.core.weeks import week_at
from contest.defenses import entries, selectors, staking
from contest.defenses.models import DefenseEntry
from contest.ledger.services import pool_deposit
from contest.teams.services import member_add, team_create
from labeling.enums import Label
from labeling.models import Image
from policy.selectors import policy_in_force
from scoring.enums import DefenseAnswer, RunState, TrialKind
from scoring.models import Defense, Prediction, Run, RunItem
from scoring.trials.services import framework_check
from tests import factories, images
from tests.scoring.cast import ruled
from tests.scoring.trials import cast as trials

_numbers = count(1)
# What a defense comes to that is right too seldom.
WEAK = {"pictures": 10, "right": 5, "wrong": 5, "rows": 16, "milliseconds": 900}
IN_REGISTRY = "ghcr.io/blue/steadfast@sha256:" + "ab" * 32


def person(name: str, *groups: str) -> User:
    return User.objects.filter(username=name).first() or factories.user(name, *groups)


def team(name: str = "blue", *, now: datetime = factories.NOW) -> Team:
    """A team whose captain is `cap-<name>` and whose other member is `mem-<name>`."""
    factories.policy_version()
    made = team_create(name=name, captain=person(f"cap-{name}"), now=now)
    member_add(team=made, user=person(f"mem-{name}"), now=now)
    return made


def captain(of: Team) -> User:
    return of.members.get(captain=True).user


def member(of: Team) -> User:
    return of.members.get(captain=False).user


def board() -> User:
    return person("rita", "review board")


def organizer() -> User:
    return person("olga", "organizers")


def funded(cents: int = 10_000_000, *, now: datetime = factories.NOW) -> None:
    """A pool with money in both halves."""
    Group.objects.get_or_create(name="organizers")
    pool_deposit(cents=cents, reason="a sponsor", by=organizer(), now=now)


def entry(
    of: Team, name: str = "", *, now: datetime = factories.NOW, published: datetime | None = None, closed: bool = False
) -> DefenseEntry:
    """A container that a team handed in, by rows alone; published where a moment is given."""
    source = "" if closed else "cd" * 32
    return DefenseEntry.objects.create(
        team=of,
        defense=trials.container(
            name or f"net {next(_numbers)}", created_at=now, published_at=published, source=source
        ),
        received_at=now,
        due_at=selectors.due_date(now),
        licence="Apache-2.0",
        opened_at=None if closed else now,
        handed_in_by=captain(of),
    )


def published(of: Team, name: str = "", *, now: datetime = factories.NOW, closed: bool = False) -> Defense:
    return entry(of, name, now=now, published=now, closed=closed).defense


def eligible(defense: Defense) -> None:
    """Let a defense have passed every condition."""
    for kind in (TrialKind.SMOKE, TrialKind.PRIVATE, TrialKind.EARLIER, TrialKind.PROBE):
        trials.passed(defense, kind)
    framework_check(defense, passed=True, reason="PyTorch", by=board(), now=factories.NOW)


def passing(of: Team, name: str) -> DefenseEntry:
    """An entry that passed everything but what a test changes."""
    made = entry(of, name)
    eligible(made.defense)
    return made


def staked(*defenses: Defense, now: datetime = factories.NOW) -> StakeBatch:
    """A batch of the board's."""
    return staking.stake_batch(
        defenses, "reproducible", "they are ready", by=factories.mandate("stake", board(), now), now=now
    )


def stake(defense: Defense) -> Stake:
    """Its newest stake, read again."""
    return selectors.newest_stakes([defense]).get(defense.pk)


def self_staked(defense: Defense, now: datetime) -> Stake:
    """A stake that the defense's own team paid for."""
    asked = staking.stake_request(defense, by=captain(selectors.owner_of(defense)), now=now)
    return staking.stake_receive(asked, "wire 7", by=organizer(), now=now)


def picture(sent: datetime, by: Team | None = None, **values: Any) -> Image:
    """A picture received at `sent`, as an attack where a team sent it."""
    image = factories.image(origin="attack" if by else "dataset", received_at=sent, label_from=sent, **values)
    if by:
        Attack.objects.create(team=by, image=image, received_at=sent, week=week_at(sent).name)
    return image


def broken(defense: Defense, sent: datetime, *, found: datetime, by: Team | None = None) -> Break:
    """A break by a picture sent at `sent`, found at `found`; by somebody where no team is given."""
    image = picture(sent, by or Team.objects.get_or_create(name="somebody", defaults={"created_at": sent})[0])
    return break_of(defense, image, ruled(image, label=Label.BIRD), found)


def break_of(defense: Defense, image: Image, ruling: Ruling, found: datetime) -> Break:
    """A break with the answer that proves it."""
    return Break.objects.create(
        defense=defense, image=image, ruling=ruling, prediction=answered(defense, image, found), found_at=found
    )


def answered(
    defense: Defense, image: Image, at: datetime, *, answer: int = DefenseAnswer.BICYCLE, state: str = RunState.ASSESSED
) -> Prediction:
    """An answer to a picture in a run of its own."""
    run = Run.objects.create(
        defense=defense, round=1, seed=1, batch_size=16, state=state, attempt=1, created_at=at, finished_at=at
    )
    item = RunItem.objects.create(run=run, defense=defense, round=1, image=image, position=0)
    return Prediction.objects.create(
        item=item, image=image, defense=defense, round=1, answer=answer, score_bicycle=0.9, score_bird=0.1,
        pixels_sha256=image.pixels_sha256, defense_digest=defense.digest, device="cpu", batch_size=16, batch=0, row=0,
        seed=1, attempt=1, latency_us=1000, predicted_at=at,
    )  # fmt: skip


def overruled(proof: Break, *, at: datetime, verdict: str = "rejected") -> Ruling:
    """A later ruling on the picture of a break."""
    number = Ruling.objects.filter(image=proof.image).latest("number").number + 1
    return ruled(proof.image, verdict=verdict, label=Label.BIRD, number=number)


def archive(folder: Path, text: bytes = b"print('x')") -> Path:
    """What `docker save` writes of a small image."""
    folder.mkdir(exist_ok=True)
    layer = images.files_layer(folder, {"app/defense.py": text})
    return images.write_archive(folder / "image.tar", [images.Image([layer], ["python3", "/app/defense.py"])])


def zipped(path: Path, name: str = "model.py") -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(name, b"import torch\n")
    return path


def given(**values: Any) -> entries.HandIn:
    """A hand-in by a digest in a registry."""
    return entries.HandIn(**({"name": "steadfast", "licence": "Apache-2.0", "image": IN_REGISTRY} | values))


def policy(now: datetime = factories.NOW) -> Any:
    factories.policy_version()
    return policy_in_force(now).policy
