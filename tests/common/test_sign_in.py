"""Signing in with a password and a second factor, staying signed in at one query a request, and every way in which a
session ends; each door that can be guessed at, what it counts and when it closes; and what is over and cleared away."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyotp
import pytest
import structlog
from allauth.mfa.models import Authenticator
from axes.models import AccessAttempt
from axes.utils import reset
from django.conf import settings as present
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.test import Client, RequestFactory
from django.test.client import MULTIPART_CONTENT
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.credentials import credentials_purge
from accounts.models import ApiToken, UserSession
from accounts.rate_limits import (
    MAX_LETTERS_PER_RECIPIENT,
    MAX_NAMES_PER_HOUR,
    MAX_NAMES_PER_MINUTE,
    MAX_TRIES,
)
from accounts.second_factor import (
    CLOSED_FOR,
    MAX_WRONG_CODES,
    code_take,
    enrolment,
    has_second_factor,
    recovery_codes_left,
    second_factor_turn_on,
)
from accounts.session_store import SessionStore
from accounts.tasks import purge_credentials
from accounts.tokens import TOKEN_LIFETIME, issue_token
from common.errors import InvalidInput
from common.web import client_address
from contest.operations.pipeline import SWEEPS
from labeling.models import Tasker
from tests import factories
from tests.contest.pages import lacking
from tests.factories import NOW, PASSWORD

pytestmark = pytest.mark.django_db


PAGE, API = "/sign-in/", "/api/v1/token/"
WRONG = "wrong-password"


def sign_in(client: Client | None = None, *, door: str = PAGE, **fields: str) -> Any:
    """Ask to be let in: as tara, unless it is said as whom."""
    return (client or Client()).post(door, {"username": "tara", **fields}, _type(door))


def _type(door: str) -> Any:
    return "application/json" if door.startswith("/api/") else MULTIPART_CONTENT


@pytest.fixture
def client_of_tara(tara: Tasker, client: Client) -> Client:
    assert sign_in(client, password=PASSWORD).status_code == 302
    return client


def who(client: Client) -> int:
    return client.get("/api/v1/me/").status_code


def test_one_query_tells_which_session_and_who_and_a_stranger_costs_none(client_of_tara: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        page = client_of_tara.get("/sign-in/").content.decode()  # a page that asks nothing but who is there
    assert "You are signed in as tara" in page and len(queries) == 1
    with CaptureQueriesContext(connection) as queries:
        Client().get("/healthz")
    assert len(queries) == 0


@pytest.mark.parametrize(
    ("asked", "led"),
    [
        ("/api/docs/", "/api/docs/"),
        # Nobody is led to another site.
        ("https://elsewhere.example/", "/"),
        ("//elsewhere.example/", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_it_leads_back_to_the_page_asked_for(asked: str, led: str, tara: Tasker, client: Client) -> None:
    assert sign_in(client, password=PASSWORD, next=asked)["Location"] == led


def test_a_wrong_password_is_answered_with_what_to_do(tara: Tasker) -> None:
    page = sign_in(password="wrong").content.decode()
    assert lacking(page, "do not belong together", 'value="tara"', "wrong") == ["wrong"], "the name is kept"


@pytest.mark.parametrize("demo", [False, True])
def test_the_sign_ins_are_printed_in_the_demo_alone(demo: bool, client: Client, settings: Any) -> None:
    settings.DEMO = demo
    assert ("demo-only" in client.get(PAGE).content.decode()) is demo


def test_signing_out_ends_the_session_and_takes_a_post(client_of_tara: Client) -> None:
    assert (client_of_tara.get("/sign-out/").status_code, who(client_of_tara)) == (405, 200)
    assert (client_of_tara.post("/sign-out/")["Location"], who(client_of_tara)) == ("/sign-in/", 401)
    assert not UserSession.objects.exists()


def test_a_session_outlives_a_change_of_the_secret_key(client_of_tara: Client, settings: Any) -> None:
    before, key = settings.SECRET_KEY, client_of_tara.cookies["sessionid"].value
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the next secret key" * 3, [before]
    assert (who(client_of_tara), UserSession.objects.get().user.username) == (200, "tara")
    assert client_of_tara.cookies["sessionid"].value != key
    settings.SECRET_KEY_FALLBACKS = []  # it was used meanwhile, and so belongs to the present key
    assert who(client_of_tara) == 200


@pytest.mark.parametrize(
    ("what", "end"),
    [
        ("another password", lambda: User.objects.filter(username="tara").update(password=make_password("another"))),
        ("a closed account", lambda: User.objects.filter(username="tara").update(is_active=False)),
        ("its time is over", lambda: UserSession.objects.update(expire_date=timezone.now() - timedelta(seconds=1))),
        # Somebody who can write the table and has not the key: another user's number beside the session's own content.
        ("another's content", lambda: UserSession.objects.update(user=User.objects.get(username="otto"))),
        (
            "unsigned content",
            lambda: UserSession.objects.update(session_data="eyJfYXV0aF91c2VyX2lkIjoiMSJ9:forged:forged"),
        ),
        ("a key that was never given out", lambda: UserSession.objects.update(session_key="x" * 32)),
    ],
)
def test_a_session_ends_with(what: str, end: Callable[[], object], client_of_tara: Client, otto: Tasker) -> None:
    assert who(client_of_tara) == 200
    end()
    assert who(client_of_tara) == 401, what


def test_a_session_that_was_not_used_meanwhile_ends_with_its_secret_key(client_of_tara: Client, settings: Any) -> None:
    settings.SECRET_KEY = "the next secret key" * 3
    assert who(client_of_tara) == 401


def test_ten_wrong_passwords_close_the_account_for_an_hour_and_say_so(tara: Tasker, otto: Tasker) -> None:
    *nine, tenth = (sign_in(password="wrong") for _ in range(10))
    assert ({each.status_code for each in nine}, tenth.status_code, tenth["Retry-After"]) == ({200}, 429, "3600")
    assert re.search("(?s)Wait one hour.*axes_reset_username tara", tenth.content.decode())
    # The right password is refused too, and opens again when an organizer says so.
    assert sign_in(password=PASSWORD).status_code == 429
    assert sign_in(username="otto", password=PASSWORD).status_code == 302, "it is open for others"
    reset(username="tara")
    assert sign_in(password=PASSWORD).status_code == 302


@pytest.mark.parametrize(
    ("proxies", "attackers", "taras", "closed", "reason"),
    [
        (0, "192.0.2.66", "198.51.100.7", True, "no proxy is trusted: what a client says of itself counts for nothing"),
        (
            1,
            "192.0.2.66, 203.0.113.5",
            "198.51.100.7, 203.0.113.5",
            True,
            "one proxy: the last one, others are hearsay",
        ),
        (2, "192.0.2.66", "198.51.100.7", True, "fewer addresses than proxies: they were not all passed"),
        (1, "not an address", "unknown", True, "nothing that could be counted"),
        (1, "192.0.2.66", "198.51.100.7", False, "one proxy names the client"),
        (1, "198.51.100.7, 192.0.2.66", "198.51.100.7", False, "an attacker who claims to ask for tara's address"),
        (2, "192.0.2.66, 203.0.113.5", "198.51.100.7, 203.0.113.5", False, "the outer proxy names the client"),
        (1, "2001:db8:0:1::66", "2001:DB8:0:2::7", False, "two connections of the newer kind"),
    ],
)
def test_wrong_passwords_are_counted_by_the_address_that_a_trusted_proxy_names(
    proxies: int, attackers: str, taras: str, closed: bool, reason: str, tara: Tasker, settings: Any
) -> None:
    settings.TRUSTED_PROXIES = proxies

    def through_proxy(forwarded_for: str, password: str = PASSWORD) -> int:
        # Every request comes from the proxy.
        client = Client(REMOTE_ADDR="10.0.0.1", headers={"X-Forwarded-For": forwarded_for})
        return int(sign_in(client, password=password).status_code)

    for _ in range(10):
        through_proxy(attackers, "wrong")
    assert through_proxy(attackers) == 429, "from the same address it is closed"
    assert through_proxy(taras) == (429 if closed else 302), reason


def test_a_form_from_elsewhere_is_refused_with_what_to_do(tara: Tasker) -> None:
    answer = sign_in(Client(enforce_csrf_checks=True), password=PASSWORD)
    assert (answer.status_code, b"reload the page, and send again" in answer.content) == (403, True)


def test_what_one_request_changes_in_a_session_is_no_other_requests(settings: Any) -> None:
    """The values of a session's text are remembered."""
    text = SessionStore().encode({"list": [1]})
    SessionStore().decode(text)["list"].append(2)
    assert SessionStore().decode(text) == {"list": [1]}
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key", []
    assert SessionStore().decode(text) == {}, "what is remembered ends with its key"
    assert SessionStore().decode("no session") == {}


