"""Installs an agent's own packages: once, offline, in a sandbox of its own, cached by what they were made from."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gauntlet_runtime.boot import this_boot
from gauntlet_runtime.environments import BARE_ENVIRONMENT, PROGRAM_FOLDER
from gauntlet_runtime.jobs import Failure, LeaseLost
from gauntlet_runtime.sandbox.interface import Limits, Mount, Run, Sandbox, SandboxSpec, Verdict
from gauntlet_runtime.verdicts import limit_hit, limit_sentence, readable
from gauntlet_scoring.failures import FailureCode

REQUIREMENTS: Final = "requirements.txt"
WHEELS: Final = "wheels"
TARGET: Final = "/app/packages"
INSTALL_LIMITS: Final = Limits(
    seconds=300.0, memory=2 << 30, output=1 << 30, output_files=100_000, scratch=1 << 30, cpus=2.0
)
LOG_BYTES: Final = 32 << 10
UNUSED_SECONDS: Final = 24 * 3600.0  # after which installed packages are dropped; the platform stores them elsewhere
_POLL_SECONDS: Final = 0.1  # how soon a cancelled job notices
# The image's own pip, else the one that every Python carries for `ensurepip`: a wheel, which runs as it is.
_PIP: Final = """
import ensurepip, glob, importlib.util, os, runpy, sys, sysconfig
if importlib.util.find_spec("pip") is None:
    bundled = os.path.join(os.path.dirname(ensurepip.__file__), "_bundled")
    folder = sysconfig.get_config_var("WHEEL_PKG_DIR") or bundled
    sys.path[:0] = sorted(glob.glob(os.path.join(folder, "pip-*.whl")))[-1:]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True)
class PackagesRefused:
    """The packages could not be installed: why, and pip's own words."""

    failure: Failure
    log: str


def wants_packages(bundle: Path) -> bool:
    """Whether an agent bundle asks for packages of its own."""
    return (bundle / REQUIREMENTS).is_file()


def install_packages(
    bundle: Path,
    *,
    sandbox: Sandbox,
    cache: Path,
    image: str,
    owner: str,
    label: str,
    limits: Limits = INSTALL_LIMITS,
    cancelled: threading.Event | None = None,
) -> Path | PackagesRefused:
    """The folder that holds what the bundle's ``requirements.txt`` names, installed from its ``wheels/``.

    What was installed before from the same files for the same image is used again. Several processes may ask at once:
    the others wait for the first.

    Raises:
        LeaseLost: ``cancelled`` was set meanwhile.
        SandboxError: the platform failed.
    """
    name = _digest(bundle, image_digest=sandbox.image_digest(image))
    cache.mkdir(parents=True, exist_ok=True)
    installed = cache / name
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if installed.is_dir():
            os.utime(installed)
            return installed
        with tempfile.TemporaryDirectory(prefix=".installing-", dir=cache) as making:
            place = Path(making) / "packages"
            place.mkdir()
            spec = _sandbox_spec(bundle, image=image, owner=owner, label=label, limits=limits)
            refused = _install(spec, into=place, sandbox=sandbox, cancelled=cancelled or threading.Event())
            if refused is not None:
                return refused
            for path in (place, *place.rglob("*")):
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
            place.rename(installed)
            os.utime(installed)
    _drop_unused(cache)
    return installed


def _drop_unused(cache: Path) -> None:
    """Remove what nobody has asked for in a while, and what killed processes left; locks stay, others may wait on them.

    Who asks keeps the folder for one job at most, which is over by then.
    """
    for folder in [path for path in cache.iterdir() if path.is_dir()]:
        with (cache / f"{folder.name}.lock").open("w") as lock, suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # so that nobody is being given it meanwhile
            if time.time() - folder.lstat().st_mtime > UNUSED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _sandbox_spec(bundle: Path, *, image: str, owner: str, label: str, limits: Limits) -> SandboxSpec:
    pip = ["python", "-c", _PIP, "install", "--disable-pip-version-check", "--no-input", "--no-cache-dir"]
    source = ["--no-index", "--only-binary", ":all:", "--find-links", f"{PROGRAM_FOLDER}/{WHEELS}"]
    return SandboxSpec(
        image=image,
        command=[*pip, *source, "--target", TARGET, "-r", f"{PROGRAM_FOLDER}/{REQUIREMENTS}"],
        label=f"{label}-packages",
        owner=owner,
        environment=BARE_ENVIRONMENT,
        working_directory=PROGRAM_FOLDER,
        mounts=[Mount(target=PROGRAM_FOLDER, source=bundle), Mount(target=TARGET, writable=True)],
        limits=limits,
    )


def _install(spec: SandboxSpec, *, into: Path, sandbox: Sandbox, cancelled: threading.Event) -> PackagesRefused | None:
    with sandbox.prepare(spec) as run:
        run.start()
        verdict = _wait(run, cancelled)
        if not verdict.ok:
            return PackagesRefused(_refusal(verdict, spec.limits), _log_of(run))
        collected = run.collect(TARGET, into)
    if collected.truncated:
        most = f"{spec.limits.output >> 20} MiB or {spec.limits.output_files} files"
        said = f"The agent's packages take more than {most}. Leave out what the agent does not use."
        return PackagesRefused(Failure(code=FailureCode.INVALID_BUNDLE, message=said), "")
    return None


def _wait(run: Run, cancelled: threading.Event) -> Verdict:
    while (verdict := run.wait(timeout=_POLL_SECONDS)) is None:
        if cancelled.is_set():
            raise LeaseLost
    return verdict


def _refusal(verdict: Verdict, limits: Limits) -> Failure:
    code = limit_hit(verdict)
    if code is not None:
        said = limit_sentence(code, verdict, subject="Installing the agent's packages", limits=limits)
    else:
        said = (
            f"The packages in {REQUIREMENTS} could not be installed from {WHEELS}/ without a network. "
            "What pip said is in the log; put a wheel of each package and of what it needs into the bundle."
        )
    return Failure(code=FailureCode.INVALID_BUNDLE, message=said)


def _log_of(run: Run) -> str:
    streams = (readable(run.log_tail(stream, LOG_BYTES)) for stream in ("stdout", "stderr"))
    return "".join(streams)


def _digest(bundle: Path, *, image_digest: str) -> str:
    """Of all that decides what is installed: the image's Python, the requirements, the wheels; and of the boot."""
    whole = hashlib.sha256(f"{this_boot()} {image_digest}".encode())
    wheels = sorted(path for path in (bundle / WHEELS).rglob("*") if path.is_file())
    for path in (bundle / REQUIREMENTS, *wheels):
        name = path.relative_to(bundle).as_posix().encode()
        whole.update(len(name).to_bytes(4, "big") + name)
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()
