"""The pages of defenses: what they count, what is under embargo, and who sees what."""

import re
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from contest.core.models import Break, Release
from contest.core.publication import published_images
from contest.defenses.risk_coverage import ConfidenceTie, CurvePoint, curve_points, first_point_covering, risk_coverage
from contest.demo.programs import STEADFAST
from contest.pages.public.risk_curve import GROUND, LEFT, MAX_POINTS, RIGHT, TOP, curve
from contest.record import defense_figures
from labeling.models import Image
from scoring.enums import DefenseAnswer, Fault
from scoring.models import CopyFlag, Defense, Prediction, Rerun, Run, RunItem, SupersededPrediction, Trial
from tests import factories
from tests.contest import release_fixtures as cast
from tests.contest.pages import lacking, outsiders, plain, queries, words
from tests.scoring import cast as scoring_cast

pytestmark = pytest.mark.django_db
BIRD, BICYCLE, ABSTAIN = DefenseAnswer.BIRD, DefenseAnswer.BICYCLE, DefenseAnswer.ABSTAIN


@pytest.fixture(autouse=True)
def in_force() -> None:
    factories.policy_version()


def release(week: str = "2026-W47", part: int = 0) -> None:
    Release.objects.create(week=week, part=part, manifest_sha256="ab" * 32, counts={}, bytes=1, released_at=cast.AFTER)


def own(defense: Defense, query: str = "") -> str:
    return f"/defenses/{defense.public_id}/{query}"


def answered(by: Defense, label: str, answers: Sequence[int], *, number: int, **image: Any) -> Image:
    """A picture that is ruled valid, with one answer for each round."""
    picture = cast.picture(number, **image)
    scoring_cast.ruled(picture, label=label)
    cast.scored(by, picture, answers)
    return picture


def mistaken(defense: Defense, image: Image, turn: int = 1) -> Break:
    ruling, proof = image.rulings.get(), Prediction.objects.get(defense=defense, image=image, round=turn)
    return Break.objects.create(
        defense=defense, image=image, ruling=ruling, prediction=proof, found_at=ruling.decided_at
    )


CURVES = [
    (
        [ConfidenceTie(0.5, 2, 1), ConfidenceTie(0.9, 1, 0), ConfidenceTie(0.7, 1, 1)],
        5,
        [(0.9, 1, 0, 0.2, 0.0), (0.7, 2, 1, 0.4, 0.5), (0.5, 4, 2, 0.8, 0.5)],
        "the most confident come first, and ties together",
    ),
    (
        [ConfidenceTie(0.9, 0, 0), ConfidenceTie(0.8, 3, 0)],
        4,
        [(0.8, 3, 0, 0.75, 0)],
        "what it abstains from is never covered",
    ),
    ([], 0, [], "without answers there is no point"),
]


@pytest.mark.parametrize(("ties", "answers", "expected", "why"), CURVES, ids=[row[3] for row in CURVES])
def test_the_points_of_a_curve(
    ties: list[ConfidenceTie], answers: int, expected: list[tuple[float, ...]], why: str
) -> None:
    points = risk_coverage(ties, answers)
    assert [(p.threshold, p.covered, p.wrong, p.coverage, p.risk) for p in points] == expected, why


REACHED = [
    ([ConfidenceTie(0.9, 8, 0), ConfidenceTie(0.8, 2, 0)], 10, 8, "exactly as much is enough"),
    ([ConfidenceTie(0.9, 79, 0), ConfidenceTie(0.8, 20, 1), ConfidenceTie(0.1, 1, 1)], 100, 99, "ties exceed it"),
    ([ConfidenceTie(0.9, 0, 0), ConfidenceTie(0.8, 3, 0)], 4, None, "it abstained too often"),
]


@pytest.mark.parametrize(("ties", "answers", "covered", "why"), REACHED, ids=[row[3] for row in REACHED])
def test_the_risk_at_a_coverage_of_80_percent(
    ties: list[ConfidenceTie], answers: int, covered: int | None, why: str
) -> None:
    point = first_point_covering(risk_coverage(ties, answers), 80)
    assert (point.covered if point else None) == covered, why


def test_the_table_has_each_mark_once() -> None:
    points = risk_coverage([ConfidenceTie(-n, 1, 0) for n in range(100)], 100)
    assert [point.covered for point in curve_points(points)] == list(range(10, 101, 10))
    assert (len(curve_points(risk_coverage([ConfidenceTie(1, 3, 1)], 3))), curve_points([])) == (1, [])


