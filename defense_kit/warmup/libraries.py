"""Versions of Python and libraries, on which a run's random numbers and decoded pixels depend."""

import platform

import numpy as np
import PIL
import scipy
from PIL import features

LIBRARIES = {"numpy": "NumPy", "scipy": "SciPy", "pillow": "Pillow", "libjpeg": "JPEG library"}
MADE_WITH = {"python": "Python", **LIBRARIES}


def made_with() -> dict[str, str | None]:
    """Return the versions by the names of MADE_WITH."""
    turbo = features.version("libjpeg_turbo")
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "pillow": PIL.__version__,
        "libjpeg": f"libjpeg-turbo {turbo}" if turbo else features.version("jpg"),
    }


def libraries() -> str:
    """Return in words what the results depend on."""
    versions = made_with()
    return ", ".join(f"{words} {versions[name]}" for name, words in LIBRARIES.items())
