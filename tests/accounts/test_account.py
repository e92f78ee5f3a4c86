"""Everybody's account: settings, sessions, tokens, address, password, and leaving: the answers stay (R4, R8)."""

import re
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pyotp
import pytest
from allauth.mfa.models import Authenticator
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.utils import timezone, translation

from accounts.devices import describe_user_agent
from accounts.enums import Role
from accounts.invitations import invitation_accept, invite
from accounts.leaving import account_delete
from accounts.locale import zone_names
from accounts.models import ApiToken, Invitation, UserSession
from accounts.second_factor import enrolment, second_factor_turn_on
from accounts.tokens import issue_token
from common.mail import wait_until_sent
from labeling.enums import AssignmentState
from labeling.models import Response, StateChange, Tasker
from tests import factories
from tests.factories import PASSWORD
from tests.labeling.cast import claim, kept, shows, statements

pytestmark = pytest.mark.django_db


NEW = "correct horse battery"
TWICE = {"new_password": NEW, "new_password_again": NEW}


FACTOR = "/account/second-factor/"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def client_of(name: str, password: str = PASSWORD, **extra: Any) -> Client:
    client = Client(**extra)
    assert client.post("/sign-in/", {"username": name, "password": password}).status_code == 302
    return client


def opens(client: Client) -> bool:
    return client.get("/api/v1/me/").status_code == 200


def by_token(token: str) -> Client:
    return Client(headers={"Authorization": f"Token {token}"})


@pytest.fixture
def tara_user(tara: Tasker) -> User:
    User.objects.filter(pk=tara.user_id).update(email="tara@example.org")
    return User.objects.get(pk=tara.user_id)


def test_a_taskers_language_and_zone_cost_no_statement(tara: Tasker) -> None:
    client = client_of("tara")
    for values in ({}, {"language": "de", "time_zone": "Asia/Kolkata"}):
        Tasker.objects.update(**values, created_at=factories.NOW)
        assert len(statements(lambda: client.get("/sign-in/"))) == 1
    page = client.get("/sign-in/")
    assert page["Content-Language"] == "de" and '<html lang="de" dir="ltr">' in page.content.decode()


@pytest.mark.parametrize("address", ["/pictures/forged.png", "/healthz"])
def test_what_answers_everybody_alike_never_reads_the_session(address: str, tara: Tasker) -> None:
    client = client_of("tara")
    assert not [sql for sql in statements(lambda: client.get(address)) if "accounts_usersession" in sql]


def test_the_zone_of_one_request_is_not_that_of_the_next(tara: Tasker) -> None:
    Tasker.objects.update(language="de", time_zone="Asia/Kolkata")
    client_of("tara").get("/account/")
    assert (timezone.get_current_timezone_name(), (translation.get_language() or "")[:2]) == ("UTC", "en")


def test_settings_are_kept_and_the_language_before_signing_in_too(tara: Tasker) -> None:
    client, form = client_of("tara"), {"language": "de", "time_zone": "Europe/Berlin"}
    assert client.post("/account/settings/", form).status_code == 303
    assert Tasker.objects.values("language", "time_zone").get() == form
    client.post("/sign-out/")
    assert '<html lang="de"' in client.get("/sign-in/").content.decode()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"time_zone": "Atlantis/Central"}, "Choose a time zone of the list"),
        ({"time_zone": "../etc/passwd"}, "Choose a time zone of the list"),
        ({"language": "xx"}, "correct what is marked"),
    ],
)
def test_what_is_not_known_is_refused_with_what_was_typed(fields: dict[str, str], words: str, tara: Tasker) -> None:
    assert words.lower() in shows(client_of("tara").post("/account/settings/", fields), status=400).lower()
    assert Tasker.objects.values_list("language", "time_zone").get() == ("", "")