# What is over is cleared away, and nothing else.


def test_what_is_over_goes_and_what_counts_stays(tara: Tasker, now: datetime) -> None:
    moments = [now + timedelta(microseconds=number) for number in (-1, 0, 1)]
    for moment in moments:
        session: SessionBase = SessionStore()
        session[SESSION_KEY] = str(tara.user.pk)
        session.save()
        UserSession.objects.filter(pk=session.session_key).update(expire_date=moment)
        issue_token(tara.user, now=moment - TOKEN_LIFETIME)
    assert purge_credentials in SWEEPS
    assert [credentials_purge(now=now) for _ in range(2)] == [4, 0]
    assert (UserSession.objects.get().expire_date, ApiToken.objects.get().expires_at) == (moments[2], moments[2])


# Guessing -------------------------------------------------------------------------------------------------------------


def guess(name: str, password: str = WRONG, *, door: str = PAGE, address: str = "192.0.2.7") -> int:
    return int(sign_in(Client(REMOTE_ADDR=address), door=door, username=name, password=password).status_code)


@pytest.mark.parametrize("door", [PAGE, API])
def test_one_password_tried_with_many_names_ends_after_ten(door: str, tara: Tasker) -> None:
    refused = {PAGE: 200, API: 400}[door]
    assert [guess(f"name-{number}", door=door) for number in range(14)] == [refused] * MAX_NAMES_PER_MINUTE + [429] * 4
    assert guess("tara", PASSWORD, door=door) == 429, "a right guess is not found out either"
    assert guess("tara", PASSWORD, door=door, address="192.0.2.8") in (200, 302), "from elsewhere it opens"


