"""Two released weeks with everything a release carries: attacks, teams, stakes, money, an award, a fault. And where the
board was at work: appeals, every outcome, motions, confirmations."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

from django.contrib.auth.models import User
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler
from django.core.management import call_command
from django.core.servers.basehttp import WSGIServer
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connections, transaction
from django.test import Client
from django.test.testcases import QuietWSGIRequestHandler

from adjudication.counting import Ballot
from adjudication.mirror import LIST
from adjudication.models import Ruling
from common.audit.trail import audit
from contest.board.cases import lock_image, picture_case, vote_cast
from contest.board.decisions import case_decide, cases_close
from contest.board.models import Appeal, AppealStatement, CaseDecision
from contest.board.motions import motion_drop, motion_open
from contest.core.enums import AccountKind, AppealSide, DecisionKind, StakeEnd, StakeKind, VoteChoice
from contest.core.models import Attack, AttackTarget, Award, BoardDecision, Break, Case, Stake, StakeBatch, Team
from contest.defenses.models import DefenseEntry
from contest.ledger.services import ledger_account, move, pool_deposit, stake_funded
from contest.prizes.models import Examination
from contest.releases.folders import copy_folder
from contest.releases.selectors import listed_releases, published_releases
from contest.releases.services import ReleaseResult, release_week
from contest.teams.models import Association, AssociationMistake, TeamMerge
from labeling.models import Image, VoidedResponse, Voiding
from labeling.pictures.addresses import pixels_hash_of
from policy.calendar import week_named
from scoring.enums import DefenseAnswer, Fault, RerunState, RunState, TrialKind
from scoring.models import Defense, Prediction, PrivateSet, Rerun, Run, RunItem, SupersededPrediction, Trial
from tests import factories
from tests.contest import release_fixtures as cast
from tests.contest.board import cast as board

W47, W48 = week_named("2026-W47", "UTC"), week_named("2026-W48", "UTC")
FIRST, SECOND, ERRATA = "release-2026-W47", "release-2026-W48", "release-2026-W47-errata-1"
NOW = datetime(2026, 12, 2, 8, 0, tzinfo=UTC)
LATER = W48.start + timedelta(days=2)
EARLIER = cast.MONDAY - timedelta(days=12)  # when defenses were handed in
WRITTEN_BEFORE = Path(__file__).parent / "rule_book_1"  # two releases as the first rule book had them, byte for byte
TOKEN = re.compile(r"/pictures/([^\"]+)\.png")


def two_weeks() -> cast.Contest:
    """Fill weeks 2026-W47 and 2026-W48; nothing is released yet."""
    contest = cast.a_week()
    _voided(contest)
    red, dealt = Team.objects.get(name="=red"), W48.end + timedelta(hours=9)
    second = cast.picture(40, received_at=LATER, **cast.sent_by(red, W48.end))
    cast.labeled(contest, "of the next week", second, cast.CASES["valid bird"], dealt)
    cast.ruled(contest.panels["of the next week"], at=dealt + timedelta(hours=2))
    cautious, wrong = contest.defenses
    cast.scored(cautious, second, [DefenseAnswer.ABSTAIN, DefenseAnswer.BIRD, DefenseAnswer.BIRD])
    cast.scored(wrong, second, [DefenseAnswer.BIRD, DefenseAnswer.BIRD])
    cast.faulted(wrong, second, 3, Fault.CRASHED, dealt + timedelta(hours=3))
    _teams(contest)
    _lost_proof(contest)
    _outside(contest)
    _money(contest)
    # What was done by hand: in each week something whose reason is public and something whose is not.
    for at in (cast.MONDAY, LATER):
        audit("board.decide", by=None, subject={"decision": [1]}, why="='good", now=at, published=True)
        audit("tasker.warn", by=None, subject={"tasker": ["T-99999"]}, why="Slowly.", now=at)
    return contest


def _voided(contest: cast.Contest) -> None:
    """One answer was voided and replaced before its panel was full."""
    panel = factories.panel(cast.picture(41), dealt_at=cast.MONDAY)
    first = factories.response(contest.taskers[3], panel, now=cast.MONDAY, **cast.EXCLUDED)
    by = Voiding.objects.create(tasker=contest.taskers[3], reason="=too quick", voided_at=cast.MONDAY)
    VoidedResponse.objects.create(response=first, voiding=by)
    panel.places.create(number=4, replaces=first.place)
    panel.answered, panel.missing = 0, 3
    panel.save()
    for tasker in contest.taskers[:3]:
        factories.response(tasker, panel, now=cast.MONDAY + timedelta(minutes=5), **cast.EXCLUDED)
    cast.ruled(panel)


def _teams(contest: cast.Contest) -> None:
    """Team blue sent the bird once more, a week later, and against one defense; team green became part of it."""
    red, blue = Team.objects.get(name="=red"), Team.objects.create(name="blue", created_at=cast.MONDAY)
    green = Team.objects.create(name="green", created_at=cast.MONDAY, merged_into=blue, merged_at=LATER)
    TeamMerge.objects.create(team=green, into=blue, reason="one group", merged_at=LATER)
    tried = {"pictures": 10, "right": 9, "wrong": 0, "abstained": 1, "faults": 0}
    Trial.objects.create(
        defense=contest.defenses[0], kind=TrialKind.PRIVATE, number=2, seed=1, batch_size=16, totals=tried,
        private_set=PrivateSet.objects.create(number=3, note="x", imported_at=EARLIER), state=RunState.FINISHED,
        created_at=EARLIER, finished_at=EARLIER + timedelta(days=1),
    )  # fmt: skip
    Association.objects.create(team=blue, reason="works here", since=cast.MONDAY, declared_at=cast.MONDAY)
    wrong = Association.objects.create(team=blue, reason="another", since=cast.MONDAY, declared_at=cast.MONDAY)
    AssociationMistake.objects.create(association=wrong, reason="another blue", declared_at=LATER)
    policy, bird, second = factories.policy_version(), contest.images["valid bird"], contest.images["of the next week"]
    first = Attack.objects.get(team=red)
    sent = {"received_at": LATER, "week": W48.name, "policy": policy}
    again = Attack.objects.create(team=blue, image=bird, of_quota=1, copy_of=first, **sent)
    AttackTarget.objects.create(attack=again, defense=contest.defenses[1])
    Attack.objects.create(team=red, image=second, of_quota=3, **sent)
    Attack.objects.create(team=blue, image=second, of_quota=2, withdrawn_at=LATER + timedelta(hours=1), **sent)
    entry = {"received_at": EARLIER, "due_at": W47.start, "licence": "MIT"}
    Defense.objects.filter(pk=contest.defenses[0].pk).update(demo=False)
    DefenseEntry.objects.create(
        team=blue, defense=contest.defenses[0], opened_at=cast.MONDAY, training_code="0" * 64, **entry
    )


def _outside(contest: cast.Contest) -> None:
    """The organizers took in a bird that a defense takes for a bicycle: a mistake outside the contest (R29)."""
    image = cast.picture(43)
    cast.labeled(contest, "taken in", image, cast.CASES["valid bird"])
    made, (cautious, wrong) = cast.ruled(contest.panels["taken in"]), contest.defenses
    cast.scored(cautious, image, [DefenseAnswer.ABSTAIN] * 3)
    answers = cast.scored(wrong, image, [DefenseAnswer.BIRD, DefenseAnswer.BICYCLE, DefenseAnswer.BICYCLE])
    at = cast.MONDAY + timedelta(hours=3)
    Break.objects.create(defense=wrong, image=image, ruling=made, prediction=answers[1], found_at=at)


def _lost_proof(contest: cast.Contest) -> None:
    """A break whose answer a re-run replaced by a right one."""
    image, wrong = contest.images["valid bicycle"], contest.defenses[1]
    red, found = Team.objects.get(name="=red"), image.rulings.get().decided_at + timedelta(hours=1)
    type(image).objects.filter(pk=image.pk).update(**cast.sent_by(red))
    sent = {"received_at": cast.MONDAY, "week": "2026-W47", "of_quota": 2, "policy": factories.policy_version()}
    Attack.objects.create(team=red, image=image, **sent)
    for of_quota, case in enumerate(("uncertain", "depiction"), start=3):
        type(image).objects.filter(pk=contest.images[case].pk).update(**cast.sent_by(red))
        Attack.objects.create(team=red, image=contest.images[case], **sent | {"of_quota": of_quota})
    asked = {"defense": wrong, "reason": "test", "asked_at": cast.MONDAY}
    rerun = Rerun.objects.create(state=RerunState.APPLIED, **asked)
    for before in Prediction.objects.filter(image=image, defense=wrong, round__in=(1, 2)).order_by("-round"):
        run = Run.objects.create(
            defense=wrong, rerun=rerun, round=before.round, seed=70 + before.round, batch_size=16,
            state=RunState.ASSESSED, attempt=1, created_at=cast.MONDAY,
        )  # fmt: skip
        item = RunItem.objects.create(run=run, rerun=rerun, defense=wrong, round=before.round, image=image, position=0)
        same = {name: getattr(before, name) for name in (
            "pixels_sha256", "defense_digest", "device", "batch_size", "batch", "row", "latency_us", "round",
        )}  # fmt: skip
        new = Prediction.objects.create(
            item=item, image=image, defense=wrong, rerun=rerun, answer=DefenseAnswer.BICYCLE, score_bicycle=0.5,
            score_bird=0.25, seed=70 + before.round, attempt=1, predicted_at=LATER, **same,
        )  # fmt: skip
        SupersededPrediction.objects.create(prediction=before, by=new, rerun=rerun)
    # What was found while another answer stood there: nothing of it is in force.
    lost_run = Run.objects.create(
        defense=wrong, rerun=Rerun.objects.create(state=RerunState.CANCELLED, **asked), round=1,
        seed=9, batch_size=16, state=RunState.ASSESSED, attempt=1, created_at=cast.MONDAY,
    )  # fmt: skip
    item = RunItem.objects.create(run=lost_run, rerun=lost_run.rerun, defense=wrong, round=1, image=image, position=0)
    lost = Prediction.objects.create(
        item=item, image=image, defense=wrong, rerun=lost_run.rerun, round=1, answer=DefenseAnswer.BIRD,
        score_bicycle=0, score_bird=1, pixels_sha256=image.pixels_sha256, defense_digest=wrong.digest,
        device="cpu", batch_size=16, batch=0, row=0, seed=9, attempt=1, latency_us=1, predicted_at=found,
    )  # fmt: skip
    Break.objects.create(defense=wrong, image=image, ruling=image.rulings.get(), prediction=lost, found_at=found)


def _money(contest: cast.Contest) -> None:
    """Both defenses were staked in the first week; in the second one is broken and the other is given a share."""
    policy, blue = factories.policy_version(), Team.objects.get(name="blue")
    said = {"policy": policy, "reason": "+good\nand new"}
    staked = {"defense": [each.pk for each in contest.defenses]}
    criteria, statement, prize = "=all of May", "It held.", 100_000
    staking = BoardDecision.objects.create(
        kind=DecisionKind.STAKE, subject=staked, decided_at=cast.MONDAY, details={"criteria": criteria}, **said
    )
    batch = StakeBatch.objects.create(criteria=criteria, decision=staking, staked_at=cast.MONDAY)
    begun = {"cents": prize, "asked_at": cast.MONDAY, "staked_at": cast.MONDAY, "clock_from": cast.MONDAY}
    ends = ((contest.defenses[0], StakeEnd.WON), (contest.defenses[1], StakeEnd.BROKEN))
    stakes = [
        Stake.objects.create(defense=each, kind=StakeKind.BOARD, batch=batch, ended_at=LATER, end=end, **begun)
        for each, end in ends
    ]
    won = {"stake": [stakes[0].pk], "defense": [stakes[0].defense_id]}
    awarding = BoardDecision.objects.create(
        kind=DecisionKind.AWARD, subject=won, decided_at=LATER, details={"statement": statement}, **said
    )
    met = {"name": "swept", "title": "Every attack was run again", "figures": "", "link": "", "passed": True}
    award = Award.objects.create(
        stake=stakes[0], decision=awarding, cents=250_000, statement=statement, conditions=[met], awarded_at=LATER
    )
    deposited = pool_deposit(cents=500_001, reason="-deposit", by=factories.user("treasurer"), now=cast.MONDAY)
    assert deposited.cents == 500_001
    for stake in stakes:
        stake_funded(stake, decision=staking, now=cast.MONDAY)
    half, outside = map(ledger_account, (AccountKind.DEFENDERS, AccountKind.OUTSIDE))
    team = ledger_account(AccountKind.TEAM, team=blue)
    causes = {"award": [award.pk]}
    move(half, team, 250_000, rule="R36", why="-its share", causes=causes, decision=awarding, now=LATER)
    paid = move(team, outside, 200, rule="R34", why="Paid.", causes={"payment": [1]}, now=LATER)
    told: dict[str, Any] = {"rule": "R34", "why": "It came back.", "causes": {"correction": [1]}, "corrects": paid}
    move(outside, team, 200, now=LATER, **told)


def released(out: Path) -> list[ReleaseResult]:
    """Publish both weeks, and the first once more after an answer came late; so did a row of the audit trail."""
    at = NOW - timedelta(days=1, minutes=9)
    made = [release_week(W47, out=out, now=at)]
    audit("tasker.warn", by=None, subject={"tasker": ["T-99999"]}, why="Late.", now=cast.MONDAY)
    made.append(release_week(W48, out=out, now=at))
    panel = factories.panel(cast.picture(42), dealt_at=cast.MONDAY)
    for number in range(3):
        factories.response(factories.tasker(f"late {number}"), panel, now=NOW - timedelta(hours=9), **cast.EXCLUDED)
    cast.ruled(panel, at=NOW - timedelta(hours=8))
    return [*made, release_week(W47, out=out, now=NOW - timedelta(hours=2))]


def copied(made: Sequence[ReleaseResult], out: Path) -> list[ReleaseResult]:
    """Releases that a module shares, as one test has them: with rows and a folder of its own."""
    return [
        replace(each, folder=out / each.folder.name, archive=out / each.archive.name) for each in deepcopy(list(made))
    ]


# The board at work ---------------------------------------------------------------------------------------------------


ARGUMENT = "=The wing is cut off at the border,\nas the mark shows: nobody can call it complete."
ANSWER = "-Nothing is cut off: the dark part is a branch."
DISSENT = "I do not see it: the wing ends inside the picture."
SECRET = "Somebody's words for the board alone."
MARKS = [{"x": 1, "y": 2, "width": 10, "height": 20, "words": 'the "wing", left'}]
TRUNCATED = Ballot(VoteChoice.OVERRULE, reasons=("truncated",))
UPHOLD, MORE = Ballot(VoteChoice.UPHOLD), Ballot(VoteChoice.MORE_TASKERS)
HOUR = timedelta(hours=1)
CLOSED = LATER + 9 * HOUR


def two_weeks_of_the_board() -> cast.Contest:
    """Fill both weeks, in which the board is at work; nothing is released yet."""
    contest = two_weeks()
    members = [board.member(f"member {number}") for number in range(3)]
    red, blue = Team.objects.get(name="=red"), Team.objects.get(name="blue")
    overruled(contest, members, red, blue)
    image = contest.images["occluded"]
    # A tie leaves a rejection as it is, and two members confirm it at one moment.
    votes(opened(image), members, UPHOLD, Ballot(VoteChoice.OVERRULE, label="bird"), MORE, hours=4)
    asked(contest, members, red)
    moved(members, red, blue)
    for member in members[:2]:
        told = {"ruling": image.rulings.get(), "confirmed_by": member, "at": CLOSED}
        Examination.objects.create(image=image, defense=contest.defenses[0], **told)
    # A case on which members still vote, and a motion.
    case = opened(contest.images["depiction"])
    appeal(case, red)
    Team.objects.create(name="waits", created_at=LATER)
    board.vote(case, members[0], UPHOLD, LATER + HOUR, words=SECRET)
    grant(blue, members[1])
    return contest


def opened(image: Image, now: datetime = LATER) -> Case:
    ruling = Ruling.objects.filter(image=image).order_by("-number")[0]
    with transaction.atomic():
        return picture_case(image=lock_image(image.pk), ruling=ruling, by=None, now=now)


def appeal(case: Case, by: Team, *, defense: Any = None, marks: Sequence[Any] = ()) -> Appeal:
    side = AppealSide.DEFENDER if defense else AppealSide.ATTACKER
    told = {"argument": ARGUMENT, "marks": list(marks), "sent_at": LATER + HOUR, "defense": defense, "side": side}
    return Appeal.objects.create(case=case, team=by, image=case.image, ruling=case.ruling, **told)


def votes(case: Case, members: Sequence[User], *ballots: Ballot, hours: int) -> CaseDecision:
    """Each member votes for one of these; the first confirms, after so many hours."""
    for member, ballot in zip(members, ballots, strict=False):
        board.vote(case, member, ballot, LATER + 2 * HOUR, words=SECRET)
    return board.decide(case, members[0], LATER + hours * HOUR)


def overruled(contest: cast.Contest, members: Sequence[User], red: Team, blue: Team) -> None:
    """A valid picture is rejected, against one vote whose words are public."""
    case = opened(contest.images["valid bird"])
    appeal(case, blue, defense=contest.defenses[0], marks=MARKS)
    AppealStatement.objects.create(case=case, team=red, words=ANSWER, sent_at=LATER + HOUR)
    board.vote(case, members[2], UPHOLD, LATER + HOUR, words=DISSENT, public=True)
    votes(case, members, TRUNCATED, TRUNCATED, hours=3)


def asked(contest: cast.Contest, members: Sequence[User], red: Team) -> None:
    """More taskers join one panel, and a fresh one takes the place of another."""
    joins, fresh = opened(contest.images["valid bicycle"]), opened(contest.images["uncertain"])
    appeal(fresh, red)
    shape = cast.LARGE
    for hours, case, said in (
        (5, joins, cast.bicycle(shape)),
        (6, fresh, cast.drawn(shape)),
    ):
        made = votes(case, members, MORE, MORE, UPHOLD, hours=hours)
        assert made.panel is not None
        made.panel.refresh_from_db()
        board.answers(made.panel, *[said] * made.panel.missing, now=CLOSED - 2 * HOUR)
        board.rule(made.panel, now=CLOSED - HOUR)
    assert cases_close(now=CLOSED) == 2
    for defense in contest.defenses:
        cast.scored(defense, contest.images["uncertain"], [DefenseAnswer.ABSTAIN] * 3)


def moved(members: Sequence[User], red: Team, blue: Team) -> None:
    """One motion is carried, one lost, one taken back."""
    ada, ben, cleo = members
    cases = [grant(red, ada), grant(blue, ada)]
    for case, choice in zip(cases, (VoteChoice.IN_FAVOUR, VoteChoice.AGAINST), strict=True):
        board.tell(case, ben)
        vote_cast(case=case, by=ben, choice=choice, now=LATER + HOUR, words=SECRET)
        if choice is VoteChoice.AGAINST:
            board.vote(case, cleo, choice, LATER + HOUR)
        case_decide(case=case, seen=board.count_of(case).mark, explanation="=As said.", by=ben, now=LATER + 2 * HOUR)
    motion_drop(case=grant(blue, ada), by=ada, now=LATER + 3 * HOUR)


def grant(team: Team, by: User, now: datetime = LATER) -> Case:
    """A motion to let a team attack without a paper."""
    return motion_open(
        DecisionKind.GRANT, subject={"team": [team.pk]}, reason="+We know them, and they asked for it.", by=by, now=now
    )


def kept_back() -> tuple[str, ...]:
    """What no release says: the names of members, what they wrote for each other, and what waits."""
    names = User.objects.filter(groups__name="review board").values_list("username", flat=True)
    return (SECRET, "waits", *names, *Case.objects.filter(state="open").values_list("public_id", flat=True))


# Another machine ------------------------------------------------------------------------------------------------------


def mirror_of(into: Path, made: Sequence[ReleaseResult]) -> Path:
    """What `release_mirror` leaves, without the network."""
    into.mkdir()
    for each in made:
        copy_folder(each.folder, into / each.folder.name)
        (into / each.archive.name).write_bytes(each.archive.read_bytes())
    (into / LIST).write_text(json.dumps({"releases": [listed_releases(each) for each in published_releases()]}))
    return into


def cut_out(rows: list[dict[str, Any]]) -> None:
    """Take a release out of a list, and mend it."""
    del rows[1]
    rows[1]["previous_sha256"] = rows[0]["manifest_sha256"]


def without_the_first(rows: list[dict[str, Any]]) -> None:
    """Let a list begin with its second release."""
    del rows[0]
    rows[0]["previous_sha256"] = ""


def empty_database() -> None:
    call_command("flush", verbosity=0, interactive=False)
    factories.policy_version()
    cache.clear()


def elsewhere(settings: Any, folder: Path) -> Path:
    """Move to another machine's picture store and release folder; returns the latter."""
    folder.mkdir(exist_ok=True)
    settings.IMAGE_STORE_URL = f"file://{folder / 'other pictures'}"
    settings.RELEASE_DIR = folder / "elsewhere"
    return folder / "elsewhere"


