"""The site with its clock set ahead, so that a benchmark lives through the end of a week at any time of any day.

How far ahead, in seconds, is in the file that BENCH_CLOCK names.
"""

import os
from datetime import datetime, timedelta
from pathlib import Path

from django.utils import timezone

_ahead = Path(os.environ["BENCH_CLOCK"])
_real = timezone.now


def _now() -> datetime:
    return _real() + timedelta(seconds=float(_ahead.read_text()))


timezone.now = _now

# What answers is made when the clock is set, so that nothing took the other one.
from config.wsgi import application  # noqa: E402

__all__ = ["application"]
