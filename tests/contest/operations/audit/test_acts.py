"""Whatever an organizer, the board or somebody on the server does by hand leaves a row in the audit trail."""

import ast
import os
import random
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command, get_commands
from django.db import connection
from django.db.models.signals import post_save
from django.test import Client

from accounts import invitations, leaving
from accounts.enums import Role
from common.audit.chain import canonical
from common.audit.seals import private_of, public_of, seal_entries
from common.models import AuditEntry
from contest.attacks.models import NearDuplicate
from contest.attacks.near_duplicates import pair_review
from contest.board import examinations
from contest.core.decisions import record_decision
from contest.core.enums import DecisionKind
from contest.core.weeks import week_called
from contest.defenses import staking as stakes
from contest.ledger.services import pool_deposit
from contest.operations.audit_words import DID
from contest.payments import corrections
from contest.payments import services as payments
from contest.prizes import sweeps
from contest.record.leaderboard.snapshots import boards_remake
from contest.releases.builds import build_request
from contest.teams import associations, entitlements, same_person
from contest.teams.models import Entitlement
from contest.teams.services import teams_merge
from labeling.enums import MonitoringAction, ReportDecision, ReportKind
from labeling.learning.services import instructions_publish
from labeling.models import MonitoringRule, Report
from labeling.questions.services import question_answer, question_send, report_decide
from monitoring import actions, gold_choice, links, rule_changes
from picture_files.store import FolderStore, original_key
from policy.selectors import policy_in_force
from scoring import rerun_scope, reruns
from scoring import services as scoring
from scoring.enums import Fault, RunState, TrialKind
from scoring.models import Run, Trial
from scoring.trials import services as trials
from tests import factories
from tests.contest import release_fixtures
from tests.contest.defenses import cast as staking
from tests.contest.defenses.test_warmups import report as warmup_report
from tests.contest.ledger import cast as money
from tests.contest.prizes.cast import confirm
from tests.scoring import cast as scored
from tests.scoring.trials import cast as tried
from tests.sources import FOLDERS, sources
from tests.test_pages import addresses

pytestmark = pytest.mark.django_db
Act = Callable[[User, datetime], object]
ROOT, NOW = Path(settings.BASE_DIR), factories.NOW
_ID = "3f1c9a52-7d0e-4f5b-9a37-0c6f3f1d2b84"
MONEY, RERUN = "/organizer/money/", "/organizer/reruns/0/"
# Every address that organizers or the board post to, and what that leaves: nothing only where nothing is changed.
LEAVES: dict[str, set[str]] = {
    "/organizer/audit/": set(),  # checks the trail, changes nothing
    "/organizer/cases/T-00000/remind/": {"case.remind"},
    "/organizer/defenses/T-00000/framework/": {"framework.check"},
    "/organizer/defenses/T-00000/trial/": {"trial.ask"},
    f"/organizer/gold/{_ID}/": {"gold.retire", "gold.hold", "gold.let_go"},
    "/organizer/gold/new/P-00000000/": {"gold.add"},
    "/organizer/leaderboard/": {"leaderboard.make"},
    "/organizer/learning/": {"instructions.publish"},
    "/organizer/links/0/": {"link.end"},
    MONEY: {"pool.deposit"},
    f"{MONEY}ask/T-00000/": {"payment.ask"},
    f"{MONEY}corrections/": {"correction.ask"},
    f"{MONEY}corrections/0/": {"correction.confirm", "correction.cancel"},
    f"{MONEY}payments/0/": {"payment.pay", "payment.cancel"},
    "/organizer/near-duplicates/": {"near_duplicate.see"},
    "/organizer/people/": {"invitation.send", "invitation.renew", "invitation.revoke"},
    "/organizer/people/T-00000/delete/": {"account.delete"},
    "/organizer/conflicts/": {"conflict.declare", "conflict.end", "conflict.dismiss"},
    "/organizer/policy/": {"policy.call_back"},
    "/organizer/pictures/import/": {"picture.import"},
    "/organizer/policy/new/": {"policy.record"},
    "/organizer/questions/": {"question.answer", "instructions.publish"},
    "/organizer/releases/release-2026-W40/": {"release.build"},
    "/organizer/reports/": {"report.decide"},
    "/organizer/reruns/new/T-00000/": {"rerun.ask"},
    f"{RERUN}pause/": {"rerun.stop", "rerun.go_on", "rerun.cancel", "rerun.apply"},
    "/organizer/scoring/retry-trials/": {"trial.retry"},
    "/organizer/scoring/retry/": {"run.retry"},
    "/organizer/stakes/": {"stake.receive", "stake.cancel"},
    "/organizer/taskers/T-00000/pause/": {
        *("tasker.warn", "tasker.pause", "tasker.requalify", "tasker.return", "response.void", "link.make"),
    },
    "/organizer/teams/T-00000/": {"association.declare", "association.end", "association.mistaken", "team.merge"},
    "/organizer/teams/requests/0/": {
        *("entitlement.accept", "entitlement.question", "entitlement.refuse", "entitlement.revoke"),
    },
    "/organizer/teams/same-person/": {"same_person.look"},
    "/organizer/watching/": {"watch_rule.add", "watch_rule.retire"},
}
# What commands of the server leave; those that change nothing by hand, and why.
COMMANDS: dict[str, set[str] | str] = {
    "add_user": {"role.give"},
    "second_factor_off": {"second_factor.off"},
    "import_defense": {"defense.import"},
    "demo_clock": {"demo_clock.move"},
    "publish_reference_defenses": {"defense.publish"},
    "import_private_set": {"private_set.begin", "private_set.complete"},
    "retry_dead_runs": {"run.retry", "trial.retry"},
    "warmup": {"defense.warmup"},
    "import_images": {"picture.import"},
    "load_known_pictures": {"known_picture.load"},
    "unused_files": {"unused_file.remove"},
    "release_week": {"release.publish"},
    "release_key": {"release_key.make", "release_key.rotate", "release_key.witness"},
    "check_audit": "it reads, and seals what waits",
    "check_ledger": "it reads",
    "replay": "it reads",
    "scorer_check": "it reads",
    "release_mirror": "it reads elsewhere",
    "settle": "the sweeps, which leave their own",
    "work": "the sweeps, which leave their own",
    "serve": "it serves",
    "seed_demo": "an empty database becomes the demo",
    "simulate": "a database of its own",
    "rebuild_from_releases": "an empty database becomes the record",
}