def test_names_that_failed_already_have_their_own_limit(tara: Tasker) -> None:
    """Somebody of the office mistyped before; neighbours who guess do not close the account to its owner."""
    guess("tara")
    for number in range(MAX_NAMES_PER_MINUTE - 1):
        guess(f"name-{number}")
    assert (guess("another"), guess("tara", PASSWORD)) == (429, 302)


def test_an_office_whose_people_mistype_and_then_sign_in_stays_open(db: None) -> None:
    for each in [factories.tasker(f"person-{number}") for number in range(MAX_NAMES_PER_MINUTE + 5)]:
        assert each.user is not None
        assert (guess(each.user.username), guess(each.user.username, PASSWORD)) == (200, 302)


def test_an_own_account_takes_nothing_back_that_failed_with_others(tara: Tasker) -> None:
    for number in range(MAX_NAMES_PER_MINUTE - 1):
        assert (guess(f"name-{number}"), guess("tara", PASSWORD)) == (200, 302)
    assert (guess("the last"), guess("one more")) == (200, 429)


@pytest.mark.slow("thirty names are tried at both doors")
def test_an_office_that_mistypes_its_names_waits_a_minute_and_a_sprayer_an_hour(tara: Tasker) -> None:
    for beginning in range(0, MAX_NAMES_PER_HOUR, MAX_NAMES_PER_MINUTE):
        for number in range(beginning, beginning + MAX_NAMES_PER_MINUTE):
            assert guess(f"name-{number}", door=(PAGE, API)[number % 2]) in (200, 400), "both doors count together"
        assert (guess("another"), guess("another", door=API)) == (429, 429), "too many within a minute"
        answer = sign_in(Client(REMOTE_ADDR="192.0.2.7"), password=WRONG)
        assert answer["Retry-After"] in {"60", "3600"} and "different accounts" in answer.content.decode()
        AccessAttempt.objects.update(attempt_time=F("attempt_time") - timedelta(minutes=2))
        assert guess("tara", PASSWORD) == (302 if beginning + MAX_NAMES_PER_MINUTE < MAX_NAMES_PER_HOUR else 429)
    answer = sign_in(Client(REMOTE_ADDR="192.0.2.7"), password=WRONG)
    assert (
        answer["Retry-After"] == "3600" and f"with {MAX_NAMES_PER_HOUR} different accounts" in answer.content.decode()
    )