class TestCurve:
    """The drawing stays in its box."""

    @pytest.mark.parametrize("points", [1, 3, 5_000])
    @pytest.mark.parametrize("wrong", ["none", "all", "some"])
    def test_every_point_is_inside(self, points: int, wrong: str) -> None:
        ties = [ConfidenceTie(-n, 1, {"none": 0, "all": 1, "some": n % 3 == 0}[wrong]) for n in range(points)]
        drawn = curve(risk_coverage(ties, points))
        pairs = [tuple(map(float, pair.split(","))) for pair in drawn.path[1:].split(" L")]
        assert 1 <= len(pairs) <= MAX_POINTS
        assert all(LEFT <= x <= RIGHT and TOP <= y <= GROUND for x, y in pairs)
        assert pairs[-1] == (drawn.end_x, drawn.end_y) and drawn.end_x == RIGHT

    @pytest.mark.parametrize(
        ("risks", "why"),
        [
            ([0, 4, 3, 4, 3.3, 4, 3.5], "it goes up and down near its ceiling"),
            ([0, 0.5, 1, 2, 3, 4], "it rises to the end"),
            ([4, 3, 2, 1, 0.5, 0.1], "it falls to the end"),
            ([4, 0, 4, 0, 0, 0, 0], "its end lies on the ground"),
        ],
    )
    def test_the_label_of_the_end_does_not_lie_on_the_line(self, risks: list[float], why: str) -> None:
        total = len(risks) * 100
        points = [
            CurvePoint(1.0 - n / 10, n * 100 + 100, round(risk * (n + 1) * 10), total) for n, risk in enumerate(risks)
        ]
        drawn = curve(points)
        pairs = [tuple(map(float, pair.split(","))) for pair in drawn.path[1:].split(" L")]
        left = drawn.end_text_x - 5.5 * len(drawn.end_text)
        for (x0, y0), (x1, y1) in zip(pairs, pairs[1:], strict=False):
            for step in range(101):
                x, y = x0 + (x1 - x0) * step / 100, y0 + (y1 - y0) * step / 100
                inside = left <= x <= drawn.end_text_x and drawn.end_text_y - 8 <= y <= drawn.end_text_y + 2
                assert not inside, f"{why}: the label lies over ({x:.0f}, {y:.0f})"
        assert drawn.end_anchor == "end" and TOP <= drawn.end_text_y <= GROUND

    def test_axes_begin_at_zero(self) -> None:
        drawn = curve([CurvePoint(0.5, 10, 1, 20)])
        told = (drawn.across[0].text, drawn.up[0].text, drawn.up[-1].text, drawn.end_text)
        assert told == ("0 %", "0 %", "10 %", "10 % at 50 %")


def test_the_curve_counts_answers_to_valid_pictures_alone() -> None:
    defense = cast.defense(1)
    answered(defense, "bird", [BIRD, BICYCLE, ABSTAIN], number=1)
    rejected = cast.picture(2)
    scoring_cast.ruled(rejected, verdict="rejected")
    cast.scored(defense, rejected, [BICYCLE])
    scoring_cast.ruled(answered(defense, "bird", [BICYCLE], number=3), verdict="rejected", number=2)
    points = defense_figures.risk_of(Prediction.objects.filter(defense=defense))
    # The scores of round 2 are larger than those of round 1 (0.2, 0.1); round 3 abstains.
    assert [(round(p.threshold, 3), p.covered, p.wrong, p.answers) for p in points] == [(0.2, 1, 1, 3), (0.1, 2, 1, 3)]


@pytest.fixture
def two_weeks() -> tuple[Defense, Image, Image]:
    """A defense that was wrong on a picture of a released week, and on one of the week after."""
    defense = cast.defense(1, name="Small net")
    out = answered(defense, "bird", [BIRD, BICYCLE, BIRD], number=1)
    held = answered(defense, "bird", [BICYCLE] * 3, number=2, received_at=cast.MONDAY + timedelta(days=7))
    mistaken(defense, out, 2)
    mistaken(defense, held)
    cast.faulted(defense, held, 4, Fault.NONFINITE)
    factories.sent_by_somebody()
    release()
    return defense, out, held