# The tables are whole ------------------------------------------------------------------------------------------------


def test_every_address_that_organizers_post_to_is_in_the_table(signed_in: Any, olga: User) -> None:
    factories.policy_version()
    client: Client = signed_in(olga)
    # Of an address nobody puts anything to: the answer says what may be done there, before anything else is asked.
    allowed = {each: client.put(each).get("Allow", "") for each in addresses() if each.startswith("/organizer/")}
    assert {address for address in allowed if "POST" in allowed[address]} == set(LEAVES)


def test_every_command_of_the_server_is_in_the_table() -> None:
    assert {name for name, app in get_commands().items() if app in FOLDERS} == set(COMMANDS)


# Words of that form that are no action, in files that write rows.
_NO_ACTION = {"docker.io"}


def test_every_action_has_words_and_is_tried_and_every_promise_is() -> None:
    """What the code can record are the words of that form in the files that write rows."""
    texts = [path.read_text(encoding="utf-8") for path in sources().values()]
    trees = [ast.walk(ast.parse(each)) for each in texts if "from common.audit.trail import" in each]
    said = {str(node.value) for tree in trees for node in tree if isinstance(node, ast.Constant)}
    assert {each for each in said if re.fullmatch(r"[a-z_]+\.[a-z_]+", each)} - _NO_ACTION == set(DID)
    promised = set().union(*LEAVES.values(), *(each for each in COMMANDS.values() if isinstance(each, set)))
    assert promised <= set(DID) == set(ACTS) | set(BY_COMMAND) | ELSEWHERE | BOARD


# Each act ------------------------------------------------------------------------------------------------------------


def _request(now: datetime) -> Entitlement:
    captain = staking.captain(staking.team())
    User.objects.filter(pk=captain.pk).update(email="cap@example.org")
    return entitlements.entitlement_request(by=captain, arxiv_id="1809.08352", paper_email="cap@example.org", now=now)


def _accepted(by: User, now: datetime) -> Entitlement:
    return entitlements.entitlement_accept(number=_request(now).pk, by=by, now=now)


def _declared(by: User, now: datetime) -> Any:
    return associations.association_declare(
        team=staking.team(), since=now - timedelta(days=9), until=None, reason="A grant.", by=by, now=now
    )