def test_a_zone_that_is_no_longer_known_is_like_none(tara: Tasker) -> None:
    Tasker.objects.update(time_zone="Asia/Formerly")
    assert client_of("tara").get("/account/").status_code == 200


def test_zones_name_places() -> None:
    names = set(zone_names())
    assert {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"} <= names and not {"EST", "GMT0"} & names
    assert not [name for name in names if name.startswith("Etc/")]


@pytest.mark.parametrize(
    ("wanted", "to"),
    [
        ("/api/docs/", "/api/docs/"),
        ("https://elsewhere.example/", "/"),
        ("//elsewhere.example/", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_a_stranger_changes_the_language_and_stays_on_the_site(wanted: str, to: str, client: Client) -> None:
    assert client.post("/language/", {"language": "xx"}).status_code == 400
    assert client.post("/language/", {"language": "de", "next": wanted})["Location"] == to
    assert '<html lang="de"' in client.get("/sign-in/").content.decode()


def test_the_owner_sees_where_they_are_signed_in_and_ends_the_others(tara: Tasker, otto: Tasker) -> None:
    """Nobody ends the session of somebody else."""
    here, there, third = client_of("tara", headers={"user-agent": FIREFOX}), client_of("tara"), client_of("tara")
    others = client_of("otto")
    page = shows(here.get("/account/"), "Firefox · Linux", "this browser")
    assert page.count("Sign out there") == 2
    assert not [session.session_key for session in UserSession.objects.all() if session.session_key in page]
    (handle, *_) = re.findall(r'name="session" value="(\w+)"', page)
    assert others.post("/account/sessions/end/", {"session": handle}).status_code == 404
    for form, left in (({"session": handle}, 1), ({}, 0)):
        here.post("/account/sessions/end/", form)
        assert [opens(here), opens(there) + opens(third), opens(others)] == [True, left, True]


def test_a_session_of_a_former_password_is_not_listed(tara_user: User) -> None:
    client_of("tara")
    tara_user.set_password(NEW)
    tara_user.save()
    assert "Sign out there" not in client_of("tara", NEW).get("/account/").content.decode()


def test_the_owner_revokes_a_token_and_nobody_elses(tara_user: User, otto: Tasker) -> None:
    for user in User.objects.all():
        issue_token(user, now=timezone.now())
    mine, other = ApiToken.objects.get(user=tara_user), ApiToken.objects.get(user=otto.user)
    client = client_of("tara")
    asked = [client.post("/account/tokens/revoke/", {"token": each}).status_code for each in (other.pk, "x", mine.pk)]
    assert (asked, list(ApiToken.objects.all())) == ([404, 404, 303], [other])


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (FIREFOX, "Firefox · Linux"),
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/142.0 Mobile Safari/537.36", "Chrome · Android"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0 Safari/537.36 Edg/142.0", "Edge · Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Safari/604.1", "Safari · iPhone"),
        ("curl/8.10", ""),
        ("", ""),
    ],
)
def test_a_device_is_named_so_that_its_owner_knows_it(agent: str, words: str) -> None:
    assert describe_user_agent(agent) == words


def change(client: Client, **fields: str) -> Any:
    return client.post("/account/password/", {"password": PASSWORD} | TWICE | fields)


def test_a_new_password_ends_every_other_session_and_token_and_is_told(
    tara_user: User, django_capture_on_commit_callbacks: Any
) -> None:
    here, there = client_of("tara"), client_of("tara")
    token = issue_token(tara_user, now=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        assert change(here).status_code == 303
    assert [opens(here), opens(there), opens(by_token(token))] == [True, False, False]
    assert UserSession.objects.filter(user=tara_user).count() == 1
    wait_until_sent()
    assert [(each.to, each.subject) for each in mail.outbox] == [(["tara@example.org"], "Your password was changed")]
    assert NEW not in mail.outbox[0].body
    client_of("tara", NEW)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"password": "wrong"}, "not your present password"),
        ({"new_password_again": "other"}, "not the same"),
        ({"new_password": "short", "new_password_again": "short"}, "at least 12 characters"),
        ({"new_password": "password1234", "new_password_again": "password1234"}, "too common"),
    ],
)
def test_a_password_that_will_not_do_changes_nothing(fields: dict[str, str], words: str, tara: Tasker) -> None:
    other = client_of("tara")
    shows(change(client_of("tara"), **fields), words, status=400)
    assert opens(other)


