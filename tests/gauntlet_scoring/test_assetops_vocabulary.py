"""What a ground truth of the AssetOps competition may name is what its environment offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gauntlet_scoring.validation import ASSETOPS

ENVIRONMENT = Path(__file__).resolve().parents[2] / "competitions" / "assetops" / "environment"


def test_the_vocabulary_has_the_environments_tools_and_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ENVIRONMENT))
    from assetops_tools.program import TOOLS

    offered = {tool.name: (tool.server, set(tool.required), set(tool.properties)) for tool in TOOLS}
    servers = {agent.server: agent.tools for agent in ASSETOPS.agents.values()} | ASSETOPS.shared
    named = {
        name: (server, set(tool.required), {*tool.required, *tool.optional})
        for server, tools in servers.items()
        for name, tool in tools.items()
    }
    assert named == offered
