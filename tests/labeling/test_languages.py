"""People's languages: the tasker's own language and time zone on every page, whatever the browser says."""

from datetime import UTC, datetime
from typing import Any

import pytest

from labeling.models import Tasker
from tests import factories
from tests.labeling.cast import shows

pytestmark = pytest.mark.django_db
PAGES = {
    "/label/": "Absenden",
    "/my-work/": "Meine Arbeit",
    "/questions/": "Fragen",
    "/learn/": "Anleitung",
    "/label/instructions/": "Umriss",
    "/account/": "Sprache",
}


@pytest.fixture
def gerda(db: None) -> Tasker:
    """A tasker who reads German and lives in Berlin."""
    factories.policy_version()
    gerda = factories.tasker("gerda")
    gerda.language, gerda.time_zone = "de", "Europe/Berlin"
    gerda.save()
    return gerda


@pytest.mark.parametrize(("address", "word"), sorted(PAGES.items()))
def test_a_page_is_in_the_taskers_language(address: str, word: str, gerda: Tasker, signed_in: Any) -> None:
    factories.panel()
    page = signed_in(gerda).get(address, headers={"accept-language": "en"})
    assert page["Content-Language"] == "de"
    shows(page, '<html lang="de" dir="ltr">', word)


@pytest.mark.parametrize(("accepted", "language"), [("de-AT,de;q=0.9", "de"), ("en", "en"), ("fr", "en"), ("", "en")])
def test_who_has_chosen_none_gets_the_browsers(accepted: str, language: str, client: Any) -> None:
    assert client.get("/sign-in/", headers={"accept-language": accepted})["Content-Language"] == language


def test_refusals_of_the_api_are_in_the_taskers_language(gerda: Tasker, signed_in: Any) -> None:
    refused = signed_in(gerda).post(
        "/api/v1/assignments/3f1c9a52-7d0e-4f5b-9a37-0c6f3f1d2b84/heartbeat/",
        {"lease_token": "x"},
        content_type="application/json",
    )
    assert refused.status_code == 404
    assert refused.json()["code"] == "not_found", "the code stays for programs"
    assert "There is no" not in refused.json()["detail"]


@pytest.mark.parametrize(
    ("zone", "shown", "why"),
    [
        ("", "23:30", "UTC where none was chosen"),
        ("Europe/Berlin", "00:30", "an hour ahead, and the next day"),
        ("Asia/Kolkata", "05:00", "half an hour off"),
    ],
)
def test_times_are_in_the_taskers_zone(zone: str, shown: str, why: str, gerda: Tasker, signed_in: Any) -> None:
    gerda.time_zone = zone
    gerda.save()
    factories.response(gerda, factories.panel(), now=datetime(2026, 11, 17, 23, 30, tzinfo=UTC))
    assert shown in signed_in(gerda).get("/my-work/").content.decode(), why
