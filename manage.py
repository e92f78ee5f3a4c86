#!/usr/bin/env python
"""Commands of the project; `python manage.py help` lists them."""

import os
import secrets
import sys

# They read the models and write source files: nothing is signed, so that no installation and no key is needed.
FOR_DEVELOPERS = {"compilemessages", "makemessages", "makemigrations"}

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if FOR_DEVELOPERS.intersection(sys.argv[1:2]):
        os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(48))
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
