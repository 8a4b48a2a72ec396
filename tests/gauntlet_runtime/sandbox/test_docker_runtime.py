"""The engine as it is asked: directly, and with another container runtime than its own, such as gVisor's."""

from __future__ import annotations

import contextlib

import docker
import pytest

from gauntlet_runtime.sandbox import open_sandbox, this_process
from gauntlet_runtime.sandbox.interface import SandboxSpec, SandboxUnavailable

OTHER = "io.containerd.runc.v2"  # every engine has it, and none takes it where "runc" is its default


def test_the_runtime_reaches_the_container_and_the_program_runs_in_it(docker_engine, state_folder):
    sandbox = open_sandbox("docker", state=state_folder, docker_runtime=OTHER)
    spec = SandboxSpec(image="gauntlet/agent", command=["echo", "ran"], label="test-runtime", owner=this_process())
    with sandbox.prepare(spec) as run, contextlib.closing(docker.from_env()) as client:
        [container] = client.containers.list(filters={"label": f"org.gauntlet.state={state_folder}"})
        assert container.attrs["HostConfig"]["Runtime"] == OTHER
        assert client.info()["DefaultRuntime"] != OTHER
        run.start()
        verdict = run.wait(60)
        assert verdict is not None
        assert verdict.ok
        assert run.log_tail("stdout") == b"ran\n"


def test_a_runtime_that_the_engine_does_not_have_is_refused_before_anything_runs(docker_engine, state_folder):
    with pytest.raises(SandboxUnavailable, match=r"no container runtime 'runsc'.*daemon\.json"):
        open_sandbox("docker", state=state_folder, docker_runtime="runsc")


def test_no_thread_looks_for_a_proxy_for_its_request_to_the_engine(docker_engine, state_folder, monkeypatch):
    """Which is to walk through the environment; the engine is on this host anyway."""
    sandbox = open_sandbox("docker", state=state_folder)
    sandbox.check()

    def looked(*_: object, **__: object) -> None:
        raise AssertionError("a proxy was looked for")

    monkeypatch.setattr("requests.sessions.get_environ_proxies", looked)
    assert sandbox.image_digest("gauntlet/agent")
