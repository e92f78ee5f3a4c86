"""The real settings with what a test run needs: a throw-away data folder and fast password hashing."""

import atexit
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

os.environ.setdefault("SECRET_KEY", "only-for-tests-" + "x" * 50)


def _throw_away(prefix: str) -> str:
    """Make a folder that goes with the process which made it."""
    folder, made_by = tempfile.mkdtemp(prefix=prefix), os.getpid()

    def remove() -> None:
        if os.getpid() == made_by:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def _migrated() -> Path:
    """Return where the migrated database of this state of the application is kept, and remove those of others."""
    root = Path(__file__).parents[1]
    folder = root / ".pytest_cache" / "migrated"
    folder.mkdir(parents=True, exist_ok=True)
    state = hashlib.sha256()
    rooms = (each for each in root.iterdir() if each.is_dir() and each.name not in ("tests", "var", "docs"))
    files = (file for room in rooms if not room.name.startswith(".") for file in room.rglob("*.py"))
    for file in sorted([root / "requirements.txt", *files]):
        state.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    kept = folder / f"{state.hexdigest()[:16]}.sqlite3"
    for other in folder.glob("*.sqlite3"):
        if other != kept:
            other.unlink(missing_ok=True)
    return kept


if "DATA_DIR" not in os.environ:
    os.environ["DATA_DIR"] = _throw_away("unanimous-tests-")
if "MIGRATED" not in os.environ:  # of all processes of a run, also of those with a DATA_DIR of their own
    os.environ["MIGRATED"] = str(_migrated())
os.environ.setdefault("LOG_FORMAT", "console")

from config.settings import *  # noqa: E402, F403

STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # noqa: F405
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):  # noqa: F405
    # A file: in memory, all threads of a live server would share one connection and its one transaction.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "test.sqlite3")}  # noqa: F405
INSTALLED_APPS = ["tests.migrated", *INSTALLED_APPS]  # noqa: F405
MIDDLEWARE = ["tests.in_flight.InFlight", *MIDDLEWARE]  # noqa: F405
# The processes of a parallel run share the folder above, and one device is for one of them.
SCORER_DIR = Path(_throw_away("unanimous-scorer-"))  # noqa: F405
