"""Checks where pictures come from, who sent them first, and within which quota (R3, R23-R26).

Pure: standard library only.
"""

from collections.abc import Iterable
from datetime import timedelta

from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import is_before, time_of
from adjudication.verifier.release import CheckedRelease
from adjudication.verifier.rows import Row
from labeling.enums import Origin
from policy.calendar import calendar_day

_BY_BREAKS = ("broken", "void")
# A request takes time before it gets a number: sending and decoding a picture comes between.
SLOWEST_REQUEST = timedelta(minutes=10)


def check_origins(release: CheckedRelease, findings: Findings) -> None:
    """Check that each picture has its provenance, and that all tables agree whether it is an attack (R3, R26)."""
    provenance, sent = release.by(form.PROVENANCE, "image_id"), _first_attacks(release.rows(form.ATTACKS))
    for row in release.rows(form.IMAGES):
        whence, first = provenance.get(row["image_id"]), sent.get(row["image_id"])
        findings.compare_cells(form.IMAGES, row, {"team": first["team_id"] if first else ""})
        if whence is None:
            findings.add(form.IMAGES, row, "no provenance", f"a row of {form.PROVENANCE}", column="image_id")
            continue
        findings.compare(
            form.IMAGES, row, row["origin"] == Origin.ATTACK, whence["source"] == form.ATTACK_SOURCE, column="origin"
        )
        if row["origin"] != Origin.ATTACK:
            continue
        if first is None:
            findings.add_cell(form.IMAGES, row, "origin", f"an attack in {form.ATTACKS}")
            continue
        findings.compare_cells(form.IMAGES, row, {"received_at": first["received_at"]})
        follows = {
            "source_id": first["team_id"],
            "licence": form.ATTACK_LICENCE,
            "label_from": release.manifest.values["week_end"],
        }
        findings.compare_cells(form.PROVENANCE, whence, follows)


def _first_attacks(attacks: Iterable[Row]) -> dict[str, Row]:
    """Return picture -> the first of the attacks that sent it (R26)."""
    first: dict[str, Row] = {}
    for row in sorted(attacks, key=_receipt):
        first.setdefault(row["image_id"], row)
    return first


def _receipt(row: Row) -> tuple[str, int]:
    return row["received_at"], int(row["number"])


def check_attacks(release: CheckedRelease, findings: Findings) -> None:
    """Check that attacks are of the week, that the first attack with a picture is credited, and teams' quotas."""
    first = _first_attacks(release.rows_before(form.ATTACKS))
    sent = {(row["team_id"], row["image_id"]) for row in release.rows_before(form.ATTACKS)}
    for row in sorted(release.rows(form.ATTACKS), key=_receipt):
        findings.compare_cells(form.ATTACKS, row, {"week": release.manifest.values["week"]})
        earlier = first.setdefault(row["image_id"], row)
        _check_copy(row, earlier, release, findings)
        if (row["team_id"], row["image_id"]) in sent:
            findings.add_cell(form.ATTACKS, row, "image_id", "a picture that the team sent once")
        sent.add((row["team_id"], row["image_id"]))
        _check_targets(row, release, findings)
    _check_quota(release, findings)
    _check_order(release, findings)


def _check_order(release: CheckedRelease, findings: Findings) -> None:
    """Check that attacks are numbered in the order of receipt, allowing for how long requests take (R26)."""
    newest = ""
    for row in sorted(release.rows(form.ATTACKS), key=lambda row: int(row["number"])):
        if newest and time_of(newest) - time_of(row["received_at"]) > SLOWEST_REQUEST:
            findings.add_cell(
                form.ATTACKS, row, "received_at", f"not before {newest}, when one with a lower number was received"
            )
        newest = max(newest, row["received_at"])


def _check_copy(row: Row, earlier: Row, release: CheckedRelease, findings: Findings) -> None:
    if earlier is not row:
        findings.compare_cells(form.ATTACKS, row, {"copy_of": earlier["copy_of"] or earlier["attack_id"]})
    elif row["copy_of"] and release.earlier.whole:
        findings.add_cell(form.ATTACKS, row, "copy_of", "no copy: it is the first")


def _check_targets(row: Row, release: CheckedRelease, findings: Findings) -> None:
    """Check that an attack is against defenses that are at stake when it is sent, each named once (R23)."""
    targets = [each for each in row["targets"].split(";") if each]
    if targets != sorted(set(targets)):
        findings.add_cell(form.ATTACKS, row, "targets", "each once, in their order")
    for target in targets if release.earlier.whole else ():
        if not any(_at_stake(each, row["received_at"]) for each in release.stakes_by_defense.get(target, ())):
            findings.add(form.ATTACKS, row, target, f"a defense at stake at {row['received_at']}", column="targets")


def _at_stake(stake: Row, moment: str) -> bool:
    """Say whether a stake was, or may have been, in force: a stake that a break ended is restored where the break is
    overruled, which is in no table."""
    over = stake["ended_at"] and stake["end"] not in _BY_BREAKS and is_before(stake["ended_at"], moment)
    return not over and not is_before(moment, stake["staked_at"])


def _check_quota(release: CheckedRelease, findings: Findings) -> None:
    """Check that the count of a team's attacks increases through a day and stays within the quota (R25)."""
    last: dict[tuple[str, str], int] = {}
    for row in release.rows(form.ATTACKS):
        held = release.policies.at(row["received_at"])
        if held is None:
            continue
        day = calendar_day(time_of(row["received_at"]), held.policy.time_zone).isoformat()
        most = held.policy.attacks_per_day
        number, least = int(row["of_quota"]), last.get((row["team_id"], day), 0) + 1
        if not least <= number <= most:
            findings.add_cell(form.ATTACKS, row, "of_quota", f"{least} to {most} on {day}")
        last[row["team_id"], day] = max(number, least - 1)
