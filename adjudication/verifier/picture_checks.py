"""Checks where pictures come from, who sent them first, and within which quota (R3, R23-R26).

Pure: standard library only.
"""

from collections.abc import Iterator
from datetime import timedelta

from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import is_before, time_of
from adjudication.verifier.release import CheckedRelease
from adjudication.verifier.rows import Row
from labeling.enums import Origin
from policy.calendar import calendar_day

_BY_BREAKS = ("broken", "void")
# A request takes its time before it is numbered: sending and decoding a picture lies between.
SLOWEST_REQUEST = timedelta(minutes=10)


def check_origins(release: CheckedRelease, findings: Findings) -> None:
    """Each picture has its provenance, and one of an attack says so in every table (R3, R26)."""
    provenance, sent = release.by(form.PROVENANCE, "image_id"), first_attacks(release)
    for row in release.rows(form.IMAGES):
        whence, first = provenance.get(row["image_id"]), sent.get(row["image_id"])
        findings.compare(form.IMAGES, row, row["team"], first["team_id"] if first else "", column="team")
        if whence is None:
            findings.add(form.IMAGES, row, "no provenance", f"a row of {form.PROVENANCE}", column="image_id")
            continue
        attack = whence["source"] == form.ATTACK_SOURCE
        findings.compare(form.IMAGES, row, row["origin"] == Origin.ATTACK, attack, column="origin")
        if row["origin"] != Origin.ATTACK:
            continue
        if first is None:
            findings.add(form.IMAGES, row, row["origin"], f"an attack in {form.ATTACKS}", column="origin")
            continue
        findings.compare(form.IMAGES, row, row["received_at"], first["received_at"], column="received_at")
        follows = {
            "source_id": first["team_id"],
            "licence": form.ATTACK_LICENCE,
            "label_from": release.manifest.values["week_end"],
        }
        for column, cell in follows.items():
            findings.compare(form.PROVENANCE, whence, whence[column], cell, column=column)


def first_attacks(release: CheckedRelease) -> dict[str, Row]:
    """Return picture -> the first attack of the week that sent it (R26)."""
    first: dict[str, Row] = {}
    for row in sorted(release.rows(form.ATTACKS), key=_receipt):
        first.setdefault(row["image_id"], row)
    return first


def _receipt(row: Row) -> tuple[str, int]:
    return row["received_at"], int(row["number"])


def check_attacks(release: CheckedRelease, findings: Findings) -> None:
    """Each attack is of the week, the first of its picture has the credit, and no team sends more than its quota."""
    before = sorted(release.rows_before(form.ATTACKS), key=_receipt)
    first: dict[str, Row] = {}
    sent: set[tuple[str, str]] = {(row["team_id"], row["image_id"]) for row in before}
    for row in before:
        first.setdefault(row["image_id"], row)
    for row in sorted(release.rows(form.ATTACKS), key=_receipt):
        findings.compare(form.ATTACKS, row, row["week"], release.manifest.values["week"], column="week")
        earlier = first.setdefault(row["image_id"], row)
        if earlier is not row or row["copy_of"]:
            _check_copy(row, earlier, release, findings)
        if (row["team_id"], row["image_id"]) in sent:
            findings.add(form.ATTACKS, row, row["image_id"], "a picture that the team sent once", column="image_id")
        sent.add((row["team_id"], row["image_id"]))
        _check_picture(row, release, findings)
        _check_targets(row, release, findings)
    _check_quota(release, findings)
    _check_order(release, findings)


def _check_order(release: CheckedRelease, findings: Findings) -> None:
    """Attacks are numbered in the order of receipt, as far as one request may take longer than another (R26)."""
    newest = ""
    for row in sorted(release.rows(form.ATTACKS), key=lambda row: int(row["number"])):
        if newest and time_of(newest) - time_of(row["received_at"]) > SLOWEST_REQUEST:
            words = f"not before {newest}, when one with a lower number was received"
            findings.add(form.ATTACKS, row, row["received_at"], words, column="received_at")
        newest = max(newest, row["received_at"])


def _check_copy(row: Row, earlier: Row, release: CheckedRelease, findings: Findings) -> None:
    if earlier is not row:
        follows = earlier["copy_of"] or earlier["attack_id"]
        findings.compare(form.ATTACKS, row, row["copy_of"], follows, column="copy_of")
    elif release.earlier.whole:
        findings.add(form.ATTACKS, row, row["copy_of"], "no copy: it is the first", column="copy_of")


def _check_picture(row: Row, release: CheckedRelease, findings: Findings) -> None:
    """A picture that was known before is one of an earlier release."""
    if row["image_id"] in release.by(form.IMAGES, "image_id"):
        return
    if release.earlier.whole and row["image_id"] not in release.earlier_by(form.IMAGES, "image_id"):
        findings.add(form.ATTACKS, row, row["image_id"], f"a row of {form.IMAGES}", column="image_id")


def _check_targets(row: Row, release: CheckedRelease, findings: Findings) -> None:
    """An attack is against defenses that are at stake when it is sent, each named once (R23)."""
    targets = [each for each in row["targets"].split(";") if each]
    if targets != sorted(set(targets)):
        findings.add(form.ATTACKS, row, row["targets"], "each once, in their order", column="targets")
    for target in targets if release.earlier.whole else ():
        if not any(_at_stake(each, row["received_at"]) for each in release.stakes_by_defense.get(target, ())):
            findings.add(form.ATTACKS, row, target, f"a defense at stake at {row['received_at']}", column="targets")


def _at_stake(stake: Row, moment: str) -> bool:
    """Say whether a stake was, or may have been, in force: one that a break ended comes back where that is overruled,
    which no table says."""
    if stake["end"] in _BY_BREAKS:
        return not is_before(moment, stake["staked_at"])
    return not is_before(moment, stake["staked_at"]) and not (
        stake["ended_at"] and is_before(stake["ended_at"], moment)
    )


def _check_quota(release: CheckedRelease, findings: Findings) -> None:
    """Of a team's attacks on one day each is a later one than the one before, and none is beyond the quota (R25)."""
    last: dict[tuple[str, str], int] = {}
    for row, day, most in _days(release):
        number, least = int(row["of_quota"]), last.get((row["team_id"], day), 0) + 1
        if not least <= number <= most:
            findings.add(form.ATTACKS, row, row["of_quota"], f"{least} to {most} on {day}", column="of_quota")
        last[row["team_id"], day] = max(number, least - 1)


def _days(release: CheckedRelease) -> Iterator[tuple[Row, str, int]]:
    for row in release.rows(form.ATTACKS):
        held = release.policies.at(row["received_at"])
        if held is not None:
            day = calendar_day(time_of(row["received_at"]), held.policy.time_zone)
            yield row, day.isoformat(), held.policy.attacks_per_day