def shown(address: str) -> tuple[int, bytes]:
    """What a stranger is answered; addresses of pictures differ each time, so the picture stands in their place."""
    answer: Any = Client().get(address)
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if not answer["Content-Type"].startswith(("text/html", "application/json")):
        return answer.status_code, body
    page = re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"', "", body.decode())
    # The one word by which a copy says that it is one.
    page = re.sub(r">not\s+(in\s+this\s+copy|here)<", ">not here<", page)
    return answer.status_code, TOKEN.sub(lambda found: str(pixels_hash_of(found[1], now=NOW)), page).encode()


def difference(folder: Path, out: Path) -> list[str]:
    """The files of a release that differ from those of the newest part of its week in `out`."""
    *_, other = sorted(each for each in out.glob(f"{folder.name[:16]}*") if each.is_dir())
    return [path.name for path in sorted(folder.glob("*.*")) if path.read_bytes() != (other / path.name).read_bytes()]


@contextmanager
def served() -> Iterator[str]:
    """Serve the pages to programs that ask over the network, from a thread that uses this test's connection to the
    database; gives their address."""
    connection, site = connections["default"], WSGIHandler()

    def pages(environ: Any, begin: Any) -> Any:
        connections["default"] = connection
        return site(environ, begin)

    connection.inc_thread_sharing()
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    server = WSGIServer(("127.0.0.1", 0), QuietWSGIRequestHandler)
    server.set_app(pages)
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        connection.dec_thread_sharing()
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)
