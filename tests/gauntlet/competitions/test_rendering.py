"""Organizers' Markdown becomes HTML that cannot do anything."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.competitions.rendering import render


def test_what_markdown_is_for_is_kept() -> None:
    html = render("# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[x](https://example.org) `code` <sub>2</sub>")
    for part in ("<h1>Title</h1>", "<td>1</td>", 'href="https://example.org"', "<code>code</code>", "<sub>2</sub>"):
        assert part in html


@pytest.mark.security
@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "<a href='JaVaScRiPt:alert(1)'>x</a>",
        "<iframe src='https://example.org'></iframe>",
        "<form action='https://evil.example'><input name=password></form>",
        "<style>body{display:none}</style>",
        "<p style='position:fixed'>x</p>",
        "<p id='submit' class='hidden'>x</p>",
        "<svg><script>alert(1)</script></svg>",
        "<math><mtext><table><mglyph><style><img src onerror=alert(1)>",
        "<base href='https://evil.example'>",
        "<meta http-equiv=refresh content='0;url=https://evil.example'>",
        "```\n</code></pre><script>alert(1)</script>\n```",
        "<object data=x></object><embed src=x>",
    ],
)
def test_what_could_do_something_is_gone(hostile: str) -> None:
    for tag, attributes in _elements(render(hostile)):
        assert tag not in {
            "script",
            "iframe",
            "form",
            "input",
            "style",
            "svg",
            "math",
            "base",
            "meta",
            "object",
            "embed",
        }
        assert not {name for name in attributes if name.startswith("on") or name in ("style", "id")}
        for name in ("href", "src"):
            assert not (attributes.get(name) or "").casefold().startswith(("javascript:", "data:"))


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def _elements(html: str) -> list[tuple[str, dict[str, str | None]]]:
    """The elements that a reader of this HTML would make."""
    parser = _Elements()
    parser.feed(html)
    return parser.found


@given(st.text(max_size=300))
def test_any_text_renders_without_a_script(text: str) -> None:
    assert "script" not in {tag for tag, _ in _elements(render(text))}
