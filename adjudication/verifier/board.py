"""Checks that the board's cases and decisions agree with rulings, panels and votes (R18-R21, R37).

Pure: standard library only.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

from adjudication.enums import AppealSide, CaseKind, CaseOutcome, DecidedBy, Verdict
from adjudication.schema import cells
from adjudication.schema import release_format as form
from adjudication.verifier.findings import Findings
from adjudication.verifier.moments import TOLERANCE, is_before, time_of
from adjudication.verifier.release import CheckedRelease
from adjudication.verifier.rows import Row
from adjudication.verifier.votes import check_count, value_of
from labeling.enums import PanelState

_SIDES = ("x", "y", "width", "height")
_OF_PICTURES = (form.CASES, form.EXAMINATIONS)


@dataclass(frozen=True)
class _Record:
    """The release, its findings, and the rulings and panels of the pictures about which the board had a case."""

    release: CheckedRelease
    findings: Findings
    rulings: Mapping[str, Mapping[str, Row]]
    panels: Mapping[tuple[str, str], Row]

    def ruling(self, image_id: str, number: str) -> Row | None:
        """Return a ruling; None where it does not exist."""
        return self.rulings.get(image_id, {}).get(number)


def check_board(release: CheckedRelease, findings: Findings) -> None:
    """Check the board's tables, which exist since the third revision of the format."""
    # The board has cases about few pictures.
    pictures = {row["image_id"] for file in _OF_PICTURES for row in release.rows(file)}
    rulings: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in release.rows(form.RULINGS) if pictures else ():
        if row["image_id"] in pictures:
            rulings[row["image_id"]][row["number"]] = row
    panels = {
        (row["image_id"], row["panel"]): row
        for row in (release.rows(form.PANELS) if pictures else ())
        if row["image_id"] in pictures
    }
    record = _Record(release, findings, rulings, panels)
    for row in release.rows(form.CASES):
        _check_case(row, record)
    _check_rulings(record)
    _check_appeals(record)
    _check_statements(record)
    _check_motions(record)
    _check_examinations(record)
    counts = (len(release.rows(name)) for name in (form.APPEALS, form.CASES, form.MOTIONS))
    findings.figures.append("appeals, cases and motions of the board: {:,}, {:,} and {:,} checked".format(*counts))


# Cases ---------------------------------------------------------------------------------------------------------------


def _check_case(row: Row, record: _Record) -> None:
    check_count(form.CASES, row, CaseKind.PICTURE, record.release.manifest, record.findings)
    before = record.ruling(row["image_id"], row["ruling_number"])
    if before is None:
        record.findings.add(form.CASES, row, f"ruling {row['ruling_number']}", "a ruling of this release")
        return
    times = (before["decided_at"], row["opened_at"], row["decided_at"], row["closed_at"])
    if any(is_before(later, earlier) for earlier, later in pairwise(times)):
        record.findings.add(form.CASES, row, " ".join(times), "ruling, opened, decided, closed, in this order")
    record.findings.compare_cells(form.CASES, row, _what_came_of_it(row, before, record))
    if row["outcome"] == CaseOutcome.OVERRULE:
        _check_overrule(row, record)


def _what_came_of_it(row: Row, before: Row, record: _Record) -> dict[str, str]:
    """Return the cells that follow: the board's ruling, the panel of more taskers, and the ruling on that panel."""
    number, came = row["ruling_number"], {"made_ruling_number": "", "asked_panel": ""}
    if row["outcome"] == CaseOutcome.MORE_TASKERS:
        return came | _panel_asked_again(row, before, record)
    if row["outcome"] == CaseOutcome.OVERRULE:
        number = came["made_ruling_number"] = str(int(number) + 1)
    return came | {"result_ruling_number": number, "closed_at": row["decided_at"]}


def _panel_asked_again(row: Row, before: Row, record: _Record) -> dict[str, str]:
    """Return the panel of the added taskers, and the ruling on it: for a valid verdict they join the panel, for a
    rejection a fresh panel replaces it (R19)."""
    joins = before["verdict"] == Verdict.VALID
    asked = before["panel"] if joins else str(int(before["panel"]) + 1)
    panel = record.panels.get((row["image_id"], asked))
    since = panel["joined_at" if joins else "dealt_at"] if panel else ""
    if since < row["decided_at"]:
        words = f"panel {asked} asked at {since or 'no time'}"
        record.findings.add(form.CASES, row, words, "a panel that was asked when it was decided")
    rulings = record.rulings[row["image_id"]].values()
    of_rules = (each for each in rulings if each["panel"] == asked and each["decided_by"] == DecidedBy.RULES)
    later = (int(ruling["number"]) for ruling in of_rules)
    result = min((number for number in later if number > int(row["ruling_number"])), default=None)
    if result is None and panel is not None and panel["state"] == PanelState.HELD:
        result = int(row["ruling_number"])  # the picture was kept out: there is no further ruling (R24)
    return {"asked_panel": asked, "result_ruling_number": "a later ruling on it" if result is None else str(result)}


