"""More taskers (R19) in a release and for its verifier, for the week's money, and for whoever looks on."""

import csv
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from adjudication.enums import Verdict
from adjudication.models import Ruling
from adjudication.services import rule_by_board
from adjudication.verify import verify
from common.errors import Conflict
from contest.core.settled_weeks import Weeks
from contest.core.weeks import week_at
from contest.releases import services
from labeling.enums import Label, PanelState
from labeling.models import Image, Panel, Report, Response
from labeling.more_taskers import panel_fresh, panel_join
from policy.calendar import week_named
from policy.selectors import policy_in_force
from scoring.enums import DefenseAnswer
from tests import factories
from tests.adjudication.test_verify import Forger
from tests.contest import release_fixtures as cast
from tests.contest.ledger import cast as money
from tests.contest.record import test_rebuild

pytestmark = pytest.mark.django_db
WEEK = week_named("2026-W47", "UTC")
DAY = timedelta(days=1)
ASKED = cast.AFTER - DAY
WHY = "The twig stands beside the bird, and hides nothing of it in any of the outlines."


def joined(panel: Panel, answers: cast.Answers, at: datetime = ASKED) -> None:
    cast.say(panel_join(panel, len(answers), now=at), answers, at)
    cast.settle(at + timedelta(hours=1))


def asked_week() -> cast.Contest:
    """A week in which the board asked five times and ruled once."""
    contest = cast.a_week()
    bird, bicycle = cast.drawn(cast.LARGE), cast.bicycle(cast.LARGE)
    joined(contest.panels["valid bicycle"], [bicycle] * 3)
    joined(contest.panels["depiction"], [bird, {**bird, "bird": "unsure_yes"}])
    fresh = {"uncertain": [cast.drawn(cast.ROUGH)] * 3, "neither_class": [bird] * 4, "too_small": [cast.EXCLUDED] * 3}
    for case, answers in fresh.items():
        cast.say(panel_fresh(contest.images[case], len(answers), now=ASKED), answers, ASKED)
        cast.settle(ASKED + timedelta(hours=1))
    ruled = {"verdict": Verdict.VALID, "label": Label.BIRD, "reasons": (), "explanation": WHY}
    cast.case_of(rule_by_board(image=contest.images["occluded"], policy=policy_in_force(ASKED), now=ASKED, **ruled))
    for case in ("uncertain", "neither_class", "occluded"):
        for defense in contest.defenses:
            cast.scored(defense, contest.images[case], [DefenseAnswer.ABSTAIN] * 3)
    return contest


def release(out: Path, now: datetime = cast.AFTER, **options: Any) -> Path:
    return services.release_week(WEEK, out=out, now=now, **options).folder


@pytest.fixture(scope="class")
def contest(class_world: Path) -> cast.Contest:
    """That week, which is released."""
    contest = asked_week()
    release(class_world / "releases")
    return contest


@pytest.fixture
def forger(contest: cast.Contest, settings: Any) -> Forger:
    """Somebody with a copy of the release."""
    return Forger(settings.RELEASE_DIR / "release-2026-W47", contest)


def rows(folder: Path, name: str, image: Image) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["image_id"] == image.public_id]


# Forgeries ------------------------------------------------------------------------------------------------------------


def ruling_of(forger: Forger, case: str, number: int) -> dict[str, str]:
    """A row of `rulings.csv` as it was published."""
    return rows(forger.folder, "rulings.csv", forger.contest.images[case])[number - 1]


def ruling_row(forger: Forger, case: str, number: int, change: Callable[[dict[str, str]], dict[str, str]]) -> None:
    row = ruling_of(forger, case, number)
    forger.cell("rulings.csv", {"image_id": row["image_id"], "number": str(number)}, **change(row))


def fewer_ids(row: dict[str, str]) -> dict[str, str]:
    return row | {"response_ids": row["response_ids"].rpartition(";")[0]}


def last_ruling_dropped(forger: Forger) -> None:
    last = ruling_of(forger, "depiction", 2)
    forger.rows("rulings.csv", lambda table: table.remove(last))


def and_its_panel_made_smaller(forger: Forger) -> None:
    last_ruling_dropped(forger)
    forger.cell("panels.csv", {"image_id": forger.id_of["depiction"]}, size="3", joined="0", joined_at="")


def and_answers_left_out(forger: Forger, first: int) -> None:
    """All answers from one on: the panel seems to wait, which the manifest would have to say."""
    left_out = ruling_of(forger, "depiction", 2)["response_ids"].split(";")[first:]
    last_ruling_dropped(forger)
    forger.cell("panels.csv", {"image_id": forger.id_of["depiction"]}, state="open", full_at="")
    gone = [row for row in rows(forger.folder, "responses.csv", forger.contest.images["depiction"])
            if row["response_id"] in left_out]  # fmt: skip
    forger.rows("responses.csv", lambda table: [table.remove(row) for row in gone])


