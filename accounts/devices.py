"""Names the browser and system of a sign-in, from its user agent. Pure."""

# The first match counts: each browser also claims to be the ones below it.
_BROWSERS = (
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("OPR/", "Opera"),
    ("Edg", "Edge"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "Mac"),
    ("Linux", "Linux"),
)


def describe_user_agent(user_agent: str) -> str:
    """Return for example `Firefox · Android`; empty if neither browser nor system is recognized."""
    found = (next((name for token, name in table if token in user_agent), "") for table in (_BROWSERS, _SYSTEMS))
    return " · ".join(name for name in found if name)