def _asked_payment(by: User, now: datetime) -> Any:
    """Of the prize that is due to team red at CLOSED."""
    money.deposit(4 * money.PRIZE, by)
    red, stake = money.team("red"), money.staked(money.defense("net", money.team("makers")))
    money.broken(stake.defense, money.attack(red))
    money.ended(stake)
    sweeps.prizes_settle(now=money.SETTLED)
    return payments.payment_request(team=red, by=by, now=money.CLOSED)


def _asked_correction(by: User, now: datetime) -> Any:
    entry = money.deposit(1_000, by)
    return corrections.correction_request(entry=entry.pk, cents=1_000, reason="It came once.", by=by, now=now)


def _asked_stake(now: datetime) -> Any:
    team = staking.team()
    return stakes.stake_request(staking.published(team), by=staking.captain(team), now=now)


def _rerun(by: User, now: datetime) -> Any:
    (defense,) = scored.answered(now, "numpy-statistics")
    return scored.begun(defense, by, now, scope=rerun_scope.Scope("All answers."), reason="A faulty card.")


def _dead_run(now: datetime) -> int:
    scored.answered(now, "numpy-statistics")
    Run.objects.update(state=RunState.DEAD, fault=Fault.PLATFORM, finished_at=now)
    return Run.objects.earliest("pk").pk


def _invited(by: User, now: datetime) -> Any:
    return invitations.invite(email="nora@example.org", role=Role.TASKER, language="de", by=by, now=now)


def _taken(action: MonitoringAction) -> Act:
    return lambda by, now: actions.action_take(
        tasker=factories.tasker("tina"), action=action, reason="Look again.", by=by, now=now
    )


def _linked(by: User, now: datetime) -> Any:
    return links.link_declare(
        first=factories.tasker("tina"), second=factories.tasker("tilo"), reason="One desk.", by=by, now=now
    )


def _ruled_by(by: User, now: datetime) -> MonitoringRule:
    told = {"name": "Fast", "collector": "gold_doubt", "window": 20, "minimum": 10, "words": "Slowly."}
    return rule_changes.rule_add(comparison="<", threshold=0.7, action="pause", by=by, now=now, **told)  # type: ignore[arg-type]


def _reported(now: datetime) -> Any:
    given = factories.assignment(factories.tasker("tina"), factories.panel())
    told = {"kind": ReportKind.OTHER, "words": "x", "reported_at": now}
    return Report.objects.create(assignment=given, image=given.image, tasker=given.tasker, **told).image


