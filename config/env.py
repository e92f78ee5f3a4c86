"""Settings from the environment: typed, documented in the README's table, and refused loudly when wrong."""

import os
import secrets
from pathlib import Path
from urllib.parse import urlparse

import environ
from django.core.exceptions import ImproperlyConfigured

read = environ.Env()


def choice(name: str, default: str, allowed: tuple[str, ...]) -> str:
    """Read `name`, one of `allowed`; anything else stops the start with the name."""
    value = os.environ.get(name, "") or default
    if value not in allowed:
        raise ImproperlyConfigured(f"{name}={value!r} is not one of: {', '.join(allowed)}")
    return value


def boolean(name: str, default: bool) -> bool:
    """Read `name` as 1/0, true/false, yes/no or on/off."""
    value = os.environ.get(name, "").lower() or str(default).lower()
    if value not in {"1", "0", "true", "false", "yes", "no", "on", "off"}:
        raise ImproperlyConfigured(f"{name}={value!r} is not a yes or no (use 1 or 0)")
    return value in {"1", "true", "yes", "on"}


def url(name: str, default: str, schemes: tuple[str, ...]) -> str:
    """Read `name` as a URL whose scheme is one of `schemes`."""
    value = os.environ.get(name, "") or default
    if value and urlparse(value).scheme not in schemes:
        wanted = ", ".join(f"{scheme}://" for scheme in schemes)
        raise ImproperlyConfigured(f"{name}={value!r} does not begin with one of: {wanted}")
    return value


def secret_key(demo: bool, folder: Path) -> str:
    """Read SECRET_KEY; in demo mode only, make one once and keep it in the data folder."""
    value = os.environ.get("SECRET_KEY", "")
    if value:
        return value
    if not demo:
        raise ImproperlyConfigured("SECRET_KEY is required outside demo mode (DEMO=1): set 50 random characters")
    path = folder / "secret-key"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(secrets.token_urlsafe(48))
        path.chmod(0o600)
    return path.read_text().strip()
