"""Checks that the board's decisions, batches, stakes and awards agree with each other (R27, R32-R37).

Pure: standard library only.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adjudication.enums import DecisionKind
from adjudication.schema import cells
from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import is_before, time_of
from adjudication.verifier.release import CheckedRelease
from adjudication.verifier.rows import Row
from adjudication.verifier.run_checks import check_still_there
from adjudication.verifier.votes import value_of
from policy.calendar import week_of

# Key in the subject of a decision or motion -> the table of the row with its number, and the word for such a row.
_NAMED = {"team": form.TEAMS, "defense": form.DEFENSES, "stake": form.STAKES}
_BOARD = "board"
_BROKEN = ("broken", "void")
# Kind of decision -> the further values that it has beside its subject.
_DETAILS: Mapping[DecisionKind, frozenset[str]] = {
    DecisionKind.STAKE: frozenset({"criteria"}),
    DecisionKind.AWARD: frozenset({"statement"}),
    DecisionKind.RETURN: frozenset({"granted", "cents"}),
    DecisionKind.END: frozenset({"end"}),
    DecisionKind.WITHHOLD: frozenset({"cents"}),
    DecisionKind.FORFEIT: frozenset({"cents", "had"}),
    DecisionKind.GRANT: frozenset(),
    DecisionKind.REVOKE: frozenset(),
}


def check_stakes(release: CheckedRelease, findings: Findings) -> None:
    """Check decisions and the rows that they made, stakes, awards, and associations."""
    _check_decisions(release, findings)
    for row in release.rows(form.STAKES):
        _check_stake(row, release, findings)
    _check_alone(release, findings)
    for row in release.rows(form.AWARDS):
        _check_award(row, release, findings)
    _check_given(release, findings)
    _check_associations(release, findings)
    _check_teams(release, findings)


def _check_alone(release: CheckedRelease, findings: Findings) -> None:
    """Check that a defense has at most one stake at a time (R32)."""
    here = release.by(form.STAKES, "number")
    for stakes in release.stakes_by_defense.values():
        last: Row | None = None
        for row in sorted(stakes, key=lambda stake: (stake["staked_at"], int(stake["number"]))):
            if last is not None and (not last["ended_at"] or is_before(row["staked_at"], last["ended_at"])):
                later = max(row, last, key=lambda stake: int(stake["number"]))
                if later["number"] in here:
                    words = f"after {last['ended_at'] or 'the end'} of stake {last['number']} on the same defense"
                    findings.add_cell(form.STAKES, later, "staked_at", words)
            if last is None or last["ended_at"] and (not row["ended_at"] or row["ended_at"] > last["ended_at"]):
                last = row


def _check_associations(release: CheckedRelease, findings: Findings) -> None:
    """Check that a team's associations in earlier releases are repeated as long as the team is in the release (R27)."""
    for before in release.earlier_by(form.ASSOCIATIONS, "number").values():
        if before["team_id"] in release.by(form.TEAMS, "team_id"):
            check_still_there(form.ASSOCIATIONS, "number", before, release, findings)


def json_of(row: Row, column: str, file: str, findings: Findings) -> dict[str, Any]:
    """Return the JSON object in a cell; an empty one, and a difference, where it cannot be read."""
    value = _json_in(row, column, file, findings)
    return value if isinstance(value, dict) else {}


def _json_in(row: Row, column: str, file: str, findings: Findings) -> Any:
    """Return the JSON value in a cell; None, and a difference, where it cannot be read."""
    try:
        return value_of(row[column])
    except ValueError as error:
        findings.add(file, row, f"{column} that cannot be read: {error}", "JSON", column=column)
    return None


def check_subject(file: str, row: Row, release: CheckedRelease, findings: Findings) -> dict[str, list[int]]:
    """Return the rows that a decision or a motion is about, and check that each of them exists."""
    found: dict[str, list[int]] = {}
    for what, numbers in json_of(row, "subject", file, findings).items():
        if what not in _NAMED and what != "award":
            findings.add(file, row, what, "teams, defenses, stakes or awards", column="subject")
        elif not isinstance(numbers, list) or not all(type(each) is int for each in numbers):
            findings.add(file, row, str(numbers), "numbers", column="subject")
        else:
            found[what] = numbers
            for each in numbers if what in _NAMED and release.earlier.whole else ():
                if release.find(_NAMED[what], "number", str(each)) is None:
                    findings.add(file, row, f"{what} {each}", f"a row of {_NAMED[what]}", column="subject")
    return found


