"""`release_key new|rotate|show|witness`: the key that signs releases, and the signatures of witnesses."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from adjudication.signatures.signed_note import MAX_NOTE_BYTES
from adjudication.verifier.terminal import printable
from common.audit.origin import RecordedCommand
from common.domain_clock import domain_now
from common.errors import DomainError
from contest.core.models import Release
from contest.releases.keys import make_key, public_keys, rotate_key, signing_key
from contest.releases.signatures import add_witnesses, sign_left_releases, unsigned_releases


class Command(RecordedCommand):
    """Run it where releases are published: the secret key lies there, and nowhere else."""

    help = (
        "new: make the key that signs releases from now on. rotate: let a new key sign, as the old one states. show: "
        "print the public key, which `python -m adjudication.verify --key FILE` takes. witness: add to a published "
        "release the signature that a mirror made with `python -m adjudication.witness`."
    )
    example = "./unanimous release_key show"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Say what to do."""
        parser.add_argument("action", choices=("new", "rotate", "show", "witness"), help="new, rotate, show or witness")
        parser.add_argument("file", nargs="?", type=Path, help="for witness: the manifest.sig with the mirror's line")
        parser.add_argument("--vkey", default="", help="for witness: its public key, where it signs for the first time")
        parser.add_argument("--name", default="", help="for new: the key's name; default: the address of the releases")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it, and print the result."""
        folder, now = settings.RELEASE_DIR, domain_now()
        if options["action"] == "witness":
            self._witness(options["file"], options["vkey"])
            return
        if options["action"] == "new":
            make_key(folder=folder, now=now, name=options["name"])
        if options["action"] == "rotate":
            self._sign_all()
            rotate_key(folder=folder, now=now)
        self._show()

    def _sign_all(self) -> None:
        """Sign all unsigned releases with the old key: afterwards that is impossible."""
        sign_left_releases()
        if left := unsigned_releases(settings.RELEASE_DIR, by_newest_key=True):
            names = ", ".join(release.name for release in left)
            raise CommandError(f"The old key has to sign {names} first, and cannot: see ./unanimous release_key show")

    def _witness(self, file: Path | None, vkey: str) -> None:
        if file is None:
            raise CommandError("Name the manifest.sig that has the mirror's signature.")
        with file.open("rb") as opened:
            data = opened.read(MAX_NOTE_BYTES + 1)
        release, added = add_witnesses(data, folder=settings.RELEASE_DIR, now=domain_now(), vkey=vkey)
        words = f"added {', '.join(added)}" if added else "nothing is new: it has these signatures"
        self.stdout.write(printable(f"{release.name}: {words}."))

    def _show(self) -> None:
        newest = public_keys(settings.RELEASE_DIR).newest
        if newest is None:
            raise CommandError("There is no key, and releases are unsigned. Make one: ./unanimous release_key new")
        self.stdout.write(str(newest.key))
        self.stdout.write(f"# signs from release number {newest.since:,} of the chain on")
        try:
            signing_key(settings.RELEASE_DIR)
        except DomainError as error:
            self.stdout.write(f"# cannot sign now: {error.message}")
        else:
            self.stdout.write(f"# its secret is in {settings.RELEASE_KEY_FILE}: keep a copy in a safe place")
        left: list[Release] = unsigned_releases(settings.RELEASE_DIR)
        if left:
            self.stdout.write(f"# not signed yet: {', '.join(release.name for release in left)}")
