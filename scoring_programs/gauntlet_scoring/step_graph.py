"""The graph of execution steps as a drawing: an SVG that stands in a page or a file, light or dark, without style.

All strokes and texts take ``currentColor``; there is no style sheet and no script, so that a page's
Content-Security-Policy needs no exception. Every text is escaped. A screen reader hears title and description: the
steps in order, and what each leads to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from html import escape
from typing import Final

from gauntlet_scoring.graph_layout import Layout, Place, layered
from gauntlet_scoring.ground_truth import ExecutionStep, GroundTruth

_BOX: Final = (240, 58)
_PASSING: Final = 24  # the width of a place that a link passes
_GAPS: Final = (24, 44)  # between boxes, between layers
_MARGIN: Final = 12
_CHARACTERS: Final = (27, 34)  # of a box's two lines; the whole text is its title
_FINISH: Final = "Finish"
_SCHEMES: Final = "<style>svg{color:#1b1b1f}@media (prefers-color-scheme:dark){svg{color:#e6e6ea}}</style>"

Point = tuple[float, float]


def step_graph_svg(truth: GroundTruth, *, standalone: bool = False) -> str:
    """Draw the execution steps of a scenario and their links, from the first at the top to Finish at the bottom.

    A link that closes a cycle, which the validator refuses, is drawn dashed. With ``standalone`` the drawing is for a
    file of its own, where no page gives it a colour: it then follows the reader's light or dark scheme by itself.
    """
    steps = {step.name: step for step in truth.execution_steps}
    layout = layered(list(steps), [(link.source, link.target) for link in truth.execution_links])
    widths = [_width(row) for row in layout.layers]
    width = max(widths, default=0) + 2 * _MARGIN
    height = len(layout.layers) * (_BOX[1] + _GAPS[1]) - _GAPS[1] + 2 * _MARGIN
    points = dict(_points(layout, width))
    identity = hashlib.sha256(f"{truth.key}\0{truth.text}".encode(errors="replace")).hexdigest()[:8]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="t{identity} d{identity}"'
        f' viewBox="0 0 {width} {height}" width="{width}" height="{height}" fill="none" stroke="currentColor"'
        ' font-family="system-ui, sans-serif">',
        f'<title id="t{identity}">{_text(f"Execution steps of scenario {truth.key}")}</title>',
        f'<desc id="d{identity}">{_text(_description(truth))}</desc>',
        _SCHEMES if standalone else "",
        f'<defs><marker id="m{identity}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
        ' orient="auto"><path d="M0 0 8 4 0 8z" fill="currentColor" stroke="none"/></marker></defs>',
        *(_link(way, points, identity) for _, _, way in layout.ways),
        *(_box(step, points[step.name, 0]) for step in steps.values()),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _width(row: tuple[Place, ...]) -> int:
    return sum(_BOX[0] if not _passes(place) else _PASSING for place in row) + _GAPS[0] * max(len(row) - 1, 0)


def _passes(place: Place) -> bool:
    """Whether a place is one that a link passes, and no box: it is never in the first layer."""
    return place[1] > 0


def _points(layout: Layout, width: int) -> Iterator[tuple[Place, Point]]:
    """The upper left corner of every box, and the middle of the upper edge of every place that a link passes."""
    for at, row in enumerate(layout.layers):
        left = (width - _width(row)) / 2
        top = _MARGIN + at * (_BOX[1] + _GAPS[1])
        for place in row:
            yield place, (left + _PASSING / 2 if _passes(place) else left, top)
            left += (_PASSING if _passes(place) else _BOX[0]) + _GAPS[0]


def _link(way: tuple[Place, ...], points: dict[Place, Point], identity: str) -> str:
    source, target = points[way[0]], points[way[-1]]
    backwards = target[1] <= source[1]
    x, y = source[0] + _BOX[0] / 2, source[1] + _BOX[1]
    path = f"M{x:g} {y:g}"
    for place in way[1:]:
        left, top = points[place]
        to_x = left if _passes(place) else left + _BOX[0] / 2
        middle = (y + top) / 2
        path += f"C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {top:g}"
        x, y = to_x, top
        if _passes(place):
            y = top + _BOX[1]
            path += f"L{x:g} {y:g}"
    dashes = ' stroke-dasharray="4 4"' if backwards else ""
    return f'<path d="{path}" stroke-opacity="0.6" marker-end="url(#m{identity})"{dashes}/>'


def _box(step: ExecutionStep, corner: Point) -> str:
    left, top = corner
    width, height = _BOX
    middle = left + width / 2
    finish = step.action == _FINISH
    name, call = _cut(step.name, _CHARACTERS[0]), _cut(f"{step.agent} · {step.action}", _CHARACTERS[1])
    lines = (name, 22, 13, 600), (call, 42, 12, 400)
    texts = "".join(
        f'<text x="{middle:g}" y="{top + down:g}" text-anchor="middle" font-size="{size}" font-weight="{weight}"'
        f' fill="currentColor" stroke="none">{_text(text)}</text>'
        for text, down, size, weight in lines
    )
    return (
        f"<g><title>{_text(f'{step.name}: {step.agent}, {step.action}')}</title>"
        f'<rect x="{left:g}" y="{top:g}" width="{width}" height="{height}" rx="{height // 2 if finish else 6}"'
        f' fill="currentColor" fill-opacity="0.06" stroke-width="{2 if finish else 1}"/>{texts}</g>'
    )


def _description(truth: GroundTruth) -> str:
    after: dict[str, list[str]] = {}
    for link in truth.execution_links:
        after.setdefault(link.source, []).append(link.target)
    sentences = [
        f"{at}. {step.name} ({step.agent}, {step.action})"
        + (f" leads to {', '.join(after[step.name])}." if step.name in after else ".")
        for at, step in enumerate(truth.execution_steps, start=1)
    ]
    return " ".join(sentences)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _text(text: str) -> str:
    """Escaped, and without the characters that no XML document may hold."""
    allowed = "".join(each if each >= " " and not "\ud800" <= each <= "\udfff" else " " for each in text)
    return escape(allowed.replace("\ufffe", " ").replace("\uffff", " "))
