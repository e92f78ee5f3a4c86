"""Workers killed with SIGKILL, at each point of a run: nothing is lost, nothing is there twice (R29).

Real processes on a database of their own, of the kind that the suite runs on.
"""

import signal
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.processes import ROOT, deployment

KILLS = ("claimed", "batch", "writing")
PREPARE = """
from datetime import datetime
from tests.scoring import cast
now = datetime.fromisoformat("{now}")
cast.queued(now, "numpy-statistics", pictures=10)
result = True
"""
FINISH = """
from datetime import datetime
from scoring.leases import reclaim
from scoring.models import Prediction, Run
from tests.scoring import cast
killed = sorted(Run.objects.values_list("state", "attempt")), Prediction.objects.count()
later = datetime.fromisoformat("{later}")
reclaim(Run, now=later)
cast.work_all(later)
answers = list(Prediction.objects.values_list("image", "round"))
result = killed, sorted(Run.objects.values_list("state", "attempt")), len(answers), len(set(answers))
"""


@pytest.mark.postgres("what a killed process leaves of a transaction is the database's")
@pytest.mark.long("kills processes that load a model; `test_services.py` takes back what one left")
def test_killed_workers_lose_and_double_nothing(tmp_path: Path, now: datetime) -> None:
    """Each kills itself somewhere, with no chance to tidy up."""
    command = [sys.executable, "-m", "tests.scoring.worker_process"]
    with deployment(tmp_path) as site:
        site.environment |= {"SCORING_DEVICE": "cpu", "PYTHONPATH": str(ROOT)}
        site.run(PREPARE.format(now=now.isoformat()))
        for second, where in enumerate(KILLS):
            at = (now + timedelta(seconds=second)).isoformat()
            worker = site.start(*command, at, where, log=f"{where}.log")
            assert worker.wait(240) == -signal.SIGKILL, (site.folder / f"{where}.log").read_text()
        before, after, answers, distinct = site.run(FINISH.format(later=(now + timedelta(seconds=70)).isoformat()))
    assert before == [[["running", 1]] * 3, 0], "each of them held another run, and wrote nothing"
    assert (after, answers, distinct) == ([["finished", 2]] * 3, 10 * 3, 10 * 3)