def test_guessing_the_present_password_ends_as_at_sign_in(tara: Tasker) -> None:
    client, words = client_of("tara"), ["wrong"] * 10 + [PASSWORD]
    assert [change(client, password=word).status_code for word in words] == [400] * 9 + [429] * 2


def ask(address: str) -> Any:
    return Client().post("/password/", {"email": address})


def reset_link() -> str:
    wait_until_sent()
    return str(re.findall(r"http://localhost:8000(/password/\S+)", mail.outbox[-1].body)[0])


def test_a_forgotten_password_is_replaced_by_a_link_that_works_once(
    tara_user: User, django_capture_on_commit_callbacks: Any
) -> None:
    signed_in, token = client_of("tara"), issue_token(tara_user, now=timezone.now())
    with django_capture_on_commit_callbacks(execute=True):
        assert ask(" Tara@example.org ").status_code == 200
    address = reset_link()
    shows(Client().get(address), "at least 12 characters")
    statuses = [Client().post(address, TWICE | {"new_password": each}).status_code for each in ("other", NEW, NEW)]
    assert [*statuses, Client().get(address).status_code] == [400, 303, 404, 404]
    assert not opens(signed_in) and not opens(by_token(token))
    client_of("tara", NEW)


@pytest.mark.parametrize(("active", "letters"), [(True, 5), (False, 0)], ids=["open", "closed"])
def test_letters_go_to_open_accounts_and_nobody_is_flooded(
    active: bool, letters: int, tara_user: User, django_capture_on_commit_callbacks: Any
) -> None:
    User.objects.update(is_active=active)
    with django_capture_on_commit_callbacks(execute=True):
        statuses = [ask("tara@example.org").status_code for _ in range(7)]
    wait_until_sent()
    assert (statuses, len(mail.outbox)) == ([200] * 5 + [429] * 2, letters)


@pytest.mark.parametrize("address", ["/password/MQ/forged-token/", "/password/x/y/", "/password/MTIz/cu1-0000/"])
def test_a_forged_link_opens_nothing_and_counts_as_a_guess(address: str, tara: Tasker, client: Client) -> None:
    assert [client.get(address).status_code for _ in range(10)] == [404] * 9 + [429]


def new_address(client: Client, **fields: str) -> Any:
    return client.post("/account/email/", {"email": "new@example.org", "password": PASSWORD} | fields)


def test_an_address_counts_once_its_owner_confirms_the_link(
    tara_user: User, otto: Tasker, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of("tara")
    shows(new_address(client), "new@example.org")
    assert mail.outbox[0].to == ["new@example.org"]
    (link,) = re.findall(r"http://localhost:8000(/account/email/\S+)", mail.outbox[-1].body)
    client.get(link)  # a mail program that looks at the link confirms nothing
    assert client_of("otto").post(link).status_code == 404
    with monkeypatch.context() as late:
        over = timezone.now().timestamp() + timedelta(days=3, seconds=1).total_seconds()
        late.setattr("django.core.signing.time.time", lambda: over)
        assert client.post(link).status_code == 404
    assert kept(tara_user, "email") == "tara@example.org"
    with django_capture_on_commit_callbacks(execute=True):
        assert [client.post(link).status_code for _ in range(2)] == [303, 404], "the link is used up"
    assert kept(tara_user, "email") == "new@example.org"
    wait_until_sent()
    assert mail.outbox[-1].to == ["tara@example.org"], "the former address is told"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"password": "wrong"}, "This is not your password"),
        ({"email": "no address"}, "Write an e-mail address"),
        ({"email": "TARA@example.org"}, "This is the address of your account already"),
    ],
)
def test_an_address_that_will_not_do_is_refused(fields: dict[str, str], words: str, tara_user: User) -> None:
    shows(new_address(client_of("tara"), **fields), words, status=400)
    assert not mail.outbox


