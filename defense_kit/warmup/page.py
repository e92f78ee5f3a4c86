"""Renders the warm-up report as one self-contained HTML page without scripts. Pure but for the PNGs read.

Every word that comes from outside (names, digests, what an attack chose) is escaped where it is put in.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from defense_kit.warmup import AS_PUBLISHED, ATTACK_NAMES, EXPLANATIONS, as_published, warning_code
from defense_kit.warmup.curves import COVERAGES, curve_svg, highest_risk, percent, risk_at
from defense_kit.warmup.libraries import MADE_WITH
from defense_kit.warmup.page_style import STYLE
from defense_kit.warmup.pictures import LabelledPicture
from defense_kit.warmup.worst_pictures import worst_pictures

Report = Mapping[str, Any]

WORST_NAME = "Worst of the attacks (our own measure)"
MODELS = ("Keras ResNet-50, undefended", "PyTorch ResNet-50, undefended", "TRADES v2", "LLR")
PUBLISHED = {  # accuracy at 80 % coverage, percent, of MODELS
    "clean": (100, 98.8, 100, 100),
    "corruptions": (99.2, 74.6, 100, 100),
    "spatial_grid": (92.2, 49.5, 99.5, 100),
    "spsa": (1.6, 2.5, 100, 100),
    "boundary": (4.0, 8.0, 95.0, 100),
}


def page(report: Report, pictures: Sequence[LabelledPicture], folder: Path) -> str:
    """Return the page of a report; its PNGs are read from `folder`. The same report and PNGs give the same page."""
    name = escape(report["defense"])
    sections = [
        _summary(report),
        _warnings(report["warnings"]),
        _accuracies(report),
        _curves(report),
        worst_pictures(report, {each.picture.sha256.hex(): each for each in pictures}, folder, attack_name),
        _rounded(report),
        _method(report),
        _timing(report["timing"]),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">"
        f'<meta name="color-scheme" content="light dark"><title>Warm-up of {name}</title>\n'
        f"<style>{STYLE}</style></head>\n<body><main>\n<h1><small>Warm-up</small> {name}</h1>\n"
        + "\n".join(sections)
        + "\n</main></body></html>\n"
    )


def attack_name(attack: str) -> str:
    """Return the name of an attack for people, escaped."""
    return ATTACK_NAMES.get(attack, escape(attack))


def rows(head: Sequence[str], body: Iterable[Sequence[str]], caption: str) -> str:
    """Return a table of escaped cells, the first of each row its heading. On a phone each row is a block."""
    head = [each.replace(" %", "\N{NO-BREAK SPACE}%") for each in head]
    heads = "".join(f'<th scope="col">{each}</th>' for each in head)
    lines = "".join(
        f'<tr><th scope="row">{first}</th>'
        + "".join(f'<td data-label="{label}">{cell}</td>' for label, cell in zip(head[1:], rest, strict=True))
        + "</tr>"
        for first, *rest in body
    )
    return f"<table><caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def _interval(figures: Report, of: str = "interval") -> str:
    low, high = figures[of]
    return f"{100 * low:.1f} to {percent(high)}"


def _summary(report: Report) -> str:
    attacks = report["attacks"]
    lowest = min(attacks, key=lambda name: attacks[name]["accuracy_at_80"])
    figures, of_class = attacks[lowest], report["pictures_of_class"]
    return (
        f'<p class="lead">Accuracy at 80\N{NO-BREAK SPACE}% coverage is lowest for <b>{attack_name(lowest)}</b>: '
        f"<b>{percent(figures['accuracy_at_80'])}</b> (95\N{NO-BREAK SPACE}% interval {_interval(figures)}).</p>"
        f"<dl><dt>Defense</dt><dd>{escape(report['defense'])}</dd>"
        f"<dt>Digest</dt><dd><code>{escape(report['digest'])}</code></dd>"
        f"<dt>Attacks</dt><dd>version {escape(report['version'])}, mode {escape(report['mode'])}</dd>"
        f"<dt>Pictures</dt><dd>{of_class['bird']:,} birds, {of_class['bicycle']:,} bicycles; SHA-256 of the set "
        f"<code>{escape(report['pictures_sha256'])}</code></dd></dl>"
    )


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return "<section><h2>Warnings</h2><p>None.</p></section>"
    return f"<section><h2>Warnings</h2><ul class=warnings>{_explained(warnings)}</ul></section>"


def _explained(warnings: Sequence[str]) -> str:
    items = []
    for each in warnings:
        code = warning_code(each)
        items.append(f"<li><b>{escape(code)}</b>{escape(each.removeprefix(code))}. {EXPLANATIONS.get(code, '')}</li>")
    return "".join(items)


def _accuracies(report: Report) -> str:
    attacks, head = report["attacks"], ["Attack", "Pictures", "At 80 %", "95 % interval at 80 %"]
    head += ["At 100 %", "95 % interval at 100 %", "Coverage reached", "Answers not finite", "Queries"]
    measured = [
        [
            attack_name(name),
            f"{each['n']:,}",
            f"<b>{percent(each['accuracy_at_80'])}</b>",
            _interval(each),
            percent(each["accuracy_at_100"]),
            _interval(each, "interval_at_100"),
            percent(each["coverage_reached"]),
            f"{each['bad_rows']:,}",
            f"{each['queries']['sum']:,}",
        ]
        for name, each in attacks.items()
    ]
    worst = report["worst"]
    last = [WORST_NAME, f"{worst['n']:,}", f"<b>{percent(worst['accuracy_at_80'])}</b>", _interval(worst)]
    last += [percent(worst["accuracy_at_100"]), _interval(worst, "interval_at_100")]
    last += [percent(worst["coverage_reached"]), "–", "–"]
    published = [
        [
            attack_name(name),
            f"<b>{percent(attacks[name]['accuracy_at_80'])}</b>" if name in attacks else "not measured",
            *(percent(value / 100) for value in values),
        ]
        for name, values in PUBLISHED.items()
    ]
    return (
        "<section><h2>Accuracy</h2>"
        f"{rows(head, [*measured, last], 'Accuracy of the most confident 80 % and of all answers')}"
        f"{_successes(attacks)}<p>The last line is {escape(worst['note'])}.</p>"
        "<h3>Beside the published figures of 2018</h3>"
        f"{rows(['Attack', 'This defense', *MODELS], published, 'Accuracy at 80 % coverage')}"
        f"{_deviations(report['mode'])}</section>"
    )


def _deviations(mode: str) -> str:
    """Return how the published code differs from the contest, and of a run as published, what it does not repeat."""
    named = (f"<b>{name[0].upper()}{name[1:]}.</b> {each}" for name, each in as_published.DEVIATIONS.items())
    words = "The figures of 2018 are for orientation: the code differs from the contest's."
    is_open = not_repeated = ""
    if mode == AS_PUBLISHED:
        words = "This run repeats the deviations of the published code: its figures are not the contest's."
        is_open, not_repeated = " open", f"<p>What is not repeated:</p><ul>{_items(as_published.NOT_REPEATED)}</ul>"
    return (
        f"<p>{words} The pictures and the random draws differ in any case.</p>"
        f"<details{is_open}><summary>The deviations of the published code</summary><ol>{_items(named)}</ol></details>"
        f"{not_repeated}"
    )


def _items(sentences: Iterable[str]) -> str:
    return "".join(f"<li>{each}</li>" for each in sentences)


def _successes(attacks: Report) -> str:
    if "boundary" not in attacks:
        return ""
    figures = attacks["boundary"]
    interval = _interval(figures, "interval_of_successes")
    return (
        f"<p>The boundary attack succeeded on {figures['successes']:,} of {figures['n']:,} pictures: the answer is "
        f"wrong within an L2 distance of 10 (95\N{NO-BREAK SPACE}% interval {interval}).</p>"
    )


def _curves(report: Report) -> str:
    figures = {attack_name(name): each for name, each in report["attacks"].items()} | {WORST_NAME: report["worst"]}
    top = highest_risk([each["curve"] for each in figures.values()])
    drawn = "".join(
        f"<figure><figcaption>{name}</figcaption>{curve_svg(number, name, each, top)}</figure>"
        for number, (name, each) in enumerate(figures.items())
    )
    head = ["Attack", *(f"{100 * coverage:.0f} %" for coverage in COVERAGES)]
    values = ([name, *(percent(risk_at(each["curve"], at)) for at in COVERAGES)] for name, each in figures.items())
    return (
        "<section><h2>Risk over coverage</h2><p>Risk is the share of wrong answers among the most confident ones. "
        "A curve that rises only towards the right belongs to a defense that is unsure where it is wrong. "
        f'The dot is the risk at 80\N{NO-BREAK SPACE}% coverage.</p><div class="curves">{drawn}</div>'
        f"<details><summary>The values</summary>{rows(head, values, 'Risk at a coverage of')}</details></section>"
    )


def _rounded(report: Report) -> str:
    head = ["Attack", "Pictures", "Wrong", "Wrong in the PNG", "Right in the PNG, 95 % interval"]
    body = (
        [
            *(attack_name(name), f"{each['n']:,}", f"{each['wrong']:,}", f"{each['wrong_when_rounded']:,}"),
            _interval(each, "interval_when_rounded"),
        ]
        for name, each in report["attacks"].items()
    )
    return (
        "<section><h2>Rounded to 8 bits</h2><p>The attacks send 32-bit floats; a PNG holds 8 bits a value. Each "
        "attacked picture was rounded to nearest and sent once more. This does not enter the accuracy.</p>"
        f"{rows(head, body, 'Wrong answers before and after rounding')}</section>"
    )


def _method(report: Report) -> str:
    made = "".join(
        f"<dt>{MADE_WITH[name]}</dt><dd>{escape(value or 'not installed')}</dd>"
        for name, value in report["made_with"].items()
    )
    return (
        "<section><h2>How it was measured</h2><dl>"
        f"<dt>Batch size</dt><dd>at most {report['batch_size']:,} pictures</dd>"
        f"<dt>Attacks ran on</dt><dd>{escape(report['attacks_ran_on'])}</dd>{made}"
        "</dl><p>Every picture with its scores is in <code>report.json</code> beside this page; the PNGs are in "
        "<code>pictures</code>.</p></section>"
    )


def _timing(timing: Report) -> str:
    head = ["Attack", "Pictures attacked", "Queries", "Forward passes", "Seconds", "Pictures per second"]
    body = (
        [
            attack_name(name),
            *(f"{each[field]:,}" for field in ("pictures", "queries", "forward_passes")),
            f"{each['seconds']:,.1f}" if each["forward_passes"] else "–",
            f"{each['pictures_per_second']:,.0f}" if each["forward_passes"] else "–",
        ]
        for name, each in timing["attacks"].items()
    )
    notes = f"<ul class=warnings>{_explained(timing['warnings'])}</ul>" if timing["warnings"] else ""
    return (
        '<section class="timing"><h2>Timing of the last run</h2><p>Results kept from earlier runs are not timed again. '
        "Forward passes are the rows of whole batches, padding included. A second includes what the attack itself "
        f"computes. The defense ran on: {escape(timing['defense_ran_on'] or 'not known')}.</p>"
        f"{rows(head, body, 'Work and time')}{notes}</section>"
    )
