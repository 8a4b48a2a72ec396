"""Who may know whom: web -> apps -> gauntlet_runtime -> gauntlet_scoring, and never the other way round.

The whole rule is the tables below. An import counts wherever it stands: in a function, under TYPE_CHECKING, relative or
by `import_module`, since each of them is knowledge of the other room.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

#: The parts of the Django project; each may import those before it. Boards come before evaluations, which put their
#: result on the board in the transaction that finishes them. The demonstration uses the apps as the pages do.
APPS = (
    *("accounts", "queues", "storage", "competitions", "submissions", "leaderboards", "metering", "trajectories"),
    *("evaluation", "reviews", "demonstration", "web"),
)
#: Modules of the project that put the apps together: they may import every app, and no app may import them.
ASSEMBLY = {"settings", "urls", "asgi", "api"}
#: Modules of the project that every app stands on: they may import no app.
FOUNDATION = {
    *("states", "api_errors", "api_requests", "away", "body_limit", "csv_cells", "readable_requests"),
    *("celery", "doorbell", "environment", "one_by_one", "plain_json", "processes", "stopping", "upkeep"),
}

#: Source folder: what it may import of this repository.
ROOMS = {
    "platform/gauntlet": {"gauntlet", "gauntlet_runtime", "gauntlet_scoring"},
    "platform/gauntlet_runtime": {"gauntlet_runtime", "gauntlet_scoring"},
    "scoring_programs": {"gauntlet_scoring"},
    "starter_kits": {"gauntlet_agent"},
    "competitions": {"gauntlet_scoring", "gauntlet_agent"},
    "sandbox_images": set[str](),
}
#: Single files that may know more, and why.
WIDER = {
    # `gauntlet test` runs the same sandbox and gateway on the participant's machine.
    "starter_kits/gauntlet_agent/cli/local.py": {"gauntlet_runtime", "gauntlet_scoring"},
    "starter_kits/gauntlet_agent/cli/home_judge.py": {"gauntlet_scoring"},
}
OURS = {"gauntlet", "gauntlet_runtime", "gauntlet_scoring", "gauntlet_agent"}
#: Source folder: what it may not import of anybody else's.
FOREIGN = {
    "platform/gauntlet": {"torch", "transformers", "bert_score"},
    "platform/gauntlet_runtime": {"django", "celery", "rest_framework", "torch", "transformers", "bert_score"},
    "scoring_programs": {"django", "celery", "rest_framework"},
    "starter_kits": {"django", "celery", "rest_framework", "torch", "transformers", "bert_score"},
    "competitions": {"django", "celery", "rest_framework", "torch", "transformers", "bert_score"},
    "sandbox_images": {"django", "torch"},
}


def imported(path: PurePosixPath, source: str) -> Iterator[str]:
    """The dotted names that a file imports; relative ones are resolved from the file's place under its source root."""
    package = path.parts[1:-1]
    for node in ast.walk(ast.parse(source, str(path))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *(node.module.split(".") if node.module else ())])
            # `from gauntlet import web` names the room in what is imported, not in the module.
            yield from (f"{module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield node.args[0].value


def room_of(path: PurePosixPath) -> str | None:
    """The source folder of `ROOMS` that a file belongs to."""
    return next((room for room in ROOMS if path.is_relative_to(room)), None)


def part_of_project(module: tuple[str, ...]) -> str:
    """The app or module of the Django project that a dotted name below `gauntlet` leads to."""
    return module[1] if len(module) > 1 else ""


def project_fault(importer: str, target: str) -> str | None:
    """Why one part of the Django project may not import another, or None."""
    if not target or importer == target or importer in ASSEMBLY:
        return None
    if target in ASSEMBLY:
        return f"{importer} imports {target}, which puts the apps together"
    if target in FOUNDATION:
        return None
    if target not in APPS:
        return f"{target} has no place in the tables of this test"
    if importer in FOUNDATION:
        return f"{importer} is what apps stand on, and imports the app {target}"
    if importer not in APPS:
        return f"{importer} has no place in the tables of this test"
    return None if APPS.index(target) < APPS.index(importer) else f"{importer} may not know {target}"


def faults(name: str, source: str) -> list[str]:
    """What is wrong with the imports of the file `name` (relative to the repository)."""
    path = PurePosixPath(name)
    room = room_of(path)
    if room is None:
        return []
    allowed = ROOMS[room] | WIDER.get(name, set())
    found = []
    for dotted in imported(path, source):
        module = tuple(dotted.split("."))
        if module[0] in FOREIGN[room]:
            found.append(f"{name}: {room} may not import {module[0]}")
        elif module[0] in OURS and module[0] not in allowed:
            found.append(f"{name}: {room} may not know {module[0]}")
        elif module[0] == "gauntlet":
            fault = project_fault(path.parts[2].removesuffix(".py"), part_of_project(module))
            found += [f"{name}: {fault}"] if fault else []
    return found


def test_no_file_breaks_the_rule(root: Path, tracked: list[Path]) -> None:
    python = [path for path in tracked if path.suffix == ".py" and room_of(PurePosixPath(path)) is not None]
    assert {room_of(PurePosixPath(path)) for path in python} == set(ROOMS)
    assert [fault for path in python for fault in faults(path.as_posix(), (root / path).read_text())] == []


def test_every_part_of_the_project_has_a_place(root: Path) -> None:
    parts = {path.stem for path in (root / "platform" / "gauntlet").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert parts - {"__init__", "__pycache__"} <= {*APPS, *ASSEMBLY, *FOUNDATION}


@pytest.mark.parametrize(
    ("name", "source", "fault"),
    [
        ("platform/gauntlet/accounts/services.py", "from gauntlet.web import forms", "accounts may not know web"),
        ("platform/gauntlet/accounts/services.py", "from gauntlet import web", "accounts may not know web"),
        ("platform/gauntlet/storage/models.py", "from ..evaluation import models", "storage may not know evaluation"),
        ("platform/gauntlet/storage/deep/er.py", "from ... import evaluation", "storage may not know evaluation"),
        ("platform/gauntlet/web/views/home.py", "import gauntlet.settings", "web imports settings"),
        ("platform/gauntlet/states.py", "from gauntlet.accounts import models", "states is what apps stand on"),
        ("platform/gauntlet/accounts/models.py", "from gauntlet import nowhere", "nowhere has no place"),
        ("platform/gauntlet/web/views/home.py", "import gauntlet_agent", "may not know gauntlet_agent"),
        ("platform/gauntlet/web/views/home.py", "def f():\n import torch", "may not import torch"),
        ("platform/gauntlet_runtime/jobs.py", "import gauntlet.evaluation", "may not know gauntlet"),
        ("platform/gauntlet_runtime/jobs.py", "from django.db import models", "may not import django"),
        (
            "platform/gauntlet_runtime/jobs.py",
            "if TYPE_CHECKING:\n import gauntlet.web",
            "gauntlet_runtime may not know gauntlet",
        ),
        ("platform/gauntlet_runtime/jobs.py", "import_module('gauntlet.web')", "may not know gauntlet"),
        ("platform/gauntlet_runtime/jobs.py", "importlib.import_module('torch.nn')", "may not import torch"),
        ("scoring_programs/gauntlet_scoring/x.py", "import gauntlet_runtime.jobs", "may not know gauntlet_runtime"),
        ("scoring_programs/rubric/score.py", "import gauntlet_runtime", "may not know gauntlet_runtime"),
        ("starter_kits/gauntlet_agent/episode.py", "import gauntlet_runtime", "may not know gauntlet_runtime"),
        ("starter_kits/minimal/agent.py", "import gauntlet_scoring", "may not know gauntlet_scoring"),
        ("competitions/quickstart/environment/server.py", "import gauntlet_runtime", "may not know gauntlet_runtime"),
    ],
)
def test_a_planted_fault_is_found(name: str, source: str, fault: str) -> None:
    assert [f for f in faults(name, source) if fault in f], faults(name, source)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("platform/gauntlet/web/views/home.py", "from gauntlet.accounts import selectors\nimport gauntlet_runtime"),
        ("platform/gauntlet/evaluation/models.py", "from ..storage.models import Artifact\nfrom . import states"),
        ("platform/gauntlet/urls.py", "from gauntlet.web import urls"),
        ("platform/gauntlet_runtime/services/home.py", "from .errors import ServiceError\nimport gauntlet_scoring"),
        ("starter_kits/gauntlet_agent/cli/local.py", "import gauntlet_runtime"),
    ],
)
def test_what_is_right_passes(name: str, source: str) -> None:
    assert faults(name, source) == []


def test_the_agents_other_modules_do_not_load_the_runtime(root: Path) -> None:
    """The test command may know the runtime, but only from inside its functions: the client installs without it."""
    for name in WIDER:
        top_level = [n for n in ast.parse((root / name).read_text()).body if isinstance(n, ast.Import | ast.ImportFrom)]
        source = "\n".join(ast.unparse(node) for node in top_level)
        assert [
            dotted for dotted in imported(PurePosixPath(name), source) if dotted.startswith("gauntlet_runtime")
        ] == []