# action -> how an organizer does it; the row that it leaves names the organizer.
ACTS: dict[str, Act] = {
    "account.delete": lambda by, now: leaving.account_delete(user=factories.tasker("tina").user, now=now, by=by),  # type: ignore[arg-type]
    "association.declare": _declared,
    "association.end": lambda by, now: associations.association_end(
        association_id=_declared(by, now).pk, until=now + timedelta(days=1), by=by, now=now
    ),
    "association.mistaken": lambda by, now: associations.association_mistaken(
        association_id=_declared(by, now).pk, reason="Another team.", by=by, now=now
    ),
    "correction.ask": _asked_correction,
    "correction.cancel": lambda by, now: corrections.correction_cancel(
        correction_id=_asked_correction(by, now).pk, by=by, now=now
    ),
    "correction.confirm": lambda by, now: corrections.correction_confirm(
        correction_id=_asked_correction(factories.user("olaf", "organizers"), now).pk, by=by, now=now
    ),
    "entitlement.accept": _accepted,
    "entitlement.question": lambda by, now: entitlements.entitlement_question(
        number=_request(now).pk, words="Who?", by=by, now=now
    ),
    "entitlement.refuse": lambda by, now: entitlements.entitlement_refuse(
        number=_request(now).pk, words="Not yours.", by=by, now=now
    ),
    "entitlement.revoke": lambda by, now: entitlements.entitlement_revoke(
        number=_accepted(by, now).pk, words="Taken back.", by=by, now=now
    ),
    "gold.add": lambda by, now: gold_choice.gold_add(
        panel=factories.settle(factories.panel()),
        expected=gold_choice.GoldAnswers(
            ("definitely_no",), ("definitely_no",), "", 70, None, None, None, "neither_class"
        ),
        gate=policy_in_force(now).policy.outline_gate,
        by=by,
        now=now,
    ),
    "gold.hold": lambda by, now: gold_choice.gold_hold(known=factories.gold(), by=by, now=now),
    "gold.let_go": lambda by, now: gold_choice.gold_release(known=factories.gold(), by=by, now=now),
    "gold.retire": lambda by, now: gold_choice.gold_retire(known=factories.gold(), reason="It leaked.", by=by, now=now),
    "instructions.publish": lambda by, now: instructions_publish(
        summary="Toys.", clarification="Toys are not real.", requalify=False, in_force_from=now, by=by, now=now
    ),
    "invitation.send": _invited,
    "invitation.renew": lambda by, now: invitations.invitation_renew(
        invitation_id=_invited(by, now).invitation.pk, by=by, now=now
    ),
    "invitation.revoke": lambda by, now: invitations.invitation_revoke(
        invitation_id=_invited(by, now).invitation.pk, by=by, now=now
    ),
    "leaderboard.make": lambda by, now: boards_remake(by=by, now=now),
    "link.make": _linked,
    "link.end": lambda by, now: links.end_tasker_link(link=_linked(by, now), reason="Two desks.", by=by, now=now),
    "near_duplicate.see": lambda by, now: pair_review(
        pair_id=NearDuplicate.objects.create(
            image=factories.image(), like=factories.image(), distance=2, found_at=now
        ).pk,
        by=by,
        now=now,
    ),
    "payment.ask": _asked_payment,
    "payment.cancel": lambda by, now: payments.payment_cancel(payment_id=_asked_payment(by, now).pk, by=by, now=now),
    "payment.pay": lambda by, now: payments.payment_pay(
        payment_id=_asked_payment(factories.user("olaf", "organizers"), now).pk,
        reference="wire 7",
        by=by,
        now=money.CLOSED,
    ),
    "pool.deposit": lambda by, now: pool_deposit(cents=1_000, reason="A gift.", by=by, now=now),
    "question.answer": lambda by, now: question_answer(
        question_id=question_send(tasker=factories.tasker("tina"), text="Is a toy real?", now=now).pk,
        answer="No.",
        to_everybody=False,
        requalify=False,
        by=by,
        now=now,
    ),
    "release.build": lambda by, now: build_request(week_called("2026-W40"), by=by, now=now),
    "report.decide": lambda by, now: report_decide(
        image=_reported(now), decision=ReportDecision.KEPT_OUT, reply="It is broken.", by=by, now=now
    ),
    "rerun.ask": _rerun,
    "rerun.apply": lambda by, now: (
        rerun := _rerun(by, now),
        scored.work_all(now),
        reruns.rerun_apply(rerun_id=rerun.pk, by=by, now=now),
    ),
    "rerun.cancel": lambda by, now: reruns.rerun_cancel(rerun_id=_rerun(by, now).pk, by=by, now=now),
    "rerun.stop": lambda by, now: reruns.rerun_stop(rerun_id=_rerun(by, now).pk, by=by, now=now),
    "rerun.go_on": lambda by, now: (
        rerun := _rerun(by, now),
        reruns.rerun_stop(rerun_id=rerun.pk, by=by, now=now),
        reruns.rerun_resume(rerun_id=rerun.pk, by=by, now=now),
    ),
    "response.void": lambda by, now: actions.answers_void(
        tasker=factories.response(factories.tasker("tina"), factories.panel()).tasker,
        since=None,
        reason="Guessed.",
        by=by,
        now=now,
    ),
    "run.retry": lambda by, now: scoring.runs_retry(run=_dead_run(now), by=by, now=now),
    "same_person.look": lambda by, now: same_person.same_persons_find(by=by, now=now),
    "stake.receive": lambda by, now: stakes.stake_receive(_asked_stake(now), "wire 7", by=by, now=now),
    "stake.cancel": lambda by, now: stakes.stake_cancel(_asked_stake(now), by=by, now=now),
    "tasker.warn": _taken(MonitoringAction.WARN),
    "tasker.pause": _taken(MonitoringAction.PAUSE),
    "tasker.requalify": _taken(MonitoringAction.REQUALIFY),
    "tasker.return": lambda by, now: (
        tasker := factories.tasker("tina"),
        actions.action_take(tasker=tasker, action=MonitoringAction.PAUSE, reason="A pause.", by=by, now=now),
        actions.tasker_return(tasker=tasker, reason="All is well.", by=by, now=now),
    ),
    "team.merge": lambda by, now: teams_merge(
        team=staking.team("red"), into=staking.team(), reason="One lab.", by=by, now=now
    ),
    "trial.ask": lambda by, now: trials.trial_request(
        tried.container(), TrialKind.SMOKE, by=by, policy=scored.POLICY, now=now, rng=random.Random(3)
    ),
    "trial.retry": lambda by, now: (
        trial := tried.ask(tried.container(), TrialKind.SMOKE, now),
        Trial.objects.update(state=RunState.DEAD, fault=Fault.PLATFORM, finished_at=now),
        trials.trials_retry(trial=trial.pk, by=by, now=now),
    ),
    "watch_rule.add": _ruled_by,
    "watch_rule.retire": lambda by, now: rule_changes.rule_retire(rule_id=_ruled_by(by, now).pk, by=by, now=now),
}


