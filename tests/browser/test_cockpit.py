"""The organizers' cockpit in a real browser: each line leads to the action that helps, figures stand beside charts."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from labeling.models import Question, Report, Tasker
from scoring.models import Defense, Run
from tests import factories
from tests.contest.cockpit.test_parts import HALF, SQUARE, case, leased, ruled

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
# A day or an hour as tables write it; under a column only the number stands.
_LONG = re.compile(r"^(?:from (\d+):00|[A-Z]\w\w (\d+) [A-Z]\w\w \d{4})$")


@pytest.fixture
def troubled(olga: User) -> Tasker:
    """A contest with something of everything to look at. Returns who has held a picture for hours."""
    now = timezone.now()
    tara, otto, uma = (factories.tasker(name) for name in ("tara", "otto", "uma"))
    leased(tara, since=now - timedelta(hours=5), until=now + timedelta(hours=1))
    reported = leased(otto, since=now, until=now + timedelta(hours=1))
    Report.objects.create(
        assignment=reported, image=reported.image, tasker=otto, kind="other", words="It is grey.", reported_at=now
    )
    Question.objects.create(tasker=otto, text="Is a weathercock a bird?", asked_at=now - timedelta(hours=3))
    factories.gold(held_at=now)
    Tasker.objects.filter(pk=factories.tasker("pat").pk).update(state="paused")
    defense = Defense.objects.create(name="Small CNN", digest="a", created_at=now, published_at=now)
    Run.objects.create(
        defense=defense, round=1, seed=1, batch_size=16, state="dead", attempt=3, fault="platform",
        fault_text="no_room_on_the_disk", created_at=now, finished_at=now,
    )  # fmt: skip
    case(now - timedelta(days=9), now - timedelta(days=1))
    for outline in (SQUARE, HALF):
        panel = factories.panel(dealt_at=now - timedelta(hours=2))
        for tasker, drawn in ((tara, SQUARE), (otto, outline), (uma, SQUARE)):
            factories.response(tasker, panel, outline=drawn, now=now - timedelta(hours=1))
        ruled(panel, now - timedelta(minutes=30))
    return tara


def test_each_line_leads_to_the_action_that_helps(troubled: Tasker, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/")
    cockpit = page.url
    tara = troubled.public_id
    for line, heading, action in (
        (f"Pausing {tara} gives the picture back", f"Tasker {tara}", page.get_by_role("button", name="Pause")),
        ("1 picture reported by taskers", "Reported pictures", page.get_by_role("button", name="Decide")),
        ("1 question without an answer", "Questions of taskers", page.get_by_role("button", name="Send the answer")),
        ("1 gold picture held", "Gold", page.locator("main td.do button").first),
        ("1 tasker paused", "Taskers", page.get_by_role("row", name="paused")),
        ("the scoring queue", "Scoring", page.get_by_role("button", name="Try")),
        ("who steps aside and why", "Conflicts of the board", page.get_by_role("button", name="Declare it")),
        (
            "The pictures they differ on most",
            "Where taskers differ",
            page.get_by_role("link", name="change the lessons"),
        ),
    ):
        page.goto(cockpit)
        page.locator("main").get_by_role("link", name=line).click()
        expect(page.locator("h1")).to_have_text(heading)
        expect(action).to_be_visible()


def test_a_line_of_what_waits_leads_down_the_page(troubled: Tasker, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/")
    for line, heading in (("1 run gave up", "Runs that gave up"), ("1 case before the board", "Before the board")):
        page.locator(".waits").get_by_role("link", name=line).click()
        expect(page.get_by_role("heading", name=heading)).to_be_in_viewport()


def figures(table: Locator, column: int) -> dict[str, str]:
    """What a table of figures says in a column, by the names of its rows."""
    rows = table.locator("tbody tr").all()
    return {row.locator("th").inner_text(): row.locator("td").nth(column).inner_text() for row in rows}


def drawn(page: Page, chart: str) -> dict[str, str]:
    """What a chart says, by the names of its bars."""
    found = page.locator(f'svg[aria-labelledby="{chart}-title"]')
    return dict(
        zip(found.locator(".name").all_text_contents(), found.locator(".value").all_text_contents(), strict=True)
    )


def test_every_chart_has_its_figures_as_a_table_beside_it(troubled: Tasker, visit: Callable[..., Page]) -> None:
    page = visit("/organizer/")
    charts = page.locator("main svg").evaluate_all('(all) => all.map((each) => each.getAttribute("aria-labelledby"))')
    beside: dict[str, tuple[str, int]] = {
        "panel-ages": ("#age-figures", -1),
        "disagreement": ("#differ-figures", 2),
        "answers": ("#day-figures", 0),
        "rulings": ("#day-figures", 1),
        "verdicts": ("#ruling-figures", 0),
        "reasons": ("#ruling-figures", 0),
        "usual-hours": ("#hour-figures", 0),
    }
    page.locator("#forecast > summary").click()
    assert set(charts) == {f"{chart}-title" for chart in beside}
    for chart, (where, column) in beside.items():
        if not page.locator(f"{where}[open]").count():
            page.locator(f"{where} > summary").click()
        table = page.locator(f"{where} table")
        expect(table).to_be_visible()
        shown, said = drawn(page, chart), figures(table, column)
        assert shown and any(value != "0" for value in shown.values()), chart
        # Shares lack their sign.
        told = {_LONG.sub(r"\1\2", name): value.removesuffix(" %") for name, value in said.items()}
        assert shown.items() <= told.items(), chart


@pytest.mark.parametrize(
    ("group", "heading"),
    [(None, "Sign in"), ("review board", "For organizers only"), ("", "Nothing at this address")],
    ids=["a stranger", "a member of the board", "an account without a role"],
)
def test_who_is_no_organizer_sees_nothing_of_it(
    group: str | None, heading: str, troubled: Tasker, visit: Callable[..., Page]
) -> None:
    who = "" if group is None else factories.user("nobody", *([group] if group else []))
    page = visit("/organizer/", who)
    expect(page.locator("h1")).to_have_text(heading)
    expect(page.locator("body")).not_to_contain_text(troubled.public_id)
