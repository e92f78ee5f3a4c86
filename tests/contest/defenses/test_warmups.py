"""What the warm-up found about a defense (R40): what is recorded, and who sees it."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from common.errors import InvalidInput
from contest.defenses.models import WarmupMeasurement
from contest.defenses.warmups import warmup_record
from defense_kit.warmup import ATTACKS, VERSION
from scoring.models import Defense
from tests import factories
from tests.contest import release_fixtures as cast
from tests.contest.pages import words

pytestmark = pytest.mark.django_db


@pytest.fixture
def defense() -> Defense:
    factories.policy_version()
    return cast.defense(1)


def report(of: Defense, worst: float = 0.75, **changes: Any) -> dict[str, Any]:
    figures = {
        "n": 8, "accuracy_at_80": 0.875, "accuracy_at_100": 0.8, "interval": [0.5291, 0.9776],
        "queries": {"min": 1, "median": 1, "max": 1, "sum": 6200},
    }  # fmt: skip
    return {
        "digest": of.digest,
        "version": VERSION,
        "mode": "default",
        "pictures_sha256": "0" * 64,
        "attacks": dict.fromkeys(ATTACKS, figures),
        "worst": figures | {"accuracy_at_80": worst},
        "warnings": ["flat: in 3 of 9 SPSA steps all probes got the same loss"],
    } | changes


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"digest": "sha256:0"}, "wrong_digest"),
        ({"attacks": {"clean": {}}}, "incomparable"),
        ({"mode": "quick"}, "incomparable"),
        ({"mode": "as-published"}, "incomparable"),
    ],
)
def test_what_cannot_be_compared_is_not_recorded(defense: Defense, changes: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        warmup_record(defense, report(defense, **changes), now=cast.AFTER)
    assert refused.value.code == code and not WarmupMeasurement.objects.exists()


def test_it_stays_as_it_was_recorded(defense: Defense) -> None:
    row = warmup_record(defense, report(defense), now=cast.AFTER)
    for change in (lambda: WarmupMeasurement.objects.update(worst_accuracy=1), row.delete):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            change()


def test_the_page_and_the_leaderboard_show_the_newest_one(defense: Defense, client: Client) -> None:
    address = f"/defenses/{defense.public_id}/"
    assert "Warm-up" not in words(client, address) and client.get(f"{address}warmup.json").status_code == 404
    for worst in (0.5, 0.75):
        warmup_record(defense, report(defense, worst), now=cast.AFTER)
    page = words(client, address)
    assert "75.00 % with the worst answer to each picture" in page and "Rotations and translations 87.50 %" in page
    assert "Flat: in 3 of 9 SPSA steps all probes got the same loss. SPSA follows differences between scores." in page
    file = client.get(f"{address}warmup.json")
    assert file.json() == report(defense) and file["Content-Disposition"].startswith("attachment")
    assert "75.00 % flagged" in words(client, "/leaderboard/")
    row = client.get("/api/v1/leaderboard/").json()["defenses"][0]
    assert (row["warmup"], row["warmup_warnings"]) == (0.75, ["flat"])
    assert ",0.75,flat," in client.get("/leaderboard.csv?table=defenses").content.decode()


def test_the_leaderboard_compares_measurements_by_the_same_attacks_alone(defense: Defense, client: Client) -> None:
    other = cast.defense(2)
    warmup_record(defense, report(defense, version="1"), now=cast.AFTER)
    warmup_record(other, report(other), now=cast.AFTER)
    rows = client.get("/api/v1/leaderboard/").json()["defenses"]
    assert {each["id"]: each["warmup"] for each in rows} == {defense.public_id: None, other.public_id: 0.75}
    assert "version 1 of the attacks" in words(client, f"/defenses/{defense.public_id}/")


def test_it_is_public_when_the_defense_is(defense: Defense, client: Client) -> None:
    warmup_record(defense, report(defense), now=cast.AFTER)
    Defense.objects.update(published_at=None)
    address = f"/defenses/{defense.public_id}/warmup.json"
    assert client.get(address).status_code == 404
    client.force_login(factories.user("olga", "organizers"))
    assert client.get(address).status_code == 200
