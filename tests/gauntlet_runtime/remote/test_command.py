"""`gauntlet-worker` as a process, against a site on loopback, with the host's real sandbox."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest
from loopback_site import TOKEN, LoopbackSite
from own_authority import Certified

from gauntlet_runtime.jobs import RunSpec

ROOT = Path(__file__).resolve().parents[3]
QUICK = 'episode = next_episode()\nanswer(episode, "done")\n'
SLOW = f"import time\ntime.sleep(60)\n{QUICK}"


@dataclass
class Started:
    """A worker that runs, and what it said so far."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@dataclass
class Starter:
    """Starts workers of a site."""

    url: str
    folder: Path
    running: list[Started] = field(default_factory=list)

    def __call__(self, *options: str, token: str = TOKEN, url: str = "") -> Started:
        number = len(self.running)
        file = self.folder / f"token-{number}"
        file.write_text(token)
        file.chmod(0o600)
        given = ["--url", url or self.url, "--token-file", str(file), "--folder", str(self.folder / "work")]
        log = self.folder / f"log-{number}"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "gauntlet_runtime.remote", *given, "--min-free", "1M", *options],
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self.running.append(Started(process, log))
        return self.running[-1]

    def run(self, *options: str, **given: Any) -> tuple[int, str]:
        """One that ends by itself: its exit status, and what it said."""
        started = self(*options, **given)
        return started.process.wait(120), started.said


@pytest.fixture
def start(loopback: LoopbackSite, tmp_path: Path) -> Iterator[Starter]:
    """Starts workers, and ends them."""
    made = Starter(loopback.url, tmp_path)
    yield made
    for started in made.running:
        started.process.kill()
        started.process.wait()


@pytest.fixture
def spec(room: Any) -> Callable[..., RunSpec]:
    """Run jobs of the given agents."""

    def make(agent: str, **given: Any) -> RunSpec:
        made = room.spec(agent, **given)
        assert isinstance(made, RunSpec)
        return made

    return make