def test_a_proxy_that_nobody_told_of_is_in_the_log_once(
    rf: RequestFactory, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_address, "log", structlog.get_logger("proxies"))
    client_address._warn_of_a_proxy.cache_clear()
    through_proxy = rf.get("/", HTTP_X_FORWARDED_FOR="192.0.2.1")
    with structlog.testing.capture_logs() as logged:
        client_address.client_address(rf.get("/"))
        for proxies, expected in ((1, 0), (0, 1), (0, 1)):
            settings.TRUSTED_PROXIES = proxies
            client_address.client_address(through_proxy)
            assert [line["event"] for line in logged] == ["proxy_not_trusted"] * expected


def test_who_is_signed_in_confirms_things_whatever_neighbours_do(tara: Tasker, signed_in: Any) -> None:
    for number in range(MAX_NAMES_PER_MINUTE):
        guess(f"name-{number}", address="127.0.0.1")
    wrong = signed_in(tara).post("/account/email/", {"email": "tara@example.org", "password": WRONG})
    assert "This is not your password" in wrong.content.decode()


def _post(address: str, **fields: str) -> Callable[[Client, int], Any]:
    def knock(client: Client, number: int) -> Any:
        return client.post(address, {name: each.format(n=number) for name, each in fields.items()}, _type(address))

    return knock


def _get(address: str) -> Callable[[Client, int], Any]:
    return lambda client, number: client.get(address.format(n=number))


