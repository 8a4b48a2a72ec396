"""Whatever is done to a bundle: either it is right and can be imported, or there are findings that say where."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gauntlet.accounts.models import User
from gauntlet.competitions.bundle.check import checked_bundle
from gauntlet.competitions.errors import BundleRefused
from gauntlet.competitions.services import import_bundle

pytestmark = [pytest.mark.security, pytest.mark.django_db]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(
        ["", "..", "/", "a\0b", "\ud800", "x" * 5000, "1e999", "0x10", "rubric 1", "2026-01-01", "~", "*a"]
    ),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def organizer(make_user: Callable[..., User]) -> User:
    """Who imports."""
    return make_user()


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, child in inner for place in _places(child, (*path, key)))]


def _try(bundle: Any, organizer: User, change: Callable[[Path], None]) -> None:
    """Change a copy of the bundle, and import it or be told why not."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "copy"
        shutil.copytree(bundle.root, root)
        change(root)
        with checked_bundle(root) as checked:
            assert (checked.plan is None) == bool(checked.errors)
            assert all(str(finding) for finding in checked.findings)
        if checked.errors:
            with pytest.raises(BundleRefused):
                import_bundle(root, organizer=organizer, publish=True)
            return
        with transaction.atomic():
            import_bundle(root, organizer=organizer, publish=True, slug="changed")
            transaction.set_rollback(True)


@given(data=st.data())
@SLOW
def test_any_value_at_any_place_of_the_manifest(data: st.DataObject, bundle: Any, organizer: User) -> None:
    document = yaml.safe_load((bundle.root / "competition.yaml").read_text())
    place = data.draw(st.sampled_from(_places(document)[1:]))
    value = data.draw(VALUES)

    def change(root: Path) -> None:
        target = document
        for key in place[:-1]:
            target = target[key]
        target[place[-1]] = value
        text = yaml.dump(document, allow_unicode=False)
        (root / "competition.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")

    _try(bundle, organizer, change)


@given(place=st.integers(0, 5000), junk=st.binary(min_size=0, max_size=12), length=st.integers(0, 30))
@SLOW
def test_any_damage_to_the_manifests_bytes(place: int, junk: bytes, length: int, bundle: Any, organizer: User) -> None:
    def change(root: Path) -> None:
        path = root / "competition.yaml"
        content = path.read_bytes()
        at = place % len(content)
        path.write_bytes(content[:at] + junk + content[at + length :])

    _try(bundle, organizer, change)


@given(line=st.text(max_size=60) | VALUES.map(lambda value: yaml.dump({"id": value})))
@example(line='{"id": "x", "text": "?", "show": {"a": 1e999}}')
@example(line='{"id": "x", "text": "?", "show": {"\\u0000": 1}}')
@example(line='{"id": "x", "text": "?", "show": {"\\ud800": 1}}')
@example(line='{"id": 1' + "0" * 5000 + ', "text": "?"}')
@example(line="[" * 100_000)
@SLOW
def test_any_line_among_the_scenarios(line: str, bundle: Any, organizer: User) -> None:
    def change(root: Path) -> None:
        with (root / "scenarios.jsonl").open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(line)

    _try(bundle, organizer, change)


@given(text=st.text(max_size=80) | VALUES.map(lambda value: yaml.dump({"command": value, "version": value})))
@example(text='command: "a\\0b"')
@example(text='command: python x\nversion: "\\ud800"')
@SLOW
def test_any_metadata_of_programs(text: str, bundle: Any, organizer: User) -> None:
    def change(root: Path) -> None:
        for folder in ("scoring", "environment"):
            (root / folder / "metadata.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")

    _try(bundle, organizer, change)
