"""What production runs: clean by Django's own list, with files that can be collected, and refused when half set up."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def manage(tmp_path: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run manage.py with a production's environment, changed by `environment` (an empty value takes one away)."""
    wanted = {
        "SECRET_KEY": secrets.token_urlsafe(60)[:60],
        "PUBLIC_URL": "https://contest.example.org",
        "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
        "DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PATH": os.environ["PATH"],
    } | environment
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env={name: value for name, value in wanted.items() if value},
        capture_output=True,
        text=True,
        timeout=120,
    )


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", ""),
        ("DEMO", "1"),  # published passwords on a public address
        ("DEMO", "maybe"),
        ("PUBLIC_URL", "ftp://contest.example.org"),
        ("DATABASE_URL", "mysql://somewhere/db"),
        ("IMAGE_STORE_URL", "gs://bucket"),
        ("SCORING_DEVICE", "tpu"),
        ("LOG_FORMAT", "xml"),
    ],
)
def test_a_wrong_setting_stops_the_start_and_is_named(name: str, value: str, tmp_path: Path) -> None:
    done = manage(tmp_path, "check", **{name: value})
    assert done.returncode != 0
    assert name in done.stderr.strip().splitlines()[-1]
