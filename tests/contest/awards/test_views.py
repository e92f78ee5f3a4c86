"""The board's pages of awards."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from contest.models import Award, Case, Stake
from scoring.models import Rerun
from tests import factories
from tests.contest.awards.test_awards import NOW, all_met, found_late, makers, stake, sweep, valid_and_not_run_again
from tests.contest.money import cast

__all__ = ["makers", "stake"]

pytestmark = pytest.mark.django_db
SignIn = Callable[[User], Client]


@pytest.fixture(autouse=True)
def when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)


def shown(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_checklist_says_what_is_not_met_and_it_is_refused(stake: Stake, rita: User, signed_in: SignIn) -> None:
    valid_and_not_run_again(stake)
    client, address = signed_in(rita), f"/board/awards/{stake.pk}/"
    found = shown(client, address)
    assert found.count(">met<") == 10 and found.count(">not yet<") == 1
    assert "Run all attacks again" in found and "An award can be decided when every condition is met" in found
    assert client.post(address, {"statement": "Unbroken.", "reason": "Every condition is met."}).status_code == 409
    assert not Award.objects.exists()


def test_the_re_run_is_begun_by_the_page(stake: Stake, rita: User, signed_in: SignIn) -> None:
    valid_and_not_run_again(stake)
    client = signed_in(rita)
    done = client.post(f"/board/awards/{stake.pk}/", {"rerun": "1"}, follow=True)
    assert "is being prepared" in done.content.decode()
    assert Rerun.objects.get().asked_by == rita
    assert client.post(f"/board/awards/{stake.pk}/", {"rerun": "1"}).status_code == 409


def test_the_award_by_the_page(stake: Stake, rita: User, olga: User, signed_in: SignIn, client: Client) -> None:
    all_met(stake)
    address = f"/board/awards/{stake.pk}/"
    form = {"statement": "Unbroken <90> days.", "reason": "Every condition is met.", "do": "move"}
    assert "Only members of the review board decide this" in shown(signed_in(olga), address)
    board = signed_in(rita)
    assert board.post(address, form | {"statement": ""}).status_code == 400
    moved = board.post(address, form, follow=True).content.decode()
    assert "A motion to award the prize: net. Moved by you, 1 of 2 votes" in moved and 'name="statement"' not in moved
    assert "The award is moved." in moved and not Award.objects.exists()
    factories.carried(Case.objects.get(), factories.user("rosa", "review board"), timezone.now())
    public = shown(client, "/money/")
    assert "Unbroken &lt;90&gt; days." in public and "Every condition is met." in public
    found_late(stake, cast.team("red"))
    assert "A break found late changes this award" in shown(board, address)
    sweep()
    found = shown(board, address)
    assert "net was broken in week 2027-W01, within its time" in found and "it has not won" in found
    assert "Correction: net lost the award" in found
