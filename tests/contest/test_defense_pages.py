"""The pages of defenses: what they count, what is under embargo, and who sees what."""

import re
from collections.abc import Sequence
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags

from contest.defenses import figures
from contest.defenses.drawing import GROUND, LEFT, MOST_POINTS, RIGHT, TOP, curve
from contest.defenses.risk import Point, Tie, at_least, marks, risk_coverage
from contest.demo.programs import STEADFAST
from contest.models import Break, Member, Release, Team
from contest.publishing import published_images
from labeling.models import Image, Tasker
from scoring.enums import Fault, Outcome
from scoring.models import CopyFlag, Defense, Prediction, Rerun, Run, RunItem, Superseded, Trial
from tests import factories
from tests.contest import release_fixtures as cast
from tests.scoring import cast as scoring_cast

pytestmark = pytest.mark.django_db
BIRD, BICYCLE, ABSTAIN = Outcome.BIRD, Outcome.BICYCLE, Outcome.ABSTAIN


@pytest.fixture(autouse=True)
def in_force() -> None:
    factories.policy_version()


def release(week: str = "2026-W47", part: int = 0) -> None:
    Release.objects.create(week=week, part=part, manifest_sha256="ab" * 32, counts={}, bytes=1, released_at=cast.AFTER)


def words(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return unescape(re.sub(r"\s+", " ", strip_tags(answer.content.decode().replace("<", " <"))))


def answered(by: Defense, label: str, answers: Sequence[int], *, number: int, **image: Any) -> Image:
    """A picture that is ruled valid, with one answer for each round."""
    picture = cast.picture(number, **image)
    scoring_cast.ruled(picture, label=label)
    cast.scored(by, picture, answers)
    return picture


def mistaken(defense: Defense, image: Image) -> Break:
    """The record of a confident mistake."""
    ruling, proof = image.rulings.get(), Prediction.objects.filter(defense=defense, image=image)[0]
    return Break.objects.create(
        defense=defense, image=image, ruling=ruling, prediction=proof, found_at=ruling.decided_at
    )


def olga_of(signed_in: Any) -> Client:
    client: Client = signed_in(factories.user("olga", "organizers"))
    return client


class TestRisk:
    """The curve, by hand."""

    def test_the_most_confident_come_first_and_ties_together(self) -> None:
        ties = [Tie(0.5, 2, 1), Tie(0.9, 1, 0), Tie(0.7, 1, 1)]
        points = risk_coverage(ties, 5)
        assert [(p.threshold, p.covered, p.wrong) for p in points] == [(0.9, 1, 0), (0.7, 2, 1), (0.5, 4, 2)]
        assert [(p.coverage, p.risk) for p in points] == [(0.2, 0.0), (0.4, 0.5), (0.8, 0.5)]

    def test_what_it_abstains_from_is_never_covered(self) -> None:
        points = risk_coverage([Tie(0.9, 0, 0), Tie(0.8, 3, 0)], 4)
        assert [(p.threshold, p.coverage) for p in points] == [(0.8, 0.75)]
        assert at_least(points, 80) is None

    def test_a_coverage_that_ties_exceed_is_told_as_reached(self) -> None:
        point = at_least(risk_coverage([Tie(0.9, 79, 0), Tie(0.8, 20, 1), Tie(0.1, 1, 1)], 100), 80)
        assert point is not None and point.coverage == 0.99

    def test_exactly_as_much_is_enough(self) -> None:
        point = at_least(risk_coverage([Tie(0.9, 8, 0), Tie(0.8, 2, 0)], 10), 80)
        assert point is not None and point.covered == 8

    def test_without_answers_there_is_no_point(self) -> None:
        assert risk_coverage([], 0) == [] and marks([]) == []

    def test_the_table_has_each_mark_once(self) -> None:
        points = risk_coverage([Tie(-n, 1, 0) for n in range(100)], 100)
        assert [point.covered for point in marks(points)] == list(range(10, 101, 10))
        assert len(marks(risk_coverage([Tie(1, 3, 1)], 3))) == 1


class TestCurve:
    """The drawing stays in its box."""

    @pytest.mark.parametrize("points", [1, 3, 5_000])
    @pytest.mark.parametrize("wrong", ["none", "all", "some"])
    def test_every_point_is_inside(self, points: int, wrong: str) -> None:
        ties = [Tie(-n, 1, {"none": 0, "all": 1, "some": n % 3 == 0}[wrong]) for n in range(points)]
        drawn = curve(risk_coverage(ties, points))
        pairs = [tuple(map(float, pair.split(","))) for pair in drawn.path[1:].split(" L")]
        assert 1 <= len(pairs) <= MOST_POINTS
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
        number = len(risks)
        drawn = curve(
            [
                Point(1.0 - n / 10, (n + 1) * 100, round(risk * (n + 1) * 10), number * 100)
                for n, risk in enumerate(risks)
            ]
        )
        pairs = [tuple(map(float, pair.split(","))) for pair in drawn.path[1:].split(" L")]
        left = drawn.end_text_x - 5.5 * len(drawn.end_text)
        for (x0, y0), (x1, y1) in zip(pairs, pairs[1:], strict=False):
            for step in range(101):
                x, y = x0 + (x1 - x0) * step / 100, y0 + (y1 - y0) * step / 100
                inside = left <= x <= drawn.end_text_x and drawn.end_text_y - 8 <= y <= drawn.end_text_y + 2
                assert not inside, f"{why}: the label lies over ({x:.0f}, {y:.0f})"
        assert drawn.end_anchor == "end" and TOP <= drawn.end_text_y <= GROUND

    def test_axes_begin_at_zero(self) -> None:
        drawn = curve([Point(0.5, 10, 1, 20)])
        assert (drawn.across[0].text, drawn.up[0].text, drawn.up[-1].text) == ("0 %", "0 %", "10 %")
        assert drawn.end_text == "10 % at 50 %"


def test_the_curve_counts_answers_to_valid_pictures_alone(now: Any) -> None:
    defense = cast.defense(1)
    answered(defense, "bird", [BIRD, BICYCLE, ABSTAIN], number=1)
    rejected = cast.picture(2)
    scoring_cast.ruled(rejected, verdict="rejected")
    cast.scored(defense, rejected, [BICYCLE])
    overruled = answered(defense, "bird", [BICYCLE], number=3)
    scoring_cast.ruled(overruled, verdict="rejected", number=2)
    points = figures.risk_of(Prediction.objects.filter(defense=defense))
    # The scores of round 2 are larger than those of round 1 (0.2, 0.1); round 3 abstains.
    assert [(round(p.threshold, 3), p.covered, p.wrong, p.answers) for p in points] == [(0.2, 1, 1, 3), (0.1, 2, 1, 3)]


@pytest.fixture
def two_weeks(now: Any) -> tuple[Defense, Image, Image]:
    """A defense that was wrong on a picture of a released week, and on one of the week after."""
    defense = cast.defense(1, name="Small net")
    out = answered(defense, "bird", [BIRD, BICYCLE, BIRD], number=1)
    held = answered(defense, "bird", [BICYCLE] * 3, number=2, received_at=cast.MONDAY + timedelta(days=7))
    for image, at in ((out, 2), (held, 1)):
        found = Prediction.objects.filter(image=image, round=at).get()
        figures.Break.objects.create(
            defense=defense, image=image, ruling=image.rulings.get(), prediction=found, found_at=cast.MONDAY
        )
    cast.faulted(defense, held, 4, Fault.NONFINITE)
    factories.sent_by_somebody()
    release()
    return defense, out, held


PUBLIC = ["stranger", "board", "red", "no role"]


def client_of(who: str, signed_in: Any) -> Client:
    if who == "stranger":
        return Client()
    user = factories.user(who, *(["review board"] if who == "board" else []))
    if who == "red":
        Member.objects.create(team=Team.objects.create(name="red", created_at=factories.NOW), user=user)
    client: Client = signed_in(user)
    return client


class TestEmbargo:
    """Nothing about pictures or counts of weeks that are not released, to anybody but organizers (R24)."""

    @pytest.mark.parametrize("who", PUBLIC)
    def test_everybody_reads_what_is_released(
        self, who: str, two_weeks: tuple[Defense, Image, Image], signed_in: Any
    ) -> None:
        defense, out, held = two_weeks
        page = words(client_of(who, signed_in), f"/defenses/{defense.public_id}/")
        assert out.public_id in page and held.public_id not in page
        assert "Answered 3 " in page and "nonfinite" not in page
        assert "Pictures that broke it 1 " in page
        assert "Run answers again" not in page and "Before publication" not in page

    def test_organizers_read_all(self, two_weeks: tuple[Defense, Image, Image], signed_in: Any) -> None:
        defense, out, held = two_weeks
        page = words(olga_of(signed_in), f"/defenses/{defense.public_id}/")
        assert out.public_id in page and held.public_id in page
        assert "Answered 6 " in page and "Ended in a fault 1 " in page
        assert "A score is NaN or infinite. nonfinite" in page
        assert "Send finite scores, or zeros" in page
        assert "Pictures that broke it 2 " in page
        assert "Run answers again" in page

    @pytest.mark.parametrize(("who", "pictures", "breaks"), [("stranger", 1, 1), ("olga", 2, 2)])
    def test_the_list_counts_the_same(
        self, who: str, pictures: int, breaks: int, two_weeks: tuple[Defense, Image, Image], signed_in: Any
    ) -> None:
        client = Client() if who == "stranger" else olga_of(signed_in)
        assert f"Small net {two_weeks[0].public_id} broken {pictures} {breaks} " in words(client, "/defenses/")
        (row,) = figures.rows(public=who == "stranger", now=factories.NOW)
        assert (row.pictures, row.breaks) == (pictures, breaks)

    @pytest.mark.parametrize(("who", "last"), [("stranger", "3"), ("olga", "6")])
    def test_so_does_the_file(
        self, who: str, last: str, two_weeks: tuple[Defense, Image, Image], signed_in: Any
    ) -> None:
        client = Client() if who == "stranger" else olga_of(signed_in)
        answer = client.get(f"/defenses/{two_weeks[0].public_id}/risk-coverage.csv")
        lines = answer.content.decode().split()
        assert lines[0] == "confidence_at_least,covered,wrong,answers,coverage,risk"
        assert lines[-1].split(",")[1] == lines[-1].split(",")[3] == last
        assert answer["Content-Disposition"].startswith("attachment")

    def test_what_organizers_read_is_not_remembered_for_others(
        self, two_weeks: tuple[Defense, Image, Image], signed_in: Any
    ) -> None:
        address = f"/defenses/{two_weeks[0].public_id}/"
        words(olga_of(signed_in), address)
        assert "Answered 3 " in words(Client(), address)

    @pytest.mark.parametrize("kind", list(figures.KINDS))
    def test_no_choice_of_pictures_gets_around_it(
        self, kind: str, two_weeks: tuple[Defense, Image, Image], client: Client
    ) -> None:
        defense, _, held = two_weeks
        assert held.public_id not in words(client, f"/defenses/{defense.public_id}/?show={kind}")

    @pytest.mark.parametrize(("who", "told"), [*((who, 1) for who in PUBLIC), ("olga", 2)])
    def test_mistakes_outside_the_contest_are_listed(self, who: str, told: int, signed_in: Any, now: Any) -> None:
        """Of pictures of the organizers: they break nothing (R29)."""
        defense = cast.defense(1)
        out, held, gold = (
            answered(defense, "bird", [BICYCLE], number=number, **image)
            for number, image in enumerate(
                (
                    {"origin": "dataset"},
                    {"origin": "dataset", "received_at": cast.MONDAY + timedelta(days=7)},
                    {"origin": "gold"},
                )
            )
        )
        release()
        for image in (out, held):
            mistaken(defense, image)
        client = olga_of(signed_in) if who == "olga" else client_of(who, signed_in)
        answer = client.get(f"/defenses/{defense.public_id}/")
        rows = [each.image for each in answer.context["outside"]]
        assert rows == [out, held][:told] and answer.context["breaks"] == []
        page = words(client, f"/defenses/{defense.public_id}/")
        assert "Mistakes outside the contest Confident mistakes on pictures of the organizers" in page
        assert "Pictures that broke it 0 " in page and (held.public_id in page) is (told == 2)
        assert (who == "olga") or gold.public_id not in page
        only = client.get(f"/defenses/{defense.public_id}/?show=outside").context["shown"]
        assert {each.image for each in only} == set(rows)

    def test_a_long_list_of_them_names_the_first(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(figures, "MOST_BREAKS", 2)
        defense = cast.defense(1)
        for number in range(3):
            mistaken(defense, answered(defense, "bird", [BICYCLE], number=number, origin="dataset"))
        release()
        assert "The first 2: see all mistakes outside the contest ." in words(client, f"/defenses/{defense.public_id}/")

    def test_without_a_release_nothing_is_told(self, two_weeks: tuple[Defense, Image, Image], client: Client) -> None:
        Release.objects.all().delete()
        page = words(client, f"/defenses/{two_weeks[0].public_id}/")
        assert "No picture of a released week was given to it yet." in page
        assert "there is nothing to draw" in page
        assert "P-" not in page and "unbroken" in page

    def test_gold_and_examples_of_a_released_week_stay_out(self, client: Client, now: Any) -> None:
        defense = cast.defense(1)
        gold = answered(defense, "bird", [BIRD], number=1, origin="gold")
        release()
        assert gold.public_id not in words(client, f"/defenses/{defense.public_id}/")

    def test_weeks_that_follow_each_other_and_weeks_apart(self) -> None:
        made = [
            cast.picture(n, received_at=cast.MONDAY + timedelta(days=7 * n), label_from=cast.MONDAY) for n in range(4)
        ]
        for week in ("2026-W47", "2026-W48", "2026-W50"):
            release(week)
        release("2026-W49", part=1)  # a part alone is no release
        assert set(published_images()) == {made[0], made[1], made[3]}


class TestWhoMayOpen:
    @pytest.mark.parametrize("state", ["qualified", "learning", "paused"])
    def test_taskers_are_refused(self, state: str, two_weeks: tuple[Defense, Image, Image], signed_in: Any) -> None:
        client = signed_in(factories.tasker("tara", state=state))
        name = two_weeks[0].public_id
        for address in ("/defenses/", f"/defenses/{name}/", f"/defenses/{name}/risk-coverage.csv"):
            refused = client.get(address)
            page = refused.content.decode()
            assert (refused.status_code, "not_for_taskers" in page, "Small net" in page) == (403, True, False)

    def test_what_is_not_published_is_nobody_s_but_organizers(self, signed_in: Any) -> None:
        hidden = cast.defense(1, name="Coming soon", published_at=None)
        assert Client().get(f"/defenses/{hidden.public_id}/").status_code == 404
        assert "Coming soon" not in words(Client(), "/defenses/")
        olga = olga_of(signed_in)
        assert "Coming soon" in words(olga, "/defenses/")
        assert "not published" in words(olga, f"/defenses/{hidden.public_id}/")

    @pytest.mark.parametrize("address", ["/defenses/D-99999/", "/defenses/D-99999/risk-coverage.csv"])
    def test_no_such_defense(self, address: str, client: Client) -> None:
        assert client.get(address).status_code == 404

    def test_an_empty_list_says_so(self, client: Client) -> None:
        assert "No defense is published yet." in words(client, "/defenses/")


@pytest.mark.parametrize("query", ["show=nonsense", "before=x", "before=-1", f"before={'9' * 30}", "show=%00"])
def test_what_makes_no_sense_in_the_address_is_ignored(query: str, client: Client, two_weeks: Any) -> None:
    assert two_weeks[1].public_id in words(client, f"/defenses/{two_weeks[0].public_id}/?{query}")


def test_older_pictures_are_a_page_away(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "PICTURES_SHOWN", 2)
    defense = cast.defense(1)
    made = [answered(defense, "bird", [BIRD], number=n) for n in range(5)]
    release()
    seen, address = [], f"/defenses/{defense.public_id}/"
    for _ in range(3):
        page = client.get(address).content.decode()
        seen.append([each.public_id for each in reversed(made) if each.public_id in page])
        more = re.search(r'href="(\?before=\d+)', page)
        address = f"/defenses/{defense.public_id}/{more[1]}" if more else ""
    names = [each.public_id for each in reversed(made)]
    assert (seen, address) == ([names[:2], names[2:4], names[4:]], "")


class TestRandomised:
    def test_labels_that_differ(self, client: Client) -> None:
        defense = cast.defense(1)
        answered(defense, "bird", [BIRD, ABSTAIN, BIRD], number=1)
        release()
        page = words(client, f"/defenses/{defense.public_id}/")
        # The fixture's scores grow with the round: 0.1, 0.2, 0.3.
        assert "Of 1 pictures, 1 got different answers in different rounds, and 1 different scores." in page
        assert "The largest difference between two scores is 0.2." in page

    def test_scores_alone_are_enough(self, client: Client) -> None:
        defense = cast.defense(1)
        answered(defense, "bird", [BIRD, BIRD], number=1)
        release()
        page = words(client, f"/defenses/{defense.public_id}/")
        assert "Randomised. Of 1 pictures, 0 got different answers" in page

    def test_one_round_or_the_same_in_all_is_not_randomised(self, client: Client) -> None:
        defense = cast.defense(1)
        answered(defense, "bird", [BIRD], number=1)
        release()
        assert "Not randomised: each of 1 pictures" in words(client, f"/defenses/{defense.public_id}/")


def test_speed_and_device_are_told(client: Client) -> None:
    defense = cast.defense(1)
    answered(defense, "bird", [BIRD] * 4, number=1)
    release()
    # Four batches of one picture, 1.5 ms each.
    page = words(client, f"/defenses/{defense.public_id}/")
    assert "Speed: 667 pictures a second, 1.5 ms for a batch (median), on cpu." in page


def test_organizers_read_what_came_before_publication(signed_in: Any, now: Any) -> None:
    defense, other = cast.defense(1), cast.defense(2, name="The original")
    Trial.objects.create(
        defense=defense, kind="smoke", number=1, seed=1, batch_size=16, state="finished", created_at=now,
        finished_at=now, totals={"accepted": True, "pictures": 40}, log="loading <weights>",
    )  # fmt: skip
    CopyFlag.objects.create(
        defense=defense, original=other, likeness="weights", figures={"weights": "ff" * 32}, found_at=now
    )
    page = words(olga_of(signed_in), f"/defenses/{defense.public_id}/")
    assert "Smoke 1 finished accepted, 40 pictures" in page
    assert "loading <weights>" in page
    assert "By its weights: The original" in page
    assert "speaks the protocol passed accepted, 40 pictures" in page
    assert "Caffe or NumPy not yet" in page


def test_organizers_read_which_runs_are_in_trouble(signed_in: Any, now: Any) -> None:
    defense = cast.defense(1)
    poison, other = cast.picture(1), cast.picture(2)
    parted = cast.faulted(defense, poison, 1, Fault.CRASHED)
    Run.objects.filter(pk=parted.pk).update(splits=1, fault_text="ended with status 1")
    cast.faulted(defense, other, 2, Fault.PLATFORM)
    page = words(olga_of(signed_in), f"/defenses/{defense.public_id}/")
    trouble = page.partition("Runs in trouble")[2]
    assert f"({poison.public_id})" in trouble and "ended with status 1" in trouble
    assert f"Run {parted.pk}, round 1" in trouble.partition("Gave up")[0]
    assert "platform" in trouble.partition("Gave up")[2]


@pytest.mark.parametrize("who", ["stranger", "olga"])
def test_the_number_of_queries_does_not_grow(who: str, signed_in: Any, now: Any) -> None:
    defense = cast.defense(1)
    release()
    client = Client() if who == "stranger" else olga_of(signed_in)

    def asked(address: str) -> int:
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            client.get(address)
        return len(queries)

    addresses = ["/defenses/", f"/defenses/{defense.public_id}/"]
    answered(defense, "bird", [BIRD, BIRD, BICYCLE], number=1)
    asked("/defenses/")  # this process learns the policy
    few = [asked(each) for each in addresses]
    for number in range(2, 12):
        answered(defense, "bird", [BIRD, ABSTAIN, BICYCLE], number=number)
        cast.defense(number)
    for week in range(20, 30):
        release(f"2026-W{week}")
    assert [asked(each) for each in addresses] == few


def test_a_retired_version_says_so(client: Client, now: Any) -> None:
    defense = cast.defense(1, retired_at=now)
    page = words(client, f"/defenses/{defense.public_id}/")
    assert "retired" in page and "a newer version took its place" in page


def test_the_header_leads_organizers_there(signed_in: Any, tara: Tasker) -> None:
    page = olga_of(signed_in).get("/organizer/").content.decode()
    assert 'href="/defenses/"' in page and 'href="/organizer/scoring/"' in page
    assert 'href="/defenses/"' not in signed_in(tara).get("/label/").content.decode()


def test_names_are_text(client: Client) -> None:
    cast.defense(1, name="<b>bold</b>", description="<script>alert(1)</script>")
    assert "<b>bold</b>" not in client.get("/defenses/").content.decode()
    assert "<script>alert(1)" not in client.get("/defenses/D-00001/").content.decode()


def test_users_are_not_named_to_the_public(two_weeks: tuple[Defense, Image, Image], client: Client) -> None:
    User.objects.create_user("olga.secret")
    assert "olga.secret" not in words(client, f"/defenses/{two_weeks[0].public_id}/")


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
    address = f"/defenses/{defense.public_id}/"
    page = words(client, address)
    assert "Answered 2 " in page and "Faults" not in page and "cancelled" not in page
    assert f"{image.public_id} bird bicycle" in page and "abstain bird" not in page
    RunItem.objects.filter(run__state="dead").delete()
    Rerun.objects.update(state="applied")
    old, new = Prediction.objects.get(rerun=None, round=1), Prediction.objects.get(rerun=rerun)
    Superseded.objects.create(prediction=old, by=new, rerun=rerun)
    cache.clear()
    page = words(client, address)
    assert "Answered 2 " in page
    assert f"{image.public_id} bird abstain" in page and "otto.organizes" not in page


RUNS_AS = [
    ({"image": f"sha256:{'ab' * 32}", "digest": f"sha256:{'ab' * 32}"}, "the image of this digest", "said once"),
    ({"image": "ghcr.io/b/n@sha256:1", "digest": "sha256:1"}, "ghcr.io/b/n@sha256:1 , in a sealed", "from where"),
    ({"reference": "always-abstain"}, "reference defense always-abstain", "shipped"),
    ({}, "nothing that can be run", "neither"),
]


@pytest.mark.parametrize(("values", "said", "why"), RUNS_AS, ids=[row[2] for row in RUNS_AS])
def test_what_a_defense_runs_as(values: dict[str, str], said: str, why: str, client: Client) -> None:
    defense = cast.defense(1, **values)
    page = words(client, f"/defenses/{defense.public_id}/")
    assert f"Runs as {said}" in page, why
    assert page.count(f"sha256:{'ab' * 32}") == (1 if why == "said once" else 0)


@pytest.mark.django_db
def test_a_program_of_the_demo_is_no_container(client: Client, settings: Any) -> None:
    defense = cast.defense(1, image=STEADFAST.digest, digest=STEADFAST.digest)
    for demo, said in ((True, "a program of this demo, without a container"), (False, "the image of this digest")):
        settings.DEMO = demo
        assert f"Runs as {said}" in words(client, f"/defenses/{defense.public_id}/")
