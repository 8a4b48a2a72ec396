"""The site as one program: which tools it offers, and what an episode does with them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from assetops_tools import distractors, fmsr, iot, utilities, wo
from assetops_tools.errors import BadArgument
from assetops_tools.scratch import Scratch
from assetops_tools.site import Site
from assetops_tools.storage import Storage
from assetops_tools.tool import DISTRACTORS, Answer, Episode, Tool
from assetops_tools.tsfm import tools as tsfm

RESET: Final = "gauntlet_reset"
STATE: Final = "gauntlet_state"
TOOLS: Final = (*iot.TOOLS, *utilities.TOOLS, *fmsr.TOOLS, *tsfm.TOOLS, *wo.TOOLS)
OpenStorage = Callable[[], Storage]


@dataclass(frozen=True)
class Switches:
    """What ``environment.json`` says; where a word is missing: all tools, no distractors, every scenario."""

    tools: bool = True
    distractors: bool = False
    scenarios: frozenset[str] | None = None

    @classmethod
    def read(cls, folder: Path) -> Switches:
        """The switches of a data folder.

        Raises:
            ValueError: the file holds something else.
        """
        path = folder / "environment.json"
        if not path.is_file():
            return cls()
        found = json.loads(path.read_text(encoding="utf-8"))
        flags = {key: found[key] for key in ("tools", "distractors") if isinstance(found, dict) and key in found}
        listed = found.get("scenarios") if isinstance(found, dict) else None
        if not isinstance(found, dict) or not all(isinstance(flag, bool) for flag in flags.values()):
            raise ValueError("environment.json must be an object whose tools and distractors are true or false")
        return cls(**flags, scenarios=None if listed is None else frozenset(map(str, listed)))


def offered(switches: Switches, only: str | None = None) -> dict[str, Tool]:
    """The tools by name: of all servers, or of one alone."""
    if not switches.tools:
        return {}
    tools = [one for one in TOOLS if only is None or one.server == only]
    if switches.distractors and only in (None, DISTRACTORS):
        tools += distractors.TOOLS
    return {one.name: one for one in tools}


class SiteProgram:
    """One site, and the open episode.

    Args:
        folder: the data folder
        scratch: a folder of its own for the files of episodes
        open_storage: opens the records; called once, at the first reset
        only: the one server to offer; all where None
    """

    def __init__(self, folder: Path, scratch: Path, *, open_storage: OpenStorage, only: str | None = None) -> None:
        self._folder = folder
        self._scratch = Scratch(scratch, folder)
        self._open_storage = open_storage
        self._switches = Switches.read(folder)
        self._site: Site | None = None
        self._episode: Episode | None = None
        self._calls: Counter[str] = Counter()
        self.tools: Mapping[str, Tool] = offered(self._switches, only)

    def answer(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """What a tool answers.

        Raises:
            BadArgument: the tool or its arguments cannot be used so.
        """
        if name == RESET:
            return self._reset(arguments)
        if name == STATE:
            return self._state()
        tool = self.tools.get(name)
        if tool is None:
            raise BadArgument(f"There is no tool {name!r:.80}.")
        if self._episode is None:
            raise BadArgument("No episode is open.")
        _refuse_unknown(tool, arguments)
        self._calls[name] += 1
        return tool.answer(self._episode, arguments)

    def _reset(self, arguments: Mapping[str, Any]) -> Answer:
        """Begin an episode. Whatever speaks against it is found before anything of the last one is dropped."""
        scenario = arguments.get("scenario")
        if not isinstance(scenario, str) or not scenario.strip():
            raise BadArgument("scenario is required and must be text.")
        if self._switches.scenarios is not None and scenario not in self._switches.scenarios:
            raise BadArgument(f"There is no scenario {scenario!r:.80} in this task.")
        if self._site is None:
            site = Site(self._folder, self._open_storage())
            if not site.assets:
                raise BadArgument("The data folder holds no records of any equipment.")
            self._site = site
        self._scratch.clear()
        self._calls.clear()
        self._episode = Episode(self._site, self._scratch, scenario)
        return {"ready": True, "equipment": len(self._site.assets), "tools": len(self.tools)}

    def _state(self) -> Answer:
        if self._episode is None:
            return {"scenario": None, "calls": {}, "files": [], "recommendations": []}
        return {
            "scenario": self._episode.scenario,
            "calls": dict(self._calls),
            "files": self._scratch.names(),
            "recommendations": self._episode.kept.get("recommendations", []),
        }


def _refuse_unknown(tool: Tool, arguments: Mapping[str, Any]) -> None:
    unknown = sorted(set(arguments) - set(tool.properties))
    if unknown:
        takes = ", ".join(tool.properties) or "no arguments"
        raise BadArgument(f"{tool.name} does not take {', '.join(unknown)[:80]}; it takes {takes}.")


def storage_opener(folder: Path, scratch: Path) -> OpenStorage:
    """How to open a folder's records: in DuckDB, or on the server that ``ASSETOPS_COUCHDB`` names.

    ``ASSETOPS_COUCHDB_PREFIX`` is what the names of the databases begin with. Each library is imported only where it
    is used.
    """
    url = os.environ.get("ASSETOPS_COUCHDB")
    if url:
        from assetops_tools.couchdb_storage import PREFIX, CouchDBStorage

        return lambda: CouchDBStorage(url, prefix=os.environ.get("ASSETOPS_COUCHDB_PREFIX", PREFIX))
    from assetops_tools.duckdb_storage import DuckDBStorage

    return lambda: DuckDBStorage(folder, database=scratch / "records.duckdb")
