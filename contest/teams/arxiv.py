"""Parses arXiv identifiers in both forms, without version (R25). Pure."""

import re
from datetime import date

_AROUND = re.compile(r"(?:https?://)?(?:www\.|export\.)?arxiv\.org/(?:abs|pdf|html)/|arxiv:", re.I)
_AFTER = re.compile(r"(?:v[1-9]\d*)?(?:\.pdf)?", re.I)
_NEW = re.compile(r"(?P<year>\d\d)(?P<month>\d\d)\.(?P<number>\d{4,5})")
_OLD = re.compile(r"(?P<archive>[a-z-]+)(?:\.[a-z]{2})?/(?P<year>\d\d)(?P<month>\d\d)(?P<number>\d{3})", re.I)
# (year, month): archives were named until the first, numbers have five digits from the second on.
_NEW_FORM, _FIVE_DIGITS = (2007, 4), (2015, 1)
_FIRST = (1991, 7)
# fmt: off
ARCHIVES = frozenset({
    "acc-phys", "adap-org", "alg-geom", "ao-sci", "astro-ph", "atom-ph", "bayes-an", "chao-dyn", "chem-ph",
    "cmp-lg", "comp-gas", "cond-mat", "cs", "dg-ga", "funct-an", "gr-qc", "hep-ex", "hep-lat", "hep-ph", "hep-th",
    "math", "math-ph", "mtrl-th", "nlin", "nucl-ex", "nucl-th", "patt-sol", "physics", "plasm-ph", "q-alg", "q-bio",
    "quant-ph", "solv-int", "supr-con",
})
# fmt: on


def paper_id(typed: str, *, today: date) -> str | None:
    """Return the identifier alone, for example `1809.08352` or `hep-th/9901001`; None when there is no such one.

    Addresses of the paper's page and file are understood, `arXiv:` in front and a version behind are dropped, as is
    the subject class of the old form (`math.GT/0309136`). `today` bounds the month.
    """
    bare = _AROUND.sub("", typed.strip(), count=1)
    if (found := _match(_NEW, bare)) and _new_fits(found, today):
        return f"{found['year']}{found['month']}.{found['number']}"
    if (found := _match(_OLD, bare)) and _old_fits(found):
        return f"{found['archive'].lower()}/{found['year']}{found['month']}{found['number']}"
    return None


def _match(form: re.Pattern[str], bare: str) -> re.Match[str] | None:
    found = form.match(bare)
    return found if found and bare.isascii() and _AFTER.fullmatch(bare, found.end()) else None


def _new_fits(found: re.Match[str], today: date) -> bool:
    month = 2000 + int(found["year"]), int(found["month"])
    digits = 4 if month < _FIVE_DIGITS else 5
    known = _NEW_FORM <= month <= (today.year, today.month) and 1 <= month[1] <= 12
    return known and len(found["number"]) == digits and int(found["number"]) > 0


def _old_fits(found: re.Match[str]) -> bool:
    year = int(found["year"])
    month = (1900 if year >= 91 else 2000) + year, int(found["month"])
    known = _FIRST <= month < _NEW_FORM and 1 <= month[1] <= 12
    return known and found["archive"].lower() in ARCHIVES and int(found["number"]) > 0
