"""Simulated teams: drawing, sending, copying and withdrawing attacks; submitting, staking and improving defenses."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from django.conf import settings

from contest.attacks.services import attack_withdraw, pictures_send
from contest.attacks.uploads import UploadedFile
from contest.core.enums import DefenseStanding
from contest.core.models import Attack, Stake
from contest.defenses.entries import HandIn, source_open, submit_defense
from contest.defenses.models import DefenseEntry
from contest.defenses.selectors import defense_state_of, open_stake_of, staked
from contest.defenses.staking import stake_request
from contest.demo.programs import zip_of
from contest.simulation.cast import SimulatedTeam, TeamRole
from contest.simulation.painting import PaintedPicture, nudge, paint
from contest.simulation.pictures import PictureTruth, draw_picture
from contest.simulation.world import SimulationWorld
from policy.calendar import Week

AT_ONCE = 4
BEYOND_QUOTA = 2
WITHDRAWN = 0.01
AIMED = 0.3
IN_THE_LAST_MINUTE = 0.1
_GOOD = 0.75  # of what a strong team sends are good pictures
MAX_VERSIONS = 4
COMES_AGAIN = 0.6
SUNDAY = 6
_LOOK_DAILY = (TeamRole.SELF_STAKER, TeamRole.CLOSED)
OPENED_AFTER = timedelta(days=14)

# Attacks --------------------------------------------------------------------------------------------------------------


def week_planned(world: SimulationWorld, week: Week, attacks: int) -> None:
    """Say who sends how much of a week's attacks, and when."""
    senders = [each for each in world.teams if each.strategy.attacks]
    if not senders:
        return
    chosen = world.rng.choices(senders, [each.strategy.attacks for each in senders], k=attacks)
    first = 2 if week == world.weeks[0] else 0  # until then teams register
    for place, sender in enumerate(senders):
        for pictures in _uploads(sender, chosen.count(sender), world.policy.attacks_per_day):
            rng = sender.rng
            at = week.start + timedelta(days=rng.randrange(first, 7), seconds=rng.randrange(86_400))
            if sender.role is TeamRole.STRONG and rng.random() < IN_THE_LAST_MINUTE:
                at = week.end - timedelta(seconds=1 + place)
            world.at(at, send_attacks, world, sender, pictures)


def _uploads(sender: SimulatedTeam, count: int, quota: int) -> Iterator[int]:
    """Yield how many pictures a team sends together; a flooder tries more than it may at once."""
    while count > 0:
        if sender.role is TeamRole.FLOODER:
            pictures = min(count, quota)
            yield pictures + (BEYOND_QUOTA if pictures == quota else 0)
        else:
            pictures = min(count, sender.rng.randint(1, AT_ONCE))
            yield pictures
        count -= pictures


def send_attacks(world: SimulationWorld, sender: SimulatedTeam, count: int) -> None:
    """Draw pictures and send them in one upload; a team that may not attack yet tries all the same."""
    pictures = [_picture(world, sender) for _ in range(count)]
    parts = [UploadedFile(f"{number}.png", picture.data) for number, picture in enumerate(pictures, start=1)]
    with world.attempt(count):
        outcomes = pictures_send(
            team=sender.team,
            by=sender.captain,
            parts=parts,
            targets=_targets(world, sender),
            policy=world.policy,
            now=world.now,
        )
        for picture, outcome in zip(pictures, outcomes, strict=True):
            if outcome.attack is not None:
                _received(world, sender, picture, outcome.attack)
            elif outcome.refused is not None:
                world.refuse(outcome.refused.code)


def _received(world: SimulationWorld, sender: SimulatedTeam, picture: PaintedPicture, attack: Attack) -> None:
    world.remember(attack.image_id, picture)
    world.sent.append((sender, world.week().end, picture))
    if sender.rng.random() < WITHDRAWN:
        world.at(world.now + timedelta(hours=3), _withdraw, world, sender, attack)


def _withdraw(world: SimulationWorld, sender: SimulatedTeam, attack: Attack) -> None:
    with world.attempt():
        attack_withdraw(attack=attack, by=sender.captain, now=world.now)


