"""Services that take in defenses of teams, open their source, publish and withdraw them (R28, R32, R33)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from common.errors import Conflict, InvalidInput, NotAllowed, TooMany, WrongFields
from common.times import to_the_second
from contest.core.enums import StakeEnd
from contest.core.models import Stake, Team
from contest.core.teams import final_team
from contest.defenses import selectors
from contest.defenses.letters import notify_published
from contest.defenses.models import DefenseEntry
from contest.defenses.stake_ends import not_final, stakes_revive
from contest.teams.services import lock_captain
from picture_files.store_transactions import storing_files
from policy.numbers import Policy
from policy.selectors import policy_in_force
from scoring.models import Defense
from scoring.trials import submitted_files
from scoring.trials.selectors import eligibility_of

MAX_LICENCE_CHARACTERS = 200
MAX_DESCRIPTION_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class HandIn:
    """A team's submission: the archive of a container image, or `image` in a registry; None is a file not sent."""

    name: str
    licence: str
    description: str = ""
    image: str = ""
    archive: Path | None = None
    source: Path | None = None
    training_code: Path | None = None
    weights: Path | None = None

    def checked(self) -> "HandIn":
        """Return it with cleaned texts; WrongFields with all errors that can be found before a file is read."""
        texts = {name: _plain(getattr(self, name)) for name in ("name", "licence", "description", "image")}
        if wrong := _wrong(texts, self.archive):
            raise WrongFields(wrong)
        name, licence, description, image = texts.values()
        return replace(self, name=name, licence=licence, description=description, image=image)


def _plain(text: str) -> str:
    return text.replace("\x00", "").replace("\r\n", "\n").strip()


def _wrong(texts: Mapping[str, str], archive: Path | None) -> dict[str, str]:
    """Return field -> error message."""
    found = {}
    try:
        submitted_files.checked_name(texts["name"])
    except InvalidInput as error:
        found["name"] = error.message
    if not 0 < len(texts["licence"]) <= MAX_LICENCE_CHARACTERS or not texts["licence"].isprintable():
        words = f"Name the licence in one line of at most {MAX_LICENCE_CHARACTERS} characters, for example Apache-2.0."
        found["licence"] = words
    if len(texts["description"]) > MAX_DESCRIPTION_CHARACTERS:
        found["description"] = f"Describe it in at most {MAX_DESCRIPTION_CHARACTERS:,} characters."
    if (archive is None) == (not texts["image"]):
        found["archive"] = "Hand in either the archive of the image, or its name and digest in a registry."
    return found


def submit_defense(team: Team, given: HandIn, *, by: User, policy: Policy, now: datetime) -> tuple[DefenseEntry, bool]:
    """Take in a defense of `team`; return its entry and whether it is new: an identical submission gives the old entry.

    Its trials begin by themselves. Submitted source is open from then on (R33). Raises WrongFields and InvalidInput
    with what to change, Conflict for a name that is taken and (`differs`) for a submission made before with other files
    or texts, TooMany beyond the week's number or (`too_many_refused`) the hour's refusals: then nothing counts for the
    week.
    """
    given = given.checked()
    refuse_beyond_quota(team, policy, now, name=given.name)
    _refuse_taken_name(given.name, team)
    kept, files = _keep_files(given)
    training_code = kept.pop("training_code")
    with storing_files():
        Team.objects.select_for_update(no_key=True).get(pk=team.pk)  # simultaneous ones are counted one by one
        if known := _same_submission(team, given.name, kept["digest"]):
            _refuse_different(known, given, kept, training_code)
            return known, False
        refuse_beyond_quota(team, policy, now)
        _refuse_taken_name(given.name, team)
        submitted_files.put_files(files)
        defense = _defense(given, kept, now)
        entry = DefenseEntry.objects.create(
            team=team,
            defense=defense,
            received_at=now,
            due_at=selectors.due_date(now),
            licence=given.licence,
            training_code=training_code,
            opened_at=now if given.source is not None else None,
            handed_in_by=by,
        )
    return entry, True


def refuse_beyond_quota(team: Team, policy: Policy, now: datetime, *, name: str = "") -> None:
    """Raise TooMany (`quota_used`) for a team that has submitted as many defenses as it may this week.

    A `name` that the team submitted before does not count: the submission is the same, or is refused for its name.
    """
    if selectors.submissions_left(team, policy, now):
        return
    # Looked up after the count, so that an identical submission committed in between by another request is found.
    if selectors.submissions_of(team).filter(defense__name=name).exists():
        return
    most = policy.defenses_per_week
    words = f"Your team has handed in {most} defenses this week, which is the most. Next week there are {most} more."
    raise TooMany(words, "quota_used")


