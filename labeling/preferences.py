"""A tasker's preferences on all devices: keys, and the instructions read."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidInput, WrongFields
from labeling.models import Tasker

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Keys with a name that may be chosen. Tab, Escape, the space bar and the arrows keep what browsers do with them.
NAMED_KEYS = {
    "Enter": _("Enter"),
    "Delete": _("Del"),
    "Backspace": _("Backspace"),
    "Insert": _("Ins"),
    "Home": _("Home"),
    "End": _("End"),
    "PageUp": _("Page up"),
    "PageDown": _("Page down"),
}


@dataclass(frozen=True, slots=True)
class KeyAction:
    """Something that a key does on the labeling page."""

    name: str
    key: str
    words: "StrOrPromise"


ACTIONS = (
    KeyAction("choice_1", "1", _("Answer 1; in question 4, switch statement 1")),
    KeyAction("choice_2", "2", _("Answer 2; in question 4, switch statement 2")),
    KeyAction("choice_3", "3", _("Answer 3; in question 4, switch statement 3")),
    KeyAction("choice_4", "4", _("Answer 4")),
    KeyAction("next_question", "f", _("Next question")),
    KeyAction("previous_question", "b", _("Previous question")),
    KeyAction("cannot_outline", "n", _("Say that it cannot be outlined")),
    KeyAction("submit", "Enter", _("Submit")),
    KeyAction("take_back", "z", _("Take the last answer back, for five seconds")),
    KeyAction("undo", "u", _("Undo")),
    KeyAction("redo", "y", _("Redo")),
    KeyAction("close_outline", "c", _("Close the outline")),
    KeyAction("next_corner", "]", _("Choose the next corner")),
    KeyAction("previous_corner", "[", _("Choose the corner before")),
    KeyAction("insert_corner", "i", _("Add a corner after the chosen one")),
    KeyAction("remove_corner", "Delete", _("Remove the chosen corner")),
    KeyAction("fewer_corners", ",", _("Simplify the last traced line")),
    KeyAction("more_corners", ".", _("Refine the last traced line")),
    KeyAction("zoom_in", "+", _("Zoom in")),
    KeyAction("zoom_out", "-", _("Zoom out")),
    KeyAction("fit", "0", _("Show the whole picture")),
    KeyAction("move", "m", _("Let a drag move the picture in place of tracing")),
    KeyAction("smoothing", "s", _("Show the picture smoothly, or every pixel as a square")),
    KeyAction("brighter", "p", _("Brighten the picture")),
    KeyAction("darker", "o", _("Darken the picture")),
    KeyAction("more_contrast", "j", _("Raise the contrast of the picture")),
    KeyAction("less_contrast", "h", _("Lower the contrast of the picture")),
    KeyAction("as_sent", "a", _("Show brightness and contrast as they are")),
    KeyAction("guides", "g", _("Show lines through the pointer")),
    KeyAction("minimap", "t", _("Show a map while the picture is zoomed")),
    KeyAction("instructions", "?", _("Open the instructions")),
    KeyAction("report", "r", _("Report the picture")),
    KeyAction("ask", "q", _("Ask a question")),
    KeyAction("receipts", "v", _("Show the last receipts")),
    KeyAction("keys", "k", _("Show and change the keys")),
    KeyAction("dismiss", "d", _("Dismiss a message")),
)
_DEFAULTS = {action.name: action.key for action in ACTIONS}
# How far a traced line may lie from its corners, in pixels of a picture 299 wide.
_MIN_SIMPLIFY, _MAX_SIMPLIFY = 0.25, 6.0
# Brightness and contrast, in percent of the picture's own.
_MIN_PERCENT, _MAX_PERCENT = 50, 200
# Preferences for displaying pictures, with their defaults.
LOOKS = {"smoothing": True, "simplify": 1, "brightness": 100, "contrast": 100, "guides": False, "minimap": True}


def key_bindings(tasker: Tasker | None) -> dict[str, str]:
    """Return the key of every action, the tasker's own where they chose one."""
    chosen = tasker.preferences.get("keys", {}) if tasker else {}
    return {name: chosen.get(name, key) for name, key in _DEFAULTS.items()}


def key_hints(tasker: Tasker | None) -> dict[str, str]:
    """Return the key of every action as displayed on the page."""
    return {name: hint_of(key) for name, key in key_bindings(tasker).items()}