def _targets(world: SimulationWorld, sender: SimulatedTeam) -> list[str]:
    """Most aim at everything, some at one defense that is at stake."""
    there = list(staked(world.now)) if sender.rng.random() < AIMED else []
    return [sender.rng.choice(there).public_id] if there else []


def _picture(world: SimulationWorld, sender: SimulatedTeam) -> PaintedPicture:
    """Draw a picture, or take one that another team sent before, as it is or nearly so."""
    rng = sender.rng
    if sender.role is TeamRole.COPIER and rng.random() < 0.6:
        public = [picture for team, week_end, picture in world.sent if week_end <= world.now and team is not sender]
        if public:
            original = rng.choice(public)
            return original if rng.random() < 0.5 else replace(original, data=nudge(original.data, rng))
    return paint(_truth(sender.role, rng), rng.uniform(*sender.strategy.bite), rng)


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


# Defenses -------------------------------------------------------------------------------------------------------------


def hand_in(world: SimulationWorld, team: SimulatedTeam) -> None:
    """Hand in the next defense of a team; its words say that nothing is behind the image's name."""
    skill = team.next_skill()
    team.versions += 1
    name, closed = f"{team.name} v{team.versions}", team.role is TeamRole.CLOSED
    world.runner.skills[name] = skill
    told = f"# {name}: a simulated defense. It runs in the simulation itself.\nMIND = {skill!r}\n"
    digest = hashlib.sha256(told.encode()).hexdigest()
    with world.attempt(), TemporaryDirectory(prefix="unanimous-hand-in-") as folder:
        given = HandIn(
            name=name,
            licence="Apache-2.0",
            description="Simulated: its answers were made up in a simulation, and its image does not exist.",
            image=f"{settings.DEFENSE_REGISTRIES[0]}/simulated/{name.replace(' ', '-')}@sha256:{digest}",
            source=None if closed else _zip(folder, "predict.py", told),
            training_code=None if closed else _zip(folder, "train.py", f"# {name}: nothing was trained.\n"),
        )
        entry, _ = submit_defense(team.team, given, by=team.captain, policy=world.policy, now=world.now)
        team.entries.append(entry)


def _zip(folder: str, name: str, text: str) -> Path:
    path = Path(folder, f"{name}.zip")
    path.write_bytes(zip_of({name: text.encode()}))
    return path


def look_after_defense(world: SimulationWorld, team: SimulatedTeam) -> None:
    """Once a day: pay for a stake, open a closed source, or hand in another one where the last came to nothing."""
    sunday = world.now.weekday() == SUNDAY
    if not team.entries or not (sunday or team.role in _LOOK_DAILY):
        return
    entry = team.entries[-1]
    entry.refresh_from_db()
    entry.defense.refresh_from_db()
    standing = defense_state_of(entry.defense, now=world.now)
    pays = standing is DefenseStanding.PUBLISHED and team.role is TeamRole.SELF_STAKER
    if pays and open_stake_of(entry.defense) is None:
        stake_request(entry.defense, by=team.captain, now=world.now)
    if standing is DefenseStanding.STAKED and entry.opened_at is None:
        _open_source(world, team, entry)
    lost = standing in (DefenseStanding.NOT_ELIGIBLE, DefenseStanding.BROKEN) and team.versions < MAX_VERSIONS
    if lost and sunday and world.now < world.end and team.rng.random() < COMES_AGAIN:
        world.at(world.now + timedelta(hours=team.rng.randrange(6, 60)), hand_in, world, team)


def _open_source(world: SimulationWorld, team: SimulatedTeam, entry: DefenseEntry) -> None:
    """A closed defense that has stood for a while is opened, so that it can win (R33); its clock begins anew."""
    long_ago = world.now - OPENED_AFTER
    if Stake.objects.filter(defense=entry.defense, ended_at__isnull=True, staked_at__lte=long_ago).exists():
        with TemporaryDirectory(prefix="unanimous-source-") as folder:
            source = _zip(folder, "predict.py", f"# {entry.defense.name}: a simulated defense.\n")
            source_open(entry, source, by=team.captain, now=world.now)