def last_covered(client: Client, defense: Defense) -> str:
    """How many answers the last line of the file of a curve covers, which is all of them."""
    answer = client.get(own(defense, "risk-coverage.csv"))
    assert answer["Content-Disposition"].startswith("attachment")
    head, *_, last = [line.split(",") for line in answer.content.decode().split()]
    assert head == ["confidence_at_least", "covered", "wrong", "answers", "coverage", "risk"]
    assert last[1] == last[3]
    return last[1]


class TestEmbargo:
    """Nothing about pictures or counts of weeks that are not released, to anybody but organizers (R24)."""

    def test_organizers_read_all_and_everybody_else_what_is_released(
        self, two_weeks: tuple[Defense, Image, Image], organizer: Client, signed_in: Any
    ) -> None:
        defense, out, held = two_weeks
        assert not lacking(
            words(organizer, own(defense)),
            *(out.public_id, held.public_id, "Answered 6 ", "Ended in a fault 1 ", "Pictures that broke it 2 "),
            *("A score is NaN or infinite. nonfinite", "Send finite scores, or zeros", "Run answers again"),
        )
        assert f"Small net {defense.public_id} broken 2 2 " in words(organizer, "/defenses/")
        assert last_covered(organizer, defense) == "6"
        for who, client in outsiders(signed_in).items():
            if who == "tasker":
                continue
            page = words(client, own(defense))
            assert not lacking(page, out.public_id, "Answered 3 ", "Pictures that broke it 1 "), who
            secrets = (held.public_id, "nonfinite", "Run answers again", "Before publication")
            assert lacking(page, *secrets) == list(secrets), who
            assert f"Small net {defense.public_id} broken 1 1 " in words(client, "/defenses/"), who
            assert last_covered(client, defense) == "3", who
        for kind in defense_figures.KINDS:
            assert held.public_id not in words(Client(), own(defense, f"?show={kind}")), kind

    def test_mistakes_outside_the_contest_are_listed(self, organizer: Client, rita: User, signed_in: Any) -> None:
        """Of pictures of the organizers: they break nothing (R29)."""
        defense, later = cast.defense(1), {"received_at": cast.MONDAY + timedelta(days=7)}
        out = answered(defense, "bird", [BICYCLE], number=0, origin="dataset")
        held = answered(defense, "bird", [BICYCLE], number=1, origin="dataset", **later)
        gold = answered(defense, "bird", [BICYCLE], number=2, origin="gold")
        release()
        for image in (out, held):
            mistaken(defense, image)
        for who, client in {"stranger": Client(), "board": signed_in(rita), "organizer": organizer}.items():
            known, answer = [out, held] if who == "organizer" else [out], client.get(own(defense))
            outside, page = [each.image for each in answer.context["outside"]], plain(answer)
            assert (outside, answer.context["breaks"]) == (known, []), who
            said = "Mistakes outside the contest Confident mistakes on pictures of the organizers"
            assert not lacking(page, said, "Pictures that broke it 0 ")
            assert {each.public_id in page for each in (held, gold)} == {who == "organizer"}
            only = client.get(own(defense, "?show=outside")).context["shown"]
            assert {each.image for each in only} == set(known), who

    def test_a_long_list_of_them_names_the_first(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(defense_figures, "MAX_BREAKS", 2)
        defense = cast.defense(1)
        for number in range(3):
            mistaken(defense, answered(defense, "bird", [BICYCLE], number=number, origin="dataset"))
        release()
        assert "The first 2: see all mistakes outside the contest ." in words(client, own(defense))

    def test_without_a_release_nothing_is_told(self, two_weeks: tuple[Defense, Image, Image], client: Client) -> None:
        Release.objects.all().delete()
        page = words(client, own(two_weeks[0]))
        told = "No picture of a released week was given to it yet."
        assert not lacking(page, told, "there is nothing to draw", "unbroken") and "P-" not in page

    def test_weeks_that_follow_each_other_and_weeks_apart(self) -> None:
        later = [cast.MONDAY + timedelta(days=7 * number) for number in range(4)]
        made = [cast.picture(n, received_at=at, label_from=cast.MONDAY) for n, at in enumerate(later)]
        for week, part in (("2026-W47", 0), ("2026-W48", 0), ("2026-W50", 0), ("2026-W49", 1)):
            release(week, part)  # a part alone is no release
        assert set(published_images()) == {made[0], made[1], made[3]}


class TestWhoMayOpen:
    def test_taskers_are_refused(self, two_weeks: tuple[Defense, Image, Image], signed_in: Any) -> None:
        """R8."""
        for state in ("qualified", "learning", "paused"):
            client = signed_in(factories.tasker(state, state=state))
            for address in ("/defenses/", own(two_weeks[0]), own(two_weeks[0], "risk-coverage.csv")):
                refused = client.get(address)
                page = refused.content.decode()
                assert (refused.status_code, "not_for_taskers" in page, "Small net" in page) == (403, True, False)

    def test_what_is_not_published_is_nobody_s_but_organizers(self, organizer: Client, client: Client) -> None:
        hidden = cast.defense(1, name="Coming soon", published_at=None)
        for address in (own(hidden), "/defenses/D-99999/", "/defenses/D-99999/risk-coverage.csv"):
            assert client.get(address).status_code == 404, address
        assert "No defense is published yet." in words(client, "/defenses/")
        assert "Coming soon" in words(organizer, "/defenses/")
        assert "not published" in words(organizer, own(hidden))


def test_what_makes_no_sense_in_the_address_is_ignored(client: Client, two_weeks: tuple[Defense, Image, Image]) -> None:
    for query in ("show=nonsense", "before=x", "before=-1", f"before={'9' * 30}", "show=%00"):
        assert two_weeks[1].public_id in words(client, own(two_weeks[0], f"?{query}")), query


def test_older_pictures_are_a_page_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defense_figures, "PICTURES_SHOWN", 2)
    defense = cast.defense(1)
    made = [answered(defense, "bird", [BIRD], number=n) for n in range(5)]
    release()
    seen, address = [], own(defense)
    for _ in range(3):
        page = client.get(address).content.decode()
        seen.append([each.public_id for each in reversed(made) if each.public_id in page])
        more = re.search(r'href="(\?before=\d+)', page)
        address = own(defense, more[1]) if more else ""
    names = [each.public_id for each in reversed(made)]
    assert (seen, address) == ([names[:2], names[2:4], names[4:]], "")


