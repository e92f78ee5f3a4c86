"""The pages as a screen reader has them: the browser's accessibility tree, and nothing that is not in it."""

import gettext
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from playwright.sync_api import Page

from tests.browser.label_desk import wait_until

# Roles that hold parts together: inside one of them no two parts may have the same name.
GROUPS = {"group", "radiogroup", "dialog", "list", "navigation", "form", "main", "banner", "row", "region"}
# What is acted upon; disabled parts are read out too.
ACTED_ON = {"button", "link", "radio", "checkbox", "textbox", "combobox", "application", "DisclosureTriangle", "dialog"}


@dataclass(frozen=True, slots=True)
class Part:
    """One node of the tree. `group` is the name of the nearest group that has one, `place` tells groups apart."""

    role: str
    name: str
    description: str
    group: str
    place: str
    words: str
    properties: dict[str, Any]

    @property
    def is_acted_on(self) -> bool:
        """Return whether somebody acts upon it; a page as a whole and its main part only take the focus."""
        focusable = self.properties.get("focusable") and self.role not in {"RootWebArea", "main"}
        return self.role in ACTED_ON or bool(focusable)


class Reader:
    """Somebody with a keyboard and a screen reader, who knows a page by roles, names and what is read out."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        self._tree = page.context.new_cdp_session(page)
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def parts(self) -> list[Part]:
        """Return what is in the tree, in the order of reading."""
        nodes = self._tree.send("Accessibility.getFullAXTree")["nodes"]
        known = {node["nodeId"]: node for node in nodes}
        return list(_parts(nodes[0], known, "", ""))

    @property
    def focus(self) -> Part:
        """Return what has the focus: the page itself where nothing in it has, as when it is with the browser's bars."""
        page, *parts = self.parts()
        return next((part for part in reversed(parts) if part.properties.get("focused")), page)

    def is_at(self, role: str, name: str = "", group: str = "") -> None:
        """Wait until the focus is there."""
        found: list[Part] = []

        def there() -> bool:
            found[:] = [self.focus]
            return found[0].role == role and name in found[0].name and group in found[0].group

        try:
            wait_until(self.page, there)
        except AssertionError:
            raise AssertionError(f"not at {role} {name!r} in {group!r}, but at {found[0]}") from None

    def tab_to(self, role: str, name: str = "", group: str = "") -> None:
        """Go on with Tab until the focus is there."""
        for _ in range(25):
            self.press("Tab")
            at = self.focus
            if at.role == role and name in at.name and group in at.group:
                return
        raise AssertionError(f"Tab does not lead to {role} {name!r} in {group!r}")

    def hears(self, words: str) -> None:
        """Wait until a live region says what matches `words`."""
        said: list[str] = []

        def heard() -> bool:
            said[:] = [part.words for part in self.parts() if part.properties.get("live")]
            return any(re.search(words, each) for each in said)

        try:
            wait_until(self.page, heard)
        except AssertionError:
            raise AssertionError(f"{words!r} is not said, but {said}") from None

    def sound(self) -> list[str]:
        """Return what is wrong with the tree: parts without a name, equal names side by side, no one first heading."""
        parts = self.parts()
        acted_on = [part for part in parts if part.is_acted_on]
        nameless = [f"no name: {part}" for part in acted_on if not part.name.strip()]
        names = Counter((part.place, part.role, part.name) for part in acted_on)
        equal = [f"{count} times: {each}" for each, count in names.items() if count > 1]
        first = [part for part in parts if part.role == "heading" and part.properties.get("level") == 1]
        in_dialog = any(part.properties.get("modal") for part in parts)
        headings = [] if len(first) == 1 - in_dialog else [f"first headings: {first}"]
        return nameless + equal + headings

    def left_in_english(self) -> list[str]:
        """Return what is read out in English and has German words."""
        return [name for name in {part.name.strip() for part in self.parts()} if _english().fullmatch(name)]


def _parts(node: dict[str, Any], known: dict[str, Any], group: str, place: str) -> Iterator[Part]:
    role, name = _value(node, "role"), _value(node, "name")
    if not node.get("ignored"):
        properties = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
        words = "".join(_words(node, known))
        yield Part(role, name, _value(node, "description"), group, place, words, properties)
        if role in GROUPS:
            group, place = name or group, node["nodeId"]
    for child in _children(node, known):
        yield from _parts(child, known, group, place)


def _words(node: dict[str, Any], known: dict[str, Any]) -> Iterator[str]:
    if _value(node, "role") == "StaticText":
        yield _value(node, "name")
        return
    for child in _children(node, known):
        yield from _words(child, known)


def _children(node: dict[str, Any], known: dict[str, Any]) -> list[dict[str, Any]]:
    return [known[child] for child in node.get("childIds", []) if child in known]


def _value(node: dict[str, Any], field: str) -> str:
    return str(node.get(field, {}).get("value", ""))


@cache
def _english() -> "re.Pattern[str]":
    """What is read out in English and nowhere in German: whole messages, with anything at their placeholders."""
    packed = gettext.translation("django", settings.LOCALE_PATHS[0], ["de"])
    catalogue = {key: value for key, value in packed._catalog.items() if isinstance(key, str)}  # type: ignore[attr-defined]
    foreign = [key for key, value in catalogue.items() if key not in ("", value) and "<" not in key]
    foreign = [key for key in foreign if key not in catalogue.values()]
    patterns = [re.sub(r"%\\\(\w+\\\)[sd]|\\\{\w+\\\}|%[sd]", ".+", re.escape(key)) for key in foreign]
    return re.compile("|".join(each for each in patterns if re.search(r"\w{3}", each)))
