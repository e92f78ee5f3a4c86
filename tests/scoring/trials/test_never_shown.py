"""No address of the site and no release gives away a private picture, its hash or its class (R31)."""

import base64
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from contest.releases.services import release_week
from labeling.models import Image
from labeling.pictures.addresses import picture_url
from picture_files.store import picture_store
from policy.calendar import week_named
from scoring.arrays import load_picture
from scoring.enums import DefenseAnswer, TrialKind
from scoring.models import PrivatePicture, Trial
from scoring.trials.private_set import private_key
from tests import factories
from tests.contest import release_fixtures as week
from tests.scoring.cast import SIZE
from tests.scoring.trials import cast
from tests.test_pages import ROLES, addresses, person

pytestmark = [pytest.mark.django_db, pytest.mark.slow("asks for every page of the site")]
_SHORT = 12  # characters of a hash that nobody writes by chance


@pytest.fixture(scope="module")
def tried(module_world: Path) -> Trial:
    """A private set, and a defense that answered it."""
    now = factories.NOW
    cast.policy_in_force()
    cast.private(6)
    trial = cast.ask(cast.container(), TrialKind.PRIVATE, now)
    cast.work(now, cast.Opening(lambda images: cast.answers([DefenseAnswer.BIRD] * len(images))))
    return Trial.objects.get(pk=trial.pk)


def secrets(trial: Trial) -> list[bytes]:
    """Whatever would tell of a private picture: hashes, keys, files, pixels, answers, however they are written."""
    found = [bytes(trial.answers), base64.b64encode(bytes(trial.answers)), b"private/"]
    for picture in PrivatePicture.objects.all():
        sha = picture.pixels_sha256
        file = picture_store().get(private_key(sha))
        pixels = load_picture(sha, SIZE, private_key, cached=False).tobytes()
        found += [sha[:_SHORT].encode(), bytes.fromhex(sha)[:_SHORT], base64.b64encode(bytes.fromhex(sha))[:_SHORT]]
        found += [file[40:80], base64.b64encode(file)[60:100], pixels[:64]]
    return found


def given_away(content: bytes, trial: Trial) -> list[bytes]:
    return [each for each in secrets(trial) if each in content]


def client_of(role: str, signed_in: Any) -> Client:
    factories.policy_version()
    factories.panel()
    return Client(raise_request_exception=False) if role == "stranger" else signed_in(person(role))


FEW = ("organizer", "captain")
OTHERS = [pytest.param(role, marks=pytest.mark.long("every page; two roles stay")) for role in ROLES if role not in FEW]


@pytest.mark.parametrize("role", [*FEW, *OTHERS])
def test_no_address_gives_a_private_picture_away(role: str, tried: Trial, signed_in: Any) -> None:
    client, hidden, codes = client_of(role, signed_in), secrets(tried), set()
    for address in addresses():
        for found in {re.sub(r"[TD]-00000", tried.defense.public_id, address), address}:
            answer = client.get(found)
            content = answer.getvalue() if answer.streaming else answer.content
            codes.add(answer.status_code)
            told = content + str(dict(answer.items())).encode()
            assert [each for each in hidden if each in told] == [], found
    assert 200 in codes


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def shas() -> set[str]:
    return set(PrivatePicture.objects.values_list("pixels_sha256", flat=True))


def test_an_address_made_for_a_private_picture_leads_nowhere(tried: Trial, signed_in: Any) -> None:
    client = client_of("organizer", signed_in)
    addresses = [picture_url(Image(pixels_sha256=sha), now=timezone.now()) for sha in shas()]
    assert [client.get(address).status_code for address in addresses] == [404] * 6


def test_a_release_holds_no_private_picture(tried: Trial, tmp_path: Path) -> None:
    week.a_week()
    released = release_week(week_named("2026-W47", "UTC"), out=tmp_path / "out", now=week.AFTER, incomplete=True)
    assert len(files := files_in(released.folder)) > 10
    for path in [*files, released.archive]:
        assert not given_away(path.read_bytes(), tried) and not any(sha in path.name for sha in shas()), path.name


def test_what_scorers_share_on_a_disk_holds_no_private_picture(tried: Trial, settings: Any) -> None:
    for path in files_in(Path(settings.ARRAY_CACHE_DIR)):
        assert path.stem not in shas() and not given_away(path.read_bytes(), tried)


def test_the_secrets_would_be_found_if_they_were_there(tried: Trial) -> None:
    sha = min(shas())
    assert given_away(f"<p>{sha}</p>".encode(), tried) and given_away(picture_store().get(private_key(sha)), tried)
    assert given_away(b"nothing of the kind", tried) == []