# Each way to name an address (R4): the answer is the same, byte for byte, whether it has an account or not.
@pytest.mark.parametrize(
    ("address", "fields"),
    [("/account/email/", {"password": PASSWORD}), ("/password/", {}), ("/register/", {}), ("/releases/mail/", {})],
)
def test_nobody_learns_whether_an_address_has_an_account(
    address: str, fields: dict[str, str], tara_user: User, otto: Tasker, rita: User
) -> None:
    User.objects.filter(pk=otto.user_id).update(email="otto@example.org")
    User.objects.filter(pk=rita.pk).update(email="rita@example.org", is_active=False)
    pages = set()
    for name in ("otto", "rita", "nobody"):
        client = client_of("tara") if address.startswith("/account/") else Client()
        page = shows(client.post(address, fields | {"email": f"{name}@example.org"}))
        pages.add(re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page).replace(name, "NAME"))
    assert len(pages) == 1


def test_the_owner_of_an_address_is_written_to_and_nothing_changes(tara_user: User, otto: Tasker) -> None:
    User.objects.filter(pk=otto.user_id).update(email="otto@example.org")
    assert new_address(client_of("tara"), email="OTTO@example.org").status_code == 200
    [letter] = mail.outbox
    said = [words in letter.body for words in ("Hello otto", "nothing was changed", "tara", "/account/email/")]
    assert (letter.to, said) == (["otto@example.org"], [True, True, False, False])


def test_nobody_is_flooded_with_letters_nor_found_out_by_asking_on_and_on(tara_user: User) -> None:
    client = client_of("tara")
    asked = [new_address(client, email=f"person{number}@example.org").status_code for number in range(12)]
    assert (asked, len(mail.outbox)) == ([200] * 10 + [429] * 2, 10)


def test_it_is_turned_on_and_off_with_the_password(tara_user: User, django_capture_on_commit_callbacks: Any) -> None:
    client = client_of("tara")
    right = turning_on(client)
    refused = [client.post(FACTOR, right | wrong).status_code for wrong in ({"code": "000000"}, {"password": "wrong"})]
    assert (refused, Authenticator.objects.count()) == ([400, 400], 0)
    with django_capture_on_commit_callbacks(execute=True):
        shown = client.post(FACTOR, right)
        codes = shown.context["codes"]
        assert len(codes) == 10 and shows(shown, *codes)
        shows(client.get("/account/"), "10 recovery codes")
        assert not set(codes) & set(client.post(FACTOR, renewal(client)).context["codes"])
        client.post(FACTOR, {"action": "turn_off", "password": PASSWORD})
    assert not Authenticator.objects.exists()
    wait_until_sent()
    assert [each.subject for each in mail.outbox] == ["The second factor is on", "The second factor is off"]


def turning_on(client: Client) -> dict[str, Any]:
    """The filled-in form that turns the second factor on."""
    begun = client.get(FACTOR).context["enrolment"]
    code = pyotp.TOTP(begun.secret).now()
    return {"action": "turn_on", "signed": begun.signed, "password": PASSWORD, "code": code}


def renewal(client: Client) -> dict[str, Any]:
    """The filled-in form that makes new recovery codes."""
    return {"action": "renew", "password": PASSWORD, "newest": client.get(FACTOR).context["newest"]}


