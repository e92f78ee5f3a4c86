"""What `make run` starts, as a whole: the demo is seeded and let go of, and its worker scores from then on."""

import sys
from pathlib import Path

import pytest

from tests.processes import Deployment, deployment, wait_for

SEEN = """
from scoring.models import Scorer
result = [scorer.seen_at.timestamp() for scorer in Scorer.objects.all()]
"""


def _seen(deployed: Deployment) -> list[float]:
    found: list[float] = deployed.run(SEEN)
    return found


@pytest.mark.long("seeds a demo in a process of its own; `test_demo.py` seeds one in its own")
def test_a_seeded_demo_goes_on_scoring_and_its_letters_lead_to_it(tmp_path: Path) -> None:
    with deployment(tmp_path) as deployed:
        deployed.environment |= {"DEMO": "1", "PUBLIC_URL": ""}
        deployed.start(sys.executable, "manage.py", "serve", "--port", str(deployed.port), log="serve.log")
        log = tmp_path / "serve.log"
        wait_for(lambda: "Ctrl-C ends it" in log.read_text(), "the demo", seconds=400)
        assert f"Letters are written to files in {tmp_path / 'mail'}" in log.read_text()

        seeded = _seen(deployed)
        wait_for(lambda: _seen(deployed) > seeded, "a sign of the worker's scorer", seconds=120)

        letters = [path.read_text() for path in (tmp_path / "mail").iterdir()]
        assert letters and all(deployed.url in letter for letter in letters)
        assert not any(":8000" in letter for letter in letters)
