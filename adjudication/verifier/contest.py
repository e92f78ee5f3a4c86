"""Checks that the tables about teams, defenses and money agree with each other and with the pictures (R23-R26,
R34-R39).

Pure: standard library only.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from adjudication.verifier import release_format as form
from adjudication.verifier.breaks import Predictions
from adjudication.verifier.release_reader import Findings, Manifest, Row

Tables: TypeAlias = Mapping[str, list[Row]]

_TEAM = "team:"


def check_contest(
    tables: Tables, predictions: Predictions, outside: Collection[str], manifest: Manifest, findings: Findings
) -> None:
    """Check what the second revision of the format added; pictures of `outside` break nothing."""
    _check_pictures(tables, findings)
    _check_attacks(tables, manifest, findings)
    _check_first_senders(tables, findings)
    _check_references(tables, findings)
    _check_entries(tables, findings)
    _check_times(tables, manifest, findings)
    _check_unproved(tables[form.UNPROVED], predictions, outside, findings)
    findings.figures.append(
        f"{len(tables[form.ATTACKS]):,} attacks and {len(tables[form.LEDGER]):,} ledger entries read"
    )


def _check_pictures(tables: Tables, findings: Findings) -> None:
    """Every picture has its provenance, and every panel that is named has its row."""
    images = {row["image_id"] for row in tables[form.IMAGES]}
    _same(form.PROVENANCE, {row["image_id"] for row in tables[form.PROVENANCE]}, images, "pictures", findings)
    panels = {(row["image_id"], row["panel"]) for row in tables[form.PANELS]}
    named = {(row["image_id"], row["panel"]) for name in (form.RESPONSES, form.RULINGS) for row in tables[name]}
    for image_id, panel in sorted(named - panels):
        findings.add(form.PANELS, f"row {image_id}", "no such panel", f"panel {panel}")
    for image_id, panel in sorted(panels):
        if image_id not in images:
            findings.add(form.PANELS, f"row {image_id}", f"panel {panel}", "an image of this release")


def _same(name: str, recorded: set[str], follows: set[str], what: str, findings: Findings) -> None:
    for each in sorted(recorded ^ follows):
        there = each in recorded
        findings.add(name, f"row {each}", "a row" if there else "no row", f"one row for each of the {what}")


def _check_attacks(tables: Tables, manifest: Manifest, findings: Findings) -> None:
    """An attack is of the week (R23); its picture may be one that was known before."""
    for row in tables[form.ATTACKS]:
        if row["week"] != manifest.values["week"]:
            findings.add(form.ATTACKS, f"row {row['number']}", f"week {row['week']}", manifest.values["week"])


def _check_first_senders(tables: Tables, findings: Findings) -> None:
    """`images.csv` names the team of the first attack with these pixels within the week (R26)."""
    first: dict[str, str] = {}
    for row in sorted(tables[form.ATTACKS], key=lambda each: (each["received_at"], int(each["number"]))):
        first.setdefault(row["image_id"], row["team_id"])
    for row in tables[form.IMAGES]:
        if row["team"] != first.get(row["image_id"], ""):
            findings.add(form.IMAGES, f"row {row['image_id']}", f"team {row['team']}", first.get(row["image_id"], ""))


# table, column -> the table and the column that it names a row of, and how that is said
_NAMES = {
    **dict.fromkeys(
        (
            (form.ATTACKS, "team_id"),
            (form.DEFENSES, "team_id"),
            (form.STAKES, "paid_by"),
            (form.TEAMS, "merged_into"),
            (form.ASSOCIATIONS, "team_id"),
        ),
        (form.TEAMS, "team_id", "team ", f"a team of {form.TEAMS}"),
    ),
    (form.BATCHES, "decision"): (form.DECISIONS, "number", "decision ", "a decision of this week"),
    **dict.fromkeys(
        ((form.STAKES, "defense_id"), (form.AWARDS, "defense_id"), (form.ELIGIBILITY, "defense_id")),
        (form.DEFENSES, "defense_id", "", "a defense of this release"),
    ),
}


def _check_references(tables: Tables, findings: Findings) -> None:
    """Every team, decision and defense that a table names is in this release."""
    for (name, column), (other, key, what, follows) in _NAMES.items():
        known = {"", *(row[key] for row in tables[other])}
        for row in tables[name]:
            if row[column] not in known:
                findings.add(name, f"row {row['number']}", f"{what}{row[column]}", follows)
    places = {f"{_TEAM}{row['team_id']}" for row in tables[form.TEAMS]}
    for row in tables[form.LEDGER]:
        for place in (row["source"], row["target"]):
            if place.startswith(_TEAM) and place not in places:
                team = place.removeprefix(_TEAM)
                findings.add(form.LEDGER, f"row {row['number']}", f"team {team}", f"a team of {form.TEAMS}")


def _check_entries(tables: Tables, findings: Findings) -> None:
    """Money goes from one place to another one, and a correction corrects what was there before it."""
    for row in tables[form.LEDGER]:
        if row["source"] == row["target"] or row["cents"] == "0":
            findings.add(
                form.LEDGER, f"row {row['number']}", f"{row['cents']} cents", "money from one place to another"
            )
        if row["corrects"] and int(row["corrects"]) >= int(row["number"]):
            findings.add(form.LEDGER, f"row {row['number']}", f"corrects {row['corrects']}", "an earlier entry")


_WHEN = {
    form.ATTACKS: "received_at",
    form.DECISIONS: "decided_at",
    form.BATCHES: "staked_at",
    form.AWARDS: "awarded_at",
    form.LEDGER: "made_at",
}


def _check_times(tables: Tables, manifest: Manifest, findings: Findings) -> None:
    """What is recorded of a week happened in it."""
    start, end = manifest.values["week_start"], manifest.values["week_end"]
    for name, column in _WHEN.items():
        for row in tables[name]:
            if not start <= row[column] < end:
                findings.add(name, f"row {row['number']}", row[column], "a time within the week")
    for row in tables[form.STAKES]:
        if not any(start <= row[column] < end for column in ("staked_at", "clock_from", "ended_at")):
            findings.add(
                form.STAKES, f"row {row['number']}", row["staked_at"], "a stake that began or ended in the week"
            )


def _check_unproved(
    rows: Sequence[Row], predictions: Predictions, outside: Collection[str], findings: Findings
) -> None:
    """A break that an answer of this release proves is in `breaks.csv` and nowhere else."""
    for row in rows:
        if row["image_id"] in outside:
            words = f"picture {row['image_id']}"
            findings.add(form.UNPROVED, f"row {row['break_id']}", words, "a picture that an attack sent")
        answers = predictions.get((row["defense_id"], row["image_id"]), {})
        proofs = [number for number, answer in answers.items() if answer["answer"] == row["answer"]]
        if proofs:
            findings.add(form.UNPROVED, f"row {row['break_id']}", "no proof", f"round {min(proofs)} proves it")