def test_a_reload_neither_makes_recovery_codes_nor_shows_them_again(tara_user: User) -> None:
    client = client_of("tara")
    for form in (turning_on, renewal):
        sent = form(client)
        shown, kept = client.post(FACTOR, sent).context["codes"], digests(tara_user)
        again = "the recovery codes were shown then; nothing was changed"
        page = shows(client.post(FACTOR, sent), again, status=400)
        assert ([code for code in shown if code in page], digests(tara_user)) == ([], kept)


def digests(user: User) -> set[str]:
    return set(Authenticator.objects.get(user=user, type="recovery_codes").data["migrated_codes"])


@pytest.mark.parametrize("newest", ["", "0", "x", "9" * 40, "²"])
def test_a_forged_renewal_changes_nothing(newest: str, tara_user: User) -> None:
    """Nor is there anything to renew without a second factor."""
    client, form = client_of("tara"), {"action": "renew", "password": PASSWORD, "newest": newest}
    shows(client.post(FACTOR, form), "The second factor is off", status=400)
    client.post(FACTOR, turning_on(client))
    kept = digests(tara_user)
    assert client.post(FACTOR, form).status_code == 400
    assert kept == digests(tara_user) != set()


def test_a_reset_password_does_not_go_past_the_second_factor(
    tara_user: User, django_capture_on_commit_callbacks: Any
) -> None:
    begun, then = enrolment(tara_user), timezone.now() - timedelta(hours=1)
    second_factor_turn_on(user=tara_user, signed=begun.signed, code=pyotp.TOTP(begun.secret).at(then), now=then)
    with django_capture_on_commit_callbacks(execute=True):
        ask("tara@example.org")
    Client().post(reset_link(), TWICE)
    assert Client().post("/sign-in/", {"username": "tara", "password": NEW})["Second-Factor"] == "needed"


@pytest.mark.parametrize("address", ["/account/settings/", "/account/sessions/end/", "/account/tokens/revoke/"])
def test_a_strangers_form_is_not_taken(address: str, client: Client) -> None:
    assert client.post(address).status_code == 302


@pytest.mark.parametrize("page", ["", "email/", "password/", "second-factor/", "delete/"])
def test_a_page_of_an_account_is_kept_by_no_browser(page: str, tara: Tasker, signed_in: Any) -> None:
    answer = signed_in(tara).get(f"/account/{page}")
    assert (answer.status_code, "no-store" in answer["Cache-Control"]) == (200, True)


def accepted(now: datetime, **given: Any) -> User:
    """Who was invited as Nora, and came."""
    secret = invite(email="nora@example.org", language="de", now=now, **given).secret
    return invitation_accept(
        secret=secret, username="nora", password="correct horse battery", now=now, rng=Random(str(given["role"]))
    )


@pytest.fixture
def nora(olga: User, now: datetime) -> Tasker:
    """Somebody who came by an invitation, signed in, once mistyped, has a token, a language and keys of their own."""
    user = accepted(now, role=Role.TASKER, by=olga)
    Tasker.objects.update(state="qualified", time_zone="Europe/Berlin", preferences={"keys": {"undo": "u"}})
    issue_token(user, now=now)
    for password in ("wrong", "correct horse battery"):
        Client().post("/sign-in/", {"username": "nora", "password": password})
    return Tasker.objects.get(user=user)


def test_nothing_leads_from_the_public_id_to_the_person(nora: Tasker, otto: Tasker, olga: User, now: datetime) -> None:
    """The record of others stays; the address and the name may be used again."""
    Client().post("/sign-in/", {"username": "otto", "password": "wrong"})
    account_delete(user=nora.user, now=now)  # type: ignore[arg-type]
    told = ("user", "left_at", "language", "time_zone", "preferences")
    assert kept(nora, *told) == (None, now, "", "", {})
    assert list(Invitation.objects.values_list("email", "user")) == [("", None)]
    assert not UserSession.objects.exists() and not ApiToken.objects.exists()
    tables = (User, AccessAttempt, AccessLog, AccessFailureLog)
    assert [table for table in tables if table.objects.filter(username="nora").exists()] == []
    assert AccessAttempt.objects.filter(username="otto").exists() and Tasker.objects.get(pk=otto.pk).user
    assert accepted(now, role=Role.BOARD, by=olga).groups.get().name == "review board"
    assert kept(nora, "user") is None


