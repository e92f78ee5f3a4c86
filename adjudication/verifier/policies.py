"""Reads and checks the policy versions in a release's manifest, and finds the one in force at a time (R7, R23).

Pure: standard library only.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from zoneinfo import available_timezones

from adjudication.rules import VerdictPolicy
from adjudication.schema import cells
from adjudication.schema import release_format as form
from adjudication.schema.cell_kinds import TIME
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import TOLERANCE, time_of
from adjudication.verifier.release_reader import Manifest
from adjudication.verifier.untrusted_files import NotARelease
from policy.numbers import Policy

_RATIO = re.compile(r"[1-9]\d{0,8}/[1-9]\d{0,8}", re.ASCII)
_VERSION = re.compile(r"[1-9]\d{0,8}", re.ASCII)
_MAX_REASON_CHARACTERS = 10_000
_MAX_NUMBER_CHARACTERS = 80
_MAX_VERSIONS = 1_000
_NO_ZONES = (
    "This Python has no database of time zones, and the weeks of this contest begin by one. "
    "Install it with `python -m pip install tzdata` and try again."
)
# name -> the type of its value.
_KINDS = {name: type(value) for name, value in Policy().to_json().items()}


@dataclass(frozen=True)
class RecordedPolicy:
    """A valid version of the policy, and since when it is in force; `since` is empty before the second revision."""

    version: str
    policy: Policy
    since: str

    @cached_property
    def rules(self) -> VerdictPolicy:
        """Return the numbers that a verdict depends on."""
        return VerdictPolicy.of(self.policy)

    @cached_property
    def since_when(self) -> datetime:
        """Return since when it is in force, as a time."""
        return time_of(self.since)


class RecordedPolicies:
    """The versions that a manifest names, and those of the releases before it, found by time."""

    def __init__(self, named: Mapping[str, RecordedPolicy], before: Mapping[str, RecordedPolicy]) -> None:
        self.named = named
        known = {**before, **named}.values()
        self._timed = sorted((each for each in known if each.since), key=lambda each: (each.since, int(each.version)))

    def at(self, moment: str) -> RecordedPolicy | None:
        """Return the newest known version in force at a time, as cells write it; None where none is known."""
        return next((each for each in reversed(self._timed) if each.since <= moment), None)

    def around(self, moment: str) -> set[str]:
        """Return the versions that a row of this time may follow: its writer may have read the policy a little
        earlier."""
        held = self.at(moment)
        if held is None:
            return set()
        shortly_before = time_of(moment) - TOLERANCE
        if held.since_when <= shortly_before:
            return {held.version}
        earlier = self.at(cells.time(shortly_before))
        return {held.version} if earlier is None else {held.version, earlier.version}

    def between(self, first: str, last: str) -> set[str]:
        """Return the known versions that were in force at any time from `first` to `last`."""
        held = self.at(first)
        later = {each.version for each in self._timed if first < each.since <= last}
        return later | ({held.version} if held is not None else set())

    def zones(self) -> list[tuple[datetime, str]]:
        """Return since when each time zone is in force, oldest first, as far as the versions are known."""
        found: list[tuple[datetime, str]] = []
        for each in self._timed:
            if not found or found[-1][1] != each.policy.time_zone:
                found.append((time_of(each.since), each.policy.time_zone))
        return found

    def knows(self, moment: str) -> bool:
        """Say whether `at` is certain for a time, because the next version is known too."""
        held = self.at(moment)
        later = next((each for each in self._timed if each.since > moment), None)
        return held is not None and (later is None or int(later.version) == int(held.version) + 1)

    @property
    def knows_first(self) -> bool:
        """Say whether the very first version is known, so that no other was in force before."""
        return bool(self._timed) and self._timed[0].version == "1"


def check_zones(manifest: Manifest) -> None:
    """Raise NotARelease where a policy names another zone than UTC and Python has no database of them (Windows)."""
    policies = manifest.values["policy"].values()
    zones = {str(each.get("time_zone", "UTC")) for each in policies if isinstance(each, dict)}
    if zones - {"UTC"} and not available_timezones():
        raise NotARelease(_NO_ZONES)


def read_policies(manifest: Manifest, before: Sequence[Manifest], findings: Findings) -> RecordedPolicies:
    """Return the policies of a manifest; each has to be valid, and equal to the same version in the releases `before`
    (newest first)."""
    if len(manifest.values["policy"]) > _MAX_VERSIONS:
        raise NotARelease(f"{manifest.name}: more than {_MAX_VERSIONS:,} versions of the policy")
    named = _read(manifest, findings)
    earlier: dict[str, RecordedPolicy] = {}
    for each in reversed(before):
        earlier |= _read(each, Findings())
        _same_as_before(manifest, each, findings)
    return RecordedPolicies(named, earlier)


def _read(manifest: Manifest, findings: Findings) -> dict[str, RecordedPolicy]:
    values = manifest.values
    timed = manifest.revision > 1
    since, reasons = (_texts(values.get(key)) if timed else {} for key in ("policy_from", "policy_reason"))
    found = {}
    for version, numbers in values["policy"].items():
        try:
            found[version] = RecordedPolicy(version, _policy(version, numbers), since.get(version, ""))
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            findings.add(
                form.MANIFEST, f"policy {version}", f"unreadable ({error!r})", "numbers of a policy", rule="R7"
            )
    for key, texts in (("policy_from", since), ("policy_reason", reasons)) if timed else ():
        _check_texts(key, texts, values["policy"], findings)
    _check_times(found, findings)
    return found


def _policy(version: str, numbers: Any) -> Policy:
    """Read the numbers of one version; refuse values of another type, or too long to be read cheaply."""
    if _VERSION.fullmatch(version) is None:
        raise ValueError("a version is a number from 1 on")
    if not isinstance(numbers, dict) or any(len(str(each)) > _MAX_NUMBER_CHARACTERS for each in numbers.values()):
        raise ValueError("no numbers by their names")
    if _RATIO.fullmatch(numbers["min_box_fraction"]) is None:
        raise ValueError("min_box_fraction is no ratio like 1/4")
    policy = Policy.from_json(numbers)
    written = policy.to_json()
    wrong = [name for name, value in numbers.items() if type(value) is not _KINDS[name] or written[name] != value]
    if wrong:
        raise ValueError(f"{', '.join(wrong)} of another kind")
    return policy


def _texts(values: Any) -> dict[str, str]:
    if not isinstance(values, dict):
        return {}
    return {
        key: value for key, value in values.items() if isinstance(value, str) and len(value) <= _MAX_REASON_CHARACTERS
    }


def _check_texts(key: str, texts: Mapping[str, str], policies: Mapping[str, Any], findings: Findings) -> None:
    """Check that exactly the listed versions have a time and a reason."""
    for version in sorted(texts.keys() ^ policies.keys()):
        recorded = "a text" if version in texts else "no text"
        findings.add(form.MANIFEST, f"{key} of {version}", recorded, "one for each policy", rule="R7")
    if key == "policy_from":
        for version, text in texts.items():
            if TIME.form.fullmatch(text) is None:
                findings.add(form.MANIFEST, f"{key} of {version}", text, "a time", rule="R7")


def _check_times(found: dict[str, RecordedPolicy], findings: Findings) -> None:
    """Check that a newer version is in force later; a version with an unreadable time has none."""
    for version, each in found.items():
        if each.since and TIME.form.fullmatch(each.since) is None:
            found[version] = RecordedPolicy(version, each.policy, "")
    timed = sorted((each for each in found.values() if each.since), key=lambda each: int(each.version))
    for one, other in zip(timed, timed[1:], strict=False):
        if one.since >= other.since:
            findings.add(
                form.MANIFEST, f"policy_from of {other.version}", other.since, f"later than {one.since}", rule="R7"
            )


def _same_as_before(manifest: Manifest, before: Manifest, findings: Findings) -> None:
    """Check that a version is the same as in earlier releases: a version never changes."""
    for key in ("policy", "policy_from", "policy_reason"):
        now, then = manifest.values.get(key), before.values.get(key)
        if isinstance(now, dict) and isinstance(then, dict):
            for version in sorted(now.keys() & then.keys()):
                if now[version] != then[version]:
                    row = f"{key} of {version}" if key != "policy" else f"policy {version}"
                    findings.add(form.MANIFEST, row, now[version], f"{then[version]} of {before.name}", rule="R7")
