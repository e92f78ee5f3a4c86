"""Normalises e-mail addresses: to the inbox they lead to, and to the institution's domain. Pure."""

# Provider -> (the domain under which its addresses are compared, characters it ignores before the +).
_GMAIL, _PROTON = ("gmail.com", "."), ("proton.me", "._-")
_PROVIDERS = {
    "gmail.com": _GMAIL,
    "googlemail.com": _GMAIL,
    "proton.me": _PROTON,
    "protonmail.com": _PROTON,
    "pm.me": _PROTON,
    **{name: (name, "") for name in ("outlook.com", "hotmail.com", "live.com", "fastmail.com", "zoho.com")},
    **dict.fromkeys(("icloud.com", "me.com", "mac.com"), ("icloud.com", "")),
}


def inbox(address: str) -> str:
    """Return an address that is equal for all addresses of the same inbox; empty for an invalid one."""
    name, at, domain = address.strip().lower().rpartition("@")
    if not at or domain not in _PROVIDERS:
        return name + at + domain
    provider, ignored = _PROVIDERS[domain]
    return "".join(letter for letter in name.partition("+")[0] if letter not in ignored) + "@" + provider


# Providers where anybody gets an address: two people there have nothing in common.
_ANYBODY = {
    *_PROVIDERS,
    *("aol.com", "gmx.com", "gmx.de", "gmx.net", "web.de", "t-online.de", "mail.com", "mail.ru", "yandex.com"),
    *("yandex.ru", "yahoo.com", "yahoo.co.uk", "yahoo.co.jp", "yahoo.de", "yahoo.fr", "ymail.com", "msn.com"),
    *("qq.com", "163.com", "126.com", "sina.com", "foxmail.com", "naver.com", "hey.com", "tutanota.com", "posteo.de"),
    *("mailbox.org", "free.fr", "orange.fr", "laposte.net", "libero.it", "hotmail.co.uk", "hotmail.fr", "live.de"),
}
# Second-level domains below which institutions have their names: the institution is ox.ac.uk, not ac.uk.
_SECOND_LEVELS = {"ac", "co", "com", "edu", "gov", "go", "gob", "gouv", "mil", "net", "ne", "or", "org", "res", "uni"}


def institution(address: str) -> str:
    """Return the institution's domain for an address or a domain: `ox.ac.uk` for an address of its department of
    physics. Empty for providers where anybody gets an address, and for invalid input."""
    domain = address.strip().lower().rpartition("@")[2].strip(".")
    labels = [label for label in domain.split(".") if label]
    if len(labels) < 2 or domain in _ANYBODY:
        return ""
    below = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVELS
    named = ".".join(labels[-3 if below else -2 :])
    return "" if named in _ANYBODY else named