@pytest.mark.both("locks the row of the tasker")
def test_answers_stay_and_pictures_at_hand_go_to_others(nora: Tasker, now: datetime) -> None:
    response, free = factories.response(nora, factories.panel(), now=now), factories.panel()
    held = claim(nora, now)
    assert kept(free, "leased") == 1
    account_delete(user=nora.user, now=now)  # type: ignore[arg-type]
    assert (Response.objects.get(), Response.objects.get().tasker.public_id) == (response, nora.public_id)
    assert (kept(held, "state"), kept(free, "leased")) == (AssignmentState.RELEASED, 0)


def test_an_invitation_that_waits_for_the_same_address_ends(stan: User, olga: User, now: datetime) -> None:
    waits = invite(email="stan@example.org", role=Role.TASKER, language="en", by=olga, now=now).invitation
    User.objects.filter(pk=stan.pk).update(email="stan@example.org")
    account_delete(user=User.objects.get(pk=stan.pk), now=now)
    assert kept(waits, "email", "revoked_at") == ("", now)


def test_what_an_organizer_decided_stays_without_their_name(olga: User, tara: Tasker, now: datetime) -> None:
    StateChange.objects.create(
        tasker=tara, before="qualified", after="paused", code="x", reason="y", by=olga, changed_at=now
    )
    invite(email="nora@example.org", role=Role.TASKER, language="en", by=olga, now=now)
    account_delete(user=olga, now=now)
    assert (StateChange.objects.get().by, Invitation.objects.get().invited_by) == (None, None)


def delete(client: Client, **fields: str) -> Any:
    return client.post("/account/delete/", {"password": factories.PASSWORD} | fields)


def test_password_and_id_confirm_and_the_id_is_shown_for_good(tara: Tasker, rita: User, signed_in: Any) -> None:
    """Who has no ID confirms with the user name."""
    factories.response(tara, factories.panel())
    client = signed_in(tara)
    shows(client.get("/account/delete/"), tara.public_id, "the 1 answer you gave", "your e-mail address")
    shows(delete(client, confirmation=tara.public_id.lower()), tara.public_id)
    assert client.get("/api/v1/me/").status_code == 401
    assert delete(signed_in(rita), confirmation="rita").status_code == 200
    assert not User.objects.filter(username__in=("tara", "rita")).exists()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"confirmation": "T-WRONG"}, "to confirm"),
        ({"confirmation": ""}, "to confirm"),
        ({"password": "wrong"}, "This is not your password"),
    ],
)
def test_without_both_nothing_is_deleted(fields: dict[str, str], words: str, tara: Tasker, signed_in: Any) -> None:
    shows(delete(signed_in(tara), **({"confirmation": tara.public_id} | fields)), words, status=400)
    assert User.objects.filter(username="tara").exists()


def test_an_organizer_deletes_for_a_tasker_who_asks(
    tara: Tasker, olga: User, otto: Tasker, rita: User, stan: User, signed_in: Any
) -> None:
    """And nobody else does."""
    client, address = signed_in(olga), f"/organizer/people/{tara.public_id}/delete/"
    right = {"confirmation": tara.public_id, "password": factories.PASSWORD}
    assert [signed_in(who).post(address, right).status_code for who in (otto, rita, stan)] == [403, 403, 404]
    shows(client.get(address), "tara")
    forms = ({"confirmation": "x"}, {"password": "wrong"}, {})
    assert [client.post(address, right | wrong).status_code for wrong in forms] == [400, 400, 303]
    assert (User.objects.filter(username="tara").count(), client.get(address).status_code) == (0, 404)
