"""Participants' images on both backends: nothing of a hostile one runs before the program, and with no privilege."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from image_archives import Layer, python_layer, saved

from gauntlet_runtime.boot import this_boot
from gauntlet_runtime.container_images import CheckedImage, ImageLimits, check_image
from gauntlet_runtime.sandbox import is_alive, open_sandbox, this_process, uids
from gauntlet_runtime.sandbox.docker_images import DockerImages
from gauntlet_runtime.sandbox.image_shelf import ImageShelf
from gauntlet_runtime.sandbox.interface import ImageUnavailable, Limits, Sandbox, SandboxError, SandboxSpec
from gauntlet_runtime.sandbox.submitted_trees import SubmittedTrees

REPORT = """
import json, os
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
wanted = ("Uid", "Gid", "CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
report = {name: status[name].split() for name in wanted}
report |= {"cwd": os.getcwd(), "environment": dict(os.environ), "ran": sorted(os.listdir("/tmp"))}
report["groups"] = [group for group in os.getgroups() if group != os.getgid()]
try:
    open("/new", "w")
except OSError as error:
    report["root"] = error.strerror
print(json.dumps(report))
"""


@pytest.fixture
def own_images(images_folder: Path, tmp_path: Path) -> Path:
    """An images folder with the operator's images, and room for those of participants."""
    folder = tmp_path / "images"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "gauntlet").symlink_to(images_folder / "gauntlet")
    return folder


@pytest.fixture(params=["bubblewrap", "docker"])
def sandbox(request: pytest.FixtureRequest, own_images: Path, state_folder: Path) -> Sandbox:
    """One of the two backends, ready."""
    if request.param == "docker":
        request.getfixturevalue("docker_engine")
    return open_sandbox(request.param, state=state_folder, images=own_images)


@pytest.fixture
def checked(tmp_path: Path) -> Callable[..., tuple[CheckedImage, Path, str]]:
    """Check an image of these layers; give what was found, the archive and its digest."""

    def check(*layers: bytes, **config: Any) -> tuple[CheckedImage, Path, str]:
        content = saved(layers, config=config)
        into = tmp_path / f"{hashlib.sha256(content).hexdigest()[:12]}.image"
        image = check_image(io.BytesIO(content), into, work=tmp_path, limits=ImageLimits())
        return image, into, f"sha256:{hashlib.sha256(into.read_bytes()).hexdigest()}"

    return check


@pytest.fixture
def run_image(sandbox: Sandbox, checked: Any, label: str) -> Callable[..., Any]:
    """Run an image of these layers to its end; give verdict, stdout and stderr."""

    def run(*layers: bytes, environment: dict[str, str] | None = None, **config: Any) -> Any:
        image, archive, digest = checked(*layers, **config)
        with contextlib.ExitStack() as stack:
            name = stack.enter_context(sandbox.submitted_image(archive, digest=digest))
            started = SandboxSpec(
                image=name,
                command=image.command,
                label=label,
                owner=this_process(),
                environment={**image.environment, **(environment or {})},
                working_directory=image.working_directory,
                limits=Limits(seconds=60),
            )
            run = stack.enter_context(sandbox.prepare(started))
            run.start()
            verdict = run.wait(120)
            return verdict, run.log_tail("stdout").decode(), run.log_tail("stderr").decode()

    return run


def hostile_layer() -> bytes:
    """Everything that a careless launcher would run, load or read: each would leave a mark, or give a privilege."""
    trap = "#!/usr/bin/python3.11\nopen('/tmp/' + __file__.replace('/', '_'), 'w')\n"
    layer = Layer()
    for name in ("sh", "dash", "bash", "setpriv", "cat", "env", "perl", "sleep", "true", "id"):
        layer.file(f"usr/bin/{name}", trap, 0o4755)
    layer.file("etc/nsswitch.conf", "passwd: evil files\ngroup: evil files\n")
    # `setpriv --reuid N` looks for a user of the *name* N first: this would make it root.
    every = range(uids.FIRST_UID, uids.FIRST_UID + uids.UID_COUNT)
    layer.file("etc/passwd", "".join(f"{uid}:x:0:0::/:/bin/sh\n" for uid in every))
    layer.file("etc/group", "".join(f"{uid}:x:0:\n" for uid in every))
    layer.file("etc/ld.so.cache", b"\0" * 64).file("etc/ld.so.conf", "/evil\n")
    return layer.tar


