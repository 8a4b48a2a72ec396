"""Components of the pages: icons, state chips, times, amounts, form fields, the interval bar."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from math import floor
from typing import Any

from django import template
from django.forms import BoundField
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from gauntlet.web import wording
from gauntlet_scoring.failures import Owner

register = template.Library()

THEMES = ("auto", "light", "dark")
_THEME_WORDS = {"auto": "as the system", "light": "light", "dark": "dark"}
#: Chip: look, icon, word. The word says everything that the look says.
_CHIPS = {
    "received": ("", "clock", "Received"),
    "checking": ("run", "turn", "Being checked"),
    "waiting": ("warn", "clock", "Waiting for approval"),
    "queued": ("", "clock", "Queued"),
    "unserved": ("warn", "warn", "Queued, served by nobody"),
    "running": ("run", "turn", "Running"),
    "held_up": ("warn", "warn", "Begun, held up"),
    "scoring": ("run", "turn", "Being scored"),
    "finished": ("good", "check", "Finished"),
    "failed": ("bad", "cross", "Failed"),
    "rejected": ("bad", "cross", "Rejected"),
    "cancelled": ("", "stop", "Cancelled"),
    "open": ("good", "open", "Open"),
    "future": ("", "clock", "Not yet open"),
    "closed": ("", "closed", "Closed"),
    "pending": ("warn", "clock", "Waiting for approval"),
    "approved": ("good", "check", "Approved"),
    "joined": ("good", "check", "You take part"),
    "denied": ("bad", "cross", "Denied"),
    "answered": ("good", "check", "Answered"),
    "idle": ("good", "check", "Waits for work"),
    "busy": ("run", "turn", "Works"),
    "paused": ("warn", "warn", "Pauses"),
    "draining": ("warn", "warn", "Takes no job"),
    "stopping": ("", "stop", "Ends"),
    "stopped": ("", "stop", "Has ended"),
    "silent": ("bad", "cross", "Silent"),
    "drawn": ("warn", "dot", "Nobody invited yet"),
    "invited": ("", "clock", "Not begun"),
    "answering": ("run", "clock", "Being answered"),
    "complete": ("good", "check", "All answered"),
}
BAR_WIDTH = 120


@register.simple_tag
def icon(name: str) -> SafeString:
    """A drawing that stands beside its word; hidden from screen readers."""
    return format_html(
        '<svg class="i{}" aria-hidden="true"><use href="{}#{}"/></svg>',
        " turn" if name == "turn" else "",
        static("gauntlet/icons.svg"),
        name,
    )


@register.simple_tag
def chip(state: str, owner: str = "") -> SafeString:
    """A state as icon and word; a failed one says whose fault it is, a rejected one if it is not what was sent."""
    look, drawing, word = _CHIPS.get(state, ("", "dot", state.capitalize()))
    if owner and (state == "failed" or (state == "rejected" and owner != Owner.PARTICIPANT)):
        word = f"{word}: {wording.FAULT[owner]}"
    return format_html('<span class="chip {}">{}{}</span>', look, icon(drawing), word)


@register.simple_tag
def when(moment: datetime | None, form: str = "minute") -> SafeString:
    """A moment in UTC: by ``day``, ``minute`` or ``second``, or the ``clock`` alone."""
    if moment is None:
        return mark_safe("–")
    moment = moment.astimezone(timezone.get_fixed_timezone(0))
    day = f"{moment.day} {moment:%b %Y}"
    text = {
        "day": day,
        "minute": f"{day}, {moment:%H:%M} UTC",
        "second": f"{day}, {moment:%H:%M:%S} UTC",
        "clock": f"{moment:%H:%M:%S}",
        "short": f"{moment:%d %b %H:%M}",
    }[form]
    return format_html('<time datetime="{}">{}</time>', moment.isoformat(timespec="seconds"), text)


@register.simple_tag
def until(moment: datetime, prefix: str = "in", reload: bool = False) -> SafeString:
    """A countdown, right without a script and ticking with one."""
    left = (moment - timezone.now()).total_seconds()
    text = f"{prefix} {duration(left)}".strip() if left > 0 else "now"
    return format_html(
        '<time class="count" data-until="{}"{} datetime="{}">{}</time>',
        prefix,
        mark_safe(" data-reload") if reload else "",
        moment.astimezone(timezone.get_fixed_timezone(0)).isoformat(timespec="seconds"),
        text,
    )


@register.filter
def duration(seconds: float | None) -> str:
    """``3 d 4 h``, ``12 min 5 s``; the script counts in the same words."""
    if seconds is None:
        return "–"
    if 0 < seconds < 10:
        return f"{seconds:.1f} s"
    whole = max(0, round(seconds))
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {whole % 60} s"
    return f"{whole} s"


@register.filter
def size(count: int | None) -> str:
    """Bytes in decimal units, never more than there are: ``12.4 MB``."""
    if count is None:
        return "–"
    for unit, worth in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= worth:
            digits = 0 if count >= 100 * worth else 1 if count >= 10 * worth else 2
            return f"{floor(count / worth * 10**digits) / 10**digits:.{digits}f} {unit}"
    return f"{count} byte{'' if count == 1 else 's'}"


@register.filter
def flat(record: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """A nested record as names and values, those without a value left out: ``scoring / rubric / version``."""
    lines: list[tuple[str, str]] = []
    for name, value in sorted(record.items()):
        if isinstance(value, Mapping):
            lines += flat(value, f"{prefix}{name} / ")
        elif value not in (None, ""):
            lines.append((f"{prefix}{name}", str(value)))
    return lines


@register.filter
def demote(html: str, first: int = 3) -> SafeString:
    """Sanitised HTML with headings that begin at level ``first`` and go on without a gap, whatever they began with."""
    top = min((int(level) for level in re.findall(r"<h([1-6])", html)), default=1)
    now = first - 1

    def lower(found: re.Match[str]) -> str:
        nonlocal now
        if found[1] == "<h":
            now = min(int(found[2]) - top + first, now + 1, 6)
        return f"{found[1]}{now}"

    return mark_safe(re.sub(r"(</?h)([1-6])", lower, html))  # noqa: S308 -- sanitised when it was stored


@register.filter
def number(value: float | None, precision: int = 3) -> str:
    """A figure with fixed digits, or a dash where there is none."""
    return "–" if value is None else f"{value:.{precision}f}"


@register.filter
def percent(share: float | None) -> str:
    """A share in per cent, or a dash where there is none."""
    return "–" if share is None else f"{share * 100:.0f} %"


@register.filter
def item(mapping: dict[str, Any], key: str) -> Any:
    """The value under a key, or None."""
    return mapping.get(key)


@register.filter
def fault_for_organizer(owner: str) -> str:
    """The same, for an organizer who reads about a participant's submission, with what there is to do."""
    return wording.FAULT_FOR_ORGANIZER.get(owner, "")


