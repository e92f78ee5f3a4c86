"""Consistent groups of falsifications: what somebody would do who wants another outcome, or another history, and takes
care that every row that names what was changed follows (R39).

Each scheme changes the tables and manifests of a chain; hashes, derived files, the audit trail and the chain follow.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

from adjudication.schema import columns
from adjudication.schema import release_format as form
from adjudication.schema.cell_kinds import TIME
from adjudication.schema.release_tables import DECLARED, order_of
from adjudication.verifier.picture_checks import SLOWEST_REQUEST
from tests.adjudication.forgeries import Cells, Chain, Forger, Tables, moved, seal

_WEEK = timedelta(days=7)


@dataclass
class Draft:
    """What is to be forged: all tables and manifests of a chain, and pictures that are moved (None: left out)."""

    chain: Chain
    draw: Random
    tables: list[Tables] = field(init=False)
    manifests: list[dict[str, Any]] = field(init=False)
    pictures: dict[tuple[int, str], int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tables = [
            {file: [dict(row) for row in rows] for file, rows in tables.items()} for tables in self.chain.tables
        ]
        self.manifests = [deepcopy(each) for each in self.chain.manifests]

    def rows(self, *files: str) -> Iterator[tuple[int, str, Cells]]:
        """Yield release, table and row; of all tables where none is named."""
        for number, tables in enumerate(self.tables):
            for file, rows in tables.items():
                if not files or file in files:
                    yield from ((number, file, row) for row in rows)

    def one(self, *files: str, where: Callable[[Cells], object] = lambda row: True) -> tuple[int, str, Cells] | None:
        """Draw a row; None where there is none."""
        found = [each for each in self.rows(*files) if where(each[2])]
        return self.draw.choice(found) if found else None

    def newest_rulings(self) -> list[Cells]:
        """Return the newest ruling of each picture in each release."""
        found: dict[tuple[int, str], Cells] = {}
        for number, _, row in self.rows(form.RULINGS):
            found[number, row["image_id"]] = row
        return list(found.values())

    def published(self, number: int) -> str:
        """Return when the audit trail says that a release was published, with an hour for that; a time that is never
        reached where it does not say so."""
        for _, _, row in self.rows(form.AUDIT):
            if row["action"] == "release.publish" and f'"{self.manifests[number]["name"]}"' in row["subject"]:
                return moved(row["at"], timedelta(hours=1))
        return moved(self.manifests[-1]["week_end"], timedelta(days=400))

    def remove(self, where: Callable[[str, Cells], object]) -> None:
        """Leave out the rows of which `where` says so."""
        for tables in self.tables:
            for file, rows in tables.items():
                tables[file] = [row for row in rows if not where(file, row)]

    def rename(self, old: str, new: str, *, but: Cells | None = None) -> None:
        """Write another id wherever one stands, in lists and texts too, but in one row."""
        for _, _, row in self.rows():
            if row is not but:
                for name, cell in row.items():
                    row[name] = re.sub(rf"\b{re.escape(old)}\b", new, cell)

    def write(self) -> int:
        """Write everything that changed; return the first release that did."""
        self._let_audit_follow()
        changed = {
            number
            for number, (tables, before) in enumerate(zip(self.tables, self.chain.tables, strict=True))
            if tables != before or self.manifests[number] != self.chain.manifests[number]
        }
        for (number, path), to in self.pictures.items():
            self.chain.move_picture(number, path, to)
        for number in sorted(changed):
            for file, rows in self.tables[number].items():
                self.chain.write_table(number, file, sorted(rows, key=lambda row: order_of(file, row)))
            self.chain.manifest(number, lambda values, number=number: self._put(values, number))
            self.chain.seal_publications(number)
            self.chain.follow(number)
        return min(changed)

    def _put(self, values: dict[str, Any], number: int) -> None:
        before, now = self.chain.manifests[number], self.manifests[number]
        values.update({name: value for name, value in now.items() if value != before.get(name)})

    def _let_audit_follow(self) -> None:
        """Seal the rows of the audit trail again, from the first one on that changed."""
        known: dict[str, str] = {}
        for tables in self.tables:
            rows = sorted(tables.get(form.AUDIT, ()), key=lambda row: int(row["number"]))
            seal(rows, known)
            known.update({row["number"]: row["sha256"] for row in rows})


# Forges a draft; returns True where that must be found, False where there is nothing to forge, and otherwise why nobody
# can know it from releases alone.
Scheme = Callable[[Draft], bool | str]
SCHEMES: dict[str, Scheme] = {}


def scheme(words: str) -> Callable[[Scheme], Scheme]:
    """Register a scheme under `words`."""

    def register(change: Scheme) -> Scheme:
        SCHEMES[words] = change
        return change

    return register


# Names ---------------------------------------------------------------------------------------------------------------


@scheme("an id renamed in every row but one that names it")
def _renamed_but_in_one(draft: Draft) -> bool:
    references = [
        (row, name, bound)
        for _, file, row in draft.rows()
        for name, column in DECLARED[file].columns.items()
        for bound in column.bounds
        if isinstance(bound, columns.NamesRow) and re.match("[A-Z]-", row.get(name, "")) and not bound.earlier
    ]
    if not references:
        return False
    row, name, _ = draft.draw.choice(references)
    cell = row[name].split(";")[0]
    draft.rename(cell, _other_id(cell), but=row)
    return True


@scheme("an id renamed everywhere")
def _renamed_everywhere(draft: Draft) -> str:
    ids = sorted({cell for _, _, row in draft.rows(form.TEAMS, form.IMAGES, form.DEFENSES) for cell in _ids(row)})
    cell = draft.draw.choice(ids)
    draft.rename(cell, _other_id(cell))
    return "an id is a name: the same people, pictures and verdicts bear another"


def _ids(row: Cells) -> Iterator[str]:
    named = (row.get(name, "") for name in ("image_id", "team_id", "defense_id"))
    return (cell for cell in named if re.fullmatch("[A-Z]-[0-9A-Z]+", cell))


def _other_id(cell: str) -> str:
    return f"{cell[:-1]}{'0' if cell[-1] != '0' else '1'}"


@scheme("two teams made one")
def _teams_joined(draft: Draft) -> bool | str:
    teams = sorted({row["team_id"] for _, _, row in draft.rows(form.TEAMS)})
    if len(teams) < 2:
        return False
    one, other = draft.draw.sample(teams, 2)
    for tables in draft.tables:
        if {one, other} <= {row["team_id"] for row in tables.get(form.TEAMS, ())}:
            tables[form.TEAMS] = [row for row in tables[form.TEAMS] if row["team_id"] != other]
    draft.rename(other, one)
    return "a team is who it says it is"


# Time ----------------------------------------------------------------------------------------------------------------


def _shift(row: Cells, by: timedelta) -> None:
    for name, cell in row.items():
        if TIME.form.fullmatch(cell):
            row[name] = moved(cell, by)


def _latest(row: Cells) -> str:
    return max([cell for name, cell in row.items() if name != "label_from" and TIME.form.fullmatch(cell)], default="")


def _of_second_week(draft: Draft) -> list[tuple[int, Cells]]:
    """Return the attacks of releases that follow the first one of the week before."""
    weeks = [each["week"] for each in draft.manifests]
    later = {number for number, week in enumerate(weeks) if number and weeks[number - 1] < week not in weeks[:number]}
    return [(number, row) for number, _, row in draft.rows(form.ATTACKS) if number in later]


def _move(draft: Draft, number: int, image_id: str) -> None:
    """Move a picture, with everything that is said of it, into the release before."""
    before, here = draft.tables[number - 1], draft.tables[number]
    week = draft.manifests[number - 1]["week"]
    for file, rows in here.items():
        of_it = [row for row in rows if row.get("image_id") == image_id]
        for row in of_it:
            if "week" in row:
                row["week"] = week
        here[file] = [row for row in rows if row.get("image_id") != image_id]
        before[file] = [*before.get(file, []), *of_it]
        for row in of_it if file == form.IMAGES else ():
            draft.pictures[number, row["file"]] = number - 1


@scheme("an attack of Saturday put into the week before")
def _put_before(draft: Draft) -> bool | str:
    sent = _of_second_week(draft)
    if not sent:
        return False
    number, attack = draft.draw.choice(sent)
    friday = moved(draft.manifests[number]["week_start"], -timedelta(seconds=1))
    for _, _, row in draft.rows(form.ATTACKS, form.IMAGES):
        if row["image_id"] == attack["image_id"]:
            row["received_at"] = friday
    for _, _, row in draft.rows(form.PROVENANCE):
        if row["image_id"] == attack["image_id"] and row["label_from"]:
            row["label_from"] = draft.manifests[number - 1]["week_end"]
    _move(draft, number, attack["image_id"])
    published = draft.published(number - 1)
    moved_rows = (row for at, _, row in draft.rows() if at < number and row.get("image_id") == attack["image_id"])
    if any(_latest(row) > published for row in moved_rows):
        return True
    return "what happened before the week was published may have been of that week: the sender has the receipt"


@scheme("an attack and all that happened to it put a week back")
def _put_a_week_back(draft: Draft) -> bool | str:
    sent = _of_second_week(draft)
    if not sent:
        return False
    number, attack = draft.draw.choice(sent)
    for _, _, row in draft.rows():
        if row.get("image_id") == attack["image_id"]:
            _shift(row, -_WEEK)
    received = max(row["received_at"] for row in draft.tables[number - 1].get(form.ATTACKS, [attack]))
    _move(draft, number, attack["image_id"])
    # Numbered in the order of receipt, it is too early by its number, unless the week has none that is later.
    return moved(attack["received_at"], SLOWEST_REQUEST) < received or "it would have been the last of its week"


@scheme("all times of a picture moved by a week")
def _picture_shifted(draft: Draft) -> bool:
    _, _, image = draft.one(form.IMAGES) or (0, "", {})
    by = draft.draw.choice((_WEEK, -_WEEK))
    for _, _, row in draft.rows():
        if row.get("image_id") == image["image_id"]:
            _shift(row, by)
    return True


@scheme("a release given out as that of the next week")
def _other_week(draft: Draft) -> bool:
    last = len(draft.manifests) - 1
    values = draft.manifests[last]
    year, week = values["week"].split("-W")
    values["week"] = f"{year}-W{int(week) + 1:02}"
    values["name"] = form.release_name(values["week"], values["part"])
    for name in ("week_start", "week_end"):
        values[name] = moved(values[name], _WEEK)
    for rows in draft.tables[last].values():
        for row in rows:
            if "week" in row:
                row["week"] = values["week"]
    return True


# What counts ---------------------------------------------------------------------------------------------------------


def _midweek(draft: Draft, number: int) -> str:
    return moved(draft.manifests[number]["week_start"], timedelta(days=3))


@scheme("a version of the policy that nobody used added")
def _unused_policy(draft: Draft) -> bool:
    numbers = [number for number, _, row in draft.rows(form.ATTACKS) if row["received_at"] > _midweek(draft, number)]
    if not numbers:
        return False
    number = draft.draw.choice(numbers)
    for values in draft.manifests[number:]:
        newest = max(values["policy"], key=int)
        added = str(max(int(version) for each in draft.manifests for version in each["policy"]) + 1)
        values["policy"][added] = {**values["policy"][newest], "evaluation_runs": 1}
        values.get("policy_from", {})[added] = _midweek(draft, number)
        values.get("policy_reason", {})[added] = "Fewer rounds."
    return True


@scheme("a number of a policy changed in every release")
def _policy_changed(draft: Draft) -> bool:
    rounds = draft.draw.choice((1, 2, 4))
    changed = False
    for values in draft.manifests:
        for numbers in values["policy"].values():
            changed |= numbers["evaluation_runs"] != rounds
            numbers["evaluation_runs"] = rounds
    return changed and any(True for _ in draft.rows(form.PREDICTIONS))


@scheme("a break taken away with the mistake and the money")
def _break_hidden(draft: Draft) -> bool:
    proved = {(row["image_id"], row["number"]) for row in draft.newest_rulings()}
    drawn = draft.one(form.BREAKS, where=lambda row: (row["image_id"], row["ruling_number"]) in proved)
    if drawn is None:
        return False
    found = drawn[2]
    key = (found["image_id"], found["defense_id"])
    draft.remove(
        lambda file, row: (
            file in (form.BREAKS, form.UNPROVED, form.MISTAKES) and (row["image_id"], row["defense_id"]) == key
        )
    )
    draft.remove(lambda file, row: file == form.LEDGER and found["break_id"] in _cause(row, "break"))
    return True


@scheme("a tasker's answers taken away")
def _tasker_hidden(draft: Draft) -> bool:
    _, _, answer = draft.one(form.RESPONSES, where=lambda row: row["counted"] == "true") or (0, "", {})
    if not answer:
        return False
    draft.remove(lambda file, row: file == form.RESPONSES and row["tasker_id"] == answer["tasker_id"])
    return True


@scheme("an overrule taken away with its case")
def _overrule_hidden(draft: Draft) -> bool | str:
    drawn = draft.one(form.RULINGS, where=lambda row: row["decided_by"] == "board")
    if drawn is None:
        return False
    ruling = drawn[2]
    cases = {row["case_id"] for _, _, row in draft.rows(form.CASES) if row["image_id"] == ruling["image_id"]}
    draft.remove(lambda file, row: row is ruling or row.get("case_id") in cases)
    name = (ruling["image_id"], ruling["number"])
    of_it = ((row["image_id"], row["ruling_number"]) == name for _, _, row in draft.rows(form.BREAKS))
    return any(of_it) or "the audit trail names the cases of the board by their hashes alone"


@scheme("a defense and its answers taken away")
def _defense_hidden(draft: Draft) -> bool:
    _, _, answer = draft.one(form.PREDICTIONS) or (0, "", {})
    if not answer:
        return False
    draft.remove(lambda file, row: row.get("defense_id") == answer["defense_id"])
    for _, _, row in draft.rows(form.ATTACKS):
        row["targets"] = ";".join(each for each in row["targets"].split(";") if each != answer["defense_id"])
    return True


@scheme("a round of all runs taken away")
def _round_hidden(draft: Draft) -> bool:
    rounds = {row["round"] for _, _, row in draft.rows(form.PREDICTIONS)}
    if len(rounds) < 2:
        return False
    last = max(rounds, key=int)
    draft.remove(lambda file, row: file in (form.PREDICTIONS, form.FAULTS) and row["round"] == last)
    return True


@scheme("a picture and all that is said of it taken away")
def _picture_hidden(draft: Draft) -> str:
    number, _, image = draft.one(form.IMAGES) or (0, "", {})
    draft.remove(lambda file, row: row.get("image_id") == image["image_id"])
    draft.pictures[number, image["file"]] = None
    return "its sender alone has the receipt"


# Money ---------------------------------------------------------------------------------------------------------------


def _cause(row: Cells, what: str) -> set[str]:
    return {str(each) for each in json.loads(row["causes"]).get(what, ())}


@scheme("a share paid to another team")
def _other_payee(draft: Draft) -> bool:
    drawn = draft.one(form.LEDGER, where=lambda row: row["rule"] == "R35" and row["target"].startswith("team:"))
    if drawn is None:
        return False
    old = drawn[2]["target"]
    accounts = {f"team:{row['team_id']}" for _, _, row in draft.rows(form.TEAMS)} - {old}
    if not accounts:
        return False
    new = draft.draw.choice(sorted(accounts))
    for _, _, row in draft.rows(form.LEDGER):
        row.update({name: new for name in ("source", "target") if row[name] == old})
    return True


@scheme("a sum and all that follows from it doubled")
def _doubled(draft: Draft) -> bool:
    _, _, entry = draft.one(form.LEDGER, where=lambda row: row["rule"] in ("R32", "R35", "R36", "R37")) or (0, "", {})
    if not entry:
        return False
    account = draft.draw.choice((entry["source"], entry["target"]))
    for _, _, row in draft.rows(form.LEDGER):
        if account in (row["source"], row["target"]):
            row["cents"] = str(2 * int(row["cents"]))
    return True


@scheme("a second gift by the same award")
def _given_twice(draft: Draft) -> bool:
    drawn = draft.one(form.LEDGER, where=lambda row: row["rule"] == "R36" and row["source"] == "defenders")
    if drawn is None:
        return False
    number, _, entry = drawn
    rows = draft.tables[number][form.LEDGER]
    last = max(rows, key=lambda row: int(row["number"]))
    at = moved(last["made_at"], timedelta(seconds=1))
    rows.append({**entry, "number": str(int(last["number"]) + 1), "made_at": at, "cents": "1"})
    return True


@scheme("a stake ended before it was broken")
def _stake_ended(draft: Draft) -> bool:
    _, _, found = draft.one(form.BREAKS) or (0, "", {})
    stakes = [row for _, _, row in draft.rows(form.STAKES) if found and row["defense_id"] == found["defense_id"]]
    if not stakes:
        return False
    for row in stakes:
        row.update(ended_at=moved(row["staked_at"], timedelta(hours=1)), end="withdrawn")
    return True


def forge_groups(forger: Forger, names: Iterable[str] = tuple(SCHEMES)) -> set[str]:
    """Try each scheme once; return those for which these releases have what it needs."""
    return {words for words in names if forger.forge_group(words, partial(_forged, SCHEMES[words]))}


def _forged(change: Scheme, chain: Chain, draw: Random) -> tuple[int, bool] | None:
    draft = Draft(chain, draw)
    must = change(draft)
    return (draft.write(), must is True) if must else None
