"""The front page: what strangers are told, what they are not, and how much it costs."""

import re
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone, translation

from contest.attacks.selectors import waiting_for_board
from contest.core.enums import AccountKind, StakeKind
from contest.core.models import Attack, Member, Release, Stake, Team
from contest.defenses import selectors
from contest.defenses.models import DefenseEntry
from contest.defenses.risk_coverage import CurvePoint
from contest.ledger.models import Account, LedgerEntry
from contest.pages.public.risk_curve import curve
from labeling.models import Image, Tasker
from scoring.models import Defense
from tests import factories
from tests.contest import release_fixtures as fixtures
from tests.contest.pages import lacking, main, queries

pytestmark = pytest.mark.django_db
MONDAY, NOW = fixtures.MONDAY, fixtures.AFTER + timedelta(days=1)


@pytest.fixture(autouse=True)
def wednesday(monkeypatch: pytest.MonkeyPatch) -> None:
    factories.policy_version()
    monkeypatch.setattr(timezone, "now", lambda: NOW)


@pytest.fixture(scope="class")
def week(class_world: Path) -> fixtures.Contest:
    """A week that is over and not released: a picture of team =red broke a defense."""
    factories.policy_version()
    found = fixtures.a_week()
    Attack.objects.update(week="2026-W47")
    Image.objects.filter(attacks__isnull=False).update(origin="attack")
    return found


@pytest.fixture
def released(week: fixtures.Contest) -> fixtures.Contest:
    """It is released."""
    Release.objects.create(week="2026-W47", manifest_sha256="0" * 64, counts={}, bytes=1, released_at=fixtures.AFTER)
    return week


def staked(defense: Defense, *, opened: bool = True, cents: int = 123_456) -> Stake:
    team = Team.objects.create(name=f"makers of {defense.name}", created_at=MONDAY)
    DefenseEntry.objects.create(
        team=team, defense=defense, received_at=MONDAY, due_at=MONDAY, licence="MIT",
        opened_at=MONDAY if opened else None,
    )  # fmt: skip
    return Stake.objects.create(
        defense=defense, kind=StakeKind.TEAM, paid_by=team, cents=cents, asked_at=MONDAY, staked_at=MONDAY,
        clock_from=MONDAY,
    )  # fmt: skip


def test_a_contest_that_has_just_begun(client: Client) -> None:
    page = main(client, "/")
    assert not lacking(
        page,
        *("Nothing is staked yet.", "No defense is published yet", "No week is released yet."),
        "None in the weeks that are released.",
        *("Week 2026-W48 ends on", "Sat 28 Nov 2026 00:00:00 UTC</time>", "<span data-clock>2 d 16:00:00</span>"),
        # The numbers are those of the policy.
        "Send up to 10 pictures a day, 299 × 299 pixels",
        *("at least 25 % of the picture", "USD 1,000.00", "unbroken for 90 full days"),
        *("8 of 10 known pictures", "Each is shown to 3 people"),
    )
    assert "USD 0.00" not in page, "nothing is no sum worth telling"
    assert "<table" not in page


