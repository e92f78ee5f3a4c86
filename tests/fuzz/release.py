"""Releases as the contest writes them, for the fuzzer to begin with: `python -m tests.fuzz.release FOLDER`."""

import os
import sys
from pathlib import Path


def main(folder: Path) -> None:
    """Publish two weeks in which the board was at work, and errata of the first, into `folder`."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    from django.test.utils import override_settings, setup_databases, teardown_databases

    made = setup_databases(verbosity=0, interactive=False)
    try:
        with override_settings(IMAGE_STORE_URL=f"file://{folder / 'pictures'}", RELEASE_DIR=folder / "releases"):
            from tests.contest.record import cast

            (folder / "pictures").mkdir()
            cast.two_weeks_of_the_board()
            cast.released(folder / "releases")
    finally:
        teardown_databases(made, verbosity=0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
