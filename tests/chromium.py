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


def browser_path() -> str | None:
    """The Chromium of this machine; None for the one that Playwright brings."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