def _refuse_taken_name(name: str, team: Team) -> None:
    """Refuse a name in use: each version of a defense has its own, so that both keep their predictions and states."""
    others = Defense.objects.filter(name__iexact=name).exclude(entry__in=selectors.submissions_of(team), name=name)
    if others.exists():
        raise Conflict(f"There is a defense called {name} already. Give this one a name of its own.", "name_taken")


def _keep_files(given: HandIn) -> tuple[dict[str, Any], dict[str, Path]]:
    """Check and store the files, and return what `files_keep` returns; the smaller ones first, so that an error in a
    zip is found before the archive is read."""
    training, training_files = _training_code(given.training_code)
    weights = [] if given.weights is None else [given.weights]
    kept, files = submitted_files.keep_files(given.archive, image=given.image, source=given.source, weights=weights)
    return kept | {"training_code": training}, training_files | files


def _training_code(path: Path | None) -> tuple[str, dict[str, Path]]:
    """Store the training code, if there is any; return its SHA-256, and its key in the store -> the file."""
    if path is None:
        return "", {}
    sha256 = submitted_files.keep_zip(path, "training code", "training_code")
    return sha256, {submitted_files.source_key(sha256): path}


def _same_submission(team: Team, name: str, digest: str) -> DefenseEntry | None:
    """Return the entry of an identical earlier submission; Conflict for one that was withdrawn since."""
    entry = selectors.submissions_of(team).filter(defense__name=name, defense__digest=digest).first()
    if entry is not None and entry.withdrawn_at is not None:
        words = f"Your team took {name} back. Give it another name to hand in the same image again."
        raise Conflict(words, "withdrawn_before")
    if entry is None and selectors.submissions_of(team).filter(defense__name=name).exists():
        raise Conflict(f"Your team has a defense called {name} already. Give this one a name of its own.", "name_taken")
    return entry


def _refuse_different(entry: DefenseEntry, given: HandIn, kept: Mapping[str, Any], training_code: str) -> None:
    """Raise Conflict (`differs`) if a file or text differs from the one stored before, so that nothing is dropped
    silently. A file that was not sent again is no difference."""
    sent_and_kept = {
        "source": (kept["source"], entry.defense.source),
        "training code": (training_code, entry.training_code),
        "weights": (kept["weights"], entry.defense.weights),
        "licence": (given.licence, entry.licence),
        "description": (given.description, entry.defense.description),
    }
    if different := [what for what, (sent, before) in sent_and_kept.items() if sent and sent != before]:
        raise Conflict(_different_words(entry, different), "differs")


def _different_words(entry: DefenseEntry, different: Sequence[str]) -> str:
    name, listed = entry.defense.name, " and ".join(filter(None, [", ".join(different[:-1]), different[-1]]))
    words = f"Your team handed in {name} with this image before, with other files or words. Different now: {listed}. "
    words += "It stays as it was, and what you sent now was not taken in. "
    addable = {"source", "training code"} if entry.opened_at is None and "source" in different else set()
    if addable:
        words += f"Its source can be added on its page ({entry.defense.public_id}), under Open the source. "
    if set(different) - addable:
        words += "Hand in what is different as another version, with a name of its own."
    return words.strip()


def _defense(given: HandIn, kept: Mapping[str, Any], now: datetime) -> Defense:
    try:
        with transaction.atomic():
            return Defense.objects.create(name=given.name, description=given.description, created_at=now, **kept)
    except IntegrityError:  # another team submitted the same meanwhile
        raise Conflict(f"There is a defense called {given.name} already.", "name_taken") from None