def _check_decisions(release: CheckedRelease, findings: Findings) -> None:
    batches, awards = release.by(form.BATCHES, "decision"), defaultdict(set)
    staked: dict[str, list[str]] = defaultdict(list)
    numbers = {row["defense_id"]: row["number"] for row in release.rows(form.DEFENSES)}
    for row in release.rows(form.STAKES):
        staked[row["batch_id"]].append(numbers.get(row["defense_id"], ""))
    for row in release.rows(form.AWARDS):
        awards[row["decision"]].add(int(row["stake"]))
    motions = release.by(form.MOTIONS, "case_id")
    for row in release.rows(form.DECISIONS):
        subject = check_subject(form.DECISIONS, row, release, findings)
        details = json_of(row, "details", form.DECISIONS, findings)
        for name in sorted(details.keys() - _DETAILS[DecisionKind(row["kind"])]):
            findings.add(form.DECISIONS, row, name, f"what a decision of {row['kind']} says", column="details")
        motion, batch = motions.get(row.get("case_id", "")), batches.get(row["number"])
        if motion is not None:
            _check_motion(row, motion, subject, details, release, findings)
        _check_made(row, DecisionKind.STAKE, form.BATCHES, batch is not None, findings)
        _check_made(row, DecisionKind.AWARD, form.AWARDS, row["number"] in awards, findings)
        if batch is not None:
            findings.compare_cells(form.BATCHES, batch, {"criteria": _words_of(details, "criteria")})
            _check_batch(batch, subject, staked[batch["batch_id"]], findings)
        if row["kind"] == DecisionKind.AWARD and subject and set(subject.get("stake", ())) != awards[row["number"]]:
            findings.add_cell(form.DECISIONS, row, "subject", f"the stakes of its awards in {form.AWARDS}")


def _check_motion(
    row: Row,
    motion: Row,
    subject: Mapping[str, list[int]],
    details: Mapping[str, Any],
    release: CheckedRelease,
    findings: Findings,
) -> None:
    """Check that a decision has the subject and the values of its motion."""
    asked = check_subject(form.MOTIONS, motion, release, findings)
    about = {what: _names(what, numbers, release) for what, numbers in subject.items()}
    if any(not _names(what, numbers, release) <= about.get(what, set()) for what, numbers in asked.items()):
        findings.add_cell(form.DECISIONS, row, "subject", f"{motion['subject']} of its motion")
    for name, value in json_of(motion, "details", form.MOTIONS, findings).items():
        if name in details and details[name] != value:
            findings.add(form.DECISIONS, row, details[name], f"{value} of its motion", column="details")


def _names(what: str, numbers: Sequence[int], release: CheckedRelease) -> set[str]:
    """Return the rows that a subject names, a team that was merged since then by the team it became (R25)."""
    found = {str(each) for each in numbers}
    return {release.final_team_by_number(each) for each in found} if what == "team" else found


def _check_made(row: Row, kind: DecisionKind, file: str, made: bool, findings: Findings) -> None:
    """Check that a decision made rows of `file` exactly when its kind makes such rows."""
    if made != (row["kind"] == kind):
        follows = f"{kind}, as a row of {file} was made by it" if made else f"a row of {file} that was made by it"
        findings.add_cell(form.DECISIONS, row, "kind", follows)


def _words_of(details: Mapping[str, Any], name: str) -> str:
    return cells.text(str(details.get(name, "")))


def _check_batch(batch: Row, subject: Mapping[str, list[int]], staked: Sequence[str], findings: Findings) -> None:
    """Check that the stakes of a batch are on the defenses of the decision (R32)."""
    decided = [str(each) for each in subject.get("defense", ())]
    if subject and sorted(staked) != sorted(decided):
        findings.add(
            form.BATCHES,
            batch,
            f"stakes on {' '.join(sorted(staked))}",
            f"on {' '.join(sorted(decided))}",
            column="batch_id",
        )


