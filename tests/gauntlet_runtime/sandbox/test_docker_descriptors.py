"""A worker runs thousands of programs: of one that is over it holds nothing open, whenever garbage is collected."""

from __future__ import annotations

from docker import APIClient

from gauntlet_runtime.sandbox import open_sandbox, this_process
from gauntlet_runtime.sandbox.interface import SandboxSpec


def test_the_engines_connections_of_a_program_are_closed_with_it(
    docker_engine, state_folder, images_folder, label, monkeypatch
):
    real = APIClient._get_raw_response_socket
    given = []

    def give(client, answer):
        stream = real(client, answer)
        given.append(stream._sock)
        return stream

    monkeypatch.setattr(APIClient, "_get_raw_response_socket", give)
    sandbox = open_sandbox("docker", state=state_folder, images=images_folder)
    command = ["python", "-c", "print('hello')"]
    spec = SandboxSpec(image="gauntlet/agent", command=command, label=label, owner=this_process())
    with sandbox.prepare(spec) as run:
        run.start()
        verdict = run.wait(120)
        assert verdict is not None
        assert verdict.ok
        assert run.log_tail("stdout") == b"hello\n"
    assert [connection.fileno() for connection in given] == [-1, -1]  # the holder's, the program's
