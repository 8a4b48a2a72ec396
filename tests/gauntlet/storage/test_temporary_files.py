"""What killed web servers and workers leave among the temporary files is removed, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gauntlet.evaluation.tasks import tidy

KILLED = """
import os, signal, sys, tempfile
from django.conf import settings
settings.configure(FILE_UPLOAD_TEMP_DIR=sys.argv[1])
from django.core.files.uploadedfile import TemporaryUploadedFile
upload = TemporaryUploadedFile("agent.zip", "application/zip", 3, None)
upload.write(b"abc")
upload.flush()
folder = tempfile.mkdtemp(dir=sys.argv[1])
open(os.path.join(folder, "file"), "w").close()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(settings: Any, tmp_path: Path) -> Path:
    """The folder of temporary files, with what a killed process left there, and what is others'."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    settings.FILE_UPLOAD_TEMP_DIR = str(folder)
    assert subprocess.run([sys.executable, "-c", KILLED, str(folder)], check=False).returncode == -9
    for name in ("check-somehost-1-2-abc", "in-parts"):
        (folder / name).mkdir()
    return folder


def test_they_are_removed_with_the_tidying_once_they_are_old(temporary: Path, settings: Any, db: None) -> None:
    left = [path for path in temporary.iterdir() if path.name.startswith("tmp")]
    assert len(left) == 2
    tidy()
    assert all(path.exists() for path in left)

    old = time.time() - timedelta(seconds=settings.ARTIFACT_SECONDS + 60).total_seconds()
    for path in temporary.iterdir():
        os.utime(path, (old, old))
    tidy()
    assert sorted(path.name for path in temporary.iterdir()) == ["check-somehost-1-2-abc", "in-parts"]