def test_a_hostile_image_gets_no_privilege(run_image):
    own = Layer().file("agent.py", REPORT).tar
    environment = ["LD_PRELOAD=/evil.so", "LD_LIBRARY_PATH=/evil", "PERL5OPT=-Mevil", "ENV=/evil.sh", "SHARED=image"]
    verdict, out, err = run_image(
        python_layer(),
        hostile_layer(),
        own,
        Entrypoint=["python3.11", "/agent.py"],
        Cmd=None,
        Env=environment,
        WorkingDir="/agents/own",
        User="0",
        environment={"SHARED": "platform"},
    )
    assert verdict.ok, err
    report = json.loads(out)
    assert len(set(report["Uid"] + report["Gid"])) == 1
    assert int(report["Uid"][0]) >= uids.FIRST_UID
    assert {"".join(report[name]).strip("0") for name in ("CapPrm", "CapEff", "CapInh", "CapBnd", "CapAmb")} == {""}
    assert (report["NoNewPrivs"], report["Seccomp"], report["groups"]) == (["1"], ["2"], [])
    assert report["ran"] == []
    assert report["cwd"] == "/agents/own"
    assert report["root"] == "Read-only file system" or report["root"] == "Permission denied"
    kept = {name: report["environment"].get(name) for name in ("SHARED", "LD_LIBRARY_PATH", "ENV")}
    assert kept == {"SHARED": "platform", "LD_LIBRARY_PATH": "/evil", "ENV": "/evil.sh"}


def test_the_loader_reads_no_preload_file_of_the_image(images_folder, own_images, state_folder, checked, label):
    """The check drops the file; the launcher does not depend on it."""
    own = Layer().file("agent.py", "import os\nprint(os.environ.get('PRELOADED'))\n").tar
    image, archive, digest = checked(python_layer(), own, Entrypoint=["python3.11", "/agent.py"], Cmd=None)
    sandbox = open_sandbox("bubblewrap", state=state_folder, images=own_images)
    with sandbox.submitted_image(archive, digest=digest) as name:
        root = own_images / name / "current" / "rootfs"
        (root / "etc/ld.so.preload").write_text("/nowhere/evil.so\n")
        spec = SandboxSpec(
            image=name, command=["/usr/bin/python3.11", "/agent.py"], label=label, owner=this_process(),
            environment=image.environment,
        )  # fmt: skip
        with sandbox.prepare(spec) as run:
            run.start()
            assert run.wait(60).ok
            # The program's own loader reads it and complains; of what ran before it, nothing did.
            assert run.log_tail("stderr").decode().count("/nowhere/evil.so") == 1


def test_an_image_without_a_shell_runs(run_image):
    own = Layer().file("agent.py", "print('hello')\n").tar
    verdict, out, err = run_image(python_layer(), own, Entrypoint=["/usr/bin/python3.11"], Cmd=["/agent.py"])
    assert (verdict.ok, out) == (True, "hello\n"), err


def test_a_program_of_several_names_starts_by_each(run_image):
    program = Layer().hard_link("usr/bin/second", "usr/bin/python3.11")
    program.file(
        "agent.py", "import os\nprint([os.access(f'/usr/bin/{one}', os.X_OK) for one in ('python3.11', 'second')])"
    )
    verdict, out, err = run_image(python_layer(), program.tar, Entrypoint=["second"], Cmd=["/agent.py"])
    assert (verdict.ok, out) == (True, "[True, True]\n"), err


def test_files_have_the_times_that_they_have_in_the_image(run_image):
    """By them a compiled module is known to be current, which nothing could write anew."""
    program = Layer().add("data", type=tarfile.DIRTYPE, mtime=1_500_000_000).add("data/a.py", mtime=1_600_000_000)
    program.file("agent.py", "import os\nprint([int(os.stat(one).st_mtime) for one in ('/data', '/data/a.py')])")
    verdict, out, err = run_image(python_layer(), program.tar, Entrypoint=["python3.11"], Cmd=["/agent.py"])
    assert (verdict.ok, out) == (True, "[1500000000, 1600000000]\n"), err


def test_an_image_runs_also_where_a_service_makes_files_for_nobody_else(run_image):
    """The umask of a service may be 077; what is in the image is read by a uid of its own."""
    before = os.umask(0o077)
    try:
        own = Layer().file("agents/own/agent.py", "print('ran')").tar
        verdict, out, err = run_image(python_layer(), own, Entrypoint=["python3.11", "/agents/own/agent.py"], Cmd=None)
    finally:
        os.umask(before)
    assert (verdict.ok, out) == (True, "ran\n"), err


def test_how_a_program_ends_is_its_own(run_image):
    own = Layer().file("agent.py", "import sys\nsys.exit(7)\n").tar
    verdict, _, _ = run_image(python_layer(), own, Entrypoint=["/usr/bin/python3.11"], Cmd=["/agent.py"])
    assert verdict.exit_code == 7


def test_an_image_is_made_ready_once_and_again_when_it_is_gone(sandbox, checked, own_images):
    _, archive, digest = checked(Layer().file("agent", "", 0o755).tar)
    for _ in range(2):
        with sandbox.submitted_image(archive, digest=digest) as name:
            assert name == f"submitted/{digest.removeprefix('sha256:')}" + (
                "" if sandbox.name == "docker" else f"-{this_boot()}"  # an engine looks after its own
            )
            known = sandbox.image_digest(name)
    if sandbox.name == "docker":
        with contextlib.closing(docker.from_env()) as client:
            client.images.remove(f"{name}:current")
    else:
        (own_images / name / "current").unlink()
    with pytest.raises(ImageUnavailable):
        sandbox.image_digest(name)
    with sandbox.submitted_image(archive, digest=digest) as name:
        assert sandbox.image_digest(name) == known


