"""Databases beside the suite's own, for processes of their own: a file, or a fresh one on the same PostgreSQL."""

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection


@dataclass(frozen=True, slots=True)
class Fresh:
    """An empty database: its address, and how to connect to it from the test."""

    url: str
    connect: Callable[[], Any]


@contextmanager
def fresh_database(folder: Path) -> Iterator[Fresh]:
    """An empty database of the kind that the suite runs on; gone afterwards."""
    name = f"own_{uuid.uuid4().hex}"
    if connection.vendor == "sqlite":
        file = folder / f"{name}.sqlite3"
        yield Fresh(f"sqlite:///{file}", lambda: sqlite3.connect(file))
        return
    import psycopg2

    values = settings.DATABASES["default"]
    login = {"user": values["USER"], "password": values["PASSWORD"], "host": values["HOST"], "port": values["PORT"]}
    login = {key: value for key, value in login.items() if value}
    maintenance = psycopg2.connect(dbname="postgres", **login)
    maintenance.autocommit = True
    with maintenance.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    url = f"postgres://{login.get('user', '')}:{login.get('password', '')}@{_host(login)}/{name}"
    try:
        yield Fresh(url, lambda: psycopg2.connect(dbname=name, **login))
    finally:
        with maintenance.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
        maintenance.close()


def _host(login: dict[str, Any]) -> str:
    host = str(login.get("host", "")).replace("/", "%2F")  # a folder names a UNIX socket
    return f"{host}:{login['port']}" if "port" in login else host
