"""Workers killed with SIGKILL in the middle: nothing is lost and nothing is there twice."""

import sys
import time
from pathlib import Path

from tests.processes import deployment, kill, wait_for

PANELS = 300
FILL = f"""
from tests import factories
from labeling.enums import Answer
from django.db import transaction
with transaction.atomic():
    people = [factories.tasker(f"tasker-{{n}}") for n in range(3)]
    for n in range({PANELS}):
        panel = factories.panel()
        for person in people:
            factories.response(person, panel, real=n % 2 == 0)
result = True
"""
COUNT = """
from adjudication.models import Ruling
from labeling.models import Panel
result = {
    "rulings": Ruling.objects.count(),
    "images": Ruling.objects.values("image").distinct().count(),
    "settled": Panel.objects.filter(state="settled").count(),
    "valid": Ruling.objects.filter(verdict="valid").count(),
}
"""


def test_adjudication_survives_killed_workers(tmp_path: Path) -> None:
    with deployment(tmp_path) as site:
        site.run(FILL)
        for attempt in range(4):
            worker = site.start(sys.executable, "manage.py", "work", "--queue", "quick", log="work.log")
            if attempt < 3:
                time.sleep(1.6 + 0.15 * attempt)
                kill(worker)
                now = site.run(COUNT)
                assert now["rulings"] == now["settled"], "a ruling and its panel's end commit together"
        wait_for(lambda: site.run(COUNT)["settled"] == PANELS, "every ruling")
        assert site.run(COUNT) == {
            "rulings": PANELS, "images": PANELS, "settled": PANELS, "valid": PANELS // 2,
        }  # fmt: skip
