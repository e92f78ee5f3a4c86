"""Every kind of message says what it has to, as text and as HTML, and nothing in it is left open."""

import copy
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.core.mail import EmailMultiAlternatives

from contest.enums import MessageKind
from contest.messages.kinds import GROUPS, KINDS, kinds_of, missing_facts
from contest.messages.letters import mail_of
from contest.messages.text import COLOURS, SHAPES
from contest.messages.writing import write
from contest.models import Message, Team
from tests import factories
from tests.contest.messages.cast import team
from tests.contest.messages.samples import HOST, SAMPLES
from tests.contest.pages import lacking

pytestmark = pytest.mark.django_db
OPEN = "UNRESOLVED"
NAMES = [f"{kind}-{number}" for number, (kind, *_) in enumerate(SAMPLES)]


@pytest.fixture
def strict(settings: Any) -> None:
    """A variable that a text asks for and nobody gives is written out."""
    changed = copy.deepcopy(settings.TEMPLATES)
    changed[0]["OPTIONS"]["string_if_invalid"] = OPEN + "%s"
    settings.TEMPLATES = changed


@pytest.fixture
def red() -> Team:
    factories.policy_version()
    return team("red", "carl")


def mail(red: Team, kind: MessageKind, facts: dict[str, Any]) -> EmailMultiAlternatives:
    assert write(red, kind, about="/team/", now=factories.NOW, **facts) == 1
    made = mail_of(Message.objects.get())
    assert made is not None
    return made


@pytest.mark.parametrize(("kind", "facts", "words"), SAMPLES, ids=NAMES)
def test_a_message_says_all_it_should_as_text_and_as_html(
    kind: MessageKind, facts: dict[str, Any], words: list[str], red: Team, strict: None
) -> None:
    made = mail(red, kind, facts)
    said = f"{made.subject}\n{made.body}"
    assert not lacking(said, *words)
    assert OPEN not in said and "{{" not in said and "\n" not in made.subject and "None" not in said
    assert not re.search(r"\n{4,}| ,| \.(?:\s|$)", said), "a gap"
    ((html, kind_of_part),) = made.alternatives
    assert kind_of_part == "text/html"
    assert OPEN not in str(html) and made.subject in unescape(str(html))
    assert f'href="{HOST}/messages/settings/"' in str(html)
    assert made.body.rstrip().endswith(f"How often you are written to: {HOST}/messages/settings/")


def test_every_kind_has_a_sample_a_group_and_its_facts() -> None:
    assert {kind for kind, *_ in SAMPLES} == set(MessageKind) == set(KINDS)
    assert {kind for group in GROUPS for kind in kinds_of(group)} == set(MessageKind)
    assert [(kind, missing_facts(kind, facts)) for kind, facts, _ in SAMPLES if missing_facts(kind, facts)] == []


def test_a_fact_that_is_missing_is_refused(red: Team) -> None:
    for kind, facts, _ in SAMPLES:
        name = KINDS[kind].facts[-1]
        given = {each: value for each, value in facts.items() if each != name}
        with pytest.raises(TypeError, match=f"lacks {name}"):
            write(red, kind, about="/", now=factories.NOW, **given)
    assert not Message.objects.exists()


@pytest.mark.parametrize("kind", [MessageKind.ATTACK_VERDICTS, MessageKind.RELEASE_FAILED])
def test_html_loads_nothing_runs_nothing_and_shows_states_as_the_pages_do(kind: MessageKind, red: Team) -> None:
    facts = next(facts for name, facts, _ in SAMPLES if name == kind)
    ((html, _),) = mail(red, kind, facts).alternatives
    forbidden = ["<script", "<img", "<link", "url(", "@import", "<iframe", "src="]
    assert lacking(str(html), *forbidden) == forbidden
    assert all(each.startswith(HOST) for each in re.findall(r'href="([^"]+)"', str(html)))
    for look in ("valid", "rejected") if kind == MessageKind.ATTACK_VERDICTS else ():
        assert re.search(rf'color:{COLOURS[look]}"><span[^>]*>{SHAPES[look]}[^<]*</span> {look}</strong>', str(html))


def test_words_of_others_are_words_in_html(red: Team) -> None:
    facts = {"paper": "1809.08352", "asked_at": "now", "question": '<script>x</script> https://evil.example/ "q"'}
    ((html, _),) = mail(red, MessageKind.QUESTION_WAITING, facts).alternatives
    assert "<script" not in str(html) and "&lt;script&gt;" in str(html)
    assert 'href="https://evil' not in str(html), "a stranger's address leads nowhere"


def test_letters_have_the_colours_and_shapes_of_the_pages() -> None:
    css = Path(site.BASE_DIR, "static/css")
    light = (css / "variables.css").read_text().partition("@media")[0]
    base = (css / "base.css").read_text()
    for look, colour in COLOURS.items():
        assert f"--{look}: {colour};" in light
        shape = re.search(rf'\.state-{look}::before {{ content: "(.)', base)
        assert shape is not None and shape[1] == SHAPES[look]