def test_the_command_is_installed_under_its_name() -> None:
    scripts = tomllib.loads((ROOT / "platform/pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["gauntlet-worker"].partition(":")
    assert callable(getattr(import_module(module), function))


def test_it_works_until_the_queue_is_empty(loopback: LoopbackSite, start: Starter, spec: Any) -> None:
    for job in ("one", "two", "three"):
        loopback.add(spec(QUICK), job=job)
    status, said = start.run("--once", "--processes", "2")
    assert (status, set(loopback.finished)) == (0, {"one", "two", "three"}), said
    ended = [loopback.finished[job].result.episodes[0] for job in ("one", "two", "three")]
    assert {episode.outcome for episode in ended} == {"answered"}
    names = {beat.worker for beat in loopback.beats}
    assert len(names) == 2
    assert {beat.worker for beat in loopback.beats if beat.state == "stopped"} == names
    assert all(beat.version and beat.sandbox for beat in loopback.beats)


def test_over_tls_with_the_sites_own_authority(
    loopback_tls: LoopbackSite, certified: Certified, start: Starter, spec: Any
) -> None:
    loopback_tls.add(spec(QUICK))
    status, said = start.run("--once", "--ca-file", str(certified.authority), url=loopback_tls.url)
    assert (status, set(loopback_tls.finished)) == (0, {"job-1"}), said
    status, said = start.run("--once", url=loopback_tls.url)
    assert status == os.EX_NOHOST
    assert said.splitlines()[-1].startswith("gauntlet-worker: The site's certificate is not trusted here.")
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("answer", "status", "sentence"),
    [
        (401, os.EX_NOPERM, "does not accept this worker's token"),
        (426, os.EX_PROTOCOL, "different versions of their protocol"),
        ((409, "too_many_workers"), os.EX_CANTCREAT, "Too many workers came with this token"),
        (404, os.EX_CONFIG, "no Gauntlet that takes workers"),
        ("garbage", os.EX_CONFIG, "no Gauntlet that takes workers"),
        (("redirect", "https://other.example/"), os.EX_CONFIG, "no Gauntlet that takes workers"),
    ],
)
def test_a_site_that_will_not_have_it_ends_it_with_one_line(
    loopback: LoopbackSite, start: Starter, answer: Any, status: int, sentence: str
) -> None:
    loopback.plant("heartbeat", *[answer] * 10)
    ended, said = start.run("--processes", "2")
    assert ended == status
    assert [line for line in said.splitlines() if line.startswith("gauntlet-worker: ")] == [said.splitlines()[-1]]
    assert sentence in said
    assert "Traceback" not in said
    assert loopback.asked("claims") == 0


def test_a_token_that_is_revoked_in_the_middle_ends_the_job_and_the_worker(
    loopback: LoopbackSite, start: Starter, spec: Any, wait_until: Any
) -> None:
    loopback.add(spec(SLOW))
    started = start()
    wait_until(lambda: loopback.asked("renew"))
    loopback.token = "another-token-altogether"
    assert started.process.wait(60) == os.EX_NOPERM
    assert "does not accept this worker's token" in started.said
    assert (loopback.finished, loopback.given_back) == ({}, {})
    assert TOKEN not in started.said


def test_a_worker_that_is_told_to_end_hands_its_job_back(
    loopback: LoopbackSite, start: Starter, spec: Any, wait_until: Any
) -> None:
    loopback.add(spec(SLOW))
    started = start("--stop-seconds", "0.5", "--processes", "2")
    wait_until(lambda: loopback.asked("renew"))
    pids = [child.pid for child in started.children]
    assert started.stop() == 0
    assert (loopback.handed_back, loopback.given_back) == (["job-1"], {})
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert list(start.folder.glob("work/jobs/*/*")) == []


def test_a_ctrl_c_lets_a_short_job_end(loopback: LoopbackSite, start: Starter, spec: Any, wait_until: Any) -> None:
    loopback.add(spec(f"import time\ntime.sleep(3)\n{QUICK}"))
    started = start("--stop-seconds", "60")
    wait_until(lambda: loopback.asked("renew"))
    started.process.send_signal(signal.SIGINT)
    assert started.process.wait(60) == 0
    assert (set(loopback.finished), loopback.handed_back) == ({"job-1"}, [])
    assert "Traceback" not in started.said


def test_a_process_that_died_is_started_again(
    loopback: LoopbackSite, start: Starter, spec: Any, wait_until: Any
) -> None:
    started = start()
    (first,) = wait_until(lambda: loopback.asked("claims") and started.children)
    first.kill()
    (second,) = wait_until(lambda: [child for child in started.children if child.pid != first.pid])
    loopback.add(spec(QUICK))
    wait_until(lambda: loopback.finished)
    assert "process_died" in started.said
    assert {int(beat.worker.rpartition(":")[2]) for beat in loopback.beats} == {first.pid, second.pid}


def test_processes_end_with_a_main_process_that_was_killed(
    loopback: LoopbackSite, start: Starter, wait_until: Any
) -> None:
    started = start("--processes", "2")
    children = wait_until(lambda: loopback.asked("claims") > 1 and started.children)
    started.process.kill()
    started.process.wait()
    wait_until(lambda: not any(child.is_running() and child.status() != "zombie" for child in children))


def test_a_site_that_is_not_there_yet_and_goes_away_is_waited_for_quietly(
    loopback: LoopbackSite, start: Starter, spec: Any, wait_until: Any
) -> None:
    loopback.plant("heartbeat", 503, 503)
    started = start()
    wait_until(lambda: loopback.asked("claims"))
    loopback.plant("", *["drop"] * 4)
    wait_until(lambda: not loopback.faults)
    loopback.add(spec(QUICK))
    wait_until(lambda: loopback.finished)
    assert len(re.findall("site_is_away", started.said)) == 2  # before the first answer, and after it
    assert "Traceback" not in started.said
    assert started.stop() == 0


def test_a_check_shows_what_is_there_and_what_is_missing(loopback: LoopbackSite, start: Starter) -> None:
    status, said = start.run("--check")
    lines = said.splitlines()
    assert status == 0, said
    assert [line.split()[0] for line in lines] == ["site", "sandbox", "image", "image", "disk"]
    assert "the queue is gpu" in lines[0]
    assert all("  ok  " in line for line in lines)
    assert [beat.state for beat in loopback.beats] == ["stopped"]
    assert loopback.asked("claims") == 0

    (start.folder / "none").mkdir()
    status, said = start.run("--check", "--images", str(start.folder / "none"), "--min-free", "1000T", token="x" * 30)
    assert status == 1
    assert re.search(r"^site +NO +The site does not accept this worker's token", said, re.MULTILINE)
    assert said.count("make it with: python sandbox_images/build.py") == 2
    assert re.search(r"^disk +NO +.* GiB are free in ", said, re.MULTILINE)


def test_a_check_of_a_site_that_is_not_there(start: Starter) -> None:
    status, said = start.run("--check", url="http://127.0.0.1:1")
    assert status == 1
    assert "http://127.0.0.1:1 cannot be reached: the connection failed (ConnectError)." in said


def test_a_sandbox_that_cannot_be_had_is_said_before_anything_is_asked(loopback: LoopbackSite, start: Starter) -> None:
    (start.folder / "work").write_text("a file in its place")
    status, said = start.run()
    assert status == 1
    assert len(said.splitlines()) == 1
    assert loopback.seen == []
