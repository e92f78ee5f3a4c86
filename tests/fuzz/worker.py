"""One target in a process of its own: `python -m tests.fuzz.worker TARGET RELEASES KEPT INPUTS SEED`.

Ends with status 0 after so many inputs. The input that is not read as it should be is then in KEPT, with what it raised
on standard error. With the path of an input instead of INPUTS, reads that one.
"""

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import atheris  # type: ignore[import-untyped]

# Of one input, in CPU time: the machine may have other work. A hang ends sooner or later, too.
MAX_SECONDS = 1
_HANG_SECONDS = 60
MAX_MIB = 512
_MAX_INPUT_BYTES = 8192
# What is watched for branches that no input took before.
_READERS = ["adjudication", "picture_files", "common", "labeling", "policy", "zipfile"]

with atheris.instrument_imports(include=_READERS):
    from tests.fuzz.targets import TARGETS, Place


def main(target: str, releases: Path, kept: Path, inputs: str, seed: str) -> None:
    """Fuzz; ends the process."""
    with tempfile.TemporaryDirectory(prefix="unanimous-fuzz-") as folder:
        here, corpus = Path(folder) / "here", Path(folder) / "corpus"
        here.mkdir()
        corpus.mkdir()
        place = Place(releases, here)
        read = timed(TARGETS[target].ready(place))
        if not inputs.isdigit():
            read(Path(inputs).read_bytes())
            return
        seeds = list(TARGETS[target].seeds(place))
        random.Random(int(seed)).shuffle(seeds)
        for number, data in enumerate(seeds):
            (corpus / f"{number:04}").write_bytes(data)
        bounds = [f"-runs={inputs}", f"-seed={seed}", f"-max_len={_MAX_INPUT_BYTES}"]
        limits = [f"-timeout={_HANG_SECONDS}", f"-rss_limit_mb={MAX_MIB}", f"-artifact_prefix={kept}/{target}-"]
        atheris.Setup(["fuzz", *bounds, *limits, "-verbosity=0", "-print_final_stats=1", str(corpus)], read)
        atheris.Fuzz()


def timed(read: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """Return the same reader, which fails where it takes long."""

    def within(data: bytes) -> None:
        start = time.process_time()
        read(data)
        took = time.process_time() - start
        assert took < MAX_SECONDS, f"{took:.1f} seconds"

    return within


if __name__ == "__main__":
    _, name, releases, kept, inputs, seed = sys.argv
    main(name, Path(releases), Path(kept), inputs, seed)
