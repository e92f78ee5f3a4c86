"""Accounts in a real browser: the second factor, a password changed elsewhere, the device's time zone, every page."""

from datetime import timedelta
from typing import Any

import pyotp
import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.enums import Role
from accounts.invitations import invite
from accounts.models import UserSession
from accounts.second_factor import enrolment, second_factor_turn_on
from labeling.models import Tasker
from tests import factories
from tests.browser.label_desk import RECEIVED, SQUARE, Desk
from tests.browser.looking import FOCUSED, SHOWN, Look, fill, organizer, push, shows, signed_in, signs_in

OWN = ["/account/", "/account/email/", "/account/password/", "/account/second-factor/", "/account/delete/"]


@pytest.fixture
def tara(transactional_db: None) -> Tasker:
    factories.policy_version()
    return factories.tasker("tara", state="learning")


def test_the_second_factor_is_turned_on_and_asked_for(tara: Tasker, browser: Any) -> None:
    page = signed_in(browser())
    page.goto("/account/second-factor/")
    assert page.locator(".qr").evaluate("image => image.complete && image.naturalWidth") > 100
    page.fill("#turn_on_code", pyotp.TOTP(page.locator(".spoken").inner_text().replace(" ", "")).now())
    page.fill("#turn_on_password", factories.PASSWORD)
    push(page, "Turn on")
    shows(page, {".codes code >> nth=0": SHOWN})
    page.reload()
    shows(page, {"[role=alert]": "nothing was changed now"})
    elsewhere = browser().new_page()
    elsewhere.goto("/sign-in/")
    signs_in(elsewhere, "tara", "wrong")
    shows(elsewhere, {"[role=alert]": "do not belong together", "#id_password": FOCUSED})
    signs_in(elsewhere, "tara")
    expect(elsewhere.get_by_label("Code of your second factor")).to_be_focused()


def with_passkey(page: Page, site: str = "") -> None:
    """Give the page's browser a device that keeps passkeys, and add one to the account."""
    device = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": {**device, "isUserVerified": True}})
    page.goto(f"{site}/account/second-factor/")
    fill(page, {"#passkey_begin_name": "Laptop", "#passkey_begin_password": factories.PASSWORD})
    push(page, "Add a passkey", "Make the passkey")
    shows(page, {".codes code >> nth=0": SHOWN})


def test_a_passkey_is_made_signs_in_and_is_removed(tara: Tasker, browser: Any) -> None:
    page = signed_in(browser())
    with_passkey(page)
    page.context.clear_cookies(name="sessionid")
    page.goto("/sign-in/")
    signs_in(page, "tara")
    push(page, "Use a passkey")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.goto("/account/second-factor/")
    page.fill("#passkey_remove_password", factories.PASSWORD)
    push(page, "Remove Laptop")
    expect(page.get_by_role("status")).to_have_text("The second factor is off: signing in takes the password alone.")


def test_a_passkey_signs_in_over_a_half_drawn_outline(desk: Desk) -> None:
    page = desk.page
    with_passkey(page, desk.address)
    desk.open().press("1", "4")
    desk.corner(*SQUARE[:2])
    UserSession.objects.all().delete()
    desk.corner(*SQUARE[2:], SQUARE[0])
    desk.follow(("1 2 3 Enter", "#sign-in-dialog", SHOWN))
    page.keyboard.type(factories.PASSWORD)
    desk.follow(("Enter", "#sign-in-passkey", SHOWN))
    push(page, "Use a passkey")
    desk.status.to_have_text(RECEIVED)
    desk.forgives("401")


def test_the_time_zone_of_the_device_is_taken_over(tara: Tasker, browser: Any) -> None:
    page = signed_in(browser(timezone_id="Asia/Kolkata"))
    page.goto("/account/")
    push(page, "Use the time zone of this device")
    expect(page.get_by_label("Time zone")).to_have_value("Asia/Calcutta")
    push(page, "Save")
    expect(page.get_by_role("status")).to_have_text("Kept.")
    assert Tasker.objects.get().time_zone == "Asia/Calcutta"


def made() -> Tasker:
    """Somebody who labels; Otto, who has a second factor; an invitation to the board."""
    olga, then = organizer(), timezone.now() - timedelta(hours=1)
    invite(email="somebody.with.a.long.name@example.org", role=Role.BOARD, language="en", by=olga, now=timezone.now())
    otto = factories.user("otto")
    begun = enrolment(otto)
    second_factor_turn_on(user=otto, signed=begun.signed, code=pyotp.TOTP(begun.secret).at(then), now=then)
    return factories.tasker("tara", state="learning")


def pages(tara: Tasker) -> list[Look]:
    def asked(page: Page) -> None:
        signs_in(page, "otto")
        expect(page.get_by_label("Code of your second factor")).to_be_focused()

    return [
        *((tara, address) for address in OWN),
        ("otto", "/account/second-factor/"),
        ("", "/sign-in/", asked),
        ("olga", "/organizer/people/"),
        ("olga", f"/organizer/people/{tara.public_id}/delete/"),
    ]
