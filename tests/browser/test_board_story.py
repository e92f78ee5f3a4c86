"""From an appeal to the public record in a real browser: a defender appeals, one member steps aside, two vote, and
everybody reads what was decided (R18-R22, R39)."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from contest.models import Appeal, CaseDecision
from contest.weeks import week_at
from tests import factories
from tests.contest.board.appealing import ARGUMENT, Appealing, appealing
from tests.contest.money import cast as money

WHY = "The branch hides a part of the wing: nobody can say that the bird is whole and not hidden."


@pytest.fixture
def scene(olga: User) -> Appealing:
    factories.user("ruth", "review board")
    return appealing(timezone.now())


def discloses(page: Page, *, aside: str = "") -> None:
    """Answer for every team: nothing ties the member to it, but to `aside`."""
    for tie in page.locator("fieldset.tie").all():
        own = bool(aside) and f"Team {aside}" in (tie.text_content() or "")
        tie.get_by_label("I step aside" if own else "Nothing ties me to this team").check()
        if own:
            expect(tie.get_by_label("What ties you to it")).to_be_visible()
            tie.get_by_label("What ties you to it").select_option("coauthor")
    page.get_by_role("button", name="Record and go on").click()


def votes(page: Page) -> None:
    page.get_by_label("Overrule").check()
    page.get_by_label("rejected, because").check()
    page.get_by_label("the object is partly hidden").check()
    page.get_by_role("button", name="Vote").click()
    page.locator("#sure").get_by_role("button", name="Send").click()
    expect(page.get_by_role("status").first).to_contain_text("Your vote is recorded")


def test_from_the_appeal_to_the_public_record(scene: Appealing, visit: Callable[..., Page]) -> None:
    picture = scene.valid.image.public_id
    blue = visit(f"/appeals/new/{picture}/", who="blue")
    blue.fill("#argument", ARGUMENT)
    blue.get_by_role("button", name="Look at it before sending").click()
    blue.get_by_role("button", name="Send the appeal").click()
    expect(blue.get_by_role("status")).to_contain_text("your appeal is received")
    case = Appeal.objects.get().case
    # One member steps aside: the case is not there for them any more.
    ruth = visit("/board/", who="ruth")
    ruth.get_by_role("link", name=case.public_id).click()
    discloses(ruth, aside="team red")
    expect(ruth.get_by_role("status")).to_contain_text("You stepped aside")
    expect(ruth.locator("main")).not_to_contain_text(picture)
    gone = visit(f"/board/cases/{case.public_id}/", who="ruth")
    expect(gone.locator("main")).not_to_contain_text(case.public_id)
    # Two vote, and the second confirms.
    for who in ("rita", "rosa"):
        page = visit(f"/board/cases/{case.public_id}/", who=who)
        discloses(page)
        votes(page)
    page.get_by_role("button", name="See what follows").click()
    page.locator("#explanation").fill(f"{WHY}\n\nIt is <b>one</b> bird.")
    written = [WHY, "It is <b>one</b> bird."]
    expect(page.locator(".preview blockquote:visible p")).to_have_text(written)
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator(".public-decision")).to_contain_text("the ruling is overruled")
    expect(page.locator(".public-decision blockquote:visible p")).to_have_text(written)
    made = CaseDecision.objects.get()
    assert (made.recused, len(made.votes), made.reasons) == (1, 2, ["occluded"])
    # Nothing of it is public before the release of the week.
    for address in ("/overrules/", f"/record/{picture}/", f"/search/?q={case.public_id}"):
        page = visit(address, "")
        expect(page.locator("body")).not_to_contain_text(WHY)
        page.close()
    money.released(week_at(scene.valid.received_at).name)
    page = visit("/overrules/", "")
    expect(page.locator("main")).to_contain_text(WHY)
    page.locator("main").get_by_role("link", name=picture).first.click()
    expect(page.locator("main")).to_contain_text(ARGUMENT)
    expect(page.locator("main")).to_contain_text(WHY)
    # The teams are told.
    told = visit("/messages/", who="blue")
    expect(told.locator("main")).to_contain_text(case.public_id)