# Rounds of answers to one picture, and what the page says of them.
ANSWERS = [
    # The fixture's scores grow with the round: 0.1, 0.2, 0.3.
    (
        [BIRD, ABSTAIN, BIRD],
        "Of 1 pictures, 1 got different answers in different rounds, and 1 different scores.",
        "The largest difference between two scores is 0.2.",
    ),
    ([BIRD, BIRD], "Randomised. Of 1 pictures, 0 got different answers", "Speed: "),
    # Four batches of one picture, 1.5 ms each.
    ([BIRD] * 4, "Randomised", "Speed: 667 pictures a second, 1.5 ms for a batch (median), on cpu."),
    ([BIRD], "Not randomised: each of 1 pictures", "Speed: "),
]


def test_what_rounds_show_of_chance_and_speed_is_told(client: Client) -> None:
    release()
    for number, (answers, *said) in enumerate(ANSWERS, start=1):
        defense = cast.defense(number)
        answered(defense, "bird", answers, number=number)
        assert not lacking(words(client, own(defense)), *said), answers


def test_organizers_read_what_came_before_publication(organizer: Client, now: Any) -> None:
    defense, other = cast.defense(1), cast.defense(2, name="The original")
    Trial.objects.create(
        defense=defense, kind="smoke", number=1, seed=1, batch_size=16, state="finished", created_at=now,
        finished_at=now, totals={"accepted": True, "pictures": 40}, log="loading <weights>",
    )  # fmt: skip
    CopyFlag.objects.create(
        defense=defense, original=other, likeness="weights", figures={"weights": "ff" * 32}, found_at=now
    )
    assert not lacking(
        words(organizer, own(defense)),
        *("Smoke 1 finished accepted, 40 pictures", "speaks the protocol passed accepted, 40 pictures"),
        *("loading <weights>", "By its weights: The original", "Caffe or NumPy not yet"),
    )


