"""Starting is quick, and an idle server is idle."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.machine import cpu_seconds
from tests.processes import deployment, wait_for

# Each takes long to import, and few commands need it.
HEAVY = ("torch", "pyarrow", "pandas", "boto3", "docker")
QUIET_SECONDS = 20
START_SECONDS = 12  # 4 on a quiet machine
MAX_CORE_SHARE = 0.04  # 0.01 on a quiet machine: others at work make the same work dearer


def test_commands_and_pages_begin_without_heavy_libraries(tmp_path: Path) -> None:
    program = (
        "import sys, django; django.setup()\n"
        "from django.core.management import get_commands, load_command_class\n"
        "for name, app in get_commands().items():\n"
        "    if not app.startswith('django.'): load_command_class(app, name)\n"
        "from django.urls import get_resolver; get_resolver().url_patterns\n"
        f"print(*[name for name in {HEAVY} if name in sys.modules])"
    )
    own = {"DJANGO_SETTINGS_MODULE": "config.settings", "DEMO": "1", "DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | own, check=True, capture_output=True, text=True
    )
    assert done.stdout.split() == []


@pytest.mark.both("what wakes the workers differs")
@pytest.mark.long("waits for a server to come to rest")
def test_an_idle_server_uses_next_to_nothing(tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        server = site.start(sys.executable, "manage.py", "serve", "--port", str(site.port), log="serve.log")
        wait_for(site.answers, "the site")
        time.sleep(QUIET_SECONDS)  # the first sweeps, and whatever loads late
        before, since = cpu_seconds(server.pid), time.monotonic()
        time.sleep(QUIET_SECONDS)
        assert (cpu_seconds(server.pid) - before) / (time.monotonic() - since) < MAX_CORE_SHARE


@pytest.mark.both("migrations are looked at")
@pytest.mark.long("starts a server")
def test_a_seeded_demo_is_served_at_once(tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        site.environment["DEMO"] = "1"
        site.run("from tests import factories; result = str(factories.user('organizer'))")
        server = site.start(sys.executable, "manage.py", "serve", "--port", str(site.port), log="serve.log")
        wait_for(site.answers, "the site", START_SECONDS)
        assert server.poll() is None
