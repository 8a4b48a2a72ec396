"""The models' official client as files, for agents of tests: what this environment has installed of it."""

from __future__ import annotations

from importlib.metadata import PathDistribution, distribution

from packaging.requirements import Requirement


def openai_files() -> dict[str, bytes]:
    """The client and all that it needs, by path below a folder of packages."""
    files: dict[str, bytes] = {}
    wanted, seen = ["openai"], set[str]()
    while wanted:
        name = wanted.pop().lower()
        if name in seen:
            continue
        seen.add(name)
        found = distribution(name)
        assert isinstance(found, PathDistribution)
        for path in found.files or ():
            if path.suffix != ".pyc" and ".." not in path.parts:
                files[path.as_posix()] = path.locate().read_bytes()  # type: ignore[attr-defined]
        needed = [Requirement(line) for line in found.requires or ()]
        wanted += [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return files
