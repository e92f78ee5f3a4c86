"""The account's calls of the API."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from common.models import ApiToken
from contest.models import Member, Team
from labeling.models import Tasker
from tests import factories

pytestmark = pytest.mark.django_db


def post(client: Client, **body: Any) -> Any:
    return client.post("/api/v1/token/", body, content_type="application/json")


def token_of(tasker: Tasker) -> str:
    return str(post(Client(), username=tasker.user.get_username(), password=factories.PASSWORD).json()["token"])


def bearer(token: str) -> Client:
    return Client(headers={"Authorization": f"Token {token}"})


def opens(token: str) -> bool:
    """Whether the token opens the API; the only other answer is 401."""
    status = bearer(token).get("/api/v1/me/").status_code
    assert status in {200, 401}
    return status == 200


def test_a_name_and_a_password_give_a_token_that_opens_the_api(tara: Tasker, client: Client) -> None:
    answer = post(client, username="tara", password=factories.PASSWORD)
    assert answer.status_code == 200
    token = answer.json()["token"]
    me = Client().get("/api/v1/me/", headers={"Authorization": f"Token {token}"})
    assert me.json() == {
        "username": "tara",
        "roles": ["tasker"],
        "tasker_id": tara.public_id,
        "teams": [],
        "quota_left": None,
    }


def test_only_the_hash_of_a_token_is_kept(tara: Tasker, client: Client) -> None:
    token = post(client, username="tara", password=factories.PASSWORD).json()["token"]
    assert token not in json.dumps(list(ApiToken.objects.values("digest")))


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"username": "tara"}, "password"),
        ({"password": "demo-only"}, "username"),
        ({"username": "tara", "password": ""}, "password"),
        ({"username": ["tara"], "password": "x"}, "username"),
        ({"username": "t" * 151, "password": "x"}, "username"),
        ({"username": "tara", "password": "demo-only", "remember": True}, "remember"),
    ],
)
def test_a_wrong_body_is_refused_by_the_name_of_the_field(
    body: dict[str, Any], field: str, tara: Tasker, client: Client
) -> None:
    answer = post(client, **body)
    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid"
    assert list(answer.json()["fields"]) == [field]


@pytest.mark.parametrize("body", ["[1, 2]", "null", '"tara"', "{", "NaN"])
def test_a_body_that_is_no_object_is_refused(body: str, client: Client) -> None:
    answer = client.post("/api/v1/token/", body, content_type="application/json")
    assert answer.status_code == 400
    assert set(answer.json()) >= {"code", "detail"}


def test_a_wrong_password_gets_no_token_and_ten_close_the_account(tara: Tasker, client: Client) -> None:
    for _ in range(9):
        answer = post(client, username="tara", password="wrong")
        assert (answer.status_code, answer.json()["code"]) == (400, "wrong_credentials")
    tenth = post(client, username="tara", password="wrong")
    assert (tenth.status_code, tenth.json()["code"], tenth["Retry-After"]) == (429, "locked_out", "3600")
    assert post(client, username="tara", password=factories.PASSWORD).status_code == 429
    assert not ApiToken.objects.exists()


def test_a_closed_account_gets_no_token(tara: Tasker, client: Client) -> None:
    User.objects.update(is_active=False)
    assert post(client, username="tara", password=factories.PASSWORD).status_code == 400


def test_a_token_that_is_over_is_refused(tara: Tasker, client: Client) -> None:
    token = post(client, username="tara", password=factories.PASSWORD).json()["token"]
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    answer = Client().get("/api/v1/me/", headers={"Authorization": f"Token {token}"})
    assert (answer.status_code, answer.json()["code"]) == (401, "authentication_failed")


def test_another_password_ends_every_token(tara: Tasker, otto: Tasker) -> None:
    tokens, of_somebody_else = [token_of(tara), token_of(tara)], token_of(otto)
    tara.user.set_password("another-password")
    tara.user.save()
    assert [opens(each) for each in tokens] == [False, False]
    assert opens(of_somebody_else)


def test_a_token_is_revoked_by_itself_and_alone(tara: Tasker) -> None:
    lost, kept = token_of(tara), token_of(tara)
    answer = bearer(lost).delete("/api/v1/token/")
    assert (answer.status_code, answer.content) == (204, b"")
    assert (opens(lost), opens(kept)) == (False, True)
    assert bearer(lost).delete("/api/v1/token/").status_code == 401


def test_a_session_has_no_token_to_revoke(tara: Tasker, signed_in: Any) -> None:
    token = token_of(tara)
    assert signed_in(tara).delete("/api/v1/token/").status_code == 401
    assert opens(token)


def test_who_holds_a_token_that_is_over_can_ask_for_a_new_one(tara: Tasker) -> None:
    answer = post(bearer("long-gone"), username="tara", password=factories.PASSWORD)
    assert answer.status_code == 200


def test_a_token_outlives_a_change_of_the_secret_key(tara: Tasker, settings: Any) -> None:
    token = token_of(tara)
    before = settings.SECRET_KEY
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the next secret key" * 3, [before]
    assert opens(token)
    settings.SECRET_KEY_FALLBACKS = []  # it was used meanwhile, and so belongs to the present key
    assert opens(token)


def test_a_token_that_was_not_used_meanwhile_ends_with_its_secret_key(tara: Tasker, settings: Any) -> None:
    token = token_of(tara)
    settings.SECRET_KEY = "the next secret key" * 3
    assert not opens(token)


def test_a_stranger_is_nobody(client: Client) -> None:
    answer = client.get("/api/v1/me/")
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")


def test_every_role_is_told(olga: User, rita: User, stan: User, signed_in: Any) -> None:
    team = Team.objects.create(name="red", created_at=timezone.now())
    Member.objects.create(team=team, user=stan)
    assert signed_in(olga).get("/api/v1/me/").json()["roles"] == ["organizer"]
    assert signed_in(rita).get("/api/v1/me/").json()["roles"] == ["board"]
    me = signed_in(stan).get("/api/v1/me/").json()
    assert (me["roles"], me["teams"]) == (["team"], [{"id": team.public_id, "name": "red"}])


def test_an_unknown_address_of_the_api_is_answered_in_json(client: Client) -> None:
    answer = client.get("/api/v1/nothing/")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