def _check_overrule(row: Row, record: _Record) -> None:
    """Check that an overrule made a ruling of the board with its class, its reasons and its explanation (R20)."""
    made = record.ruling(row["image_id"], row["made_ruling_number"])
    if made is None:
        return  # there is no such ruling: another number follows, or the ruling is missing, which is reported elsewhere
    if made["decided_by"] != DecidedBy.BOARD:
        record.findings.add(
            form.CASES, row, f"ruling {made['number']} by the {made['decided_by']}", "a ruling by the board"
        )
    columns = ("label", "reasons", "explanation", "policy_version", "decided_at")
    record.findings.compare_cells(form.CASES, row, {column: made[column] for column in columns})


def _check_rulings(record: _Record) -> None:
    """Check that each ruling of the board has exactly one case that made it, and that each such ruling exists."""
    made = Counter((row["image_id"], row["made_ruling_number"]) for row in record.release.rows(form.CASES))
    for ruling in record.release.rows(form.RULINGS):
        key = (ruling["image_id"], ruling["number"])
        if ruling["decided_by"] == DecidedBy.BOARD and made[key] != 1:
            record.findings.add(form.RULINGS, ruling, f"{made[key]} cases that made it", "one case")
    for row in record.release.rows(form.CASES):
        number = row["made_ruling_number"]
        if number and record.ruling(row["image_id"], number) is None:
            record.findings.add(form.CASES, row, f"made ruling {number}", "a ruling of this release")


# What teams said -----------------------------------------------------------------------------------------------------


def _check_appeals(record: _Record) -> None:
    appealed: set[tuple[str, str]] = set()
    for row in record.release.rows(form.APPEALS):
        for recorded, follows in _wrong_with_appeal(row, record):
            record.findings.add(form.APPEALS, row, recorded, follows)
        pair = (row["team_id"], row["image_id"])
        if pair in appealed:
            record.findings.add(form.APPEALS, row, f"{pair[0]} on {pair[1]} again", "one appeal of each team")
        appealed.add(pair)


def _wrong_with_appeal(row: Row, record: _Record) -> Iterator[tuple[str, str]]:
    case = record.release.by(form.CASES, "case_id").get(row["case_id"])
    if case is None:
        return  # found by check_bounds
    yield from _wrong_with_words(row, row["argument"], case)
    for column in ("image_id", "ruling_number"):
        if row[column] != case[column]:
            yield f"{column} {row[column]}", f"{column} {case[column]}"
    yield from _wrong_with_side(row, case, record)
    yield from _wrong_with_right(row, case, record)
    image = record.release.by(form.IMAGES, "image_id").get(row["image_id"])
    if image is not None and (wrong := _wrong_marks(row["marks"], image)):
        yield f"marks: {wrong}", "marks inside the picture"


def _wrong_with_words(row: Row, words: str, case: Row) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a team's statement: its time is not while the case was open, or it is empty."""
    if is_before(row["sent_at"], case["opened_at"]) or is_before(case["decided_at"], row["sent_at"]):
        yield row["sent_at"], "a time while the case was open"
    if not words:
        yield "no words", "what the team says"


def _wrong_with_side(row: Row, case: Row, record: _Record) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the side: a defender appeals a valid verdict, an attacker a rejection (R18)."""
    ruling = record.ruling(case["image_id"], case["ruling_number"])
    side = AppealSide.DEFENDER if ruling and ruling["verdict"] == Verdict.VALID else AppealSide.ATTACKER
    if ruling is not None and row["side"] != side:
        yield f"side {row['side']}", f"side {side}"


def _wrong_with_right(row: Row, case: Row, record: _Record) -> Iterator[tuple[str, str]]:
    """Yield why a team may not appeal: only a sender may appeal a rejection, only a staked defense's team a valid
    verdict, and, unless it sent only copies, only within the policy's days (R18)."""
    ruling, release = record.ruling(case["image_id"], case["ruling_number"]), record.release
    if ruling is None:
        return
    policy = release.policies.at(ruling["decided_at"])
    until = time_of(ruling["decided_at"]) + timedelta(days=policy.policy.appeal_days if policy else 0)
    attacks = release.attacks_by_image.get(row["image_id"], ())
    sent = [each for each in attacks if release.same_team(each["team_id"], row["team_id"])]
    # A copy sent, or a team merged, after this week is only in a later release.
    end = release.manifest.values["week_end"]
    if row["sent_at"] >= end and row["side"] == AppealSide.ATTACKER and not sent:
        record.findings.note(f"appeal {row['appeal_id']}: team {row['team_id']} sent the picture in no release here")
        return
    copies_alone = bool(sent) and all(each["copy_of"] for each in sent)
    if policy is not None and time_of(row["sent_at"]) - TOLERANCE >= until and not copies_alone:
        yield row["sent_at"], f"before {cells.time(until)}, while it could be appealed"
    if row["side"] == AppealSide.ATTACKER and not sent:
        yield f"team {row['team_id']}", "a team that sent the picture"
    defense = release.by(form.DEFENSES, "defense_id").get(row["defense_id"])
    if row["side"] == AppealSide.DEFENDER and defense is not None and "team_id" in defense:
        if not release.same_team(defense["team_id"], row["team_id"]) and row["sent_at"] < end:
            yield f"team {row['team_id']}", f"the team of {row['defense_id']}"
        stakes = release.stakes_by_defense.get(row["defense_id"], ())
        known = release.earlier.whole and ruling["decided_at"] < end
        if known and not any(each["staked_at"] <= ruling["decided_at"] for each in stakes):
            yield f"defense {row['defense_id']}", "a defense that was at stake when it was ruled"


