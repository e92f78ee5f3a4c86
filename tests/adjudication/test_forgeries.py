"""Whatever is falsified of a derived or bound column is found, also where the forger recomputes every hash, every
derived file and the chain (R39). The forgeries follow the declarations of the columns."""

import shutil
import subprocess
import sys
import time
import zipfile
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from adjudication.schema import cells
from adjudication.schema import release_format as form
from adjudication.schema.columns import Standing
from adjudication.schema.manifest_entries import ENTRIES
from adjudication.schema.release_tables import DECLARED, order_of
from adjudication.verifier.release_zip import release_folders
from adjudication.verify import verify
from contest.releases.services import release_week
from tests.adjudication.forge import chain_in, forge
from tests.adjudication.forged_groups import SCHEMES, Draft, forge_groups
from tests.adjudication.forgeries import Chain, Forger, moved
from tests.contest.record import cast

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "release-columns.md"


@pytest.fixture(scope="module")
def published(module_world: Path) -> list[Path]:
    """Two weeks of a contest with everything that a release has, as the exporter writes them."""
    cast.two_weeks_of_the_board()
    return [release_week(week, out=module_world / "releases", now=cast.NOW).folder for week in (cast.W47, cast.W48)]


@pytest.fixture
def chain(published: list[Path], tmp_path: Path, db: None) -> Chain:
    """A forger's own copy of both."""
    return Chain([shutil.copytree(folder, tmp_path / "forged" / folder.name) for folder in published])


def test_a_forger_who_changes_nothing_is_not_found(chain: Chain) -> None:
    for number in range(len(chain.folders)):
        chain.follow(number)
        assert chain.found(number, pictures=True) == []


@pytest.mark.slow("forges every column of two releases")
def test_a_forged_cell_of_each_column_is_found(chain: Chain) -> None:
    forger = Forger(chain, seed=1)
    for number, file, name in list(forger.cells()):
        forger.forge_cell(number, file, name)
    assert forger.missed == []
    derived = {
        (file, name)
        for file, table in DECLARED.items()
        for name, column in table.columns.items()
        if column.standing is Standing.DERIVED and any(tables[file] for tables in chain.tables)
    }
    assert derived <= forger.sentences.keys(), "each derived column was forged, and the sentence says where"


@pytest.mark.slow("forges rows of each table, and every entry of two manifests")
def test_a_row_left_out_or_added_and_a_forged_entry_are_found(chain: Chain) -> None:
    forger = Forger(chain, seed=2)
    for number, tables in enumerate(chain.tables):
        for file in (file for file, rows in tables.items() if rows):
            forger.forge_row(number, file)
        for name in ENTRIES:
            forger.forge_entry(number, name)
    assert forger.missed == []


def test_a_draft_that_changes_a_free_cell_is_not_found(chain: Chain) -> None:
    """What a scheme is found by is what it says, and not how a draft is written."""
    draft = Draft(chain, Random(1))
    for _, _, row in draft.rows(form.RESPONSES):
        row["seconds"] = "12.345"
    assert chain.found(draft.write(), pictures=True) == []


def test_zips_beside_are_checked_as_folders_are(chain: Chain, tmp_path: Path) -> None:
    """Also what only the second week says of the first: its audit trail tells when that was published."""
    draft = Draft(chain, Random(1))
    release = {"release": [chain.manifests[0]["name"]]}
    last = draft.tables[1][form.AUDIT][-1]
    told = {"action": "release.publish", "subject": cells.json_cell(release), "facts": '{"manifest_sha256":""}'}
    draft.tables[1][form.AUDIT].append({**last, "number": str(int(last["number"]) + 1), **told, "why": ""})
    draft.tables[1][form.AUDIT][-1]["at"] = max(row["at"] for _, _, row in draft.rows(form.AUDIT))
    late = moved(draft.tables[1][form.AUDIT][-1]["at"], timedelta(hours=2))
    for row in draft.tables[0][form.RESPONSES][-1:]:
        row["submitted_at"] = late
    draft.write()
    by_folders = verify(chain.folders[1]).differences
    (tmp_path / "zips").mkdir()
    for folder in chain.folders:
        with zipfile.ZipFile(tmp_path / "zips" / f"{folder.name}.zip", "w") as packed:
            for path in sorted(folder.rglob("*.*")):
                packed.write(path, path.relative_to(folder.parent))
    with release_folders(tmp_path / "zips" / f"{chain.folders[1].name}.zip", None, lambda *_: None) as places:
        assert verify(places[0], previous=places[1]).differences == by_folders
    assert [line for line in by_folders if f"recorded submitted_at {late}" in line], by_folders


# Of these tables nothing looks at each row of one picture, defense or decision for each other one.
MANY = (form.STAKES, form.ATTACKS, form.AWARDS, form.MISTAKES, form.CASES, form.APPEALS, form.MOTIONS, form.LEDGER)


@pytest.mark.parametrize("file", MANY)
def test_many_rows_of_one_key_take_little_time(file: str, chain: Chain) -> None:
    number = next(number for number, tables in enumerate(chain.tables) if tables[file])
    row = chain.tables[number][file][0]
    (key, *_) = DECLARED[file].key
    more = [{**row, key: str(10_000 + each) if row[key].isdigit() else f"{row[key]}{each}"} for each in range(4_000)]
    chain.write_table(number, file, sorted(more, key=lambda row: order_of(file, row)))
    chain.rehash(number)
    start = time.process_time()
    assert verify(chain.folders[number], pictures=False).differences
    assert time.process_time() - start < 10


# Of these the two weeks have nothing to do it with, and a simulated contest has (below).
NOT_HERE = {
    "a break taken away with the mistake and the money",
    "a share paid to another team",
    "a version of the policy that nobody used added",
}


@pytest.mark.parametrize("words", SCHEMES)
def test_a_consistent_group_of_forgeries_is_found(words: str, chain: Chain) -> None:
    forger = Forger(chain, seed=3)
    assert (forge_groups(forger, [words]) == set()) is (words in NOT_HERE)
    assert forger.missed == []


@pytest.mark.long("three thousand forgeries")
def test_none_of_three_thousand_forgeries_is_missed(chain: Chain) -> None:
    forger = Forger(chain, seed=2026)
    forge(forger, 3_000)
    assert forger.missed == []


@pytest.mark.long("plays a contest, in a process of its own, and forges its releases")
def test_no_forgery_of_a_simulated_contest_is_missed(tmp_path: Path) -> None:
    words = ["manage.py", "simulate", "--seed=11", "--weeks=3", "--teams=8", "--attacks=50", "--taskers=6"]
    made = subprocess.run([sys.executable, *words, f"--folder={tmp_path / 'own'}"], cwd=ROOT, capture_output=True)
    assert made.returncode == 0, made.stderr
    (tmp_path / "forged").mkdir()
    chain = chain_in(tmp_path / "own" / "releases", tmp_path / "forged")
    assert len(chain.folders) >= 3 and chain.found(0, pictures=True) == []
    forger = Forger(chain, seed=11)
    forge(forger, 1, ["rows", "entries", "groups"])  # cells are forged above
    assert forger.missed == [] and forger.tried.keys() >= {("a group", words) for words in NOT_HERE}


def test_the_document_of_the_columns_says_what_is_declared() -> None:
    """Written by `python -m adjudication.schema.document`."""
    from adjudication.schema.document import document

    assert DOCUMENT.read_text() == document()