def answers_of_the_first_panel(forger: Forger) -> None:
    counted = {"response_ids": ruling_of(forger, "too_small", 1)["response_ids"]}
    forged = {"reasons": "too_small", "smallest_box_fraction": "1/16"} | counted
    ruling_row(forger, "too_small", 2, lambda row: row | forged)


def rulings_of_two_panels_swapped(forger: Forger) -> None:
    def swap(table: list[dict[str, str]]) -> None:
        first, second = [row for row in table if row["image_id"] == forger.id_of["uncertain"]]
        first["number"], second["number"] = "2", "1"
        at = table.index(first)
        table[at], table[at + 1] = second, first

    forger.rows("rulings.csv", swap)


FORGERIES: list[tuple[Callable[[Forger], None], str]] = [
    (lambda forger: ruling_row(forger, "valid bicycle", 1, fewer_ids), "rulings.csv"),
    (lambda forger: ruling_row(forger, "valid bicycle", 2, fewer_ids), "panels.csv"),
    (lambda forger: ruling_row(forger, "valid bicycle", 2, lambda row: row | {"response_ids": ""}), "rulings.csv"),
    (
        lambda forger: ruling_row(
            forger,
            "valid bicycle",
            2,
            lambda row: row | {"response_ids": ";".join(row["response_ids"].split(";")[::-1])},
        ),
        "rulings.csv",
    ),
    (
        # without the uncertain one, and with the verdict that would follow then
        lambda forger: ruling_row(
            forger, "depiction", 2, lambda row: fewer_ids(row) | {"verdict": "rejected", "reasons": "depiction"}
        ),
        "panels.csv",
    ),
    (last_ruling_dropped, "panels.csv"),
    (and_its_panel_made_smaller, "responses.csv"),
    (lambda forger: and_answers_left_out(forger, first=3), "panels.csv"),  # of those who joined
    (lambda forger: and_answers_left_out(forger, first=0), "panels.csv"),
    (answers_of_the_first_panel, "rulings.csv"),
    (lambda forger: ruling_row(forger, "uncertain", 2, lambda row: row | {"panel": "1"}), "rulings.csv"),
    (rulings_of_two_panels_swapped, "rulings.csv"),
    (lambda forger: ruling_row(forger, "valid bicycle", 1, lambda row: row | {"reasons": "occluded"}), "rulings.csv"),
    (lambda forger: ruling_row(forger, "valid bicycle", 2, lambda row: row | {"policy_version": "7"}), "rulings.csv"),
    (lambda forger: ruling_row(forger, "occluded", 2, fewer_ids), "rulings.csv"),
    (
        lambda forger: ruling_row(forger, "occluded", 2, lambda row: row | {"smallest_box_fraction": "1/2"}),
        "rulings.csv",
    ),
    (lambda forger: forger.cell("panels.csv", {"joined": "3"}, joined="0"), "panels.csv"),
    (lambda forger: forger.cell("panels.csv", {"joined": "3"}, joined_at=""), "panels.csv"),
    (lambda forger: forger.cell("panels.csv", {"joined": "3"}, state="full"), "panels.csv"),
    (lambda forger: forger.cell("panels.csv", {"joined": "3"}, state="open"), "panels.csv"),
    (lambda forger: forger.cell("panels.csv", {"size": "4"}, size="12"), "panels.csv"),
    (lambda forger: forger.cell("panels.csv", {"panel": "2", "size": "3"}, panel="3"), "panels.csv"),
]


