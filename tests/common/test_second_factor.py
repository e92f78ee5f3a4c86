"""The second factor: codes of the moment, taken once; recovery codes; and guessing, which ends soon."""

from datetime import timedelta
from typing import Any

import pyotp
import pytest
from django.conf import settings as present
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from common.errors import InvalidInput
from common.models import ApiToken, RecoveryCode, SecondFactor, UserSession
from common.second_factor import (
    CLOSED_FOR,
    MOST_WRONG,
    code_take,
    enrolment,
    has_second_factor,
    second_factor_turn_on,
)
from labeling.models import Tasker
from tests.factories import NOW, PASSWORD

pytestmark = pytest.mark.django_db
HALF_MINUTE = timedelta(seconds=30)


class Phone:
    """An authenticator app with the account's secret, and the paper with the recovery codes."""

    def __init__(self, user: User, now: Any = NOW) -> None:
        begun = enrolment(user)
        self.totp = pyotp.TOTP(begun.secret)
        self.codes = second_factor_turn_on(user=user, signed=begun.signed, code=self.at(now), now=now)

    def at(self, moment: Any) -> str:
        return self.totp.at(moment)


@pytest.fixture
def user(tara: Tasker) -> User:
    assert tara.user is not None
    return tara.user


@pytest.fixture
def phone(user: User) -> Phone:
    return Phone(user)


@pytest.fixture
def phone_of_today(user: User) -> Phone:
    """Set up long enough ago that the present code is a new one."""
    return Phone(user, timezone.now() - timedelta(hours=1))


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
def test_a_code_is_good_for_its_moment(late: timedelta, taken: bool, reason: str, user: User, phone: Phone) -> None:
    moment = NOW + timedelta(hours=1)
    assert code_take(user=user, code=phone.at(moment), now=moment + late) is taken, reason


@pytest.mark.both("its row is locked")
def test_a_code_works_once_also_the_one_that_turned_it_on(user: User, phone: Phone) -> None:
    assert not code_take(user=user, code=phone.at(NOW), now=NOW)
    moment = NOW + timedelta(hours=1)
    code = phone.at(moment)
    assert code_take(user=user, code=f" {code[:3]} {code[3:]} ", now=moment), "it may be typed with blanks"
    assert not code_take(user=user, code=code, now=moment)
    assert not code_take(user=user, code=phone.at(moment - HALF_MINUTE), now=moment), "nor an earlier one after it"


def test_it_is_off_until_the_first_code_fits_and_the_set_up_is_the_own(user: User, olga: User) -> None:
    begun, others = enrolment(user), enrolment(olga)
    for signed, code in ((begun.signed, "000000"), (others.signed, pyotp.TOTP(others.secret).at(NOW))):
        with pytest.raises(InvalidInput) as refused:
            second_factor_turn_on(user=user, signed=signed, code=code, now=NOW)
        assert (refused.value.field, has_second_factor(user)) == ("code", False)
    assert enrolment(user, begun.signed).secret == begun.secret, "the page shown again has the same key"


@pytest.mark.parametrize("typed", ["{}", " {} ", "lower"])
def test_a_recovery_code_works_once_however_it_is_typed(typed: str, user: User, phone: Phone) -> None:
    code = phone.codes[0].lower().replace("-", " ") if typed == "lower" else typed.format(phone.codes[0])
    assert code_take(user=user, code=code, now=NOW)
    assert not code_take(user=user, code=code, now=NOW)
    assert RecoveryCode.objects.filter(user=user).count() == len(phone.codes) - 1


def test_neither_the_secret_nor_a_recovery_code_can_be_read_from_the_tables(user: User, phone: Phone) -> None:
    kept = f"{SecondFactor.objects.values_list()} {RecoveryCode.objects.values_list()}"
    assert phone.totp.secret not in kept
    assert not any(code in kept or code.replace("-", "") in kept for code in phone.codes)


def test_ten_wrong_codes_close_it_for_an_hour_from_everywhere(user: User, phone: Phone) -> None:
    for _ in range(MOST_WRONG):
        assert not code_take(user=user, code="000000", now=NOW)
    soon, later = NOW + CLOSED_FOR - HALF_MINUTE, NOW + CLOSED_FOR + HALF_MINUTE
    tries = [(phone.at(soon), soon), (phone.codes[0], soon), (phone.at(later), later)]
    assert [code_take(user=user, code=code, now=at) for code, at in tries] == [False, False, True]


def test_a_good_code_and_an_hour_both_begin_the_count_anew(user: User, phone: Phone) -> None:
    moment = NOW + timedelta(hours=1)
    for _ in range(MOST_WRONG - 1):
        code_take(user=user, code="000000", now=moment)
    assert code_take(user=user, code=phone.at(moment), now=moment)
    assert SecondFactor.objects.get(user=user).wrong == 0
    code_take(user=user, code="000000", now=moment)
    code_take(user=user, code="000000", now=moment + CLOSED_FOR)
    assert SecondFactor.objects.get(user=user).wrong == 1


