"""The pages of trials (R31): asking for one, trying one again, the source and the framework check."""

import hashlib
import io
import re
import zipfile
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from contest.pages.board import framework_views
from contest.templatetags.scoring import in_words
from picture_files.store import FolderStore, picture_store
from scoring.enums import Fault, RunState, TrialKind
from scoring.models import CopyFlag, Defense, FrameworkCheck, Trial
from scoring.trials.submitted_files import source_key
from tests import factories
from tests.contest.pages import ORGANIZERS_ALONE, answers, codes, lacking, main, outsiders, plain, posted, words
from tests.scoring import cast as scoring_cast
from tests.scoring.trials import cast

pytestmark = pytest.mark.django_db
SMOKE, PRIVATE, EARLIER, PROBE = TrialKind
SOURCE = {"src/model.py": b"import torch\n" * 40, "Dockerfile": b"FROM scratch\n", "weights/net.pt": b"w" * 900}
QUEUE, RETRY = "/organizer/scoring/", "/organizer/scoring/retry-trials/"


@pytest.fixture(autouse=True)
def small_pictures() -> None:
    cast.policy_in_force()


@pytest.fixture
def member(rita: User, signed_in: Any) -> Any:
    """A member of the review board, which checks frameworks (R31, 4)."""
    return signed_in(rita)


def trial_address(defense: Defense, query: str = "") -> str:
    return f"/organizer/defenses/{defense.public_id}/trial/{query}"


def framework_address(defense: Defense, query: str = "") -> str:
    return f"/organizer/defenses/{defense.public_id}/framework/{query}"


def source_address(defense: Defense) -> str:
    return f"/organizer/defenses/{defense.public_id}/source.zip"


def page_address(defense: Defense) -> str:
    return f"/defenses/{defense.public_id}/"


def zipped(files: dict[str, bytes] = SOURCE) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


def handed(data: bytes, name: str = "handed in") -> Defense:
    """A container whose source is whatever these bytes are."""
    sha256 = hashlib.sha256(data).hexdigest()
    picture_store().put(source_key(sha256), data)
    return cast.container(name, source=sha256)


def passed(*kinds: TrialKind) -> Defense:
    newcomer = cast.container()
    for kind in kinds:
        cast.passed(newcomer, kind)
    return newcomer


def dead(name: str, fault: Fault = Fault.PLATFORM, **values: Any) -> Trial:
    told = {"state": RunState.DEAD, "fault": fault, "fault_text": "engine away", "totals": {}, "attempt": 3}
    return cast.passed(cast.container(name, **values), SMOKE, **told)


