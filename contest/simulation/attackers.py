"""Simulated attackers: drawing, sending, copying, appealing, withdrawing."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from random import Random

from common.errors import DomainError
from contest.attacks.services import attack_withdraw, pictures_send
from contest.attacks.uploads import UploadedFile
from contest.core.calendar import Week
from contest.core.models import Attack
from contest.defenses.selectors import staked
from contest.simulation.cast import TeamRole
from contest.simulation.painting import PaintedPicture, nudge, paint
from contest.simulation.pictures import PictureTruth, draw_picture
from contest.simulation.world import PublicAttack, SimulationWorld, TeamAtWork

AT_ONCE = 4
BEYOND_QUOTA = 2
WITHDRAWN = 0.01
AIMED = 0.3
# Of what a strong team sends about so many are good pictures.
_GOOD = 0.75
_BITES = {TeamRole.STRONG: (0.3, 1.0), TeamRole.UNPAID: (0.3, 1.0), TeamRole.CHEAT: (0.2, 0.7)}
_USUAL_BITE = (0.0, 0.3)


def week_planned(world: SimulationWorld, week: Week, attacks: int) -> None:
    """Say who sends how much of a week's attacks, and when."""
    senders = [each for each in world.teams if each.character.share]
    if not senders:
        return
    chosen = world.rng.choices(senders, [each.character.share for each in senders], k=attacks)
    first = 2 if week == world.weeks[0] else 0  # until then teams register
    for place, sender in enumerate(senders):
        if count := sum(each is sender for each in chosen):
            _team_planned(world, sender, week, count, first, place)


def _team_planned(world: SimulationWorld, sender: TeamAtWork, week: Week, count: int, first: int, place: int) -> None:
    role, rng = sender.character.role, sender.character.rng
    whole = world.policy.attacks_per_day
    for pictures in _bursts(count, whole) if role is TeamRole.FLOODER else _bunches(count, rng):
        at = week.start + timedelta(days=rng.randrange(first, 7), seconds=rng.randrange(86_400))
        if role is TeamRole.STRONG and rng.random() < 0.1:
            at = week.end - timedelta(seconds=1 + place)  # in the last minute
        world.at(at, partial(send, world, sender, pictures))


def _bursts(count: int, quota: int) -> Iterator[int]:
    """A flooder tries more than it may at once."""
    while count > 0:
        yield min(count, quota) + (BEYOND_QUOTA if count >= quota else 0)
        count -= quota


def _bunches(count: int, rng: Random) -> Iterator[int]:
    while count > 0:
        bunch = min(count, rng.randint(1, AT_ONCE))
        yield bunch
        count -= bunch


def send(world: SimulationWorld, sender: TeamAtWork, count: int) -> None:
    """Draw pictures and send them in one upload."""
    pictures = [_picture(world, sender) for _ in range(count)]
    parts = [UploadedFile(f"{number}.png", picture.data) for number, picture in enumerate(pictures, start=1)]
    try:
        outcomes = pictures_send(
            team=sender.team,
            by=sender.captain,
            parts=parts,
            targets=_targets(world, sender),
            policy=world.policy,
            now=world.now,
        )
    except DomainError as error:  # a team that may not attack yet tries all the same
        world.count(f"refused:{error.code}", count)
        return
    for picture, outcome in zip(pictures, outcomes, strict=True):
        if outcome.attack is None:
            world.count(f"refused:{outcome.refused.code if outcome.refused else ''}")
            continue
        _received(world, sender, picture, outcome.attack)


def _received(world: SimulationWorld, sender: TeamAtWork, picture: PaintedPicture, attack: Attack) -> None:
    world.remember(attack.image_id, picture)
    week = next(each for each in world.weeks if each.name == attack.week)
    world.sent.append(PublicAttack(sender.character, picture, week))
    if sender.character.rng.random() < WITHDRAWN:
        world.at(world.now + timedelta(hours=3), partial(_withdraw, world, sender, attack))


def _withdraw(world: SimulationWorld, sender: TeamAtWork, attack: Attack) -> None:
    try:
        attack_withdraw(attack=attack, by=sender.captain, now=world.now)
    except DomainError as error:
        world.count(f"not withdrawn:{error.code}")


def _targets(world: SimulationWorld, sender: TeamAtWork) -> list[str]:
    """Most aim at everything, some at one defense that is at stake."""
    rng = sender.character.rng
    if rng.random() >= AIMED:
        return []
    there = list(staked(world.now))
    return [rng.choice(there).public_id] if there else []


def _picture(world: SimulationWorld, sender: TeamAtWork) -> PaintedPicture:
    character = sender.character
    rng = character.rng
    if character.role is TeamRole.COPIER and rng.random() < 0.6:
        public = [each for each in world.sent if each.week.end <= world.now and each.team is not character]
        if public:
            return _copied(rng.choice(public).painted, rng)
    low, high = _BITES.get(character.role, _USUAL_BITE)
    return paint(_truth(character.role, rng), rng.uniform(low, high), rng)


def _copied(original: PaintedPicture, rng: Random) -> PaintedPicture:
    """Send what another team sent before, as it is or nearly so."""
    return original if rng.random() < 0.5 else replace(original, data=nudge(original.data, rng))


def _truth(role: TeamRole, rng: Random) -> PictureTruth:
    truth = draw_picture(rng)
    if role in (TeamRole.STRONG, TeamRole.UNPAID) and rng.random() < _GOOD:
        while not truth.valid:
            truth = draw_picture(rng)
    if role is TeamRole.CHEAT and rng.random() < 0.5:
        while truth.label is None or truth.valid:
            truth = draw_picture(rng)
        truth = replace(truth, plea=True)
    return truth
