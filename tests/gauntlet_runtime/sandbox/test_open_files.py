"""How many files a sandbox's programs may open: never all that the host has."""

from __future__ import annotations

import resource

import pytest
from docker.types import Ulimit

from gauntlet_runtime.sandbox import docker, open_sandbox, this_process
from gauntlet_runtime.sandbox.interface import SandboxSpec
from gauntlet_runtime.sandbox.open_files import open_files

ENDLESS = 9_223_372_036_854_775_807  # as systemd sets it


@pytest.mark.parametrize(
    ("of_the_host", "of_the_worker", "limits"),
    [
        (ENDLESS, resource.RLIM_INFINITY, (1024, 65_536)),
        (ENDLESS, 524_288, (1024, 65_536)),
        (ENDLESS, 20_000, (1024, 20_000)),
        (ENDLESS, 512, (512, 512)),
        (2_466_193, resource.RLIM_INFINITY, (1024, 4_816)),  # the kernel's own, with 24 GiB
        (100_000, resource.RLIM_INFINITY, (1024, 1024)),  # programs take that many for granted
    ],
)
def test_all_processes_of_a_sandbox_have_a_fourth_of_the_hosts_number(
    tmp_path, monkeypatch, of_the_host, of_the_worker, limits
):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1024, of_the_worker))
    file_max = tmp_path / "file-max"
    file_max.write_text(f"{of_the_host}\n")
    assert open_files(128, file_max=file_max) == limits


READ_THEM = """
import resource
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (65_537, 65_537))
except ValueError:
    print("kept")
"""


def test_a_program_has_these_limits_and_cannot_raise_them(execute):
    assert execute(READ_THEM).stdout.split() == [*map(str, open_files(128)), "kept"]


def test_it_has_them_where_dockers_runtime_left_others(docker_engine, state_folder, label, monkeypatch):
    soft, hard = open_files(128)

    def raised(*, name: str, soft: int, hard: int) -> Ulimit:
        return (
            Ulimit(name=name, soft=hard + 7, hard=hard + 7)
            if name == "nofile"
            else Ulimit(name=name, soft=soft, hard=hard)
        )

    monkeypatch.setattr(docker, "Ulimit", raised)
    sandbox = open_sandbox("docker", state=state_folder)
    command = ["sh", "-c", "ulimit -S -n; ulimit -H -n"]
    spec = SandboxSpec(image="gauntlet/base", command=command, label=label, owner=this_process())
    with sandbox.prepare(spec) as run:
        run.start()
        run.wait(60)
        assert run.log_tail("stdout").decode().split() == [str(soft), str(hard)]
