"""The second implementation in the docs derives what the contest ruled, and notices what was changed (R13-R16, R39)."""

import copy
import csv
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as project

from contest.releases import services
from labeling.more_taskers import panel_join
from tests.adjudication.test_verify import WEEK, Forger
from tests.contest import release_fixtures as cast
from tests.contest.test_more_taskers import ASKED, asked_week

DOCUMENT = project.BASE_DIR / "docs" / "verdicts-in-pandas.md"
WAITS = "its answers are not published; more taskers may still be asked (panels.csv)"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one block of Python in the document, as its reader saves it."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    path = tmp_path_factory.mktemp("reader") / "verdicts.py"
    path.write_text(code, "utf-8")
    return path


def derived(program: Path, release: Path) -> tuple[int, list[str]]:
    """Run it where nothing of this project can be imported; return its status and its lines."""
    done = subprocess.run([sys.executable, "-I", program, release], cwd=program.parent, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def released_folder(out: Path, **options: Any) -> Path:
    return services.release_week(WEEK, out=out, now=cast.AFTER, **options).folder


@pytest.fixture(scope="class")
def week(class_world: Path) -> Forger:
    """A week with every verdict."""
    contest = cast.a_week()
    return Forger(released_folder(class_world / "releases"), contest)


@pytest.fixture
def forger(week: Forger, settings: Any, db: None) -> Forger:
    """Somebody with a copy of its release; takes the place of the module-wide one."""
    own = copy.deepcopy(week)
    own.folder = settings.RELEASE_DIR / week.folder.name
    return own


@pytest.fixture(scope="class")
def asked(class_world: Path) -> Path:
    """The release of a week with panels that others joined, fresh panels, and a ruling of the board."""
    asked_week()
    return released_folder(class_world / "releases")


def ruling_of(forger: Forger, case: str) -> dict[str, str]:
    """The first ruling on a picture."""
    with (forger.folder / "rulings.csv").open(newline="") as file:
        return next(row for row in csv.DictReader(file) if row["image_id"] == forger.id_of[case])


class TestAWeek:
    def test_every_ruling_follows(self, program: Path, forger: Forger) -> None:
        assert derived(program, forger.folder) == (0, ["9 of 9 rulings agree."])

    @pytest.mark.parametrize(
        ("case", "file", "told", "difference"),
        [
            (
                "valid bird",
                "responses.csv",
                {"contains_bird": "unsure_yes"},
                "verdict: recorded valid, follows rejected",
            ),
            (
                "valid bird",
                "responses.csv",
                {"counted": "false"},
                "response_ids: recorded {0};{1};{2}, follows {1};{2}",
            ),
            ("valid bird", "responses.csv", {"outline": cast.SMALL[0]}, "reasons: recorded nothing, follows too_small"),
            ("valid bird", "responses.csv", {"outline": ""}, "reasons: recorded nothing, follows no_outline"),
            ("too_small", "rulings.csv", {"verdict": "valid"}, "verdict: recorded valid, follows rejected"),
            ("valid bicycle", "rulings.csv", {"label": "bird"}, "label: recorded bird, follows bicycle"),
            (
                "occluded",
                "rulings.csv",
                {"reasons": "truncated;occluded"},
                "reasons: recorded truncated;occluded, follows occluded;truncated",
            ),
            (
                "valid bicycle",
                "rulings.csv",
                {"smallest_box_fraction": "1/2"},
                "smallest_box_fraction: recorded 1/2, follows 9/16",
            ),
        ],
    )
    def test_a_change_is_named(
        self, case: str, file: str, told: dict[str, str], difference: str, program: Path, forger: Forger
    ) -> None:
        ids = ruling_of(forger, case)["response_ids"].split(";")
        forger.cell(file, {"image_id": forger.id_of[case]}, **told)
        status, lines = derived(program, forger.folder)
        assert (status, lines[-1]) == (1, "8 of 9 rulings agree.")
        assert f"{forger.id_of[case]} number 1: {difference.format(*ids)}" in lines

    @pytest.mark.parametrize(
        ("numbers", "differences"),
        [
            ({"min_box_fraction": "9/16"}, {}),  # inclusive (R14)
            ({"min_box_fraction": "1/16"}, {"too_small": "recorded too_small, follows nothing"}),
            ({"occlusion_allowed": True}, {"occluded": "recorded occluded;truncated, follows truncated"}),
        ],
    )
    def test_the_policy_of_the_release_decides(
        self, numbers: dict[str, Any], differences: dict[str, str], program: Path, forger: Forger
    ) -> None:
        forger.manifest(lambda values: values["policy"]["1"].update(numbers))
        _, lines = derived(program, forger.folder)
        told = {f"{forger.id_of[case]} number 1: reasons: {said}" for case, said in differences.items()}
        assert {line for line in lines if ": reasons: " in line} == told


class TestMoreTaskers:
    def test_joined_and_fresh_panels_follow(self, program: Path, asked: Path, db: None) -> None:
        assert derived(program, asked) == (0, ["14 of 14 rulings agree."])


@pytest.mark.django_db
def test_it_names_the_rulings_whose_answers_wait(program: Path, tmp_path: Path) -> None:
    contest = cast.a_week()
    panel_join(contest.panels["depiction"], 2, now=ASKED)
    released = released_folder(tmp_path / "out", incomplete=True)
    waits = f"{contest.images['depiction'].public_id} number 1: {WAITS}"
    assert derived(program, released) == (0, [waits, "8 of 9 rulings agree."])


@pytest.mark.django_db
def test_a_week_without_pictures_has_nothing_to_derive(program: Path, tmp_path: Path) -> None:
    released = released_folder(tmp_path / "out")
    assert derived(program, released) == (0, ["0 of 0 rulings agree."])