@pytest.fixture
def small_shelf(sandbox: Sandbox, own_images: Path, state_folder: Path) -> Iterator[Callable[..., Any]]:
    """The backend's images with room for about two of a megabyte."""
    if sandbox.name == "docker":
        with contextlib.closing(docker.from_env()) as client:
            yield DockerImages(client, state_folder / "docker-images", most_bytes=2_500_000).borrowed
    else:
        yield SubmittedTrees(own_images, most_bytes=2_500_000).borrowed


def test_the_least_recently_used_is_dropped_and_none_in_use(sandbox, small_shelf, checked):
    made = [checked(Layer().file("agent", os.urandom(1_000_000), 0o755).tar)[1:] for _ in range(4)]
    names = []
    with small_shelf(made[0][0], digest=made[0][1]) as first:
        for archive, digest in made[1:]:
            with small_shelf(archive, digest=digest) as name:
                names.append(name)
        assert sandbox.image_digest(first)
    there = []
    for name in names:
        with contextlib.suppress(ImageUnavailable):
            there.append(sandbox.image_digest(name) and name)
    assert there == names[-1:]


def test_what_was_unpacked_before_the_machine_went_down_is_unpacked_anew(own_images, checked, machine_starts_anew):
    trees = SubmittedTrees(own_images, most_bytes=1)
    _, archive, digest = checked(Layer().file("agent", os.urandom(100_000), 0o755).tar)
    with trees.borrowed(archive, digest=digest) as name:
        lost = own_images / name
        (lost / "current/rootfs/agent").write_bytes(b"")  # it never reached the disk, nor did the note of its size
    for record in (own_images / "submitted/.kept").glob("*.json"):
        record.write_bytes(b"")
    machine_starts_anew()
    for _ in range(2):  # the second time there is something to be dropped
        with trees.borrowed(archive, digest=digest) as name:
            assert (own_images / name / "current/rootfs/agent").stat().st_size == 100_000
    assert own_images / name != lost


def test_a_damaged_archive_is_the_platforms_fault(sandbox, tmp_path):
    archive = tmp_path / "archive"
    archive.write_bytes(b"\x28\xb5\x2f\xfd nonsense")
    with pytest.raises(SandboxError), sandbox.submitted_image(archive, digest="sha256:" + "0" * 64):
        pass


def test_two_who_need_one_at_once_make_it_once(tmp_path):
    made: list[int] = []
    there: set[str] = set()
    both = threading.Barrier(2)

    def make() -> int:
        made.append(1)
        there.add("one")
        return 1

    def borrow() -> None:
        shelf = ImageShelf(tmp_path, is_there=there.__contains__, drop=there.discard, most_bytes=10)
        both.wait(60)
        with shelf.borrowed("one", make):
            both.wait(60)  # both have it at the same time

    threads = [threading.Thread(target=borrow) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert made == [1]


KILLED_WHILE_UNPACKING = """
import os, signal, sys
from pathlib import Path
from gauntlet_runtime.sandbox import submitted_trees

unpack = submitted_trees.unpack_image
submitted_trees.unpack_image = lambda *given: unpack(*given) and os.kill(os.getpid(), signal.SIGKILL)
with submitted_trees.SubmittedTrees(Path(sys.argv[1])).borrowed(Path(sys.argv[2]), digest=sys.argv[3]):
    pass
"""


def test_what_a_killed_worker_had_unpacked_is_removed_and_the_image_is_unpacked_anew(own_images, state_folder, checked):
    _, archive, digest = checked(Layer().file("agent", os.urandom(100_000), 0o755).tar)
    command = [sys.executable, "-c", KILLED_WHILE_UNPACKING, str(own_images), str(archive), digest]
    assert subprocess.run(command, check=False).returncode == -9
    place = own_images / "submitted"
    left = list(place.glob("**/agent"))
    assert len(left) == 1

    sandbox = open_sandbox("bubblewrap", state=state_folder, images=own_images)
    assert len(sandbox.reap(is_alive)) == 1
    assert [path for path in place.iterdir() if path.name != ".kept"] == []
    with sandbox.submitted_image(archive, digest=digest) as name:
        assert (own_images / name / "current/rootfs/agent").stat().st_size == 100_000


def test_what_a_living_worker_unpacks_is_left_alone(own_images, state_folder):
    (own_images / "submitted").mkdir()
    with SubmittedTrees(own_images)._draft() as draft:
        assert open_sandbox("bubblewrap", state=state_folder, images=own_images).reap(is_alive) == []
        assert Path(draft).is_dir()