@pytest.mark.parametrize(
    ("door", "knock", "most", "inside"),
    [
        ("a password of one account", _post(PAGE, username="tara", password="w-{n}"), MAX_TRIES, False),
        ("names, one password", _post(PAGE, username="w-{n}", password="w"), MAX_NAMES_PER_MINUTE, False),
        ("the API's names", _post(API, username="w-{n}", password="w"), MAX_NAMES_PER_MINUTE, False),
        ("the own password", _post("/account/email/", email="a@example.org", password="w-{n}"), MAX_TRIES, True),
        ("the own password, for another", _post("/account/password/", password="w-{n}"), MAX_TRIES, True),
        ("the own password, to leave", _post("/account/delete/", confirmation="{n}", password="w"), None, True),
        ("invitations", _get("/join/w-{n}/"), MAX_TRIES, False),
        ("invitations to a team", _get("/team/join/w-{n}/"), MAX_TRIES, False),
        ("registrations", _get("/register/w-{n}/"), MAX_TRIES, False),
        ("links to a new password", _get("/password/MQ/w-{n}/"), MAX_TRIES, False),
        ("links that confirm an address", _get("/account/email/w-{n}/"), MAX_TRIES, True),
        ("links that confirm a subscription", _get("/releases/mail/confirm/w-{n}/"), MAX_TRIES, False),
        ("requests for a new password", _post("/password/", email="a@example.org"), MAX_LETTERS_PER_RECIPIENT, False),
        ("requests for an account", _post("/register/", email="a@example.org"), MAX_LETTERS_PER_RECIPIENT, False),
        ("subscriptions", _post("/releases/mail/", email="a@example.org"), MAX_LETTERS_PER_RECIPIENT, False),
        (
            "requests for another address",
            _post("/account/email/", email="a@example.org", password=PASSWORD),
            MAX_LETTERS_PER_RECIPIENT,
            True,
        ),
        (
            "requests for other addresses",
            _post("/account/email/", email="a{n}@example.org", password=PASSWORD),
            MAX_TRIES,
            True,
        ),
    ],
)
def test_each_door_closes(
    door: str, knock: Callable[[Client, int], Any], most: int | None, inside: bool, tara: Tasker, signed_in: Any
) -> None:
    client = signed_in(tara) if inside else Client()
    statuses = [knock(client, number).status_code for number in range((most or MAX_TRIES) + 1)]
    assert (statuses[-1] == 429) is (most is not None), "nothing is guessed before the confirmation is typed"
    assert 429 not in statuses[: (most or len(statuses)) - 1], statuses


def test_what_is_kept_of_a_wrong_link_opens_nothing(client: Client) -> None:
    """A link that lost a letter on its way is nearly the secret itself."""
    client.get("/join/nearly-the-secret/")
    assert AccessAttempt.objects.get().path_info == "/join/…"


# The second factor ----------------------------------------------------------------------------------------------------


HALF_MINUTE = timedelta(seconds=30)
LATER = NOW + timedelta(hours=1)


class Phone:
    """An authenticator app with the account's secret, and the paper with the recovery codes."""

    def __init__(self, user: User, now: datetime = NOW) -> None:
        begun = enrolment(user)
        self.user, self.secret, self.at = user, begun.secret, pyotp.TOTP(begun.secret).at
        self.codes = second_factor_turn_on(user=user, signed=begun.signed, code=self.at(now), now=now)

    def opens(self, now: datetime, code: str = "") -> bool:
        """Say whether a code is taken: that of the moment, unless it is said which."""
        return code_take(user=self.user, code=code or self.at(now), now=now)

    def wrong(self) -> int:
        """Return how many wrong codes in a row are counted."""
        return int(Authenticator.objects.get(user=self.user, type="recovery_codes").data["wrong"])


@pytest.fixture
def phone(tara: Tasker) -> Phone:
    return Phone(User.objects.get(username="tara"))


@pytest.fixture
def phone_of_today(tara: Tasker) -> Phone:
    """Set up long enough ago that the present code is a new one."""
    return Phone(User.objects.get(username="tara"), timezone.now() - timedelta(hours=1))


@pytest.mark.parametrize(
    ("late", "taken", "reason"),
    [
        (timedelta(0), True, "the present code"),
        (HALF_MINUTE, True, "typed a little late"),
        (-HALF_MINUTE, True, "the phone's clock is a little fast"),
        (2 * HALF_MINUTE, False, "too old"),
        (-2 * HALF_MINUTE, False, "of the future"),
    ],
)
def test_a_code_is_good_for_its_moment(late: timedelta, taken: bool, reason: str, phone: Phone) -> None:
    assert phone.opens(LATER + late, phone.at(LATER)) is taken, reason


@pytest.mark.both("its row is locked")
def test_a_code_works_once_also_the_one_that_turned_it_on(phone: Phone) -> None:
    assert not phone.opens(NOW)
    code = phone.at(LATER)
    assert phone.opens(LATER, f" {code[:3]} {code[3:]} "), "it may be typed with blanks"
    assert not phone.opens(LATER)
    assert not phone.opens(LATER, phone.at(LATER - HALF_MINUTE)), "nor an earlier one after it"


