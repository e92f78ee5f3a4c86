"""Risk-coverage curves as SVG, and their values at round coverages. Pure."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the table below the curves
_LEFT, _TOP, _WIDTH, _HEIGHT = 46, 14, 258, 150  # of the plot, in the units of the viewBox
_VIEW = (320, 208)
_SCALES = (0.1, 0.25, 0.5, 1.0)  # what the risk's axis may end at

# (coverage, risk) by ascending coverage, from 0 to 1. A risk as published may exceed 1, and is drawn at 1.
Curve = Sequence[Sequence[float]]


def percent(share: float) -> str:
    """Return a share, 0 to 1, in percent with one decimal place."""
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def highest_risk(curves: Sequence[Curve]) -> float:
    """Return where the risk's axis ends, so that curves beside each other have the same one."""
    highest = max((risk for curve in curves for _, risk in curve), default=0.0)
    return next((scale for scale in _SCALES if highest <= scale), _SCALES[-1])


def risk_at(curve: Curve, coverage: float) -> float:
    """Return the risk at the first point that covers as much; the last point covers all."""
    return next(risk for covered, risk in curve if covered >= coverage - 1e-12)


def curve_svg(number: int, title: str, figures: Mapping[str, Any], top: float) -> str:
    """Return the curve of an attack; `figures` are its part of the report, `top` where the risk's axis ends."""
    curve: Curve = figures["curve"]
    reached, risk = figures["coverage_reached"], 1 - figures["accuracy_at_80"]
    described = (
        f"Of the {percent(reached)} of pictures with the most confident answers, {percent(risk)} are answered wrongly; "
        f"of all pictures, {percent(curve[-1][1])}."
    )
    across, up = _x(reached), _y(risk, top)
    label_up = up - 8 if up > _TOP + 24 else up + 18
    return (
        f'<svg viewBox="0 0 {_VIEW[0]} {_VIEW[1]}" role="img" aria-labelledby="curve-{number} described-{number}">'
        f'<title id="curve-{number}">Risk over coverage: {escape(title)}</title>'
        f'<desc id="described-{number}">{described}</desc>'
        f"{_axes(top)}"
        f'<polyline class="curve" points="{_points(curve, top)}"/>'
        f'<circle class="dot" cx="{across:.1f}" cy="{up:.1f}" r="4"/>'
        f'<text class="value" x="{across - 8:.1f}" y="{label_up:.1f}" text-anchor="end">{percent(risk)}</text></svg>'
    )


def _x(coverage: float) -> float:
    return _LEFT + coverage * _WIDTH


def _y(risk: float, top: float) -> float:
    return _TOP + (1 - min(risk / top, 1)) * _HEIGHT


def _points(curve: Curve, top: float) -> str:
    """Return the line's points. It begins at the axis: the first point covers several pictures where they are tied."""
    return " ".join(f"{_x(coverage):.1f},{_y(risk, top):.1f}" for coverage, risk in [(0, curve[0][1]), *curve])


def _axes(top: float) -> str:
    bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    drawn = [f'<path class="at" d="M{_x(0.8):.1f} {_TOP}V{bottom}"/>']
    for share in (0, 0.5, 1):
        up = _y(share * top, top)
        drawn.append(f'<path class="grid" d="M{_LEFT} {up:.1f}H{right}"/>')
        drawn.append(f'<text x="{_LEFT - 6}" y="{up + 4:.1f}" text-anchor="end">{100 * share * top:g}</text>')
    for coverage in (0, 50, 80, 100):
        drawn.append(f'<text x="{_x(coverage / 100):.1f}" y="{bottom + 17}" text-anchor="middle">{coverage}</text>')
    middle = _TOP + _HEIGHT / 2
    drawn.append(f'<text x="{_LEFT + _WIDTH / 2}" y="{_VIEW[1] - 6}" text-anchor="middle">coverage, %</text>')
    drawn.append(f'<text x="12" y="{middle}" text-anchor="middle" transform="rotate(-90 12 {middle})">risk, %</text>')
    return "".join(drawn)
