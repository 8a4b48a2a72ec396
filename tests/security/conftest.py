"""The zoo, run once for each backend, several programs at a time; and its table at the end of the run."""

from __future__ import annotations

import contextlib
import runpy
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from gauntlet_runtime.gateway.pool import GatewayPool
from gauntlet_runtime.sandbox import open_sandbox
from gauntlet_runtime.sandbox.interface import Sandbox
from gauntlet_runtime.zoo.keeper import Keeper, Row
from gauntlet_runtime.zoo.programs import Program, Zoo, load_zoo
from gauntlet_runtime.zoo.table import table
from gauntlet_runtime.zoo.targets import Targets, open_targets

HERE = Path(__file__).parent
BACKENDS = ("bubblewrap", "docker")
ZOO = load_zoo(HERE / "zoo")
_docker_engine = runpy.run_path(str(HERE.parent / "benchmarks" / "docker_engine.py"))["docker_engine"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each program on each backend, all of one backend before those of the other."""
    if "program" in metafunc.fixturenames:
        cases = [(backend, program) for backend in BACKENDS for program in ZOO.programs]
        names = [f"{backend}-{program.name}" for backend, program in cases]
        metafunc.parametrize(("backend", "program"), cases, ids=names)


@pytest.fixture(scope="session")
def zoo() -> Zoo:
    """Every program."""
    return ZOO


@pytest.fixture(scope="session")
def targets() -> Iterator[Targets]:
    """What the programs are set upon."""
    with open_targets() as opened:
        yield opened


@pytest.fixture(scope="session")
def gateways() -> Iterator[GatewayPool]:
    with GatewayPool() as pool:
        pool.warm()
        yield pool


@pytest.fixture(scope="session")
def docker_engine() -> Iterator[None]:
    """An engine that has the images: the host's, or one that is stopped afterwards."""
    with _docker_engine() as missing:
        assert missing is None, missing
        yield


class Runs:
    """The selected programs on each backend: all of a backend are begun when the first of them is asked for."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path, targets: Targets, gateways: GatewayPool) -> None:
        self._request = request
        self._folder = folder
        self._targets = targets
        self._gateways = gateways
        self._begun: dict[str, dict[str, Future[Row]]] = {}
        self._stack = contextlib.ExitStack()

    def row(self, backend: str, program: Program) -> Row:
        """Wait for that program's verdict."""
        if backend not in self._begun:
            self._begun[backend] = self.keeper(backend).begin(self._selected(backend))
        return self._begun[backend][program.name].result()

    def keeper(self, backend: str, *, wrapped: Callable[[Sandbox], Sandbox] = lambda sandbox: sandbox) -> Keeper:
        """A keeper of the zoo on this backend, closed at the end."""
        if backend == "docker":
            self._request.getfixturevalue("docker_engine")
        folder = self._folder / f"{backend}-{len(list(self._folder.iterdir()))}"
        (folder / "cases").mkdir(parents=True)
        keeper = Keeper(
            ZOO,
            sandbox=wrapped(open_sandbox(backend, state=folder / "state")),
            state=folder / "state",
            folder=folder / "cases",
            targets=self._targets,
            gateways=self._gateways,
        )
        self._stack.callback(keeper.close)
        return keeper

    def _selected(self, backend: str) -> list[Program]:
        calls = [item.callspec.params for item in self._request.session.items if hasattr(item, "callspec")]
        return [call["program"] for call in calls if call.get("backend") == backend and "program" in call]

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(scope="session")
def runs(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    targets: Targets,
    gateways: GatewayPool,
) -> Iterator[Runs]:
    # The engine is asked for through this fixture's own request: so pytest takes it away after the keepers.
    opened = Runs(request, tmp_path_factory.mktemp("zoo"), targets, gateways)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def keep_row(closing_tables: dict[str, str]) -> Iterator[list[Row]]:
    """The rows of the programs that ran; the run prints their table."""
    rows: list[Row] = []
    yield rows
    closing_tables["hostile programs"] = table(rows)
