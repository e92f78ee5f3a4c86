"""A small contest with everything a release has: every verdict, surplus answers, predictions, a break."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from adjudication import services as adjudication
from adjudication.models import Ruling
from adjudication.schema import release_format as form
from contest.board.models import CaseDecision
from contest.core.enums import CaseKind, CaseOutcome, CaseState, VoteChoice
from contest.core.models import Attack, Break, Case, Team
from labeling.models import Image, Panel, Tasker
from picture_files.png import encode_png, pixels_sha256
from picture_files.store import picture_key, picture_store
from policy.numbers import Policy
from policy.selectors import PolicyInForce, policy_in_force
from scoring.enums import DefenseAnswer, Fault, RunState
from scoring.models import Defense, Prediction, Run, RunItem, Scorer
from tests import factories

Answers = Sequence[dict[str, Any]]
SIDE = 40  # small pictures keep the tests quick; rules are about shares
MONDAY = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
WEEK_END = datetime(2026, 11, 21, tzinfo=UTC)  # of 2026-W47: from then on its attacks are labeled
SATURDAY = WEEK_END + timedelta(hours=9, minutes=30)
AFTER = datetime(2026, 11, 24, 8, 0, tzinfo=UTC)  # a Tuesday, when week 2026-W47 is over
LARGE = ("[[[5,5],[35,5],[35,35],[5,35]]]", (500, 500, 3500, 3500))  # 9/16
ROUGH = ("[[[5.25,5],[30.5,5.01],[35,35.75],[5,35]]]", (500, 500, 3500, 3575))
SMALL = ("[[[5,5],[15,5],[15,15],[5,15]]]", (500, 500, 1500, 1500))  # 1/16
TWO_PARTS = ("[[[0,0],[20,0],[20,20],[0,20]],[[25,25],[40,25],[40,40],[25,40]]]", (0, 0, 4000, 4000))
SURE = {"bird": "definitely_yes", "bicycle": "definitely_no"}
NOTHING = {"outline": "", "box": None, "complete": None, "unoccluded": None, "real": None}


def drawn(shape: tuple[str, Sequence[int]], **said: Any) -> dict[str, Any]:
    """Answers of somebody who outlined `shape`."""
    return {**SURE, "outline": shape[0], "box": shape[1], **said}


def bicycle(shape: tuple[str, Sequence[int]]) -> dict[str, Any]:
    return drawn(shape, bird="definitely_no", bicycle="definitely_yes")


EXCLUDED = {"bird": "definitely_no", "bicycle": "definitely_no", **NOTHING}
BOTH = {"bird": "definitely_yes", "bicycle": "definitely_yes", **NOTHING}

# What the three taskers say of each picture, by the reason it should get.
CASES: dict[str, list[dict[str, Any]]] = {
    "valid bird": [drawn(LARGE), drawn(ROUGH), drawn(TWO_PARTS)],
    "valid bicycle": [bicycle(LARGE), bicycle(LARGE), bicycle(ROUGH)],
    "uncertain": [drawn(LARGE), drawn(LARGE, bird="unsure_yes"), drawn(LARGE)],
    "both_classes": [drawn(LARGE), BOTH, BOTH],
    "neither_class": [EXCLUDED, EXCLUDED, EXCLUDED],
    "taskers_disagree": [drawn(LARGE), bicycle(LARGE), drawn(LARGE)],
    "too_small": [drawn(LARGE), drawn(SMALL), drawn(LARGE)],
    "depiction": [drawn(LARGE, real=False), drawn(LARGE), drawn(LARGE)],
    "occluded": [drawn(LARGE), drawn(LARGE, unoccluded=False), drawn(LARGE, complete=False)],
}


# Those that some contest takes for attacks: they are labeled when their week is over.
_LATE = ("valid bird", "valid bicycle", "uncertain", "depiction")


@dataclass
class Contest:
    """What `a_week` made. `images` is by case."""

    taskers: list[Tasker]
    images: dict[str, Image] = field(default_factory=dict)
    panels: dict[str, Panel] = field(default_factory=dict)
    defenses: list[Defense] = field(default_factory=list)


def picture(number: int, **values: Any) -> Image:
    """An image row whose pixels are in the store."""
    pixels = bytes((number * 37 + at * (number + 3)) % 256 for at in range(SIDE * SIDE * 3))
    sha = pixels_sha256(SIDE, SIDE, pixels)
    picture_store().put(picture_key(sha), encode_png(SIDE, SIDE, pixels))
    defaults = {"width": SIDE, "height": SIDE, "received_at": MONDAY, "label_from": MONDAY, "original_sha256": sha}
    return factories.image(pixels_sha256=sha, **(defaults | values))


def sent_by(team: Team, label_from: datetime = WEEK_END) -> dict[str, Any]:
    """The values of a picture that came as an attack."""
    said = {"source": form.ATTACK_SOURCE, "source_id": team.public_id, "licence": form.ATTACK_LICENCE}
    return {"origin": "attack", "label_from": label_from, **said}


def labeled(contest: Contest, case: str, image: Image, said: Answers, at: datetime = MONDAY) -> Panel:
    """Deal a panel and let the taskers answer; the surplus tasker comes too late on the first picture."""
    panel = factories.panel(image, dealt_at=at)
    for number, (who, answers) in enumerate(zip(contest.taskers, said, strict=False)):
        factories.response(who, panel, now=at + timedelta(minutes=number, microseconds=number), **answers)
    contest.images[case], contest.panels[case] = image, panel
    return panel


def ruled(panel: Panel, *, at: datetime | None = None) -> Ruling:
    """Let the rules decide on a full panel under the first policy, an hour after it was dealt."""
    at = panel.dealt_at + timedelta(hours=1) if at is None else at
    row = factories.policy_version()
    in_force = PolicyInForce(row.pk, row.version, Policy.from_json(row.numbers))
    assert adjudication.panel_settle(panel_id=panel.pk, policy_at=lambda _: in_force, now=at)
    return Ruling.objects.get(panel=panel)


def say(panel: Panel, answers: Answers, at: datetime) -> None:
    """Let taskers of their own answer on a panel."""
    for number, each in enumerate(answers):
        who = factories.tasker(f"more {panel.pk} {panel.answered}")
        factories.response(who, panel, now=at + timedelta(minutes=number), **each)


def settle(at: datetime) -> None:
    """Let the one panel that is full be ruled upon."""
    assert adjudication.panels_settle(policy_at=policy_in_force, now=at) == 1


def case_of(made: Ruling) -> CaseDecision:
    """The case in which two members overruled the ruling before `made`."""
    at, policy = made.decided_at, factories.policy_version()
    case = Case.objects.create(
        kind=CaseKind.PICTURE, state=CaseState.CLOSED, image=made.image, policy=policy, opened_at=at, due_at=at,
        closed_at=at, result=made, ruling=Ruling.objects.get(image=made.image, number=made.number - 1),
    )  # fmt: skip
    told = {"label": made.label, "reasons": made.reasons}
    vote = {"choice": VoteChoice.OVERRULE, "words": "", "dissent": False, **told}
    counted = {"votes": [vote, vote], "quorum": 2, "recused": 0, "policy": made.policy, "decided_at": at}
    words = {"outcome": CaseOutcome.OVERRULE, "explanation": made.explanation}
    return CaseDecision.objects.create(case=case, ruling=made, **told, **counted, **words)


def defense(number: int, **values: Any) -> Defense:
    defaults = {"name": f"defense {number}", "digest": f"sha256:{number:064x}",
                "created_at": MONDAY - timedelta(days=12),
                "published_at": MONDAY - timedelta(days=9), "public_id": f"D-0000{number}"}  # fmt: skip
    return Defense.objects.create(**(defaults | values))


def scored(by: Defense, image: Image, answers: Sequence[int], *, state: str = RunState.ASSESSED) -> list[Prediction]:
    """One assessed run for each answer, with its prediction."""
    ruling = Ruling.objects.filter(image=image).order_by("label", "-number").last()
    at = (ruling.decided_at if ruling else MONDAY) + timedelta(hours=1)
    made = []
    for turn, answer in enumerate(answers, start=1):
        item = run(by, [image], MONDAY, round=turn, seed=turn - 2, state=state, attempt=1).items.get()
        made.append(
            Prediction.objects.create(
                item=item, image=image, defense=by, round=turn, answer=answer, score_bicycle=0.1 * turn,
                score_bird=-1e-7 * turn, pixels_sha256=image.pixels_sha256, defense_digest=by.digest, device="cpu",
                batch_size=16, batch=0, row=turn, seed=turn - 2, attempt=1, latency_us=1500,
                predicted_at=at,
            )
        )  # fmt: skip
    return made


def run(of: Defense, images: Sequence[Image], now: datetime, **values: Any) -> Run:
    """A run over pictures, which waits where nothing else is said."""
    defaults = {"defense": of, "round": 1, "seed": 1, "batch_size": 16, "created_at": now, "worker": "one"}
    row = Run.objects.create(**defaults | values)
    for position, image in enumerate(images):
        RunItem.objects.create(run=row, defense=of, rerun=row.rerun, round=row.round, image=image, position=position)
    return row


def scorer(name: str, now: datetime, **values: Any) -> None:
    """A scorer that lives."""
    told = {"device": "cpu, 2 cores", "runtime": "docker", "started_at": now, "seen_at": now}
    Scorer.objects.create(name=name, **told | values)


def faulted(by: Defense, image: Image, turn: int, fault: Fault, at: datetime = MONDAY + timedelta(hours=2)) -> Run:
    """A run over one picture that ended for good in a fault."""
    over = {"state": RunState.DEAD, "fault": fault, "attempt": 1, "finished_at": at}
    return run(by, [image], MONDAY, round=turn, seed=turn, **over)


def a_week() -> Contest:
    """Week 2026-W47 with every verdict; one defense abstains, the other takes the valid bird for a bicycle."""
    contest = Contest([factories.tasker(f"tasker {number}") for number in range(1, 5)])
    team = Team.objects.create(name="=red", created_at=MONDAY)
    for number, (case, said) in enumerate(CASES.items()):
        image = picture(number, **(sent_by(team) if case == "valid bird" else {}))
        labeled(contest, case, image, said, SATURDAY if case in _LATE else MONDAY)
    late = {"now": SATURDAY + timedelta(minutes=30), "counted": False}
    factories.response(contest.taskers[3], contest.panels["valid bird"], **drawn(SMALL), **late)
    for panel in contest.panels.values():
        ruled(panel)
    sent = {"received_at": MONDAY, "week": "2026-W47", "of_quota": 1, "policy": factories.policy_version()}
    Attack.objects.create(team=team, image=contest.images["valid bird"], **sent)
    contest.defenses = cautious, wrong = [defense(1, demo=True), defense(2, name="=SUM(A1)")]
    for case in ("valid bird", "valid bicycle"):
        scored(cautious, contest.images[case], [DefenseAnswer.ABSTAIN] * 3)
    answers = scored(
        wrong, contest.images["valid bird"], [DefenseAnswer.BIRD, DefenseAnswer.BICYCLE, DefenseAnswer.BIRD]
    )
    scored(
        wrong, contest.images["valid bicycle"], [DefenseAnswer.BICYCLE, DefenseAnswer.ABSTAIN, DefenseAnswer.BICYCLE]
    )
    image, found_at = contest.images["valid bird"], SATURDAY + timedelta(hours=3)
    kept = {"ruling": image.rulings.get(), "prediction": answers[1], "found_at": found_at}
    Break.objects.create(defense=wrong, image=image, **kept)
    return contest