@register.filter
def commands(text: str) -> SafeString:
    """A sentence of ours in which commands stand between backticks, as HTML."""
    return mark_safe(re.sub("`(.+?)`", r"<code>\1</code>", escape(text)))  # noqa: S308 -- escaped before


@register.simple_tag(takes_context=True)
def theme(context: dict[str, Any]) -> str:
    """The remembered theme of this browser."""
    request = context.get("request")
    chosen = request.COOKIES.get("theme", "auto") if request else "auto"
    return chosen if chosen in THEMES else "auto"


@register.inclusion_tag("components/theme.html", takes_context=True)
def theme_switch(context: dict[str, Any]) -> dict[str, Any]:
    """The switch: auto, light, dark, auto."""
    now = theme(context)
    following = THEMES[(THEMES.index(now) + 1) % len(THEMES)]
    request = context.get("request")
    return {
        "next": following,
        "title": f"Colours: {_THEME_WORDS[now]}. Change to {_THEME_WORDS[following]}",
        "csrf_token": context.get("csrf_token"),
        "here": request.get_full_path() if request else "/",
    }


@register.simple_tag
def now_iso() -> str:
    """The server's clock, from which countdowns are counted."""
    return timezone.now().isoformat(timespec="milliseconds")


@register.inclusion_tag("components/field.html")
def field(bound: BoundField, hint: str = "", label: str = "") -> dict[str, Any]:
    """A form field with its label, its hint, and its error beside it; words given here stand instead of the form's."""
    bound.field.widget.attrs.pop("placeholder", None)  # it would say the label once more, in grey
    described = [f"{bound.id_for_label}-hint"] if hint or bound.help_text else []
    attributes: dict[str, Any] = {}
    if bound.errors:
        described.append(f"{bound.id_for_label}-problem")
        attributes["aria-invalid"] = "true"
    if described:
        attributes["aria-describedby"] = " ".join(described)
    return {
        "field": bound,
        "widget": bound.as_widget(attrs=attributes),
        "hint": hint or bound.help_text,
        "label": label or bound.label,
        "checkbox": getattr(bound.widget_type, "lower", str)() == "checkbox",
    }


@register.simple_tag
def bar(cell: Any, low: float, high: float) -> SafeString:
    """A value and its interval on the scale of the whole board, as one short path in pixels."""
    width = high / 2 - low / 2  # by halves: the ends of a scale may be too far apart for a float
    if cell is None or cell.value is None or width <= 0:
        return mark_safe("<svg></svg>")

    def place(value: float) -> int:
        return round(min(max((value / 2 - low / 2) / width, 0.0), 1.0) * BAR_WIDTH)

    at = place(cell.value)
    path = f"M{at} 1v10"
    if cell.low is not None and cell.high is not None:
        path = f"M{place(cell.low)} 6H{place(cell.high)}{path}"
    return format_html('<svg><path d="{}"/></svg>', path)
