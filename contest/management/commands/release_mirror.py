"""`release_mirror URL DIR`: fetch and check everything a contest published."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from adjudication import mirror
from adjudication.verify import KEY_HELP
from common.commands import ContestCommand


class Command(ContestCommand):
    """The same as `python -m adjudication.mirror`, which needs nothing installed."""

    help = "Fetch every weekly release of a contest, going on where an earlier run stopped, and check all of it."
    example = "./unanimous release_mirror https://contest.example.org /srv/mirror"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Name the contest and the folder."""
        parser.add_argument("url", help="the contest, for example https://contest.example.org")
        parser.add_argument("folder", type=Path, metavar="DIR", help="where the copy lies")
        parser.add_argument("--key", type=Path, metavar="FILE", help=KEY_HELP)
        parser.add_argument("--quiet", action="store_true", help="print differences alone")

    def handle(self, *args: Any, **options: Any) -> None:
        """Exit with 0 when nothing differs, 1 when something does, 2 when the contest does not answer."""
        given = {"key": options["key"], "quiet": options["quiet"]}
        sys.exit(mirror.mirror_and_report(options["url"], options["folder"], **given))
