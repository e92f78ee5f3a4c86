"""Seeds the demo contest, through the same services that people's clicks go through.

Nothing bypasses the rules: pictures are imported, panels dealt, leases claimed, answers submitted, rulings made and
defenses run as in a real contest; only the clock is set.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import cycle
from random import Random
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from accounts.roles import ORGANIZERS, REVIEW_BOARD, role_give
from adjudication.services import panels_settle
from common.domain_clock import domain_now
from contest.appeals.grounds import appealable
from contest.appeals.services import appeal_send, statement_send
from contest.attacks.services import attack_receive
from contest.board.motions import grant_move
from contest.core.models import Team
from contest.demo.answers import answer
from contest.demo.careless import CARELESS, SAID, gold_play
from contest.demo.pictures import Photo, mirrored_photos, photos
from contest.demo.stakes import Staking
from contest.demo.voting import vote_through
from contest.operations import pipeline
from contest.teams.services import team_create
from labeling import leases
from labeling.dealing import panels_deal
from labeling.enums import Origin, TaskerState
from labeling.learning.content import known_pictures_load
from labeling.models import Assignment, Image, Tasker
from labeling.pictures.intake import import_picture
from labeling.taskers import tasker_register
from monitoring.gold_choice import counted_answers, free_panels, gold_add, proposal
from monitoring.gold_choice import panels_for_gold as gold_candidates
from picture_files.decoding import read_dataset
from picture_files.png import encode_png
from policy.calendar import Week, week_of
from policy.selectors import PolicyInForce, policy_in_force

PASSWORD = "demo-only"
TASKERS = [f"tasker{number}" for number in range(1, 7)]
BOARD = [f"board{number}" for number in range(1, 4)]
CAPTAINS = ["red", "blue"]
GOLD = 4
LATELY = timedelta(hours=1)
# One of them requests, the other confirms.
ORGANIZING = ["organizer", "organizer2"]
SIGN_INS = [*TASKERS, CARELESS, "newcomer", *BOARD, *ORGANIZING, *CAPTAINS]


# Teams' arguments against a verdict, so that the board has a case to decide.
ARGUMENT = (
    "One wing hides the body, and the tail lies in the shadow. Taskers who only see this picture cannot say that the "
    "bird is complete: we ask the board to look at the marked part."
)
ANSWER = "Three taskers outlined the same whole bird on their own, and each of them called it complete."
# In whole pixels of the 299 that a picture has on each side.
MARK = {"x": 90, "y": 80, "width": 120, "height": 110, "words": "Is the body all there?"}


def is_seeded() -> bool:
    """Say whether the demo is seeded."""
    return User.objects.filter(username="organizer").exists()


def seed(say: Callable[[str], Any]) -> bool:
    """Seed the demo unless it exists; returns whether it did. A failed seeding leaves nothing behind."""
    if is_seeded():
        return False
    say("Seeding the demo contest: people, defenses, stakes, photographs, answers")
    now = domain_now()
    with transaction.atomic():
        known_pictures_load(policy=policy_in_force(now).policy, now=now)
        teams = _people(now)
        demo = Demo(now, teams, photos())
        Staking(teams["blue"], policy=demo.policy.policy, begin=demo.last_week.start, now=now).play()
        demo.play()
        _gold(now)
    say("Running the defenses and writing the first release")
    for name, done in pipeline.run_all_sweeps():
        say(f"  {name}: {done}")
    _appeals_play(teams, domain_now())
    return True


def _gold(now: datetime) -> None:
    """Mark last week's pictures with unanimous answers as gold (R6), with these answers as the known ones."""
    organizer = User.objects.get(username="organizer")
    gate = policy_in_force(now).policy.outline_gate
    for candidate in gold_candidates(free_panels().filter(image__origin=Origin.DATASET))[:GOLD]:
        rows = counted_answers([candidate.panel.pk])[candidate.panel.pk]
        gold_add(panel=candidate.panel, expected=proposal(rows), gate=gate, by=organizer, now=now)
    gold_play(Tasker.objects.get(user__username=CARELESS), policy=policy_in_force(now).policy, until=now, count=GOLD)