def _wrong_marks(cell: str, image: Row) -> str:
    """Return what is wrong with the marks that an appeal draws on a picture; empty where nothing is."""
    try:
        marks = value_of(cell)
        return next((wrong for wrong in (_wrong_mark(each, image) for each in marks) if wrong), "")
    except ValueError as error:
        return f"cannot be read: {error}"


def _wrong_mark(mark: Any, image: Row) -> str:
    wanted = {"words": str, **dict.fromkeys(_SIDES, int)}
    if not isinstance(mark, dict) or {name: type(value) for name, value in mark.items()} != wanted:
        return "no x, y, width, height and words"
    x, y, width, height = (mark[side] for side in _SIDES)
    inside = 0 <= x < x + width <= int(image["width"]) and 0 <= y < y + height <= int(image["height"])
    return "" if inside else f"{x}, {y}, {width}, {height}"


def _check_statements(record: _Record) -> None:
    for row in record.release.rows(form.STATEMENTS):
        case = record.release.by(form.CASES, "case_id").get(row["case_id"])
        # Where there is no such case, check_bounds finds it.
        for recorded, follows in _wrong_with_words(row, row["words"], case) if case is not None else ():
            record.findings.add(form.STATEMENTS, row, recorded, follows)


# Motions and examinations --------------------------------------------------------------------------------------------


def _check_motions(record: _Record) -> None:
    """Check that a motion was decided as its votes say, and that its effect is recorded exactly when it was carried."""
    made: dict[str, list[Row]] = {row["case_id"]: [] for row in record.release.rows(form.MOTIONS)}
    for row in record.release.rows(form.DECISIONS):
        if row["case_id"] in made:
            made[row["case_id"]].append(row)
    for row in record.release.rows(form.MOTIONS):
        check_count(form.MOTIONS, row, CaseKind.MOTION, record.release.manifest, record.findings)
        for recorded, follows in _wrong_with_motion(row, made[row["case_id"]]):
            record.findings.add(form.MOTIONS, row, recorded, follows)


def _wrong_with_motion(row: Row, made: list[Row]) -> Iterator[tuple[str, str]]:
    if row["opened_at"] > row["decided_at"]:
        yield f"opened {row['opened_at']}", f"no later than {row['decided_at']}"
    yield from _unreadable(row, ("subject", "details"))
    if (row["outcome"] == CaseOutcome.CARRIED) != bool(made):
        yield f"{row['outcome']} with {len(made)} decisions", "decisions exactly when it was carried"
    for each in made:
        for column in ("kind", "reason", "decided_at"):
            if each[column] != row[column]:
                yield f"{column} {row[column]}", f"{column} {each[column]} of decision {each['number']}"


def _unreadable(row: Row, columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    for column in columns:
        try:
            value_of(row[column])
        except ValueError as error:
            yield f"{column} that cannot be read: {error}", "JSON"


def _check_examinations(record: _Record) -> None:
    """Check that a confirmation is about an existing rejection, as far as the earlier releases are present."""
    rows = record.release.rows(form.EXAMINATIONS)
    earlier = record.release.rows_before(form.RULINGS) if rows else ()
    before = {(row["image_id"], row["number"]): row for row in earlier}
    unknown: list[str] = []
    for row in rows:
        if not row["ruling_number"]:
            continue
        key = (row["image_id"], row["ruling_number"])
        ruling = record.ruling(*key) or before.get(key)
        if ruling is None and row["image_id"] not in record.release.by(form.IMAGES, "image_id"):
            unknown.append(row["number"])  # a release that is not here, or a later part of its week, may have it
        elif ruling is None or ruling["verdict"] != Verdict.REJECTED or is_before(row["at"], ruling["decided_at"]):
            words = f"ruling {row['ruling_number']} of {row['image_id']}"
            record.findings.add(form.EXAMINATIONS, row, words, "a rejection that there was")
    if unknown:
        which = f"{unknown[0]}{f' to {unknown[-1]}' if len(unknown) > 1 else ''}"
        record.findings.note(f"examinations: {len(unknown):,} ({which}) are of rulings that are in no release here")
