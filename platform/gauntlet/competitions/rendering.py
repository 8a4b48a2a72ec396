"""Organizers' Markdown as HTML that cannot do anything."""

from __future__ import annotations

from typing import Final

import nh3
from markdown_it import MarkdownIt

_MARKDOWN: Final = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"])
_TAGS: Final = {
    *("a", "abbr", "b", "blockquote", "br", "caption", "code", "dd", "del", "details", "div", "dl", "dt", "em"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "ol", "p", "pre", "s", "small", "span"),
    *("strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
}
_ATTRIBUTES: Final = {
    "a": {"href", "title"},
    "abbr": {"title"},
    "img": {"src", "alt", "title", "width", "height"},
    "ol": {"start"},
    "td": {"align", "colspan", "rowspan"},
    "th": {"align", "colspan", "rowspan", "scope"},
    "code": {"class"},
}


def render(markdown: str) -> str:
    """Render Markdown (CommonMark, tables, inline HTML) and keep only what is listed here.

    No script, style, form, frame, id or event attribute survives; links are http, https or mailto.
    """
    return nh3.clean(
        _MARKDOWN.render(markdown),
        tags=set(_TAGS),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
