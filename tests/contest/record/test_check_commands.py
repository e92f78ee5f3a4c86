"""The commands of the page "Check it yourself" work as they are written (R39)."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from adjudication.zipapp import build_zipapp
from contest.releases import services
from tests.adjudication.test_verify import WEEK
from tests.contest import release_fixtures
from tests.contest.record.test_check_page import PAGE, commands


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow("it makes a release, and starts curl and Python from the page's own words")
def test_the_commands_work_as_they_are_written(live_server: Any, settings: Any, tmp_path: Path) -> None:
    settings.PUBLIC_URL = live_server.url
    release_fixtures.a_week()
    release = services.release_week(WEEK, out=settings.RELEASE_DIR, now=release_fixtures.AFTER).release
    page = Client().get(PAGE).content.decode()
    environment = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "NO_PROXY": "*"}
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    shell = ["sh", "-e", "-c", commands(page, "linux")]
    done = subprocess.run(shell, cwd=downloads, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    sha256, first, *_, last = done.stdout.splitlines()
    assert last == "Nothing differs."
    shown = [hashlib.sha256(build_zipapp()).hexdigest(), release.manifest_sha256]
    assert re.findall(r'<code id="(?:sha256|manifest)">([0-9a-f]{64})</code>', page) == shown
    assert sha256.split() == [shown[0], "verify.pyz"] and first.endswith(shown[1])
    assert sorted(path.name for path in downloads.iterdir()) == ["release-2026-W47.zip", "verify.pyz"]