@pytest.fixture
def hinted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks whose workers are woken."""
    found: list[str] = []
    for module in ("contest.pages.organizer.trial_views", "contest.pages.organizer.scoring_views"):
        monkeypatch.setattr(f"{module}.hint", lambda task: found.append(task.name))
    return found


# Asking --------------------------------------------------------------------------------------------------------------


class TestAsking:
    def test_first_there_is_only_the_choice_and_the_likeliest_is_chosen(self, organizer: Client) -> None:
        page = main(organizer, trial_address(passed(SMOKE)))
        assert page.count('type="radio"') == 4 and 'method="post"' not in page
        assert re.findall(r'value="(\w+)"[^>]* checked', page) == ["private"]

    def test_what_it_does_and_replaces_is_told_beforehand(self, organizer: Client) -> None:
        cast.private(4)
        page = words(organizer, trial_address(passed(SMOKE, PRIVATE, EARLIER), "?kind=private"))
        assert not lacking(
            page,
            "Pictures 4, those of private set 1",
            "Enough right on the private set: passed now",
            "At least one picture a minute: passed now",
            "the new outcome counts even if it is worse",
            "Trials that come after this one are not begun until it is passed.",
        )
        assert "No confident mistake" not in page, "another trial decides that"
        replaced = page.partition("Replaces trial 1, ")[2].partition("The newest trial")[0]
        assert not lacking(replaced, "10 pictures", "9 right", "1 abstained", "16 answers timed", "in 0.9 s")
        assert not Trial.objects.filter(state=RunState.QUEUED).exists(), "looking changes nothing"

    def test_a_first_one_replaces_nothing_and_a_dead_one_may_rather_be_tried_again(self, organizer: Client) -> None:
        newcomer = cast.container()
        assert "Choose a trial." not in words(organizer, trial_address(newcomer, "?from=mail")), "it is no choice"
        page = words(organizer, trial_address(newcomer, "?kind=smoke"))
        assert "Replaces nothing: it would be the first" in page and "stops counting" not in page
        trial = dead("Small net")
        answer = organizer.get(trial_address(trial.defense, "?kind=smoke"))
        assert "nothing: trial 1 gave up ( platform ). Try that one again instead" in plain(answer)
        assert f'href="{RETRY}?trial={trial.pk}"' in answer.content.decode()

    def test_the_attacks_of_now_are_counted(self, organizer: Client) -> None:
        newcomer = passed(SMOKE, PRIVATE)
        for verdict in ("valid", "valid", "rejected"):
            factories.attack_row(image := factories.image(origin="attack"))
            scoring_cast.ruled(image, verdict=verdict)
        assert "Pictures 2, by the rulings of now" in words(organizer, trial_address(newcomer, "?kind=earlier"))

    @pytest.mark.parametrize("kind", list(TrialKind))
    def test_each_kind_is_asked_for(self, kind: TrialKind, organizer: Client, olga: User, hinted: list[str]) -> None:
        newcomer = passed(*TrialKind)
        assert posted(organizer, trial_address(newcomer), {"kind": kind}) == f"{page_address(newcomer)}#trials"
        trial = Trial.objects.get(state=RunState.QUEUED)
        assert (trial.kind, trial.number, trial.asked_by, trial.batch_size) == (kind, 2, olga, 4)
        assert hinted == ["scoring.tasks.work_runs"]
        said = (f"Trial {kind} 2 waits in the queue.", f"{kind.capitalize()} 2 queued")
        assert not lacking(words(organizer, page_address(newcomer)), *said)

    def test_a_published_defense_stays_published(self, organizer: Client) -> None:
        (shipped,) = scoring_cast.publish(factories.NOW, "always-abstain")
        assert "stays published whatever comes out" in words(organizer, trial_address(shipped, "?kind=probe"))
        posted(organizer, trial_address(shipped), {"kind": "probe"})


REFUSED: list[tuple[Callable[[], Defense], TrialKind, str]] = [
    (
        lambda: cast.passed(cast.container(), SMOKE, state=RunState.QUEUED).defense,
        SMOKE,
        "This trial is under way already. Wait until it is over.",
    ),
    (cast.container, EARLIER, "The earlier trial comes after the smoke trial, which has to be passed first."),
    (
        lambda: cast.container(published_at=factories.NOW),
        PRIVATE,
        "There is no complete private set. Import one with ./unanimous import_private_set.",
    ),
    (
        lambda: cast.container(retired_at=factories.NOW),
        SMOKE,
        "A newer version took the place of this defense. Ask for a trial of that one.",
    ),
]


@pytest.mark.parametrize(("make", "kind", "said"), REFUSED, ids=["under way", "too early", "without a set", "retired"])
def test_what_cannot_be_asked_for_says_why_before_and_after(
    make: Callable[[], Defense], kind: TrialKind, said: str, organizer: Client
) -> None:
    defense, before = make(), Trial.objects.count()
    looked = words(organizer, trial_address(defense, f"?kind={kind}"))
    assert said in looked and "Ask for it" not in looked, "what would be refused is not offered"
    refused = posted(organizer, trial_address(defense), {"kind": kind}, 409)
    assert f"Nothing was asked for. {said}" in refused and refused.count(said) == 1
    assert Trial.objects.count() == before


def test_what_is_no_trial_is_a_choice_not_made(organizer: Client) -> None:
    newcomer = cast.container()
    for kind in ("", "nonsense", "SMOKE", "smoke\x00", "²"):
        answers(organizer.get(trial_address(newcomer, f"?kind={kind}")), 400, "Choose a trial.", but=["What it does"])
        assert "Which trial" in posted(organizer, trial_address(newcomer), {"kind": kind}, 400), kind
    assert not Trial.objects.exists()


# Trying again --------------------------------------------------------------------------------------------------------


@pytest.fixture
def three_dead() -> tuple[Trial, Trial, Trial]:
    """Trials that ended by the platform's fault, by the defense's own, and for a defense that is retired."""
    crashed = dead("Crashing net", Fault.CRASHED)
    return dead("Small net"), crashed, dead("Old net", retired_at=factories.NOW)


class TestTryingAgain:
    def test_what_gave_up_is_told_in_words(self, three_dead: tuple[Trial, ...], organizer: Client) -> None:
        page = words(organizer, QUEUE).partition("Trials before publication")[2]
        told = "Small net , smoke 1 Something around the program failed, not the program. platform engine away"
        assert not lacking(page, "Try the one trial again", told)
        assert page.count("Try again") == 1 and page.count("final") == 2
        for trial, offered in zip(three_dead, (True, False, False), strict=True):
            page = main(organizer, page_address(trial.defense))
            assert "gave up" in page and (f'href="{RETRY}?trial={trial.pk}"' in page) is offered

    def test_one_is_tried_again(self, three_dead: tuple[Trial, ...], organizer: Client, hinted: list[str]) -> None:
        platform = three_dead[0]
        page = words(organizer, f"{RETRY}?trial={platform.pk}")
        assert "Trial smoke 1 of Small net gave up: Something around the program failed" in page
        assert Trial.objects.filter(state=RunState.DEAD).count() == 3, "looking changes nothing"
        assert (posted(organizer, RETRY, {"trial": platform.pk}), hinted) == (QUEUE, ["scoring.tasks.work_runs"])
        assert Trial.objects.get(state=RunState.QUEUED, finished_at=None) == platform
        assert "1 trial waits again, for one try each." in words(organizer, QUEUE)
        again = posted(organizer, RETRY, {"trial": platform.pk}, 409)
        assert not lacking(again, "somebody did it already", "There is nothing to try again")

    def test_all_are_tried_again_but_what_is_final(self, three_dead: tuple[Trial, ...], organizer: Client) -> None:
        also = dead("Another net")
        assert "2 trials gave up through no fault of the defenses. They wait" in words(organizer, RETRY)
        assert "Try all 2 trials again" in words(organizer, QUEUE) and organizer.post(RETRY).status_code == 303
        assert set(Trial.objects.filter(state=RunState.QUEUED)) == {three_dead[0], also}
        assert "no trial gave up through a fault of the platform" in plain(organizer.post(RETRY))

    def test_a_number_that_is_none_or_final_never_means_all(
        self, three_dead: tuple[Trial, ...], organizer: Client
    ) -> None:
        assert "There is nothing to try again" in words(organizer, f"{RETRY}?trial=0")
        for number in ("0", "999", "9" * 18, "x", "-1", "²", "9" * 30, *[str(each.pk) for each in three_dead[1:]]):
            posted(organizer, RETRY, {"trial": number}, 409)
        assert Trial.objects.filter(state=RunState.DEAD).count() == 3


# The framework -------------------------------------------------------------------------------------------------------


class TestTheSource:
    def test_every_file_is_listed_and_each_language_counted(self, organizer: Client) -> None:
        defense = handed(zipped())
        answer = organizer.get(framework_address(defense))
        assert not lacking(
            plain(answer),
            "3 files, 1.4 kB unpacked.",
            "Weights 1 900 bytes Python 1 520 bytes Dockerfile 1 13 bytes",
            "Dockerfile Dockerfile 13 bytes src/model.py Python 520 bytes weights/net.pt Weights 900 bytes",
        )
        assert f'href="{source_address(defense)}"' in answer.content.decode()
        named = handed(zipped({"<script>alert(1)</script>.py": b""}), "another")
        assert "<script>alert(1)" not in main(organizer, framework_address(named)), "names are text"

    def test_many_files_come_page_by_page(self, organizer: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(framework_views, "FILES_SHOWN", 2)
        defense = handed(zipped())
        first = words(organizer, framework_address(defense))
        assert "Files 1 to 2 of 3" in first and "net.pt" not in first and "Next page" in first
        assert not lacking(
            words(organizer, framework_address(defense, "?page=2")), "Files 3 to 3 of 3", "net.pt", "Previous page"
        )
        for nonsense in ("x", "-1", "9" * 5000, "%00"):
            assert "of 3" in words(organizer, framework_address(defense, f"?page={nonsense}")), nonsense

    def test_a_source_that_is_not_there_is_told(self, organizer: Client) -> None:
        """Not handed in; lost by the store; and one that the store cannot read, a folder being an error to root too."""
        unreadable, store = handed(zipped()), picture_store()
        assert isinstance(store, FolderStore)
        path = store._path(source_key(unreadable.source))
        path.unlink()
        path.mkdir()
        for defense, said in (
            (cast.container(), "No source was handed in"),
            (
                cast.container("lost", source="0" * 64),
                f"The store has no defenses/{'0' * 64}.zip. Restore it from a backup of the store.",
            ),
            (
                unreadable,
                "The source could not be read from the store now (IsADirectoryError). The server's log says why.",
            ),
        ):
            answer = organizer.get(framework_address(defense))
            assert said in plain(answer) and "source.zip" not in answer.content.decode(), "nothing to save"
            assert said in words(organizer, source_address(defense), status=404)

    def test_the_source_is_saved_as_it_is_and_never_shown(self, organizer: Client) -> None:
        """Also what is no zip any more, which is told."""
        for number, data in enumerate((zipped(), b"", b"no zip at all", b"PK\x05\x06" + bytes(18))):
            defense = handed(data, f"defense {number}")
            page = words(organizer, framework_address(defense))
            assert "Earlier checks" in page and ("The source is " in page) is (number > 0), data
            saved: Any = organizer.get(source_address(defense))
            assert saved.streaming and b"".join(saved.streaming_content) == data
            assert "no-store" in saved["Cache-Control"] and saved.headers.items() >= {
                "Content-Type": "application/zip",
                "Content-Disposition": f'attachment; filename="source-{defense.public_id}.zip"',
                "X-Content-Type-Options": "nosniff",
                "Content-Length": str(len(data)),
            }.items()  # fmt: skip
        assert organizer.post(source_address(defense)).status_code == 405


def checked(by: Client, defense: Defense, outcome: str = "passed", reason: str = "NumPy, readable") -> str:
    return posted(by, framework_address(defense), {"outcome": outcome, "reason": reason})


class TestTheCheck:
    """R31, 4."""

    def test_the_newest_is_shown_on_the_page_of_the_defense_and_all_stay_on_record(
        self, organizer: Client, member: Client, rita: User
    ) -> None:
        defense = handed(zipped())
        own = framework_address(defense)
        assert not lacking(words(member, own), "Nobody has checked it yet.", "Record the check")
        assert "Record the check" not in words(organizer, own), "the form is for the board"
        assert checked(member, defense, "not-passed", " One compiled\r\nlibrary. ") == f"{own}#checks"
        assert "The check is on record: not passed." in words(member, own)
        check = FrameworkCheck.objects.get()
        assert (check.passed, check.reason, check.checked_by) == (False, "One compiled\nlibrary.", rita)
        assert "Caffe or NumPy failed One compiled library." in words(organizer, page_address(defense))
        FrameworkCheck.objects.update(checked_by=None)
        checked(member, defense, "passed", "Readable <b>PyTorch</b>.")
        page = words(organizer, own).partition("Earlier checks")[2]
        told = ["rita", "Readable <b>PyTorch</b>.", "an account that is gone", "One compiled library."]
        assert sorted(told, key=page.index) == told and page.count("holds now") == 1
        assert "Caffe or NumPy passed Readable <b>PyTorch</b>." in words(organizer, page_address(defense))

    @pytest.mark.parametrize(
        ("form", "said"),
        [
            ({"reason": "kept <words>"}, "Choose whether it passed."),
            ({"outcome": "maybe", "reason": "kept <words>"}, "Choose whether it passed."),
            ({"outcome": "passed", "reason": " \x00\r\n "}, "Say why, in at most 4000 characters."),
            ({"outcome": "passed", "reason": "kept <words>" + "x" * 4000}, "Write at most 4,000 characters."),
        ],
    )
    def test_what_was_typed_stays_when_it_is_refused(self, form: dict[str, str], said: str, member: Client) -> None:
        refused = member.post(framework_address(cast.container()), form)
        page = refused.content.decode()
        assert refused.status_code == 400 and said in plain(refused)
        assert ("kept &lt;words&gt;" in page) is ("kept" in form["reason"])
        assert bool(re.search('value="passed"[^>]* checked', page)) is (form.get("outcome") == "passed")
        assert not FrameworkCheck.objects.exists()

    def test_as_many_characters_as_the_page_lets_type_are_taken_but_nul(self, member: Client) -> None:
        """A browser counts the end of a line as one character and sends two."""
        checked(member, cast.container(), reason="\x00" + ("x" * 9 + "\r\n") * 399 + "y" * 10)
        assert FrameworkCheck.objects.get().reason == ("x" * 9 + "\n") * 399 + "y" * 10

    def test_the_board_sees_what_waits_for_it_first(self, member: Client) -> None:
        done, waits = cast.container("Checked net"), cast.container("Waiting net")
        cast.container("Out already", published_at=factories.NOW)
        checked(member, done)
        page = words(member, "/board/frameworks/")
        assert page.index("Waiting net") < page.index("nobody has checked it") < page.index("Checked net")
        assert "Out already" not in page
        assert f'href="{framework_address(waits)}"' in main(member, "/board/frameworks/")

    def test_who_checks_sees_what_looks_like_a_copy(self, organizer: Client, member: Client, now: datetime) -> None:
        defense, original = cast.container("copy"), cast.container("original", published_at=now)
        of = {"defense": defense, "original": original, "found_at": now}
        CopyFlag.objects.create(likeness="layers", figures={"shared": 3, "of_theirs": 4}, **of)
        CopyFlag.objects.create(likeness="outputs", figures={"same": 19, "pictures": 20}, **of)
        assert "looks like original (layers, outputs)" in words(member, "/board/frameworks/")
        said = ("3 of the other image's 4 layers are in this one", "19 of 20 answers are the same")
        for client in (member, organizer):
            assert not lacking(words(client, framework_address(defense)), *said)
        assert "Looks like another defense" not in words(member, framework_address(original))


# The page of the defense ---------------------------------------------------------------------------------------------


def test_the_page_of_a_defense_with_nothing_there_yet(organizer: Client) -> None:
    for values, said, asks in (
        ({}, "No trial was asked for yet.", True),
        ({"image": "", "reference": "always-abstain"}, "goes through no trials by itself", True),
        ({"retired_at": factories.NOW}, "No trial was asked for yet.", False),
    ):
        defense = cast.container(f"{said} {asks}", **values)
        page = main(organizer, page_address(defense))
        assert said in page and (f'href="{trial_address(defense)}"' in page) is asks, values
        assert f'href="{framework_address(defense)}"' in page


def test_a_check_of_a_shipped_defense_is_shown_too(organizer: Client, member: Client) -> None:
    defense = cast.container(image="", reference="always-abstain")
    assert "Caffe or NumPy" not in words(organizer, page_address(defense))
    checked(member, defense, reason="NumPy alone.")
    assert "Caffe or NumPy passed NumPy alone." in words(organizer, page_address(defense))


# Who may open --------------------------------------------------------------------------------------------------------


def test_only_organizers_ask_for_trials_and_try_again(signed_in: Any, client: Client) -> None:
    waits, people = dead("Small net"), outsiders(signed_in)
    for address in (RETRY, trial_address(waits.defense)):
        assert codes(people, address) == codes(people, address, {"kind": "smoke"}) == ORGANIZERS_ALONE, address
    assert Trial.objects.get().state == RunState.DEAD
    Defense.objects.update(published_at=factories.NOW)
    page = client.get(page_address(waits.defense)).content.decode()
    assert "/organizer/defenses/" not in page and "Framework" not in page, "nor is anybody shown where it is"


def test_the_board_checks_a_framework_and_organizers_may_see(signed_in: Any, organizer: Client) -> None:
    """Organizers decide nothing here (R31, 4)."""
    defense, people = handed(zipped()), outsiders(signed_in) | {"organizer": organizer}
    for address in (framework_address(defense), source_address(defense), "/board/frameworks/"):
        assert codes(people, address) == ORGANIZERS_ALONE | {"board": 200, "organizer": 200}, address
    form = {"outcome": "passed", "reason": "why"}
    without_board = {who: client for who, client in people.items() if who != "board"}
    refused = {who: code for who, code in ORGANIZERS_ALONE.items() if who != "board"} | {"organizer": 403}
    assert codes(without_board, framework_address(defense), form) == refused
    assert not FrameworkCheck.objects.exists()
    posted(people["board"], framework_address(defense), form)


def test_no_such_defense(organizer: Client) -> None:
    for part in ("trial/", "framework/", "source.zip"):
        assert "There is no defense with this ID." in words(organizer, f"/organizer/defenses/D-00000/{part}", 404)


def test_forms_are_guarded_against_other_sites(olga: User, rita: User) -> None:
    defense = cast.container()
    for address, who in ((trial_address(defense), olga), (framework_address(defense), rita)):
        client = Client(enforce_csrf_checks=True)
        client.force_login(who)
        assert client.post(address, {"kind": "smoke", "outcome": "passed", "reason": "why"}).status_code == 403
    assert not Trial.objects.exists() and not FrameworkCheck.objects.exists()


@pytest.mark.parametrize(
    ("totals", "told"),
    [
        (
            {"accepted": True, "pictures": 19, "rounds": 2, "answers": {"bird": 19}, "changed": 0},
            "accepted, 19 pictures, 2 rounds, the same in each round",
        ),
        (
            {"accepted": False, "pictures": 1, "rounds": 2, "changed": 1},
            "not accepted, 1 picture, 2 rounds, 1 answered differently in another round",
        ),
        ({"accepted": False, "pictures": 40, "rounds": 1, "changed": 0}, "not accepted, 40 pictures, 1 round"),
        (
            {"accepted": False, "pictures": 40, "rounds": 0, "changed": 0},
            "not accepted, 40 pictures, no round finished",
        ),
        (
            {"pictures": 1200, "right": 1100, "wrong": 0, "abstained": 99, "faults": 1},
            "1,200 pictures, 1,100 right, 0 wrong, 99 abstained, 1 fault",
        ),
        ({"rows": 16, "milliseconds": 0, "device": "cpu"}, "16 answers timed, in less than 0.1 s, on cpu"),
        ({"milliseconds": 65_400, "pictures_per_minute": 15}, "in 65.4 s, 15 pictures a minute"),
        ({"shown": True, "fault": "crashed"}, "differences for the board to look at, fault crashed"),
    ],
)
def test_totals_are_told_in_words(totals: dict[str, Any], told: str) -> None:
    assert in_words(totals) == told