def _people(now: datetime) -> dict[str, Team]:
    rng = Random("demo")
    for name in (*TASKERS, CARELESS):
        tasker_register(user=_user(name), state=TaskerState.QUALIFIED, now=now, rng=rng)
    tasker_register(user=_user("newcomer"), state=TaskerState.LEARNING, now=now, rng=rng)
    for name in BOARD:
        _user(name, REVIEW_BOARD)
    for name in ORGANIZING:
        _user(name, ORGANIZERS)
    return {name: _team(name, now - timedelta(days=98)) for name in CAPTAINS}


def _team(name: str, now: datetime) -> Team:
    captain = _user(name)
    captain.email = f"{name}@example.org"
    captain.save(update_fields=["email"])
    team = team_create(name=name, captain=captain, now=now)
    board = User.objects.get(username=BOARD[0])
    vote_through(grant_move(team, reason="A team of the demo contest.", by=board, now=now), now=now)
    return team


def _user(name: str, *groups: str) -> User:
    user = User.objects.create_user(name, password=PASSWORD)
    for group in groups:
        role_give(user=user, role=group)
    return user


def _appeals_play(teams: dict[str, Team], now: datetime) -> None:
    """Let the defenders appeal the newest verdict that they can appeal, and the attackers answer."""
    pictures = [each.ruling.image for each in appealable(teams["blue"], now)]
    sent = [each for each in pictures if each.attacks.filter(team=teams["red"]).exists()]
    if not sent:
        return
    blue, red = (User.objects.get(membership__team=teams[name], membership__captain=True) for name in ("blue", "red"))
    appeal = appeal_send(image=sent[-1], team=teams["blue"], argument=ARGUMENT, marks=[MARK], by=blue, now=now)
    statement_send(case=appeal.case, team=teams["red"], words=ANSWER, by=red, now=now)


