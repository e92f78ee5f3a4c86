"""Removes secrets (session keys, tokens, picture addresses) from every log line.

SECRET_LINKS lists the addresses that are permissions in themselves; a test compares it with the URL configuration.
"""

import re
from collections.abc import Callable
from urllib.parse import quote, unquote

# Addresses as in the URL configuration. The text after the last fixed part grants access, or shows a picture.
SECRET_LINKS = (
    "account/email/<token>/",
    "join/<token>/",
    "password/<uid>/<token>/",
    "pictures/<token>.png",
    "register/<token>/",
    "releases/mail/confirm/<token>/",
    "releases/mail/end/<key>/",
    "team/join/<token>/",
)
# Fields, headers, cookies and settings with these words in their names have secrets as values.
_SECRET_NAMES = (
    "token|password|passwd|passphrase|secret|otp|proof|recovery_code|api_?key|session_?(?:id|key)|authorization|cookie"
)
_HIDDEN = "…"
_MAX_DECODING_ROUNDS = 5
_MAX_VALUE_CHARACTERS = 4000

_STARTS = sorted({link.partition("<")[0] for link in SECRET_LINKS}, key=len, reverse=True)
# A slash may be doubled, and escaped where a line quotes JSON.
_START = "(?:" + "|".join(r"\\*/+".join(map(re.escape, start.split("/"))) for start in _STARTS) + ")"
_LINK = re.compile(rf"(?<![\w-])({_START})(?:[^\s\"'?&<>\\]|\\+/)+", re.ASCII | re.IGNORECASE)
_ENCODED_WORD = re.compile(r"(?<![^\s\"'\\])[^\s\"'\\%]*%[^\s\"'\\]*")
_ENCODED_LINK = re.compile(rf"({_START}).", re.ASCII | re.IGNORECASE | re.DOTALL)
_HEADER = re.compile(r"((?:authorization|cookie)\s*[:=]\s*)[^\s\"'\\][^\"'\\\r\n]*", re.IGNORECASE)
_PAIR = re.compile(
    rf"(?P<head>(?:{_SECRET_NAMES})[\w-]*(?:(?P<mark>\\*[\"'])\s*[:=,]|\s*[:=])\s*[\[(]?\s*(?:b(?=\\*[\"']))?)"
    rf"(?:(?P<quote>\\*[\"'])(?:(?!(?P=quote))(?:\\.|[^\\])){{0,{_MAX_VALUE_CHARACTERS}}}"
    r"|(?!(?:null|true|false|none)\b)[^\s\"'&,;{}()\[\]\\]+)",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_SCHEME = re.compile(r"\b(token|bearer|basic|digest)\s+[\w.~+/=-]{16,}", re.ASCII | re.IGNORECASE)
_CREDENTIALS = re.compile(r"(://[^\s/:@\"'\\]*:)[^\s/@\"'\\]+@")
# Tokens of `secrets.token_urlsafe(32)` and `signing.dumps`, tokens in addresses of pictures, and the end of a link for
# a new password.
_RANDOM = re.compile(
    r"(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{43,}=*|(?<![\w-])[0-9a-z]{6,7}-[0-9a-f]{32}(?![\w-])", re.ASCII
)
_NAME_SIGNS = ("token", "passw", "passp", "secret", "otp", "proof", "recovery", "key", "session", "author", "cookie")


def mask(line: str) -> str:
    """Return the line with `…` in the place of each secret; JSON stays JSON."""
    lowered = line.lower()
    if "%" in line:
        line = _ENCODED_WORD.sub(_without_encoded, line)
    for signs, pattern, replacement in _REPLACED:
        for sign in signs:
            if sign in lowered:
                line = pattern.sub(replacement, line)
                break
    return line


def _without_encoded(found: "re.Match[str]") -> str:
    """Return a word with percent signs, cut where a secret begins once all of it is decoded."""
    plain = found[0]
    for _ in range(_MAX_DECODING_ROUNDS):
        plain = unquote(plain)
    link, other = _ENCODED_LINK.search(plain), _PAIR.search(plain) or _RANDOM.search(plain)
    cuts = [link.end(1)] if link else []
    cuts += [other.start()] if other else []
    return quote(plain[: min(cuts)], safe="/:?&=.,;()[]{}") + _HIDDEN if cuts else found[0]


def _without_value(found: "re.Match[str]") -> str:
    """Hide the value of a name. A value without quotes gets the quotes of its name, so that JSON stays JSON."""
    if found["quote"]:
        return f"{found['head']}{found['quote']}{_HIDDEN}"
    quotes = found["mark"] or ""
    return f"{found['head']}{quotes}{_HIDDEN}{quotes}"


# Each pattern with words that its matches contain: lines without them, the usual case, skip the pattern.
_REPLACED: tuple[tuple[tuple[str, ...], "re.Pattern[str]", "str | Callable[[re.Match[str]], str]"], ...] = (
    ((*_STARTS, "\\/"), _LINK, rf"\1{_HIDDEN}"),
    (("authorization", "cookie"), _HEADER, rf"\1{_HIDDEN}"),
    (("token ", "bearer ", "basic ", "digest "), _SCHEME, rf"\1 {_HIDDEN}"),
    (_NAME_SIGNS, _PAIR, _without_value),
    (("://",), _CREDENTIALS, rf"\1{_HIDDEN}@"),
    (("404", "not found", "error", "exception", "warning"), _RANDOM, _HIDDEN),
)
