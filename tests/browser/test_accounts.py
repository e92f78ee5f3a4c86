"""Accounts in a real browser: the second factor, a password changed elsewhere, the device's time zone, every page."""

from datetime import timedelta
from typing import Any

import pyotp
import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import expect

from common.second_factor import enrolment, second_factor_turn_on
from labeling.accounts.invitations import invite
from labeling.enums import Role
from labeling.models import Tasker
from tests import factories
from tests.browser.looking import SCREENS, signed_in, too_wide, violations

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NEW = "correct horse battery"


@pytest.fixture
def tara(transactional_db: None) -> Tasker:
    factories.policy_version()
    return factories.tasker("tara", state="learning")


def test_a_password_changed_in_one_browser_ends_the_session_in_another(tara: Tasker, browser: Any) -> None:
    here, there = signed_in(browser()), signed_in(browser())
    here.goto("/account/password/")
    here.fill("#id_password", factories.PASSWORD)
    here.fill("#id_new_password", NEW)
    here.fill("#id_new_password_again", NEW)
    here.click("main button[type=submit]")
    expect(here.get_by_role("status")).to_contain_text("Every other session")
    there.goto("/account/")
    expect(there.locator("h1")).to_have_text("Sign in")
    here.reload()
    expect(here.locator("h1")).to_have_text("Account")


def test_the_second_factor_is_turned_on_and_asked_for(tara: Tasker, browser: Any) -> None:
    page = signed_in(browser())
    page.goto("/account/second-factor/")
    assert page.locator(".qr").evaluate("image => image.complete && image.naturalWidth") > 100
    secret = page.locator(".spoken").inner_text().replace(" ", "")
    page.fill("#id_code", pyotp.TOTP(secret).now())
    page.fill("#id_password", factories.PASSWORD)
    page.click("main button[type=submit]")
    recovery = page.locator(".codes code").first.inner_text()
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("nothing was changed now")
    elsewhere = signed_in(browser())
    expect(elsewhere.get_by_label("Code of your second factor")).to_be_focused()
    elsewhere.keyboard.type("000000")
    elsewhere.keyboard.press("Enter")
    expect(elsewhere.get_by_role("alert")).to_contain_text("not the code of this moment")
    assert violations(elsewhere) == []
    elsewhere.keyboard.type(recovery)
    elsewhere.keyboard.press("Enter")
    expect(elsewhere.get_by_role("link", name="Account tara")).to_be_visible()


def test_the_time_zone_of_the_device_is_taken_over(tara: Tasker, browser: Any) -> None:
    page = signed_in(browser(timezone_id="Asia/Kolkata"))
    page.goto("/account/")
    page.get_by_role("button", name="Use the time zone of this device").click()
    expect(page.get_by_label("Time zone")).to_have_value("Asia/Calcutta")
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_role("status")).to_have_text("Kept.")
    assert Tasker.objects.get().time_zone == "Asia/Calcutta"


def test_a_stranger_changes_the_language_and_joins_in_it(tara: Tasker, browser: Any) -> None:
    olga = factories.user("olga", "organizers")
    secret = invite(email="n@example.org", role=Role.TASKER, language="", by=olga, now=timezone.now()).secret
    page = browser().new_page()
    page.goto(f"/join/{secret}/")
    page.get_by_role("button", name="Deutsch").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    page.fill("#id_username", "nora")
    page.fill("#id_new_password", NEW)
    page.fill("#id_new_password_again", NEW)
    page.click("main button[type=submit]")
    expect(page.locator(".who")).to_contain_text("nora")
    assert User.objects.get(username="nora").email == "n@example.org"


OWN = ["/account/", "/account/email/", "/account/password/", "/account/second-factor/", "/account/delete/"]


@pytest.mark.parametrize("screen", SCREENS)
def test_every_page_is_accessible_and_fits(screen: str, tara: Tasker, browser: Any) -> None:
    context = browser(viewport=SCREENS[screen])
    page = signed_in(context)
    assert tara.user is not None
    for address in OWN:
        page.goto(address)
        assert (address, violations(page), too_wide(page)) == (address, [], [])
    then = timezone.now() - timedelta(hours=1)
    begun = enrolment(tara.user)
    second_factor_turn_on(user=tara.user, signed=begun.signed, code=pyotp.TOTP(begun.secret).at(then), now=then)
    page.goto("/account/second-factor/")
    assert (violations(page), too_wide(page)) == ([], [])


@pytest.mark.parametrize("screen", SCREENS)
def test_the_list_of_people_is_accessible_and_fits(screen: str, tara: Tasker, browser: Any) -> None:
    olga = factories.user("olga", "organizers")
    invite(email="somebody.with.a.long.name@example.org", role=Role.BOARD, language="en", by=olga, now=timezone.now())
    page = signed_in(browser(viewport=SCREENS[screen]), "olga")
    page.goto("/organizer/people/")
    assert (violations(page), too_wide(page)) == ([], [])
    page.goto(f"/organizer/people/{tara.public_id}/delete/")
    assert (violations(page), too_wide(page)) == ([], [])
