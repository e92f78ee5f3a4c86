#!/usr/bin/env python
"""Commands of the project; `./unanimous help` lists them."""

import os
import secrets
import sys

# They read the models and write source files: nothing is signed, so that no installation and no key is needed.
FOR_DEVELOPERS = {"compilemessages", "makemessages", "makemigrations"}
HELP = {"help", "-h", "--help", "version", "--version"}


def needs_no_key(words: list[str]) -> bool:
    """Say whether the command does nothing to a contest: it prints help, or works on the source."""
    return not words or bool((FOR_DEVELOPERS | HELP).intersection(words[:1])) or bool({"-h", "--help"} & set(words))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if needs_no_key(sys.argv[1:]) and not os.environ.get("SECRET_KEY"):
        os.environ["SECRET_KEY"] = secrets.token_urlsafe(48)
    try:
        from common.commands import run_command
    except ModuleNotFoundError as error:
        sys.exit(f"{error.name} is not installed for this Python: run `make run` once, then ./unanimous COMMAND.")
    run_command(sys.argv)
