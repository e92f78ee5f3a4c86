"""The whole story, with real processes: a photograph comes in, three people label it,
the rules call it valid, the defenses run, and a stranger verifies the weekly release."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import factories
from tests.browser.label_desk import RECEIVED, Desk
from tests.browser.looking import DESK, signed_in
from tests.processes import ROOT, Deployment, deployment, wait_for

PHOTO = "contest/demo/photos/bicycle-whole.png"
# Around the bicycle, in image pixels.
OUTLINE = [(30, 150), (45, 105), (97, 75), (222, 69), (267, 160), (225, 207), (135, 214), (60, 208)]

NAMES = ("ann", "ben", "cyd")
PREPARE = f"""
from datetime import timedelta
from pathlib import Path
from random import Random
from django.contrib.auth.models import Group, User
from django.utils import timezone
from policy.calendar import week_of
from labeling.enums import Origin, TaskerState
from labeling.pictures.intake import import_picture
from accounts.roles import ORGANIZERS
from labeling.taskers import tasker_register
now = timezone.now()
for name in {NAMES}:
    user = User.objects.create_user(name, password="{factories.PASSWORD}")
    tasker_register(user=user, state=TaskerState.QUALIFIED, now=now, rng=Random(name))
organizer = User.objects.create_user("organizer", password="{factories.PASSWORD}")
organizer.groups.add(Group.objects.get_or_create(name=ORGANIZERS)[0])
received = week_of(now, "UTC").start - timedelta(hours=1)
image, _, _ = import_picture(
    Path("{PHOTO}").read_bytes(), size=299, origin=Origin.DATASET, source="story", licence="CC BY 2.0",
    now=received, label_from=received,
)
result = week_of(received, "UTC").name
"""
PANELS = """
from labeling.models import Panel
result = Panel.objects.count()
"""
RULINGS = """
from adjudication.models import Ruling
result = [[r.verdict, r.label, r.reasons] for r in Ruling.objects.all()]
"""
PREDICTIONS = """
from scoring.models import Prediction
result = Prediction.objects.count()
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Deployment]:
    """The one-machine form on SQLite; web, Celery worker and beat on PostgreSQL with Redis."""
    with deployment(tmp_path) as deployed:
        deployed.manage("publish_reference_defenses")
        deployed.start_web()
        broker = os.environ.get("TEST_REDIS_URL", "")
        if deployed.environment["DATABASE_URL"].startswith("postgres") and broker:
            deployed.environment["CELERY_BROKER_URL"] = broker.rsplit("/", 1)[0] + "/9"
            celery = [sys.executable, "-m", "celery", "-A", "config", "worker", "-l", "INFO", "-c", "1"]
            deployed.start(*celery, "-Q", "quick,gpu,slow", "-B", "-s", str(tmp_path / "beat"), log="celery.log")
        else:
            deployed.start(sys.executable, "manage.py", "work", log="work.log")
        yield deployed


def test_from_a_photograph_to_a_verified_release(site: Deployment, chromium: Browser, tmp_path: Path) -> None:
    week = site.run(PREPARE)
    wait_for(lambda: site.run(PANELS), "the panel")
    for name in NAMES:
        context = chromium.new_context(viewport=DESK, base_url=site.url)
        desk = Desk(signed_in(context, name), site.url).open()
        desk.press("4", "1")
        desk.corner(*OUTLINE, OUTLINE[0])
        desk.press("1", "2", "3", "Enter")
        expect(desk.page.locator("#empty")).to_be_visible()
        desk.page.click("#look-again")  # sends what could still be taken back
        expect(desk.page.locator("#empty-status")).to_have_text(RECEIVED)
        context.close()
    assert wait_for(lambda: site.run(RULINGS), "the ruling") == [["valid", "bicycle", []]]
    wait_for(lambda: site.run(PREDICTIONS) == 9, "three defenses in three rounds", 120)
    context = chromium.new_context(accept_downloads=True, base_url=site.url)
    download_and_verify(signed_in(context, "organizer"), week, tmp_path)
    context.close()


def download_and_verify(page: Page, week: str, folder: Path) -> None:
    def published() -> bool:
        page.goto("/organizer/")
        return page.locator(f"a[href$='release-{week}.zip']").count() > 0

    wait_for(published, "the release", 120)
    with page.expect_download() as download:
        page.locator(f"a[href$='release-{week}.zip']").first.click()
    download.value.save_as(folder / "release.zip")
    zipfile.ZipFile(folder / "release.zip").extractall(folder / "fetched")
    verify = [sys.executable, "-I", "-S", "-c", _VERIFY, str(ROOT), str(folder / "fetched" / f"release-{week}")]
    done = subprocess.run(verify, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rulings: 1 read, 1 of them derived again" in done.stdout


_VERIFY = """
import runpy, sys
sys.path.insert(0, sys.argv.pop(1))
runpy.run_module("adjudication.verify", run_name="__main__")
"""