def test_it_is_off_until_the_first_code_fits_and_the_set_up_is_the_own(tara: Tasker, olga: User) -> None:
    user = User.objects.get(username="tara")
    begun, others = enrolment(user), enrolment(olga)
    for signed, code in ((begun.signed, "000000"), (others.signed, pyotp.TOTP(others.secret).at(NOW))):
        with pytest.raises(InvalidInput) as refused:
            second_factor_turn_on(user=user, signed=signed, code=code, now=NOW)
        assert (refused.value.field, has_second_factor(user)) == ("code", False)
    assert enrolment(user, begun.signed).secret == begun.secret, "the page shown again has the same key"


@pytest.mark.parametrize("typed", ["{}", " {} ", "lower"])
def test_a_recovery_code_works_once_however_it_is_typed(typed: str, phone: Phone) -> None:
    code = phone.codes[0].lower().replace("-", " ") if typed == "lower" else typed.format(phone.codes[0])
    assert [phone.opens(NOW, code) for _ in range(2)] == [True, False]
    assert recovery_codes_left(phone.user) == len(phone.codes) - 1


def test_neither_the_secret_nor_a_recovery_code_can_be_read_from_the_tables(phone: Phone) -> None:
    secrets = [phone.secret, *phone.codes, *(code.replace("-", "") for code in phone.codes)]
    assert lacking(f"{Authenticator.objects.values_list()}", *secrets) == secrets


def test_ten_wrong_codes_close_it_for_an_hour_from_everywhere(phone: Phone) -> None:
    assert [phone.opens(NOW, "000000") for _ in range(MAX_WRONG_CODES)] == [False] * MAX_WRONG_CODES
    soon, later = NOW + CLOSED_FOR - HALF_MINUTE, NOW + CLOSED_FOR + HALF_MINUTE
    assert [phone.opens(soon), phone.opens(soon, phone.codes[0]), phone.opens(later)] == [False, False, True]


def test_a_good_code_and_an_hour_both_begin_the_count_anew(phone: Phone) -> None:
    for _ in range(MAX_WRONG_CODES - 1):
        phone.opens(LATER, "000000")
    assert (phone.opens(LATER), phone.wrong()) == (True, 0)
    for moment in (LATER, LATER + CLOSED_FOR):
        phone.opens(moment, "000000")
        assert phone.wrong() == 1


def test_it_outlives_a_change_of_the_secret_key(phone: Phone, settings: Any) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the next secret key" * 3, [present.SECRET_KEY]
    assert phone.opens(LATER)
    settings.SECRET_KEY_FALLBACKS = []  # used meanwhile, and so encrypted with the present key
    assert phone.opens(LATER + timedelta(hours=1))
    settings.SECRET_KEY = "a key that nobody kept" * 3
    assert not phone.opens(LATER + timedelta(hours=2))
    assert phone.opens(LATER, phone.codes[0]), "recovery codes open without the key"


def test_an_organizer_turns_it_off_for_somebody_who_lost_everything(phone: Phone, client: Client) -> None:
    client.force_login(phone.user, backend="accounts.session_store.UserBackend")
    call_command("second_factor_off", "tara")
    assert not (has_second_factor(phone.user) or Authenticator.objects.exists() or UserSession.objects.exists())
    with pytest.raises(CommandError):
        call_command("second_factor_off", "tara")


def proof_of(answer: Any) -> str:
    return str(answer.context["form"].proof_given)


