"""Lets a release be checked as the zip that was downloaded: unpacks it into a temporary folder (R39).

Pure: standard library only.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from adjudication.schema import release_format as form
from adjudication.verifier.mirror_zip import DamagedZip, Progress, unpack_unlisted
from adjudication.verifier.release_reader import NotARelease, read_manifest

# What the check of a release reads of the one before it.
_OF_PREVIOUS = (form.MANIFEST, form.AUDIT)


@contextmanager
def release_folders(release: Path, previous: Path | None, progress: Progress) -> Iterator[tuple[Path, Path | None]]:
    """Yield the folder of `release` and that of the one before it; each may be given as a folder or as a zip.

    A zip is unpacked, and what was unpacked is removed at the end. Where `previous` is not given, the release before a
    zip is looked for beside it; beside a folder the verifier itself looks. Raises NotARelease for a file that is no
    zip of a release, and where there is no room to unpack it.
    """
    if not release.is_file() and not (previous is not None and previous.is_file()):
        yield release, previous
        return
    with TemporaryDirectory(prefix="unanimous-") as temporary:
        folder = _folder_of(release, Path(temporary, "release"), progress)
        before = Path(temporary, "before")
        if previous is not None:
            yield folder, _folder_of(previous, before, progress, _OF_PREVIOUS)
        else:
            yield folder, _beside(release, read_manifest(folder).previous_name, before, progress)


def _folder_of(release: Path, into: Path, progress: Progress, only: Collection[str] = ()) -> Path:
    if not release.is_file():
        return release
    try:
        return unpack_unlisted(release, into, progress, only=only)
    except (DamagedZip, OSError) as error:
        raise NotARelease(f"{release}: cannot be unpacked: {error}") from error


def _beside(archive: Path, name: str, into: Path, progress: Progress) -> Path | None:
    """Return the folder of the release called `name` that lies beside a zip; None where none does that can be read."""
    for place in (archive.parent / name, archive.parent / f"{name}.zip") if name else ():
        try:
            folder = _folder_of(place, into, progress, _OF_PREVIOUS)
            read_manifest(folder)
        except NotARelease:
            continue  # what is wrong with it, the check of that release says
        return folder
    return None
