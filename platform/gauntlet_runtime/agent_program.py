"""What each sandbox of an agent is made of: the image, the program's folder, and the packages that it brought."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gauntlet_runtime.folders import ArtifactFolders
from gauntlet_runtime.jobs import AgentSpec
from gauntlet_runtime.packages import PackagesRefused, install_packages, wants_packages
from gauntlet_runtime.sandbox.interface import Sandbox


@dataclass(frozen=True, kw_only=True)
class AgentProgram:
    """A bundle's folder in an image of the operator's, or an image of the participant's own."""

    spec: AgentSpec
    image: str
    folder: Path | None = None
    packages: Path | None = None


@contextmanager
def opened_program(
    agent: AgentSpec,
    *,
    sandbox: Sandbox,
    files: ArtifactFolders,
    packages_cache: Path,
    owner: str,
    label: str,
    cancelled: threading.Event,
) -> Iterator[AgentProgram | PackagesRefused]:
    """The agent's program, for as long as the context lasts, or why its packages cannot be installed.

    Raises:
        LeaseLost: ``cancelled`` was set.
        SandboxError
    """
    if agent.container is not None:
        archive = files.file(agent.bundle)
        with sandbox.submitted_image(archive, digest=agent.bundle.digest) as image:
            yield AgentProgram(spec=agent, image=image)
        return
    folder = files.folder(agent.bundle)
    packages = None if agent.packages is None else files.folder(agent.packages)
    if packages is None and wants_packages(folder):
        installed = install_packages(
            folder,
            sandbox=sandbox,
            cache=packages_cache,
            image=agent.image,
            owner=owner,
            label=label,
            cancelled=cancelled,
        )
        if isinstance(installed, PackagesRefused):
            yield installed
            return
        packages = installed
    yield AgentProgram(spec=agent, image=agent.image, folder=folder, packages=packages)