class TestTheRelease:
    def test_every_ruling_is_derived_again(self, forger: Forger) -> None:
        """R39."""
        findings = verify(forger.folder)
        assert findings.differences == [] and "rulings: 15 read, 14 of them derived again" in findings.figures

    def test_a_ruling_names_its_answers_and_a_panel_who_joined(self, forger: Forger, contest: cast.Contest) -> None:
        bicycle, uncertain = contest.images["valid bicycle"], contest.images["uncertain"]
        first, second = rows(forger.folder, "rulings.csv", bicycle)
        assert second["response_ids"].startswith(f"{first['response_ids']};")
        assert (first["response_ids"].count(";"), second["response_ids"].count(";")) == (2, 5)
        first, second = rows(forger.folder, "rulings.csv", uncertain)
        assert (first["panel"], first["verdict"], second["panel"], second["verdict"]) == ("1", "rejected", "2", "valid")
        assert not set(first["response_ids"].split(";")) & set(second["response_ids"].split(";"))
        first, second = rows(forger.folder, "rulings.csv", contest.images["occluded"])
        assert (second["decided_by"], second["response_ids"]) == ("board", first["response_ids"])
        for image, expected in (
            (bicycle, [("6", "3", "2026-11-23T08:00:00.000000Z")]),
            (contest.images["neither_class"], [("3", "0", ""), ("4", "0", "")]),
        ):
            panels = rows(forger.folder, "panels.csv", image)
            assert [(each["size"], each["joined"], each["joined_at"]) for each in panels] == expected

    def test_annotations_and_tasker_data_are_those_that_the_ruling_that_holds_counted(
        self, forger: Forger, contest: cast.Contest
    ) -> None:
        text = (forger.folder / "tasker_data.csv").read_text()
        files = {case: f"images/{image.pixels_sha256}.png" for case, image in contest.images.items()}
        missing = {case for case, file in files.items() if file not in text}
        assert missing == {"valid bicycle", "depiction", "neither_class"}, "six, five and four answers counted"
        [row] = [line for line in csv.reader(text.splitlines()) if line[0] == files["uncertain"]]
        fresh_taskers = Response.objects.filter(image=contest.images["uncertain"], panel__number=2).order_by("pk")
        assert [row[2], row[9], row[16]] == [each.tasker.public_id for each in fresh_taskers]
        text = (forger.folder / "annotations.coco.json").read_text()
        outlines = {"valid bicycle": 6, "uncertain": 3, "neither_class": 4, "occluded": 3, "depiction": 0}
        for case, number in outlines.items():
            ids = Ruling.objects.filter(image=contest.images[case]).latest("number").response_ids
            given = Response.objects.filter(image=contest.images[case]).values_list("pk", flat=True)
            annotated = {pk for pk in given if f'{{"id": {pk}, "image_id"' in text}
            assert annotated == (set(ids) if number else set()) and (not number or len(ids) == number), case

    @pytest.mark.parametrize(("forge", "file"), FORGERIES)
    def test_a_forgery_is_found(self, forge: Callable[[Forger], None], file: str, forger: Forger) -> None:
        forge(forger)
        forger.rehash()
        found = verify(forger.folder, pictures=False).differences
        assert any(line.startswith(f"{file}: ") for line in found), found


# While they are being asked -------------------------------------------------------------------------------------------


@pytest.fixture(scope="class")
def week(class_world: Path) -> cast.Contest:
    return cast.a_week()


class TestAskedAgain:
    """Nothing published is taken back, and nothing new can be read by who is still to answer (R8)."""

    CASE = "valid bird"  # which has a surplus answer and a break

    def test_after_a_release_and_again_after_errata(self, week: cast.Contest, tmp_path: Path) -> None:
        image, out = week.images[self.CASE], tmp_path / "out"
        before = release(out)
        told = rows(before, "responses.csv", image)
        panel = panel_join(week.panels[self.CASE], 3, now=cast.AFTER + DAY)
        cast.say(panel, [cast.drawn(cast.LARGE)], cast.AFTER + DAY)
        with pytest.raises(Conflict, match="1 for answers"):
            release(out, cast.AFTER + 2 * DAY)
        between = release(out, cast.AFTER + 2 * DAY, incomplete=True)
        assert rows(between, "responses.csv", image) == told, "surplus with them, and not the new one"
        for name in ("tasker_data.csv", "annotations.coco.json"):
            assert (between / name).read_bytes() == (before / name).read_bytes(), name
        assert ([row["state"] for row in rows(between, "panels.csv", image)], verify(between).differences) == (
            ["open"],
            [],
        )
        cast.say(
            panel, [{**cast.drawn(cast.LARGE), "bird": "unsure_yes"}, cast.drawn(cast.LARGE)], cast.AFTER + 3 * DAY
        )
        cast.settle(cast.AFTER + 3 * DAY)
        after = release(out, cast.AFTER + 4 * DAY)
        published, ruled = (rows(after, name, image) for name in ("responses.csv", "rulings.csv"))
        assert (published[: len(told)], len(published)) == (told, len(told) + 3)
        assert ([row["verdict"] for row in ruled], verify(after).differences) == (["valid", "rejected"], [])
        # Joined again after these errata.
        panel = panel_join(Panel.objects.get(pk=panel.pk), 2, now=cast.AFTER + 5 * DAY)
        cast.say(panel, [cast.EXCLUDED], cast.AFTER + 5 * DAY)
        folder = release(out, cast.AFTER + 6 * DAY, incomplete=True)
        assert (rows(folder, "responses.csv", image), verify(folder).differences) == (published, [])

    def test_before_any_release(self, week: cast.Contest, tmp_path: Path) -> None:
        """What the first three said stays out as well: who is to answer could read it."""
        cast.say(panel_join(week.panels[self.CASE], 3, now=ASKED), [cast.drawn(cast.LARGE)], ASKED)
        folder = release(tmp_path / "out", incomplete=True)
        answers, ruled = (rows(folder, name, week.images[self.CASE]) for name in ("responses.csv", "rulings.csv"))
        assert (answers, [row["number"] for row in ruled], verify(folder).differences) == ([], ["1"], [])
        Forger(folder, week).manifest(lambda values: values["waiting"].update(answers=0))
        assert any("the answers that were ruled upon" in line for line in verify(folder).differences)

    def test_a_fresh_panel_hides_itself_alone(self, week: cast.Contest, tmp_path: Path) -> None:
        """Who answers on it never sees the first one's answers count, and they were ruled upon for good."""
        image = week.images["uncertain"]
        cast.say(panel_fresh(image, 3, now=ASKED), [cast.drawn(cast.LARGE)], ASKED)
        with pytest.raises(Conflict, match="1 for answers"):
            release(tmp_path / "out")
        folder = release(tmp_path / "out", incomplete=True)
        published = {row["panel"] for row in rows(folder, "responses.csv", image)}
        assert (published, verify(folder).differences) == ({"1"}, [])

    def test_kept_out_while_it_was_asked_again(self, week: cast.Contest, tmp_path: Path) -> None:
        """No ruling will come on top, and everything that was said is published."""
        image, panel = week.images[self.CASE], panel_join(week.panels[self.CASE], 3, now=ASKED)
        cast.say(panel, [cast.drawn(cast.LARGE)], ASKED)
        late = factories.assignment(factories.tasker("late"), panel, state="released")
        Report.objects.create(
            assignment=late, image=image, tasker=late.tasker, kind="other", reported_at=ASKED, decision="kept_out",
            decided_at=ASKED,
        )  # fmt: skip
        Panel.objects.filter(pk=panel.pk).update(state=PanelState.HELD)
        folder = release(tmp_path / "out")
        # three, a surplus one, and one of who joined
        assert (len(rows(folder, "responses.csv", image)), verify(folder).differences) == (5, [])