def _check_stake(row: Row, release: CheckedRelease, findings: Findings) -> None:
    """Check a stake's price and beginning, which depend on who pays (R32), its clock (R33), and its end (R36)."""
    held = release.policies.at(row["asked_at"])
    if held is not None and release.policies.knows(row["asked_at"]):
        findings.compare_cells(form.STAKES, row, {"cents": str(held.policy.attacker_prize_cents)})
    if row["kind"] == _BOARD:
        batch = release.find(form.BATCHES, "batch_id", row["batch_id"])
        begun = batch["staked_at"] if batch is not None else row["staked_at"]
        findings.compare_cells(form.STAKES, row, {"asked_at": begun, "staked_at": begun})
    _check_clock(row, release, findings)
    start, end = release.manifest.values["week_start"], release.manifest.values["week_end"]
    moments = [row[column] for column in ("staked_at", "clock_from", "ended_at")]
    if not any(start <= moment < end for moment in moments):
        findings.add_cell(form.STAKES, row, "staked_at", "a stake that began or ended in the week")
    _check_end(row, release, findings)


def _check_clock(row: Row, release: CheckedRelease, findings: Findings) -> None:
    defense = release.by(form.DEFENSES, "defense_id").get(row["defense_id"])
    opened = defense["opened_at"] if defense is not None else ""
    if not row["clock_from"] and opened < release.manifest.values["week_end"]:
        findings.add_cell(form.STAKES, row, "clock_from", "when its clock began")
    if row["clock_from"] and row["clock_from"] not in {row["staked_at"], opened}:
        findings.add_cell(form.STAKES, row, "clock_from", f"{row['staked_at']}{f' or {opened}' if opened else ''}")


def _check_end(row: Row, release: CheckedRelease, findings: Findings) -> None:
    """Check that a stake that won has its award, and that a stake ends no later than a known break (R35-R37)."""
    awards = release.find(form.AWARDS, "stake", row["number"])
    if row["end"] in _BROKEN:
        _check_break(row, release, findings)
    if awards is not None and row["ended_at"] and row["end"] != "won":
        findings.add_cell(form.STAKES, row, "end", "won, as it was awarded", rule="R37")
    in_week = release.manifest.values["week_start"] <= row["ended_at"]
    if row["end"] == "won" and in_week:
        if awards is None:
            findings.add_cell(form.STAKES, row, "end", f"an award in {form.AWARDS}", rule="R37")
        else:
            findings.compare_cells(form.STAKES, row, {"ended_at": awards["awarded_at"]})


def _check_break(row: Row, release: CheckedRelease, findings: Findings) -> None:
    """Check that the picture of the break that ended a stake was sent in the week of the stake or later, unless it was
    void (R35). Nothing is checked where the break is not known."""
    begun = week_of(time_of(row["staked_at"]), release.policies.zones() or "UTC").start
    breaks = release.breaks_by_defense.get(row["defense_id"], ())
    found = [each for each in breaks if each["found_at"] == row["ended_at"]]
    pictures = (release.find(form.IMAGES, "image_id", each["image_id"]) for each in found)
    times = [time_of(_first_sent(image, release)) for image in pictures if image is not None]
    follows = {"void" if time < begun else "broken" for time in times}
    if follows and row["end"] not in follows:
        findings.add_cell(form.STAKES, row, "end", " or ".join(sorted(follows)), rule="R35")


def _first_sent(image: Row, release: CheckedRelease) -> str:
    """Return when a picture was first sent, or when it was added where no sender is known."""
    attacks = release.attacks_by_image.get(image["image_id"], ())
    return min((each["received_at"] for each in attacks), default=image["received_at"])


def _check_award(row: Row, release: CheckedRelease, findings: Findings) -> None:
    """Check that an award agrees with its decision, its stake and the ledger (R36, R37)."""
    decision = release.by(form.DECISIONS, "number").get(row["decision"])
    if decision is not None:
        details = json_of(decision, "details", form.DECISIONS, findings)
        findings.compare_cells(form.AWARDS, row, {"statement": _words_of(details, "statement")})
    conditions = _json_in(row, "conditions", form.AWARDS, findings)
    told = conditions if isinstance(conditions, list) else []
    if not told or not all(isinstance(each, dict) and each.get("passed") is True for each in told):
        findings.add_cell(form.AWARDS, row, "conditions", "conditions, each of them passed")