def test_the_page_asks_for_the_code_after_the_password(phone_of_today: Phone) -> None:
    asked = sign_in(password=PASSWORD)
    assert (asked.status_code, asked["Second-Factor"]) == (200, "needed")
    assert lacking(asked.content.decode(), 'name="otp"', 'name="password"', PASSWORD) == ['name="password"', PASSWORD]
    assert not UserSession.objects.exists(), "nobody is signed in yet"
    wrong = sign_in(proof=proof_of(asked), otp="000000")
    assert ("not the code of this moment" in wrong.content.decode(), wrong["Second-Factor"]) == (True, "needed")
    # The dialog over the outline learns that the code alone was wrong.
    assert sign_in(password=PASSWORD, otp="000000")["Second-Factor"] == "needed"
    assert "Second-Factor" not in sign_in(password="wrong", otp="000000")
    assert sign_in(proof=proof_of(wrong), otp=phone_of_today.at(timezone.now())).status_code == 302


@pytest.mark.parametrize(
    ("fields", "opens", "reason"),
    [
        ({"password": PASSWORD, "otp": "RIGHT"}, True, "a program may send all at once"),
        ({"proof": "forged", "otp": "RIGHT"}, False, "no password was ever right"),
        ({"proof": "PROOF", "otp": "RIGHT", "username": "otto"}, False, "the proof is tara's"),
        ({"password": "wrong", "otp": "RIGHT"}, False, "the code does not replace the password"),
        ({"password": PASSWORD, "otp": "000000"}, False, "the password does not replace the code"),
        ({"proof": "PROOF"}, False, "the proof does not replace the code"),
    ],
)
def test_nobody_comes_in_without_both(
    fields: dict[str, str], opens: bool, reason: str, phone_of_today: Phone, otto: Tasker
) -> None:
    known = {"RIGHT": phone_of_today.codes[0], "PROOF": proof_of(sign_in(password=PASSWORD))}
    answer = sign_in(**{name: known.get(value, value) for name, value in fields.items()})
    assert (answer.status_code, UserSession.objects.exists()) == ((302, True) if opens else (200, False)), reason


def test_the_proof_ends_with_the_password_and_after_five_minutes(
    phone_of_today: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = {"proof": proof_of(sign_in(password=PASSWORD)), "otp": phone_of_today.codes[0]}
    later = timezone.now().timestamp() + 301
    with monkeypatch.context() as patched:
        patched.setattr("django.core.signing.time.time", lambda: later)
        assert sign_in(**both).status_code == 200
    User.objects.filter(username="tara").update(password=make_password("another"))
    assert sign_in(**both).status_code == 200


def test_ten_wrong_codes_lock_out_as_ten_wrong_passwords_do(phone_of_today: Phone) -> None:
    assert [sign_in(password=PASSWORD, otp="000000").status_code for _ in range(10)] == [200] * 9 + [429]
    assert sign_in(password=PASSWORD, otp=phone_of_today.codes[0]).status_code == 429


def test_a_token_takes_the_code_too(phone_of_today: Phone) -> None:
    def told(**fields: str) -> tuple[int, str, list[str]]:
        answer = sign_in(door=API, **fields)
        said = answer.json()
        return answer.status_code, said.get("code", ""), list(said.get("fields", ()))

    assert told(password=PASSWORD) == (400, "code_needed", ["otp"])
    assert told(password=PASSWORD, otp="000000")[1] == "wrong_credentials"
    proof = proof_of(sign_in(password=PASSWORD))
    assert told(password=PASSWORD, proof=proof)[2] == ["proof"], "a password, and no proof"
    assert not ApiToken.objects.exists()
    assert told(password=PASSWORD, otp=phone_of_today.codes[0])[0] == 200


def test_the_sign_in_in_the_middle_of_labeling_asks_for_the_code_and_keeps_the_answers(phone_of_today: Phone) -> None:
    asked = sign_in(door="/label/", password=PASSWORD, contains_bird="definitely_no")
    assert asked.status_code == 401
    assert not lacking(asked.content.decode(), 'name="otp"', 'name="contains_bird" value="definitely_no"')
    both = {"proof": proof_of(asked), "otp": phone_of_today.codes[0]}
    sign_in(door="/label/", contains_bird="definitely_no", **both)
    assert UserSession.objects.count() == 1
