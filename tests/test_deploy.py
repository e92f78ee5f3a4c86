"""What production runs: clean by Django's own list, with files that can be collected, and refused when half set up."""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def environment_of(tmp_path: Path) -> dict[str, str]:
    """A production's environment."""
    return {
        "SECRET_KEY": secrets.token_urlsafe(60)[:60],
        "PUBLIC_URL": "https://contest.example.org",
        "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
        "DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PATH": os.environ["PATH"],
    }


def manage(tmp_path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run manage.py with a production's environment."""
    command = [sys.executable, "manage.py", *arguments]
    wanted = environment_of(tmp_path)
    return subprocess.run(command, cwd=ROOT, env=wanted, capture_output=True, text=True, timeout=120)


def test_djangos_deployment_check_finds_nothing(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_models_and_migrations_agree(tmp_path: Path) -> None:
    done = manage(tmp_path, "makemigrations", "--check", "--dry-run")
    assert done.returncode == 0, done.stdout


def test_static_files_can_be_collected_with_names_that_change_with_them(tmp_path: Path) -> None:
    done = manage(tmp_path, "collectstatic", "--noinput")
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "static" / "css").glob("base.????????????.css"))
    assert list((tmp_path / "static" / "vendor" / "pico").glob("pico.min.????????????.css.gz"))


WRONG = [
    ("SECRET_KEY", ""),
    ("DEMO", "1"),  # published passwords on a public address
    ("DEMO", "maybe"),
    ("PUBLIC_URL", "ftp://contest.example.org"),
    ("DATABASE_URL", "mysql://somewhere/db"),
    ("IMAGE_STORE_URL", "gs://bucket"),
    ("SCORING_DEVICE", "tpu"),
    ("LOG_FORMAT", "xml"),
]
# Each in a child of one process: settings are read once.
STARTS = """
import json, os, sys
import django.core.checks, config.env
for name, value in json.loads(sys.argv[1]):
    sys.stdout.flush()
    if (child := os.fork()) == 0:
        os.environ.pop(name, None)
        os.environ.update({name: value} if value else {})
        try:
            import django
            django.setup()
            print("started")
        except BaseException as error:
            print(str(error).splitlines()[-1])
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_a_wrong_setting_stops_the_start_and_is_named(tmp_path: Path) -> None:
    wanted = environment_of(tmp_path)
    command = [sys.executable, "-c", STARTS, json.dumps([("LOG_FORMAT", "json"), *WRONG])]
    done = subprocess.run(command, cwd=ROOT, env=wanted, capture_output=True, text=True, timeout=120)
    right, *said = done.stdout.splitlines()
    assert right == "started", done.stderr
    for (name, value), line in zip(WRONG, said, strict=True):
        assert name in line, (value, line)