@pytest.fixture
def in_its_transaction() -> Iterator[None]:
    """Let no row be written outside of a transaction of the act's own."""
    alone: list[str] = []

    def look(instance: AuditEntry, **_: Any) -> None:
        if not connection.savepoint_ids:  # the test's own transaction is no savepoint
            alone.append(instance.action)

    post_save.connect(look, sender=AuditEntry)
    yield
    post_save.disconnect(look, sender=AuditEntry)
    assert alone == []


def _left(action: str) -> AuditEntry:
    """Return the row that an act left.

    No part of it holds a user name or an address: they are forgotten with the account, and a row never is.
    """
    assert seal_entries() > 0
    entry = AuditEntry.objects.filter(action=action).latest("pk")
    said, people = canonical([public_of(entry), private_of(entry)]), User.objects.values_list("username", "email")
    assert not [word for pair in people for word in pair if word and word in said]
    if not entry.published:
        assert (set(public_of(entry)), entry.public) == ({"at", "role", "action", "facts"}, {})
    return entry


@pytest.mark.usefixtures("in_its_transaction")
@pytest.mark.parametrize("action", sorted(ACTS))
def test_what_an_organizer_does_leaves_a_row_in_the_same_transaction(action: str, olga: User, now: datetime) -> None:
    factories.policy_version()
    ACTS[action](olga, now)
    entry = _left(action)
    assert (entry.user, entry.role) == (olga, "organizer")


# The board, and commands ---------------------------------------------------------------------------------------------

BOARD = {
    *("board.decide", "case.open", "case.decide", "case.drop", "framework.check", "examination.confirm"),
    *("conflict.declare", "conflict.dismiss", "conflict.end", "conflict.find"),
}
# Tried where they are: what organizers record of the policy, what is published by a release, the keys that sign it, and
# the board's reminders.
ELSEWHERE = {"policy.record", "policy.call_back", "release.publish", "case.remind", *COMMANDS["release_key"]}


def test_a_decision_of_the_board_is_public_with_its_reason(rita: User, now: datetime) -> None:
    by = factories.mandate("grant", rita, now)
    decision = record_decision(DecisionKind.GRANT, subject={"team": [3]}, reason="A good lab.", by=by, now=now)
    entry = AuditEntry.objects.get(action="board.decide")
    assert (entry.user, entry.role, entry.published) == (rita, "board", True)
    assert public_of(entry).items() >= {"why": "A good lab.", "facts": {"kind": "grant"}}.items()
    assert entry.subject["decision"] == [decision.pk]