def _check_given(release: CheckedRelease, findings: Findings) -> None:
    """Check that the ledger pays a decision's awards at their time; later entries are corrections (R27, R36)."""
    awarded, given, first = Counter[str](), Counter[tuple[str, str]](), dict[str, Row]()
    for row in release.rows(form.AWARDS):
        first.setdefault(row["decision"], row)
        awarded[row["decision"]] += int(row["cents"])
    for row in release.rows(form.LEDGER):
        if row["rule"] == "R36" and row["source"] == "defenders":
            given[row["decision"], row["made_at"]] += int(row["cents"])
    kept = _kept(release)
    for decision, row in first.items():
        cents = given[decision, row["awarded_at"]]
        if awarded[decision] != cents:
            words = f"{cents} in {form.LEDGER} over all its awards"
            findings.add_cell(form.AWARDS, row, "cents", words)
        if kept[decision] > awarded[decision]:
            words = f"at most {awarded[decision]}, as its awards say"
            findings.add(form.AWARDS, row, f"{kept[decision]} in {form.LEDGER}", words, column="cents", rule="R36")


def _kept(release: CheckedRelease) -> Counter[str]:
    """Return decision to award -> the cents that the defenders' half is without, less what it may have advanced.

    What was forfeited is in the half again (R38). The half advances what teams owe, which is no more than what went
    from their accounts elsewhere: it was paid out, withheld, or set off.
    """
    decisions = {int(row["number"]): row["decision"] for row in release.rows(form.AWARDS)}
    got, back = defaultdict[str, Counter[str]](Counter), Counter[tuple[str, str]]()
    forfeited, out = Counter[str](), Counter[str]()
    for row in release.rows(form.LEDGER):
        cents = int(row["cents"])
        got[row["decision"]][row["target"]] += cents
        got[row["decision"]][row["source"]] -= cents
        out[row["source"]] += cents
        out[row["target"]] -= cents if row["source"] == "withheld" or row["corrects"] else 0
        if row["target"] == "defenders":
            back[row["decision"], row["source"]] += cents
            for decision in {decisions[each] for each in _award_causes(row) if each in decisions} - {row["decision"]}:
                forfeited[decision] += cents
    kept = Counter[str]()
    for decision in set(decisions.values()):
        teams = [account for account in got[decision] if account.startswith("team:")]
        elsewhere = sum(max(out[account] - back[decision, account], 0) for account in teams)
        kept[decision] = -got[decision]["defenders"] - max(forfeited[decision], elsewhere)
    return kept


def _award_causes(row: Row) -> Sequence[int]:
    """Return the numbers of the awards among the causes of an entry."""
    numbers = json_of(row, "causes", form.LEDGER, Findings()).get("award", ())
    return [each for each in numbers if type(each) is int] if isinstance(numbers, list) else ()


def _check_teams(release: CheckedRelease, findings: Findings) -> None:
    """Check that a team is in the release because another table names it, or because it was merged in the week."""
    named = set(_named_teams(release, findings))
    numbers = {row["number"]: row["team_id"] for row in release.rows(form.TEAMS)}
    named |= {numbers[each] for each in named if each in numbers}
    into = {row["team_id"]: row["merged_into"] for row in release.rows(form.TEAMS) if row["merged_into"]}
    start = release.manifest.values["week_start"]
    named |= {row["team_id"] for row in release.rows(form.TEAMS) if row["merged_at"] >= start}
    named |= {row["team_id"] for row in release.rows(form.ASSOCIATIONS) if row["mistaken_at"] >= start}
    more = set(named)
    while more := {into[team] for team in more if team in into} - named:
        named |= more
    for row in release.rows(form.TEAMS):
        if row["merged_into"] == row["team_id"]:
            findings.add_cell(form.TEAMS, row, "merged_into", "another team")
        if row["team_id"] not in named:
            findings.add_cell(form.TEAMS, row, "team_id", "a team that another table names")


_TEAMS_IN = (
    (form.ATTACKS, "team_id"),
    (form.DEFENSES, "team_id"),
    (form.STAKES, "paid_by"),
    (form.APPEALS, "team_id"),
    (form.STATEMENTS, "team_id"),
)


def _named_teams(release: CheckedRelease, findings: Findings) -> Iterator[str]:
    """Yield the ids of teams that other tables name, and the numbers of those that motions are about."""
    for file, column in _TEAMS_IN:
        yield from (row[column] for row in release.rows(file) if row.get(column))
    for row in release.rows(form.LEDGER):
        for place in (row["source"], row["target"]):
            if place.startswith("team:"):
                yield place.removeprefix("team:")
    for row in release.rows(form.MOTIONS):
        numbers = json_of(row, "subject", form.MOTIONS, findings).get("team", ())
        yield from map(str, numbers if isinstance(numbers, list) else ())
