"""Builds `verify.pyz`, the verifier of releases as one file, from the sources that this process runs (R39)."""

import hashlib
from dataclasses import dataclass
from functools import cache

from adjudication.zipapp import build_zipapp


@dataclass(frozen=True, slots=True)
class VerifierProgram:
    """The bytes of `verify.pyz`, and their SHA-256 in 64 hexadecimal digits."""

    data: bytes
    sha256: str


@cache
def verifier_program() -> VerifierProgram:
    """Return the program, built once per process from the sources that the process runs."""
    data = build_zipapp()
    return VerifierProgram(data, hashlib.sha256(data).hexdigest())
