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
from tests.browser.looking import heard

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

    def is_called(self, role: str, name: str, group: str) -> bool:
        return self.role == role and name in self.name and group in self.group


# Keys, and then what is said, or where the focus is: its role, its name, and its group.
Steps = list[tuple[list[str], str | tuple[str, ...]]]


class Reader:
    """Somebody with a keyboard and a screen reader, who knows a page by roles, names and what is read out."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints = heard(page)
        self._tree = page.context.new_cdp_session(page)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def parts(self) -> list[Part]:
        """Return what is in the tree, in the order of reading."""
        nodes = self._tree.send("Accessibility.getFullAXTree")["nodes"]
        return list(_parts(nodes[0], ({node["nodeId"]: node for node in nodes}), "", ""))

    @property
    def focus(self) -> Part:
        """Return what has the focus: the page itself where nothing in it has, as when it is with the browser's bars."""
        page, *parts = self.parts()
        return next((part for part in reversed(parts) if part.properties.get("focused")), page)

    def is_at(self, role: str, name: str = "", group: str = "") -> None:
        """Wait until the focus is there."""
        wait_until(self.page, lambda: self.focus.is_called(role, name, group), lambda: self.focus)

    def tab_to(self, role: str, name: str = "", group: str = "") -> None:
        """Go on with Tab until the focus is there."""
        for _ in range(25):
            self.press("Tab")
            if self.focus.is_called(role, name, group):
                return
        raise AssertionError(f"Tab does not lead to {role} {name!r} in {group!r}")

    def said(self) -> list[str]:
        """Return what the live regions say."""
        return [part.words for part in self.parts() if part.properties.get("live")]

    def hears(self, words: str) -> None:
        """Wait until a live region says what matches `words`."""
        wait_until(self.page, lambda: any(re.search(words, each) for each in self.said()), self.said)

    def follow(self, *steps: tuple[list[str], str | tuple[str, ...]]) -> None:
        """Press keys, and wait for what is said then, or for where the focus is; the tree stays sound."""
        for keys, then in steps:
            self.press(*keys)
            if isinstance(then, str):
                self.hears(then)
            else:
                self.is_at(*then)
            assert self.sound() == [], then

    def sound(self) -> list[str]:
        """Return what is wrong with the tree: parts without a name, equal names side by side, no one first heading."""
        parts = self.parts()
        acted_on = [part for part in parts if part.is_acted_on]
        nameless = [f"no name: {part}" for part in acted_on if not part.name.strip()]
        names = Counter((part.place, part.role, part.name) for part in acted_on)
        equal = [f"{count} times: {each}" for each, count in names.items() if count > 1]
        first = [part for part in parts if part.role == "heading" and part.properties.get("level") == 1]
        in_dialog = any(part.properties.get("modal") for part in parts)
        return nameless + equal + ([] if len(first) == 1 - in_dialog else [f"first headings: {first}"])

    def left_in_english(self) -> list[str]:
        """Return what is read out in English and has German words."""
        return [name for name in {part.name.strip() for part in self.parts()} if _english().fullmatch(name)]


def _parts(node: dict[str, Any], known: dict[str, Any], group: str, place: str) -> Iterator[Part]:
    role, name = _value(node, "role"), _value(node, "name")
    if not node.get("ignored"):
        properties = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
        yield Part(role, name, _value(node, "description"), group, place, _words(node, known), properties)
        if role in GROUPS:
            group, place = name or group, node["nodeId"]
    for child in _children(node, known):
        yield from _parts(child, known, group, place)


def _words(node: dict[str, Any], known: dict[str, Any]) -> str:
    own = _value(node, "name") if _value(node, "role") == "StaticText" else ""
    return own or "".join(_words(child, known) for child in _children(node, known))


def _children(node: dict[str, Any], known: dict[str, Any]) -> list[dict[str, Any]]:
    return [known[child] for child in node.get("childIds", []) if child in known]


def _value(node: dict[str, Any], field: str) -> str:
    return str(node.get(field, {}).get("value", ""))


@cache
def _english() -> "re.Pattern[str]":
    """What is read out in English and nowhere in German: whole messages, with anything at their placeholders."""
    packed = gettext.translation("django", settings.LOCALE_PATHS[0], ["de"])
    catalogue = {key: value for key, value in packed._catalog.items() if isinstance(key, str)}  # type: ignore[attr-defined]
    same = {"", *catalogue.values()}
    foreign = [key for key in catalogue if key not in same and "<" not in key]
    patterns = [re.sub(r"%\\\(\w+\\\)[sd]|\\\{\w+\\\}|%[sd]", ".+", re.escape(key)) for key in foreign]
    return re.compile("|".join(each for each in patterns if re.search(r"\w{3}", each)))
