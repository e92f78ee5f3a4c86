"""Typed settings from environment variables; a wrong value stops the start with a message."""

import os
import re
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

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
    """Read `name` as a URL whose scheme is one of `schemes`; a wrong value may hold a password and is not repeated."""
    value = os.environ.get(name, "") or default
    scheme, mark, _ = value.partition("://")
    if value and not (mark and scheme.lower() in schemes):
        found = f"begins with {scheme}://" if mark else "is no URL"
        wanted = ", ".join(f"{scheme}://" for scheme in schemes)
        raise ImproperlyConfigured(f"{name} {found}; it has to begin with one of: {wanted}")
    return value


def database(name: str, default: str) -> dict[str, Any]:
    """Read `name` as the URL of a database, into what Django's DATABASES takes."""
    value = url(name, default, ("sqlite", "postgres", "postgresql"))
    try:
        return dict(read.db_url_config(value))
    except ValueError:
        # The text of that error would repeat a part of the password.
        message = f"{name} cannot be read: write characters of the password such as / # @ : as %2F %23 %40 %3A"
        raise ImproperlyConfigured(message) from None


_ADDRESS = re.compile(r"[^@\s<>\"]+@[^@\s<>\"]+")
_MAIL_PORTS = {"smtp": 25, "smtps": 465, "smtp+tls": 587}


def email(name: str, default: str) -> dict[str, Any]:
    """Read `name` as where letters go, into Django's settings.

    `smtps://` is TLS from the start, `smtp+tls://` turns to it (STARTTLS), `smtp://` is for a server on this machine;
    `file:///folder` writes each letter into the folder, `console://` prints it.
    """
    parts = urlsplit(url(name, default, ("console", "file", *_MAIL_PORTS)))
    if parts.scheme in {"console", "file"}:
        kind = {"console": "console", "file": "filebased"}[parts.scheme]
        return {
            "EMAIL_BACKEND": f"django.core.mail.backends.{kind}.EmailBackend",
            "EMAIL_FILE_PATH": parts.path or None,
        }
    try:
        port = parts.port or _MAIL_PORTS[parts.scheme]
    except ValueError:
        # The text of that error would repeat a part of the password.
        message = f"{name} cannot be read: write characters of the password such as / # @ : as %2F %23 %40 %3A"
        raise ImproperlyConfigured(message) from None
    return {
        "EMAIL_BACKEND": "common.mail.EmailBackend",
        "EMAIL_HOST": parts.hostname or "localhost",
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_SSL": parts.scheme == "smtps",
        "EMAIL_USE_TLS": parts.scheme == "smtp+tls",
    }


def email_address(name: str) -> str:
    """Read `name` as one e-mail address; empty when it is not set."""
    value = os.environ.get(name, "").strip()
    if value and not _ADDRESS.fullmatch(value):
        raise ImproperlyConfigured(f"{name}={value!r} is not an e-mail address such as contest@example.org")
    return value


def whole_number(name: str) -> int:
    """Read `name` as a whole number that is not negative; 0 when it is not set."""
    value = os.environ.get(name, "") or "0"
    if not (value.isascii() and value.isdigit()):
        raise ImproperlyConfigured(f"{name}={value!r} is not a whole number")
    return int(value)


def port(name: str, default: int) -> int:
    """Read `name` as a port to listen on."""
    value = os.environ.get(name, "") or str(default)
    if not (value.isascii() and value.isdigit() and 0 < int(value) < 1 << 16):
        raise ImproperlyConfigured(f"{name}={value!r} is not a port: write a number from 1 to 65535")
    return int(value)


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
