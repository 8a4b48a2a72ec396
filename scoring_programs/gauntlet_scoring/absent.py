"""Import of a library without what it imports and scoring never uses: seconds less, and no cache to be written."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn


@contextmanager
def without(modules: Sequence[str]) -> Iterator[None]:
    """Stand-ins for modules that are not loaded yet, while something is imported. Any use of one is an ImportError."""
    absent = [name for name in modules if name not in sys.modules]
    sys.modules.update({name: _Absent(name) for name in absent})
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


class _Absent(ModuleType):
    """A module that is imported and never touched."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)
        self.__path__: list[str] = []

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)

        def refuse(*_: object, **__: object) -> NoReturn:
            raise ImportError(f"{self.__name__}.{attribute} is not available in the scorer, which does not need it")

        return refuse
