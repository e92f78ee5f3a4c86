"""Checks a release's manifest: its week, its counts of waiting pictures, its place in the chain (R23, R24, R39).

Pure: standard library only.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from adjudication.schema import cells
from adjudication.schema import release_format as form
from adjudication.schema.manifest_entries import ENTRIES
from adjudication.verifier.breaks import Faults, Predictions, pictures_with_gaps
from adjudication.verifier.findings import Findings
from adjudication.verifier.release import CheckedRelease
from labeling.enums import PanelState
from policy.calendar import week_named, zone_at

# Keys that the contest wrote into manifests before the revision that officially added them.
_ADDED_LATER = frozenset({"kept_out"})
# A change of the time zone within this time before a week may affect the week's bounds.
_AROUND = timedelta(days=16)
_BEGINNING = datetime.min.replace(tzinfo=UTC)


def check_manifest(release: CheckedRelease, findings: Findings) -> None:
    """Check the keys, the week's bounds, and the place among the earlier releases."""
    values = release.manifest.values
    known = {name for name, entry in ENTRIES.items() if entry.since <= release.manifest.revision}
    for key in sorted((values.keys() ^ known) - _ADDED_LATER):
        recorded = "an entry" if key in values else "no entry"
        findings.add(form.MANIFEST, key, recorded, "the entries of its revision" if key in values else "an entry")
    _check_week(release, findings)
    _check_place(release, findings)
    if release.manifest.revision > 1:
        _check_policies(release, findings)


def _check_week(release: CheckedRelease, findings: Findings) -> None:
    """Check that the bounds follow from the week's name and time zone, and the zone from the policies (R23)."""
    values = release.manifest.values
    zones = release.policies.zones()
    claimed = (_BEGINNING, values["time_zone"])
    try:
        if not zones:
            zones = [claimed]
        elif not release.policies.knows_first and zones[0][0] > week_named(values["week"], "UTC").start - _AROUND:
            zones.insert(0, claimed)  # an unknown policy may have been in force in the week
        week = week_named(values["week"], zones)
        zone = zone_at(week.start, zones)
    except (ValueError, KeyError, OSError, OverflowError) as error:
        recorded = f"{values['week']} in {values['time_zone']}"
        findings.add(
            form.MANIFEST, "week", recorded, f"a week in a zone that there is ({type(error).__name__})", rule="R23"
        )
        return
    bounds = {"week_start": cells.time(week.start), "week_end": cells.time(week.end), "time_zone": zone}
    for key, follows in bounds.items():
        findings.compare(form.MANIFEST, key, values[key], follows, rule="R23")


def _check_place(release: CheckedRelease, findings: Findings) -> None:
    """Check that the parts of a week are numbered in order, and that weeks neither overlap nor change."""
    values = release.manifest.values
    parts = [
        each.manifest.values["part"]
        for each in release.earlier.releases
        if each.manifest.values["week"] == values["week"]
    ]
    if release.earlier.whole or parts:
        follows = max(parts, default=-1) + 1
        findings.compare(form.MANIFEST, "part", values["part"], follows)
    for each in release.earlier.releases[:1]:
        if each.manifest.revision > release.manifest.revision:
            follows = f"{each.manifest.revision} or more, as {each.manifest.name} has"
            findings.add(form.MANIFEST, "revision", release.manifest.revision, follows)
    for each in release.weeks_before[-1:]:
        if each.manifest.values["week_end"] > values["week_start"]:
            words = f"not before {each.manifest.values['week_end']}, the end of {each.manifest.values['week']}"
            findings.add(form.MANIFEST, "week_start", values["week_start"], words, rule="R23")


# Table -> the columns that name versions of the policy, and the column with the time until which they were used.
_WITH_POLICIES: Mapping[str, tuple[tuple[str, ...], str]] = {
    form.RULINGS: (("policy_version",), "decided_at"),
    form.ATTACKS: (("policy_version",), ""),
    form.DECISIONS: (("policy_version",), ""),
    form.CASES: (("policy_version", "opened_policy_version"), "decided_at"),
    form.MOTIONS: (("policy_version", "opened_policy_version"), ""),
    form.PREDICTIONS: ((), "predicted_at"),
    form.FAULTS: ((), "at"),
}


def _check_policies(release: CheckedRelease, findings: Findings) -> None:
    """Check that every used version is listed, and only versions in force between the first panel and the last ruling,
    decision or prediction on the pictures (R7): an unused version could require fewer rounds."""
    end = release.manifest.values["week_end"]
    used, last = set[str](), end
    for file, (names, moment) in _WITH_POLICIES.items():
        for row in release.rows(file):
            used.update(row[name] for name in names if row.get(name))
            last = max(last, row[moment] if moment else "")
    first = min((row["dealt_at"] for row in release.rows(form.PANELS)), default=end)
    needed = used | release.policies.between(min(first, end), last)
    for version in sorted(needed ^ release.policies.named.keys(), key=lambda each: (len(each), each)):
        recorded = "a policy" if version in release.policies.named else "no such policy"
        follows = "one for each that was in force or used, and no other"
        findings.add(form.MANIFEST, f"policy {version}", recorded, follows, rule="R7")


def check_waiting(release: CheckedRelease, predictions: Predictions, faults: Faults, findings: Findings) -> None:
    """Check the waiting counts against panels and predictions, except why a panel is held: report or kept out (R24)."""
    waiting = release.manifest.values["waiting"]
    states = Counter(row["state"] for row in release.rows(form.PANELS))
    with_panel = release.by(form.PANELS, "image_id")
    follows = {
        "panel": sum(row["image_id"] not in with_panel for row in release.rows(form.IMAGES)),
        "answers": states[PanelState.OPEN],
        "ruling": states[PanelState.FULL],
        "runs": len(pictures_with_gaps(release, predictions, faults)),
    }
    for what, number in follows.items():
        findings.compare(form.MANIFEST, f"waiting for {what}", waiting.get(what), number, rule="R24")
    held = (waiting.get("report"), release.manifest.values.get("kept_out", 0))
    if not all(type(each) is int and each >= 0 for each in held) or sum(held) != states[PanelState.HELD]:
        recorded = f"{held[0]} for report, {held[1]} kept out"
        findings.add(form.MANIFEST, "waiting for report", recorded, f"{states[PanelState.HELD]} together", rule="R24")
    for what in sorted(waiting.keys() - {*follows, "report"}):
        findings.add(form.MANIFEST, f"waiting for {what}", waiting[what], "no such entry", rule="R24")