class Demo:
    """The two weeks of the demo, played in the order in which things happened."""

    def __init__(self, now: datetime, teams: dict[str, Team], all_photos: list[Photo]) -> None:
        self.now, self.teams, self.photos = now, teams, all_photos
        self.policy: PolicyInForce = policy_in_force(now)
        self.this_week: Week = week_of(now, self.policy.policy.time_zone)
        self.last_week: Week = week_of(self.this_week.start - timedelta(hours=1), self.policy.policy.time_zone)
        self.taskers = list(Tasker.objects.filter(user__username__in=TASKERS).order_by("user__username"))
        self.rng = Random("demo")
        self.by_image: dict[int, Photo] = {}

    def play(self) -> None:
        """Play last week's photographs and attacks, then this week's; pictures that stay open come last."""
        attacks = [photo for photo in self.photos if photo.sent_by]
        dataset = [photo for photo in self.photos if not photo.sent_by]
        self._take_all([p for p in attacks if not p.this_week], self.last_week.start, self.last_week.end)
        self._label_one_by_one(
            [p for p in dataset if not p.this_week], self.last_week.start, self.last_week.end, self.taskers
        )
        self._label_attacks()
        settled = [p for p in dataset if p.this_week and p.settled]
        self._label_one_by_one(settled, self.this_week.start, self.now, self.taskers)
        self._label_carelessly()
        # Sent after the winning defense's time is over, so that it breaks another one.
        self._take_all([p for p in attacks if p.this_week], max(self.this_week.start, self.now - LATELY), self.now)
        self._leave_open([p for p in dataset if p.this_week and not p.settled])
        # The demo's clock ran back and forth, which taskers' stored positions in the queues cannot know.
        Tasker.objects.update(passed={}, passed_at=None)

    def _take_all(self, chosen: list[Photo], start: datetime, end: datetime) -> None:
        for photo, at in zip(chosen, _moments(start, end, len(chosen)), strict=True):
            self._take(photo, at)

    def _take(self, photo: Photo, at: datetime) -> Image:
        policy = self.policy.policy
        if photo.sent_by:
            picture = read_dataset(photo.data, size=policy.image_size)
            data = encode_png(picture.width, picture.height, picture.pixels)
            image = attack_receive(team=self.teams[photo.sent_by], data=data, policy=policy, now=at).image
        else:
            image, _, _ = import_picture(
                photo.data,
                size=policy.image_size,
                origin=Origin.DATASET,
                source=photo.entry.provenance.source,
                source_id=photo.file_name,
                licence=photo.entry.provenance.licence,
                author=photo.entry.provenance.author,
                now=at,
                label_from=at,
            )
        self.by_image[image.pk] = photo
        return image

    def _label_one_by_one(self, chosen: list[Photo], start: datetime, end: datetime, who: list[Tasker]) -> None:
        for photo, at in zip(chosen, _moments(start, end, len(chosen)), strict=True):
            self._take(photo, at)
            panels_deal(policy=self.policy.policy, now=at)
            self._answer_until_ruled(self.rng.sample(who, len(who)), at)

    def _label_carelessly(self) -> None:
        """Let two label pictures as they are, and the careless one after them."""
        who = [*self.taskers[:2], Tasker.objects.get(user__username=CARELESS)]
        chosen = mirrored_photos(size=self.policy.policy.image_size)
        for photo, at in zip(chosen, _moments(self.this_week.start, self.now, len(chosen)), strict=True):
            self._take(replace(photo, opinions=[*photo.opinions, SAID]), at)
            panels_deal(policy=self.policy.policy, now=at)
            self._answer_until_ruled(who, at)

    def _label_attacks(self) -> None:
        """Attacks become pictures to label together, when their week has ended (R24)."""
        begin = self.this_week.start
        panels_deal(policy=self.policy.policy, now=begin)
        self._answer_until_ruled(self.taskers, begin + (self.now - begin) / 3)

    def _answer_until_ruled(self, who: Iterable[Tasker], at: datetime) -> None:
        waiting = 0
        people = list(who)
        for tasker in cycle(people):
            at, answered = self._answer(tasker, at)
            waiting = 0 if answered else waiting + 1
            if waiting == len(people):
                break
        panels_settle(policy_at=policy_in_force, now=min(at, self.now))

    def _answer(self, tasker: Tasker, at: datetime) -> tuple[datetime, bool]:
        """Let `tasker` answer one picture as its photograph's row says; returns when they were done, and whether."""
        found = leases.assignment_next(tasker=tasker, holding=(), policy=self.policy.policy, now=at, rng=self.rng)
        if not isinstance(found, Assignment):
            return at, False
        said = self.by_image[found.image_id].opinions[found.panel.answered]
        done = min(at + timedelta(seconds=said["seconds"]), self.now)
        answer(tasker, found, said, done)
        return done, True

    def _leave_open(self, chosen: list[Photo]) -> None:
        """Leave pictures with two, one and no answers: the same two people answer, so each claim is for the newest."""
        fewest_last = sorted(chosen, key=lambda photo: -len(photo.opinions))
        since = max(self.this_week.start, self.now - LATELY)
        for photo, at in zip(fewest_last, _moments(since, self.now, len(chosen)), strict=True):
            self._take(photo, at)
            panels_deal(policy=self.policy.policy, now=at)
            for tasker, _ in zip(self.taskers[-2:], photo.opinions, strict=False):
                self._answer(tasker, at)


def _moments(start: datetime, end: datetime, count: int) -> Iterator[datetime]:
    """Yield `count` moments spread evenly between `start` and `end`, in whole seconds."""
    for number in range(1, count + 1):
        yield (start + (end - start) * number / (count + 1)).replace(microsecond=0)