class TestStakes:
    def test_what_is_staked_is_told_with_its_clock(self, week: fixtures.Contest, client: Client) -> None:
        staked(week.defenses[0])
        defenders, outside = (
            Account.objects.create(kind=kind) for kind in (AccountKind.DEFENDERS, AccountKind.OUTSIDE)
        )
        LedgerEntry.objects.create(
            source=outside, target=defenders, cents=5_000_000, rule="R34", why="a test", causes={}, made_at=MONDAY
        )
        left = MONDAY + timedelta(days=90) - NOW
        assert not lacking(
            main(client, "/"),
            *("At stake for attackers, on 1 defense<", "<dd>USD 1,234.56</dd>", "<dd>USD 50,000.00</dd>"),
            f'data-left="{left.total_seconds():.3f}"',
            f"<span data-clock>{left.days} d 01:30:00</span>",
            "8 of 90",  # days unbroken
            "leaderboard</a> is led by",
            "8 days unbroken.</p>",  # nothing of the attackers: the week is not released
        )

    def test_what_is_at_stake_for_attackers_is_what_can_still_be_won(
        self, week: fixtures.Contest, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The page, the form and the leaderboard ask the same of a stake, at its last moment and at the one after."""
        end = MONDAY + timedelta(days=90)
        stakes = [staked(week.defenses[0]), staked(fixtures.defense(8), cents=654_321)]
        Stake.objects.filter(pk=stakes[1].pk).update(clock_from=MONDAY + timedelta(hours=1))
        for moment, sums, waiting in (
            (end - timedelta(microseconds=1), "on 2 defenses</dt> <dd>USD 7,777.77", 0),
            (end, "on 1 defense</dt> <dd>USD 6,543.21", 1),
            (end + timedelta(hours=1), "No picture that is sent now wins a prize", 2),
        ):
            cache.clear()
            monkeypatch.setattr(timezone, "now", lambda at=moment: at)
            page = main(client, "/")
            assert sums in page and (waiting < 2 or "00:00:00</span>" not in page), moment
            open_now = set(selectors.staked(moment).values_list("public_id", flat=True))
            shown = set(re.findall(r'<th scope="row"><a href="/defenses/([^/]+)/', page)) if waiting < 2 else set()
            assert open_now == shown - {each.public_id for each in waiting_for_board(moment)}, moment
            told = [main(client, f"/defenses/{stake.defense.public_id}/") for stake in stakes]
            assert sum("too late to win anything of this stake" in each for each in told) == waiting, moment
            for each in (page, main(client, "/leaderboard/")):
                assert each.count("time over, waits for the board") == waiting, moment

    def test_numbers_for_scripts_are_the_same_in_every_language(self, week: fixtures.Contest, client: Client) -> None:
        staked(week.defenses[0])
        client.cookies["django_language"] = "de"
        for address in ("/", "/attacks/weeks/2026-W48/"):
            page = client.get(address).content.decode()
            assert '<html lang="de"' in page
            found = re.findall(r'data-left="([^"]*)"', page)
            assert found and all(re.fullmatch(r"[0-9]+[.][0-9]{3}", each) for each in found), found

    def test_a_closed_defense_cannot_win(self, week: fixtures.Contest, client: Client) -> None:
        """R33."""
        staked(fixtures.defense(7, image="sha256:" + "7" * 64), opened=False)
        assert "closed source: cannot win" in main(client, "/")


def test_a_chart_is_drawn_alike_in_every_language() -> None:
    points = [CurvePoint(0.9, 3, 1, 7), CurvePoint(0.5, 6, 2, 7)]
    with translation.override("de"):
        german = render_to_string("defenses/_curve.html", {"curve": curve(points)})
    assert german == render_to_string("defenses/_curve.html", {"curve": curve(points)})


def test_translated_pages_alone_offer_the_other_language_by_its_own_name(client: Client) -> None:
    for language, other in (("de", "English"), ("en", "Deutsch")):
        client.cookies["django_language"] = language
        offered = [f">{other}</button>" in client.get(page).content.decode() for page in ("/sign-in/", "/", "/rules/")]
        assert offered == [True, False, False]


class TestReleases:
    def test_nothing_of_an_unreleased_week_is_told(self, week: fixtures.Contest, client: Client) -> None:
        """R24."""
        page = main(client, "/")
        assert not lacking(page, "No week is released yet.", "None in the weeks that are released.")
        assert all(image.public_id not in page for image in week.images.values())

    def test_the_latest_verdicts_and_breaks_of_released_weeks(self, released: fixtures.Contest, client: Client) -> None:
        Image.objects.update(source="Open Images", author="A. Photographer", licence="CC BY 2.0")
        Team.objects.update(name="<script>alert(1)</script>")
        Defense.objects.filter(public_id="D-00002").update(name="<b>bold</b>")
        bird, attack = released.images["valid bird"], Attack.objects.get()
        page = main(client, "/")
        assert page.count('class="state state-broken"') == 1
        assert page.count("<figure>") == 1 + 6, "the example, and the six newest"
        assert not lacking(
            page,
            f'href="/attacks/{attack.public_id}/">picture <span class="id">{bird.public_id}</span></a> of team',
            *('href="/releases/release-2026-W47/"', "Open Images, A. Photographer, CC BY 2.0"),
            *("Of the attackers,", "</a> leads, with 1 break."),
        )
        assert "<script>alert" not in page and "<b>bold" not in page, "a name is no markup"

    def test_the_page_is_read_once_a_minute_and_costs_the_same_in_a_larger_contest(
        self, released: fixtures.Contest, client: Client
    ) -> None:
        asked = partial(queries, partial(client.get, "/"))
        assert asked() <= 45, "with the tables of the leaderboard, which no sweep has made"
        assert asked() == 0
        cache.clear()
        few = asked()
        for number in range(10, 14):
            defense = fixtures.defense(number)
            staked(defense)
            fixtures.scored(defense, released.images["valid bird"], [1, 1, 1])
        cache.clear()
        assert asked() == few

    def test_every_link_of_the_page_leads_somewhere(self, released: fixtures.Contest, client: Client) -> None:
        staked(Defense.objects.get(public_id="D-00001"))
        addresses = set(re.findall(r'href="(/[^"#]*)', client.get("/").content.decode()))
        assert addresses >= {"/defenses/", "/leaderboard/", "/releases/", "/rules/", "/sign-in/"}
        addresses = {each for each in addresses if not each.startswith("/static/")}
        assert len(addresses) >= 14
        assert {each: client.get(each).status_code for each in addresses} == dict.fromkeys(addresses, 200)


# Who is led where -----------------------------------------------------------------------------------------------------


def test_people_with_a_place_to_work_are_led_there(tara: Tasker, olga: User, rita: User, signed_in: Any) -> None:
    assert (signed_in(tara).get("/")["Location"], signed_in(olga).get("/")["Location"]) == ("/label/", "/organizer/")
    for who in (olga, rita):
        assert "A picture that nobody mistakes" in main(signed_in(who), "/front/"), "and may read it"


def test_taskers_are_kept_from_it(tara: Tasker, nell: Tasker, signed_in: Any) -> None:
    """R8."""
    for tasker in (tara, nell):
        client = signed_in(tasker)
        refused = client.get("/front/")
        assert (refused.status_code, b"not_for_taskers" in refused.content) == (403, True)
        footer = client.get("/account/").content.decode().partition("<footer")[2]
        assert ('href="/rules/"' in footer, 'href="/leaderboard/"' in footer) == (True, False)


def test_a_captain_finds_the_way_to_the_team_s_work(signed_in: Any) -> None:
    captain = factories.user("carl", "teams")
    Member.objects.create(team=Team.objects.create(name="red", created_at=MONDAY), user=captain, captain=True)
    links = (f'href="{address}"' for address in ("/attacks/", "/team/defenses/", "/team/money/", "/team/"))
    told = ("account</a>: USD 0.00.", "To win by attacks now: USD 0.00")
    assert not lacking(main(signed_in(captain), "/"), *links, *told)