@pytest.mark.usefixtures("in_its_transaction")
def test_a_check_of_a_framework_and_an_examination_name_the_member(
    rita: User, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    defense, image = tried.container(), factories.image()
    trials.framework_check(defense, passed=True, reason="PyTorch.", by=rita, now=now)
    money.ruled(image, "")
    monkeypatch.setattr(examinations, "rejected_pictures", lambda _: type(image).objects.all())
    for _ in range(2):  # twice changes nothing
        confirm(image, defense, rita, now)
    rows = AuditEntry.objects.order_by("pk").values_list("action", "user", "role")
    assert list(rows) == [("framework.check", rita.pk, "board"), ("examination.confirm", rita.pk, "board")]


def _command(*words: str) -> None:
    call_command(*words, stdout=StringIO())


def _private_set(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, label in enumerate(("bird", "bicycle")):
        (path / label).mkdir()
        (path / label / "one.png").write_bytes(tried.photograph(label, 90 + number))
    _command("import_private_set", str(path), "--note", "our own garden")


def _warmup(patch: pytest.MonkeyPatch) -> None:
    """Record a warm-up that somebody else ran."""
    defense = release_fixtures.defense(1)
    patch.setattr("contest.defenses.warmup_pictures.contest_pictures", lambda most: [])
    patch.setattr("defense_kit.warmup.command.measure", lambda *_: warmup_report(defense))
    _command("warmup", defense.public_id)


# action -> the command that leaves it, as nobody but under its own name.
BY_COMMAND: dict[str, tuple[str, Callable[[Path, pytest.MonkeyPatch], object]]] = {
    "role.give": (
        "add_user",
        lambda path, patch: (
            patch.setattr("sys.stdin", StringIO("a long and quiet password\n")),
            _command("add_user", "nora", "--role", "board", "--password-stdin"),
        ),
    ),
    "second_factor.off": (
        "second_factor_off",
        lambda path, _: (
            Authenticator.objects.create(user=factories.user("nora"), type="totp", data={}),
            _command("second_factor_off", "nora"),
        ),
    ),
    "defense.publish": ("publish_reference_defenses", lambda path, _: _command("publish_reference_defenses")),
    "private_set.begin": ("import_private_set", _private_set),
    "private_set.complete": ("import_private_set", _private_set),
    "picture.import": (
        "import_images",
        lambda path, _: (
            (path / "one.png").write_bytes(tried.photograph()),
            _command("import_images", str(path), "--source", "a garden", "--licence", "CC0"),
        ),
    ),
    "known_picture.load": (
        "load_known_pictures",
        lambda path, _: ((path / "known.json").write_text("[]"), _command("load_known_pictures", str(path))),
    ),
    "unused_file.remove": (
        "unused_files",
        lambda path, patch: (
            FolderStore(path).put(original_key("0" * 64), b"left by a killed process"),
            [os.utime(file, (0, 0)) for file in path.rglob("0*")],
            patch.setattr(settings, "IMAGE_STORE_URL", f"file://{path}"),
            _command("unused_files", "--remove", "--even-most"),
        ),
    ),
    "run.retry": ("retry_dead_runs", lambda path, _: (_dead_run(NOW), _command("retry_dead_runs"))),
    "defense.import": (
        "import_defense",
        lambda path, _: _command("import_defense", str(staking.archive(path)), "--name", "stranger"),
    ),
    "defense.warmup": ("warmup", lambda _, patch: _warmup(patch)),
    "demo_clock.move": (
        "demo_clock",
        lambda path, patch: (
            patch.setattr(settings, "DEMO", True),
            patch.setattr(settings, "DATA_DIR", path),
            patch.setattr("contest.demo.clock._let_happen", lambda *_: True),  # what falls due leaves its own
            _command("demo_clock", "+1h"),
        ),
    ),
}


@pytest.mark.usefixtures("in_its_transaction")
@pytest.mark.parametrize("action", sorted(BY_COMMAND))
def test_a_command_of_the_server_leaves_a_row_under_its_name(
    action: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried.policy_in_force()
    command, run = BY_COMMAND[action]
    run(tmp_path, monkeypatch)
    entry = _left(action)
    assert (entry.user, entry.role, entry.origin) == (None, "platform", f"command {command}")


def test_who_takes_a_role_by_an_invitation_is_named(olga: User, now: datetime) -> None:
    nora = invitations.invitation_accept(
        secret=_invited(olga, now).secret,
        username="nora",
        password="a long and quiet password",
        now=now,
        rng=random.Random(1),
    )
    entry = AuditEntry.objects.get(action="role.give")
    assert (entry.user, entry.subject["account"], entry.private) == (nora, [nora.pk], {"role": "tasker"})


def test_a_page_is_named_in_the_row_and_a_rule_of_monitoring_acts_for_the_platform(
    signed_in: Any, olga: User, now: datetime
) -> None:
    factories.policy_version()
    assert signed_in(olga).post("/organizer/teams/same-person/", REMOTE_ADDR="192.0.2.7").status_code == 303
    entry = AuditEntry.objects.get()
    assert (entry.origin, len(entry.place.digest)) == ("page", 12)
    actions.action_take(tasker=factories.tasker("tina"), action=MonitoringAction.WARN, reason="Slowly.", now=now)
    entry = AuditEntry.objects.latest("pk")
    assert (entry.user, entry.role, entry.why) == (None, "platform", "Slowly.")
