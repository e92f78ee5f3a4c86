"""Section of the report page with the most confident wrong answers: original, attacked picture, change."""

import base64
import io
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from defense_kit.warmup.attacks import Bytes
from defense_kit.warmup.changes import FirstMove, start_of
from defense_kit.warmup.measure import as_bytes
from defense_kit.warmup.methods import method_of
from defense_kit.warmup.pictures import LabelledPicture
from defense_kit.warmup.report import confidence_of

MAX_PICTURES = 12  # of the page: its PNGs are inside
CONTRAST = 8  # what a change is multiplied by


def worst_pictures(
    report: Mapping[str, Any],
    pictures: Mapping[str, LabelledPicture],
    folder: Path,
    attack_name: Callable[[str], str],
) -> str:
    """Return the section; `pictures` are by their ID, their PNGs below `folder`."""
    wrong = [each for each in report["pictures"] if each["worst"] and each["attacks"][each["worst"]]["wrong"]]
    wrong.sort(key=lambda each: confidence_of(each["attacks"][each["worst"]]), reverse=True)
    chosen = wrong[:MAX_PICTURES]
    first_move = method_of(report["mode"]).first_move
    cards = "".join(_card(each, pictures[each["id"]], folder, attack_name, first_move) for each in chosen)
    words = "No answer was wrong."
    if chosen:
        words = (
            f"{len(wrong):,} of {len(report['pictures']):,} pictures were answered wrongly under at least one attack. "
            f"These are the {len(chosen)} most confident wrong answers, one a picture."
        )
    return f'<section><h2>Worst pictures</h2><p>{words}</p><div class="worst">{cards}</div></section>'


def change(start: Bytes, attacked: Bytes) -> Bytes:
    """Return the difference times CONTRAST around mid grey: uint8, as the pictures."""
    difference = attacked.astype(np.int16) - start
    seen: Bytes = np.clip(128 + CONTRAST * difference, 0, 255).astype(np.uint8)
    return seen


def _card(
    row: Mapping[str, Any],
    picture: LabelledPicture,
    folder: Path,
    attack_name: Callable[[str], str],
    first_move: FirstMove,
) -> str:
    attack = row["worst"]
    result, clean = row["attacks"][attack], row["attacks"].get("clean")
    views, note = [_view((folder / row["original"]).read_bytes(), "original", _outputs(clean))], ""
    if attack != "clean":
        png = (folder / result["png"]).read_bytes()
        views.append(_view(png, "attacked", _outputs(result)))
        start = start_of(attack, picture.picture, first_move)
        if start is not None:
            attacked = np.asarray(Image.open(io.BytesIO(png)))
            since = "moved picture" if attack in ("spsa", "boundary") else "original"
            caption = f"change from the {since} ×\N{NO-BREAK SPACE}{CONTRAST}"
            views.append(_view(_png(change(as_bytes(start), attacked)), caption, ""))
        else:
            note = " No change is shown: the grid moves the whole picture."
    return (
        f"<article><h3>{escape(row['file'])}: {attack_name(attack)}</h3>"
        f'<div class="views">{"".join(views)}</div><p>{_words(row["class"], result)}{note}</p></article>'
    )


def _view(png: bytes, name: str, outputs: str) -> str:
    source = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    return (
        f'<figure><img src="{source}" width="224" height="224" alt="{name}">'
        f"<figcaption>{name}{outputs}</figcaption></figure>"
    )


def _outputs(result: Mapping[str, Any] | None) -> str:
    if result is None:
        return ""
    bicycle, bird = ("not finite" if score is None else f"{score:.4g}" for score in result["scores"])
    return f"<br>bicycle {bicycle}<br>bird {bird}"


def _words(of_class: str, result: Mapping[str, Any]) -> str:
    rounded = "still wrong" if result["wrong_when_rounded"] else "right again"
    words = [f"A {of_class}, answered wrongly", f"{rounded} when rounded to 8 bits"]
    if result["chosen"]:
        words.append(", ".join(f"{name.replace('_', ' ')} {_plain(value)}" for name, value in result["chosen"].items()))
    far = result["distance"]
    if far and far["l2"]:  # not of the clean picture
        words.append(f"distance L∞ {255 * far['l_infinity']:.1f}/255, L2 {far['l2']:.2f}")
    words.append(f"{result['queries']:,} {'query' if result['queries'] == 1 else 'queries'}")
    return "; ".join(escape(each) for each in words) + "."


def _plain(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _png(pixels: Bytes) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()