@pytest.mark.slow("three releases and a rebuilt database")
@pytest.mark.django_db(transaction=True)
def test_a_database_rebuilt_from_the_releases_gives_the_same_bytes(tmp_path: Path, settings: Any) -> None:
    """Also while a panel is asked again, and of two parts the last alone is read."""
    contest = asked_week()
    made = [services.release_week(WEEK, out=settings.RELEASE_DIR, now=cast.AFTER)]
    cast.say(panel_join(contest.panels["both_classes"], 3, now=cast.AFTER + DAY), [cast.EXCLUDED], cast.AFTER + DAY)
    made.append(services.release_week(WEEK, out=settings.RELEASE_DIR, now=cast.AFTER + 2 * DAY, incomplete=True))
    mirror = test_rebuild._mirror(tmp_path / "mirror", made)
    rulings = list(Ruling.objects.order_by("image__public_id", "number").values_list("response_ids", flat=True))
    test_rebuild._empty_database()
    settings.RELEASE_DIR = tmp_path / "elsewhere"
    settings.IMAGE_STORE_URL = f"file://{tmp_path / 'other pictures'}"
    call_command("rebuild_from_releases", str(mirror), verbosity=0)
    assert rulings == list(Ruling.objects.order_by("image__public_id", "number").values_list("response_ids", flat=True))
    again = services.release_week(WEEK, out=tmp_path / "again", now=cast.AFTER + 3 * DAY, incomplete=True)
    assert not again.new, test_rebuild._difference(again.folder, settings.RELEASE_DIR)
    panel = Panel.objects.get(joined=3, state=PanelState.OPEN)
    assert (panel.answered, panel.missing, panel.ruled_through) == (3, 3, 3)


# The week's money -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["join", "fresh"])
def test_a_week_is_not_settled_again(ask: str) -> None:
    """Nor is a later week that sent the same picture (R22)."""
    factories.policy_version()
    sent = money.attack(money.team("red"))
    again = money.attack(money.team("blue"), days=8, image=sent.image)
    money.ruled(sent.image, "bird" if ask == "join" else "")

    def settled() -> list[bool]:
        weeks = [week_at(each.received_at) for each in (sent, again)]
        return [Weeks(money.CLOSED).rulings_close_at(week) is not None for week in weeks]

    assert settled() == [True, True]
    ask_more, of = (panel_join, sent.image.panels.get()) if ask == "join" else (panel_fresh, sent.image)
    asked = ask_more(of, 3, now=money.CLOSED)
    assert settled() == [False, False]
    cast.say(asked, [cast.drawn(cast.LARGE)] * 3, money.CLOSED)
    assert settled() == [False, False], "their ruling is still to come"
    cast.settle(money.CLOSED)
    assert settled() == [True, True]
