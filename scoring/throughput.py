"""The measured speed of a defense."""

from dataclasses import dataclass
from statistics import median

from django.db.models import QuerySet

from scoring.models import Prediction

LATEST_ANSWERS = 2_000


@dataclass(frozen=True, slots=True)
class Throughput:
    """What the latest answers took: `batch_ms` is the median of their batches, in milliseconds, on `device`."""

    pictures_per_second: float
    batch_ms: float
    device: str


def throughput(answers: QuerySet[Prediction]) -> Throughput | None:
    """Return how fast the latest LATEST_ANSWERS of `answers` came, on the device of the newest; None without any."""
    rows = answers.order_by("-pk").values_list("item__run", "attempt", "batch", "latency_us", "device")
    latest = list(rows[:LATEST_ANSWERS])
    if not latest:
        return None
    device = latest[0][-1]
    on_device = [row for row in latest if row[-1] == device]
    # Every row of a batch has the batch's time.
    batches = {row[:3]: max(row[3], 1) for row in on_device}
    seconds = sum(batches.values()) / 1e6
    return Throughput(len(on_device) / seconds, median(batches.values()) / 1000, device)
