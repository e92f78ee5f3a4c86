"""Simulated defending teams: submitting, staking, opening the source, improving."""

import hashlib
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings

from common.errors import DomainError
from contest.core.enums import DefenseStanding
from contest.core.models import Stake
from contest.defenses.entries import HandIn, source_open, submit_defense
from contest.defenses.models import DefenseEntry
from contest.defenses.selectors import defense_state_of, open_stake_of
from contest.defenses.staking import stake_request
from contest.simulation.cast import DefenseSkill, TeamRole
from contest.simulation.world import SimulationWorld, TeamAtWork, zip_of

LICENCE = "Apache-2.0"
MOST_VERSIONS = 4
COMES_AGAIN = 0.6
SUNDAY = 6
_LOOK_DAILY = (TeamRole.SELF_STAKER, TeamRole.CLOSED)
OPENED_AFTER = timedelta(days=14)


def hand_in(world: SimulationWorld, maker: TeamAtWork) -> None:
    """Hand in the next defense of a team."""
    character = maker.character
    mind = character.next_mind()
    character.versions += 1
    name = f"{character.name} v{character.versions}"
    world.runner.minds[name] = mind
    try:
        with TemporaryDirectory(prefix="unanimous-hand-in-") as folder:
            given = _given(Path(folder), name, mind, closed=character.role is TeamRole.CLOSED)
            entry, _ = submit_defense(maker.team, given, by=maker.captain, policy=world.policy, now=world.now)
    except DomainError as error:
        world.note(f"{maker.team.name} could not hand in {name}: {error.message}")
        return
    maker.entries.append(entry)
    world.count("handed in")


def _given(folder: Path, name: str, mind: DefenseSkill, *, closed: bool) -> HandIn:
    """What a team hands in; its words say that nothing is behind the image's name."""
    told = f"# {name}: a simulated defense. It runs in the simulation itself.\nMIND = {mind!r}\n"
    digest = hashlib.sha256(told.encode()).hexdigest()
    source, training = folder / "source.zip", folder / "training.zip"
    source.write_bytes(zip_of({"predict.py": told}))
    training.write_bytes(zip_of({"train.py": f"# {name}: nothing was trained.\n"}))
    return HandIn(
        name=name,
        licence=LICENCE,
        description="Simulated: its answers were made up in a simulation, and its image does not exist.",
        image=f"{settings.DEFENSE_REGISTRIES[0]}/simulated/{name.replace(' ', '-')}@sha256:{digest}",
        source=None if closed else source,
        training_code=None if closed else training,
    )


def look_after(world: SimulationWorld, maker: TeamAtWork) -> None:
    """Once a day: pay for a stake, open a closed source, or hand in another one where the last came to nothing."""
    sunday = world.now.weekday() == SUNDAY
    if not maker.entries or not (sunday or maker.character.role in _LOOK_DAILY):
        return
    entry = maker.entries[-1]
    entry.refresh_from_db()
    entry.defense.refresh_from_db()
    standing = defense_state_of(entry.defense, now=world.now)
    if standing is DefenseStanding.PUBLISHED and maker.character.role is TeamRole.SELF_STAKER:
        _stake(world, maker, entry)
    if standing is DefenseStanding.STAKED and entry.opened_at is None:
        _open_source(world, maker, entry)
    if standing in (DefenseStanding.NOT_ELIGIBLE, DefenseStanding.BROKEN) and sunday and world.now < world.end:
        _come_again(world, maker)


def _come_again(world: SimulationWorld, maker: TeamAtWork) -> None:
    character = maker.character
    if character.versions < MOST_VERSIONS and character.rng.random() < COMES_AGAIN:
        later = world.now + timedelta(hours=character.rng.randrange(6, 60))
        world.at(later, lambda: hand_in(world, maker), alone=True)


def _stake(world: SimulationWorld, maker: TeamAtWork, entry: DefenseEntry) -> None:
    if open_stake_of(entry.defense) is None:
        stake_request(entry.defense, by=maker.captain, now=world.now)
        world.note(f"{maker.team.name} asked to stake {entry.defense.name} with its own money.")


def _open_source(world: SimulationWorld, maker: TeamAtWork, entry: DefenseEntry) -> None:
    """A closed defense that has stood for a while is opened, so that it can win (R33)."""
    stake = Stake.objects.filter(defense=entry.defense, ended_at__isnull=True, staked_at__isnull=False).get()
    if stake.staked_at is None or world.now - stake.staked_at < OPENED_AFTER:
        return
    with TemporaryDirectory(prefix="unanimous-source-") as folder:
        source = Path(folder) / "source.zip"
        source.write_bytes(zip_of({"predict.py": f"# {entry.defense.name}: a simulated defense.\n"}))
        source_open(entry, source, by=maker.captain, now=world.now)
    world.note(f"{maker.team.name} opened the source of {entry.defense.name}: its clock begins anew.")
