"""Signed-in taskers for a database that has been migrated: `python -m bench.taskers COUNT` prints how they sign in.

Run with the settings and the DATABASE_URL of the project or of the floor; a copy of the database keeps them signed in.
"""

import json
import sys
from random import Random
from typing import Any

import django
from django.apps import apps
from django.conf import settings


def sign_ins(count: int) -> dict[str, list[dict[str, str]]]:
    """Make `count` users, taskers where there are such: the cookies of a browser of each, and a token on our site."""
    from django.contrib.auth.models import User

    users = [User.objects.create(username=f"bench-{number}", password="!") for number in range(1, count + 1)]
    ours = apps.is_installed("labeling")
    if ours:
        _register(users)
    return {"cookies": [_signed_in(user) for user in users], "tokens": [_token(user) for user in users if ours]}


def _register(users: list[Any]) -> None:
    from django.utils import timezone

    from labeling.enums import TaskerState
    from labeling.taskers import tasker_register

    for user in users:
        tasker_register(user=user, state=TaskerState.QUALIFIED, now=timezone.now(), rng=Random(user.pk))


def _token(user: Any) -> dict[str, str]:
    from django.utils import timezone

    from accounts.tokens import issue_token

    return {"token": issue_token(user, now=timezone.now())}


def _signed_in(user: Any) -> dict[str, str]:
    from django.middleware.csrf import get_token
    from django.test import Client, RequestFactory

    client = Client()
    client.force_login(user, backend=settings.AUTHENTICATION_BACKENDS[-1])
    request = RequestFactory().get("/")
    get_token(request)
    return {
        settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value,
        settings.CSRF_COOKIE_NAME: request.META["CSRF_COOKIE"],
    }


if __name__ == "__main__":
    django.setup()
    print(json.dumps(sign_ins(int(sys.argv[1]))))
