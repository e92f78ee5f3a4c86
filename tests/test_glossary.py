"""Names of models and of folders of templates are made of the words of docs/glossary.md, and of no word it replaces; no
two classes have one name; limits are named MAX_ and MIN_."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings

from tests.sources import FOLDERS, sources

ROOT = Path(settings.BASE_DIR)
# Ordinary English that says which thing, part or change of a word of the glossary is meant.
ORDINARY = set(
    re.findall(
        r"\w+",
        """account announcement api attempt build change check clock copy count day digest entry event fact flag form
        hash hint hour interest item link mark member merge message mistake notified of past person planning preference
        private progress rule same seal seen session set state statement step superseded target token unsealed user
        version voided""",
    )
)
# The field's words for parts of a web site, which name folders of templates beside those of the domain.
PARTS_OF_A_SITE = {"front", "mail", "registration", "common", "queue", "scoring"}


def table() -> tuple[set[str], set[str]]:
    """Return the words of the glossary, and those that they stand instead of."""
    rows = re.findall(r"^\| (.+?) \| .+ \|(.*)\|$", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    kept, replaced = (set(re.findall(r"[a-z]+", " ".join(column).lower())) for column in zip(*rows[1:], strict=True))
    return kept, replaced - kept


def python_modules() -> dict[str, Path]:
    """Return the modules of the applications and of the defense kit, by their names."""
    return sources() | {str(path.relative_to(ROOT)): path for path in (ROOT / "defense_kit").rglob("*.py")}


def singular(word: str) -> str:
    return re.sub(r"ies$", "y", word) if word.endswith("ies") else re.sub(r"(?<![su])s$", "", word)


WORDS, REPLACED = table()
KNOWN = {singular(word) for word in WORDS | ORDINARY | PARTS_OF_A_SITE}
MODELS = sorted({model.__name__ for app in FOLDERS for model in apps.get_models() if model.__module__.startswith(app)})
TEMPLATES = ROOT / "templates"
OTHER_LIMIT = re.compile(r"(?:^|_)(?:MOST|LEAST|FEWEST|LONGEST|SHORTEST|LARGEST|SMALLEST|FARTHEST)(?:_|$)")
GIVEN_BY_DJANGO = {"Command", "Migration"}
FOLDER_NAMES = sorted(str(each.relative_to(TEMPLATES)) for each in TEMPLATES.rglob("*") if each.is_dir())


@pytest.mark.parametrize("name", [*MODELS, *FOLDER_NAMES])
def test_a_name_is_made_of_words_of_the_glossary(name: str) -> None:
    found = {singular(word.lower()) for word in re.findall(r"[A-Z]?[a-z]+", name)}
    assert sorted(found - KNOWN) == [], "explain the word in docs/glossary.md, or take one that is there"
    assert not found & REPLACED, "docs/glossary.md has another word for it"


def test_each_ordinary_word_is_used_and_none_is_explained() -> None:
    used = {singular(word.lower()) for name in [*MODELS, *FOLDER_NAMES] for word in re.findall(r"[A-Z]?[a-z]+", name)}
    assert sorted({singular(word) for word in ORDINARY | PARTS_OF_A_SITE} - used) == []


def test_a_class_has_its_name_alone() -> None:
    places = defaultdict(list)
    for name, path in python_modules().items():
        for statement in ast.parse(path.read_text()).body:
            if isinstance(statement, ast.ClassDef) and statement.name not in GIVEN_BY_DJANGO:
                places[statement.name].append(name)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_a_limit_is_named_max_or_min() -> None:
    scripts = "".join(path.read_text() for path in (ROOT / "static/js").rglob("*.js"))
    found = set(re.findall(r"\b(?:const|let) ([A-Z][A-Z_0-9]+) =", scripts))
    for path in python_modules().values():
        for statement in ast.parse(path.read_text()).body:
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                names = (each for each in ast.walk(statement) if isinstance(each, ast.Name))
                found |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    assert len(found) > 1_000 and sorted(filter(OTHER_LIMIT.search, found)) == []
