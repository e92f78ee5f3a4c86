"""The Chromium of this machine, and how it starts: for the tests in a browser and for the benchmark of the page."""

import os
import shutil

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# A machine that is busy with something else can need seconds for what takes a tenth of one otherwise: three answers
# that went out one by one were once waited for five seconds, and came in six.
PATIENCE_MS = 30_000


def browser_path() -> str | None:
    """The Chromium of this machine; None for the one that Playwright brings."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def engine_path() -> str | None:
    """The same engine without the browser's own windows, where it is installed: it does the same with less work."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell") or browser_path()