def source_open(
    entry: DefenseEntry, source: Path, *, by: User, now: datetime, training_code: Path | None = None
) -> DefenseEntry:
    """Take in the source of a closed defense: it is open from now on, and a stake on it has a new 90 days (R33).

    Raises InvalidInput for an invalid file, Conflict for an entry that is open or withdrawn.
    """
    _refuse_opening(entry)
    sha256 = submitted_files.keep_zip(source, "source", "source")
    training, files = _training_code(training_code)
    with storing_files():
        submitted_files.put_files({submitted_files.source_key(sha256): source} | files)
        defense = Defense.objects.select_for_update(no_key=True).get(pk=entry.defense_id)
        entry = DefenseEntry.objects.select_for_update(no_key=True).get(pk=entry.pk)
        _refuse_opening(entry)
        defense.source, entry.opened_at = sha256, now
        entry.training_code = training or entry.training_code
        defense.save(update_fields=["source"])
        entry.save(update_fields=["opened_at", "training_code"])
        # Ended stakes too: one may turn out unbroken, and then its 90 days begin here as well.
        begun = Stake.objects.filter(defense=defense, staked_at__isnull=False)
        begun.filter(end__in=["", StakeEnd.BROKEN, StakeEnd.VOID]).update(clock_from=now)
    return entry


def _refuse_opening(entry: DefenseEntry) -> None:
    if entry.opened_at is not None:
        raise Conflict("The source of this defense was handed in before.", "open_already")
    if entry.withdrawn_at is not None:
        raise Conflict("This defense was taken back.", "withdrawn")


def entry_withdraw(entry: DefenseEntry, *, by: User, now: datetime) -> DefenseEntry:
    """Withdraw a defense that is not at stake, for its captain: it gets no new runs, and its predictions stay.

    A requested, unpaid stake on it is cancelled. Raises NotAllowed for others, Conflict (`staked`) for one at stake,
    which only the board returns, (`not_final`) while pictures may still change the outcome of an earlier stake on it,
    and for one that was withdrawn before.
    """
    with transaction.atomic():
        if lock_captain(by) != final_team(entry.team):
            raise NotAllowed("This is another team's defense.", "not_yours")
        Defense.objects.select_for_update(no_key=True).get(pk=entry.defense_id)
        entry = DefenseEntry.objects.select_for_update(no_key=True).select_related("defense").get(pk=entry.pk)
        if entry.withdrawn_at is not None:
            raise Conflict("This defense was taken back before.", "withdrawn")
        stakes_revive(entry.defense, now=now)
        stake = selectors.open_stake_of(entry.defense)
        if stake is not None and stake.staked_at is not None:
            raise Conflict("This defense is at stake. Ask the board to return it.", "staked")
        if words := missing_for_publication(entry.defense, now=now):
            raise Conflict(words, "not_final")
        if stake is not None:
            Stake.objects.filter(pk=stake.pk).update(ended_at=now, end=StakeEnd.WITHDRAWN)
        entry.withdrawn_at, entry.withdrawn_by = now, by
        entry.save(update_fields=["withdrawn_at", "withdrawn_by"])
        Defense.objects.filter(pk=entry.defense_id, retired_at=None).update(retired_at=now)
    return entry


def missing_for_publication(defense: Defense, *, now: datetime) -> str:
    """Return why a defense that was at stake cannot be withdrawn yet, and when it can; empty if it can be now."""
    waits = not_final(defense, now=now)
    if waits is None:
        return ""
    names = ", ".join(week.name for week in waits.weeks)
    words = f"{defense.name} was at stake, and what becomes of the prize is not final: it waits for {names}. "
    if waits.until is None or waits.until <= now:
        return (
            words + "It can be taken back when the pictures of these weeks are ruled upon, run and past their appeals."
        )
    zone = policy_in_force(now).policy.time_zone
    return words + f"It can be taken back from {to_the_second(waits.until, zone)} on, when their appeals are closed."


# Publication ---------------------------------------------------------------------------------------------------------


def defenses_publish(*, policy: Policy, now: datetime) -> int:
    """Publish every entry that is eligible (R32), at once; return how many. Idempotent."""
    ids = selectors.entries_unpublished().values_list("pk", flat=True)
    return sum(_publish(pk, policy, now) for pk in list(ids))


def _publish(entry_id: int, policy: Policy, now: datetime) -> bool:
    """Publish one; False if it is not eligible, or if another defense with its name is in force."""
    entry = selectors.entries_unpublished().filter(pk=entry_id).first()
    if entry is None or not eligibility_of(entry.defense, policy, now=now).eligible:
        return False
    if Defense.objects.filter(name=entry.defense.name, published_at__isnull=False, retired_at=None).exists():
        return False  # it stays on the organizers' list of what is overdue
    waiting = Defense.objects.filter(pk=entry.defense_id, published_at=None, retired_at=None)
    with transaction.atomic():
        if not waiting.update(published_at=now):
            return False  # another sweep was quicker, or it was withdrawn
        notify_published(entry, policy=policy, now=now)
    return True
