"""Which e-mail addresses lead to one inbox, pure: what the big providers ignore is left out."""

# Provider -> (the name its addresses are compared under, what it ignores before the +).
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
    """Return the address under which all that lead to the same inbox are equal; empty for none."""
    name, at, domain = address.strip().lower().rpartition("@")
    if not at or domain not in _PROVIDERS:
        return name + at + domain
    provider, ignored = _PROVIDERS[domain]
    before = name.partition("+")[0]
    return "".join(letter for letter in before if letter not in ignored) + "@" + provider