def test_it_outlives_a_change_of_the_secret_key(user: User, phone: Phone, settings: Any) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the next secret key" * 3, [present.SECRET_KEY]
    moment = NOW + timedelta(hours=1)
    assert code_take(user=user, code=phone.at(moment), now=moment)
    settings.SECRET_KEY_FALLBACKS = []  # used meanwhile, and so encrypted with the present key
    moment += timedelta(hours=1)
    assert code_take(user=user, code=phone.at(moment), now=moment)

    settings.SECRET_KEY = "a key that nobody kept" * 3
    moment += timedelta(hours=1)
    assert not code_take(user=user, code=phone.at(moment), now=moment)
    assert code_take(user=user, code=phone.codes[0], now=moment), "recovery codes open without the key"


def test_an_organizer_turns_it_off_for_somebody_who_lost_everything(user: User, phone: Phone, client: Client) -> None:
    client.force_login(user, backend="common.sessions.UserBackend")
    call_command("second_factor_off", "tara")
    assert not (has_second_factor(user) or RecoveryCode.objects.exists() or UserSession.objects.exists())
    with pytest.raises(CommandError):
        call_command("second_factor_off", "tara")


# Signing in with it.


def sign_in(client: Client, **fields: str) -> Any:
    return client.post("/sign-in/", {"username": "tara", **fields})


def proof_of(answer: Any) -> str:
    return str(answer.context["form"].proof_given)


def test_the_page_asks_for_the_code_after_the_password(phone_of_today: Phone, client: Client) -> None:
    asked = sign_in(client, password=PASSWORD)
    assert (asked.status_code, asked["Second-Factor"]) == (200, "needed")
    shown = [word in asked.content.decode() for word in ('name="otp"', 'name="password"', PASSWORD)]
    assert shown == [True, False, False]
    assert not UserSession.objects.exists(), "nobody is signed in yet"
    wrong = sign_in(client, proof=proof_of(asked), otp="000000")
    assert ("not the code of this moment" in wrong.content.decode(), wrong["Second-Factor"]) == (True, "needed")
    # The dialog over the outline learns that the code alone was wrong.
    assert sign_in(client, password=PASSWORD, otp="000000")["Second-Factor"] == "needed"
    assert "Second-Factor" not in sign_in(client, password="wrong", otp="000000")
    assert sign_in(client, proof=proof_of(wrong), otp=phone_of_today.at(timezone.now())).status_code == 302


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
    fields: dict[str, str], opens: bool, reason: str, phone_of_today: Phone, otto: Tasker, client: Client
) -> None:
    known = {"RIGHT": phone_of_today.codes[0], "PROOF": proof_of(sign_in(client, password=PASSWORD))}
    answer = sign_in(client, **{name: known.get(value, value) for name, value in fields.items()})
    assert (answer.status_code, UserSession.objects.exists()) == ((302, True) if opens else (200, False)), reason


def test_the_proof_ends_with_the_password_and_after_five_minutes(
    user: User, phone_of_today: Phone, client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = proof_of(sign_in(client, password=PASSWORD))
    with monkeypatch.context() as patched:
        later = timezone.now().timestamp() + 301
        patched.setattr("django.core.signing.time.time", lambda: later)
        assert sign_in(client, proof=proof, otp=phone_of_today.codes[0]).status_code == 200
    user.set_password("another-password")
    user.save()
    assert sign_in(client, proof=proof, otp=phone_of_today.codes[0]).status_code == 200


def test_ten_wrong_codes_lock_out_as_ten_wrong_passwords_do(phone_of_today: Phone, client: Client) -> None:
    tries = [sign_in(client, password=PASSWORD, otp="000000").status_code for _ in range(10)]
    assert tries == [200] * 9 + [429]
    assert sign_in(client, password=PASSWORD, otp=phone_of_today.codes[0]).status_code == 429


def token(**fields: str) -> Any:
    return Client().post("/api/v1/token/", {"username": "tara", **fields}, content_type="application/json")


def test_a_token_takes_the_code_too(phone_of_today: Phone) -> None:
    refused = token(password=PASSWORD)
    assert (refused.status_code, refused.json()["code"], [*refused.json()["fields"]]) == (400, "code_needed", ["otp"])
    assert token(password=PASSWORD, otp="000000").json()["code"] == "wrong_credentials"
    proof = proof_of(sign_in(Client(), password=PASSWORD))
    assert list(token(password=PASSWORD, proof=proof).json()["fields"]) == ["proof"], "a password, and no proof"
    assert not ApiToken.objects.exists()
    assert token(password=PASSWORD, otp=phone_of_today.codes[0]).status_code == 200


def test_the_sign_in_in_the_middle_of_labeling_asks_for_the_code_and_keeps_the_answers(
    phone_of_today: Phone, client: Client
) -> None:
    filled_in = {"contains_bird": "definitely_no"}
    asked = client.post("/label/", {"username": "tara", "password": PASSWORD, **filled_in})
    page = asked.content.decode()
    assert asked.status_code == 401
    assert 'name="otp"' in page and 'name="contains_bird" value="definitely_no"' in page
    again = {"username": "tara", "proof": proof_of(asked), "otp": phone_of_today.codes[0], **filled_in}
    client.post("/label/", again)
    assert UserSession.objects.count() == 1
