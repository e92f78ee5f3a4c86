"""No GET writes or locks a row that another request waits for: every address, read as every role in one world."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.db.models import QuerySet
from django.test import Client

from contest.board.motions import stakes_move
from contest.core.models import Case, Member
from tests import factories
from tests.addresses import patterns
from tests.contest.board import cast
from tests.contest.board.cast import LATER, OVERRULE_REJECTED, Scene
from tests.contest.ledger import cast as money
from tests.test_pages import allowed_too_much

pytestmark = [pytest.mark.django_db, pytest.mark.slow("each role opens every address")]
SignIn = Callable[[Any], Client]
WRITES = re.compile(r"\s*(INSERT INTO|UPDATE|DELETE FROM|LOCK)\b[^\"]*\"?(\w*)|FOR (NO KEY )?(UPDATE|SHARE)")
# What a GET may write: a row of the reader alone, that no other request waits for.
ALLOWED = {
    "common_usersession": "when a session was last used; a row of this browser",
    "django_session": "the same, and words that are shown once",
    "axes_accessattempt": "guesses at a secret link are counted; only who guesses from the same address waits",
    "axes_accessattemptexpiration": "the same: those of an hour ago are forgotten, by the machine's clock",
}

LEASES = {"/label/": "it shows the next picture, which is leased to who opens it: only that person's requests wait"}


@pytest.fixture(scope="module")
def world(module_world: Path) -> tuple[Scene, dict[str, str]]:
    """A case before the board that two voted on, a motion, an award to come: with an example for each parameter."""
    scene = Scene.make()
    money.deposit(10**9, User.objects.get(username="oliver"))
    case = scene.opened()
    cast.votes(case, scene.members[:2], OVERRULE_REJECTED)
    money.answered(scene.stake.defense, scene.image, 0, at=LATER)
    other = money.defense("other", money.team("others"))
    motion = stakes_move([other], "Good.", "The criteria are met by it.", by=scene.members[0], now=LATER)
    defense, image, team = scene.stake.defense.public_id, scene.image.public_id, scene.red.public_id
    examples = {
        "/board/cases/<str:public_id>/": case.public_id,
        "/appeals/case/<str:public_id>/": case.public_id,
        "/organizer/cases/<str:public_id>/": case.public_id,
        "/appeals/new/<str:image_id>/": image,
        "/attacks/<str:public_id>/": scene.attack.public_id,
        "/board/awards/<int:number>/": str(scene.stake.pk),
        "/board/examinations/<str:public_id>/": defense,
        "defenses/<str:public_id>/": defense,
        "/reruns/new/<str:public_id>/": defense,
        "/record/<str:public_id>/": image,
        "/images/<str:image_id>/": image,
        "/teams/<str:public_id>/": team,
        "/ask/<str:public_id>/": team,
        "/taskers/<str:public_id>/": factories.tasker("tess").public_id,
        "/weeks/<str:name>/": scene.attack.week,
        "/weeks/<str:week>/": scene.attack.week,
        "/rules/versions/<int:number>/": "1",
    }
    return scene, examples | {"motion": motion.public_id}


def addresses(examples: dict[str, str]) -> Iterator[str]:
    """Every address the site knows, with what there is in the place of each parameter."""
    for path, _ in patterns():
        for part, value in examples.items():
            path = path.replace(part, re.sub("<[^>]*>", value, part))
        path = re.sub("<uuid:[^>]*>", "3f1c9a52-7d0e-4f5b-9a37-0c6f3f1d2b84", path)
        yield re.sub("<[^>]*>", "0", path)


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Give the list of what is written and locked meanwhile: locks also where the database of the test has none."""
    found: list[str] = []
    real = QuerySet.select_for_update

    def locks(self: QuerySet[Any], *given: Any, **more: Any) -> QuerySet[Any]:
        if self.model._meta.db_table not in ALLOWED:
            found.append(f"locks {self.model._meta.db_table}")
        return real(self, *given, **more)

    def notes(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        said = WRITES.search(sql)
        table = said and (said.group(2) or re.search(r'FROM "(\w+)"', sql).group(1))  # type: ignore[union-attr]
        if said and table not in ALLOWED:
            found.append(sql[:160])
        return execute(sql, params, many, context)

    with monkeypatch.context() as patch, connection.execute_wrapper(notes):
        patch.setattr(QuerySet, "select_for_update", locks)
        yield found


@pytest.mark.parametrize(
    "role",
    [
        *("stranger", "organizer", "board member", "captain"),
        pytest.param("tasker", marks=pytest.mark.both("labeling has own SQL, and locks that SQLite has not")),
    ],
)
def test_no_get_writes_or_locks_and_every_page_is_strict(
    role: str, world: tuple[Scene, dict[str, str]], signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, examples = world
    client = client_of(role, scene, signed_in)
    monkeypatch.setattr("django.utils.timezone.now", lambda: LATER + timedelta(minutes=5))
    written, opened, too_much = {}, 0, {}
    motion = [f"/board/cases/{examples['motion']}/{rest}" for rest in ("", "decide/", "vote/")]
    for address in [*addresses(examples), *motion]:
        cache.clear()
        with watched(monkeypatch) as found:
            answer = client.get(address, HTTP_HOST="127.0.0.1")
        opened += answer.status_code == 200
        if found and address not in LEASES:
            written[address] = found
        if wrong := allowed_too_much(address, answer):
            too_much[address] = wrong
    assert opened > 10, "the walk sees pages"
    assert (written, too_much) == ({}, {})
    if role == "board member":
        page = client.get(f"/board/cases/{Case.objects.get(image=scene.image).public_id}/decide/")
        assert page.status_code == 200 and page.context["impact"], "the walk sees what follows of a decision"


def client_of(role: str, scene: Scene, signed_in: SignIn) -> Client:
    if role in ("stranger", "tasker"):
        return signed_in(factories.tasker("tara")) if role == "tasker" else Client()
    if role == "captain":
        Member.objects.create(team=scene.red, user=factories.user("carl"))
    people = {"captain": "carl", "organizer": "oliver", "board member": scene.members[0].username}
    return signed_in(User.objects.get(username=people[role]))