def hint_of(key: str) -> str:
    """Return a key as it is printed on a keyboard."""
    return key.upper() if len(key) == 1 else str(NAMED_KEYS[key])


def instructions_read(tasker: Tasker) -> int:
    """Return the newest version of the instructions that the tasker was qualified under or has confirmed as read."""
    said: int = tasker.preferences.get("instructions", 0)
    return max(said, tasker.instructions)


@transaction.atomic
def preferences_change(*, tasker: Tasker, data: Mapping[str, Any]) -> dict[str, Any]:
    """Store the preferences in `data` and return all of them; WrongFields names the errors, and nothing is stored."""
    unknown = {name: _now("This preference is not known.") for name in sorted(set(map(str, data)) - set(_READERS))}
    if unknown:
        raise WrongFields(unknown)
    row = Tasker.objects.select_for_update(no_key=True).get(pk=tasker.pk)
    chosen = {name: _READERS[name](value) for name, value in data.items()}
    if "instructions" in chosen:
        chosen["instructions"] = max(instructions_read(row), chosen["instructions"])
    row.preferences |= chosen
    Tasker.objects.filter(pk=row.pk).update(preferences=row.preferences)
    tasker.preferences = row.preferences
    return tasker_preferences(row)


def tasker_preferences(tasker: Tasker) -> dict[str, Any]:
    """Return all preferences, with defaults for those not chosen."""
    chosen = tasker.preferences
    return {
        "keys": key_bindings(tasker),
        "instructions": instructions_read(tasker),
        **{name: chosen.get(name, usual) for name, usual in LOOKS.items()},
    }


def _read_keys(value: Any) -> dict[str, str]:
    """Return the keys that differ from the usual ones; InvalidInput names the first that cannot be."""
    if not isinstance(value, Mapping):
        raise _wrong(_now("Send keys as an object of actions and keys."))
    keys = _DEFAULTS | {str(name): _read_key(name, key) for name, key in value.items()}
    twice = [key for key, times in Counter(keys.values()).items() if times > 1]
    if twice:
        raise _wrong(_now("The key %(key)s is chosen twice: each action needs its own.") % {"key": hint_of(twice[0])})
    return {name: key for name, key in keys.items() if key != _DEFAULTS[name]}


def _read_key(name: Any, key: Any) -> str:
    if name not in _DEFAULTS:
        raise _wrong(_now("The page knows no action %(name)s.") % {"name": repr(str(name)[:40])})
    if isinstance(key, str) and key in NAMED_KEYS:
        return key
    if isinstance(key, str) and len(key) == 1 and key.isprintable() and not key.isspace():
        # Not every capital letter has a single lower-case one; such a key stays as it is.
        return key.lower() if len(key.lower()) == 1 else key
    raise _wrong(
        _now("Choose a key with one letter, digit or sign, or one of: %(names)s.") % {"names": ", ".join(NAMED_KEYS)}
    )


def _read_version(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 32768:
        return value
    raise InvalidInput(_now("Send the version of the instructions that was read."), "invalid", field="instructions")


def _read_flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidInput(_now("Send %(name)s as true or false.") % {"name": name}, "invalid", field=name)


def _read_percent(name: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and _MIN_PERCENT <= value <= _MAX_PERCENT:
        return value
    limits = {"name": name, "least": _MIN_PERCENT, "most": _MAX_PERCENT}
    words = _now("Send %(name)s as a whole number from %(least)s to %(most)s.") % limits
    raise InvalidInput(words, "invalid", field=name)


def _read_simplify(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and _MIN_SIMPLIFY <= value <= _MAX_SIMPLIFY:
        return value
    words = _now("Send simplify as a number from %(least)s to %(most)s.") % {
        "least": _MIN_SIMPLIFY,
        "most": _MAX_SIMPLIFY,
    }
    raise InvalidInput(words, "invalid", field="simplify")


def _wrong(words: str) -> InvalidInput:
    return InvalidInput(words, "invalid", field="keys")


_READERS: dict[str, Callable[[Any], Any]] = {
    "keys": _read_keys,
    "instructions": _read_version,
    "simplify": _read_simplify,
    **{name: partial(_read_flag, name) for name in ("smoothing", "guides", "minimap")},
    **{name: partial(_read_percent, name) for name in ("brightness", "contrast")},
}