def test_organizers_read_which_runs_are_in_trouble(organizer: Client) -> None:
    """R30."""
    defense, poison = cast.defense(1), cast.picture(1)
    parted = cast.faulted(defense, poison, 1, Fault.CRASHED)
    Run.objects.filter(pk=parted.pk).update(splits=1, fault_text="ended with status 1")
    cast.faulted(defense, cast.picture(2), 2, Fault.PLATFORM)
    trouble, _, dead = words(organizer, own(defense)).partition("Runs in trouble")[2].partition("Gave up")
    assert not lacking(trouble + dead, f"({poison.public_id})", "ended with status 1")
    assert f"Run {parted.pk}, round 1" in trouble and "platform" in dead


def test_the_number_of_queries_does_not_grow(organizer: Client, client: Client) -> None:
    defense = cast.defense(1)
    release()

    def asked() -> list[int]:
        cache.clear()
        return [queries(partial(who.get, at)) for who in (client, organizer) for at in ("/defenses/", own(defense))]

    answered(defense, "bird", [BIRD, BIRD, BICYCLE], number=1)
    client.get("/defenses/")  # this process learns the policy
    few = asked()
    for number in (2, 3):
        answered(defense, "bird", [BIRD, ABSTAIN, BICYCLE], number=number)
        cast.defense(number)
        release(f"2026-W2{number}")
    assert asked() == few


def test_a_retired_version_says_so_and_names_are_text(client: Client, now: Any) -> None:
    defense = cast.defense(1, retired_at=now, name="<b>bold</b>", description="<script>alert(1)</script>")
    page = client.get(own(defense)).content.decode()
    assert not lacking(page, "retired", "a newer version took its place") and "<script>alert(1)" not in page
    assert "<b>bold</b>" not in page + client.get("/defenses/").content.decode()


def test_a_rerun_is_nobody_s_to_see_before_it_is_applied(client: Client, signed_in: Any) -> None:
    """And afterwards each question is counted once, with the answer in force."""
    defense = cast.defense(1)
    image = answered(defense, "bird", [BICYCLE, BIRD], number=1)
    release()
    by = factories.user("otto.organizes")
    rerun = Rerun.objects.create(defense=defense, reason="a card", asked_by=by, asked_at=cast.MONDAY)
    for old, (state, fault) in zip(
        Prediction.objects.order_by("round"), [("finished", ""), ("dead", "cancelled")], strict=True
    ):
        again = Run.objects.create(
            defense=defense, rerun=rerun, round=old.round, seed=9, batch_size=16, state=state, fault=fault,
            created_at=cast.MONDAY,
        )  # fmt: skip
        item = RunItem.objects.create(run=again, rerun=rerun, defense=defense, round=old.round, image=image, position=0)
        if state == "finished":
            old.pk, old._state.adding, old.item, old.rerun, old.answer = None, True, item, rerun, ABSTAIN
            old.save()
    page, secrets = words(client, own(defense)), ("Faults", "cancelled", "abstain bird")
    assert not lacking(page, "Answered 2 ", f"{image.public_id} bird bicycle")
    assert lacking(page, *secrets) == list(secrets)
    RunItem.objects.filter(run__state="dead").delete()
    Rerun.objects.update(state="applied")
    old, new = Prediction.objects.get(rerun=None, round=1), Prediction.objects.get(rerun=rerun)
    SupersededPrediction.objects.create(prediction=old, by=new, rerun=rerun)
    cache.clear()
    page = words(client, own(defense))
    assert "Answered 2 " in page and f"{image.public_id} bird abstain" in page and "otto.organizes" not in page


RUNS_AS = [
    ({"image": f"sha256:{'ab' * 32}", "digest": f"sha256:{'ab' * 32}"}, "the image of this digest", 1),
    ({"image": "ghcr.io/b/n@sha256:1", "digest": "sha256:1"}, "ghcr.io/b/n@sha256:1 , in a sealed", 0),
    ({"reference": "always-abstain"}, "reference defense always-abstain", 0),
    ({}, "nothing that can be run", 0),
]


def test_what_a_defense_runs_as(client: Client, settings: Any) -> None:
    for number, (values, said, times) in enumerate(RUNS_AS):
        page = words(client, own(cast.defense(number, **values)))
        assert f"Runs as {said}" in page and page.count(f"sha256:{'ab' * 32}") == times, values
    of_demo = own(cast.defense(9, image=STEADFAST.digest, digest=STEADFAST.digest))
    assert "Runs as the image of this digest" in words(client, of_demo)
    settings.DEMO = True
    assert "Runs as a program of this demo, without a container" in words(client, of_demo)
