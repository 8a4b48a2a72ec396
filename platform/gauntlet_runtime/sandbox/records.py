"""What is known on disk of each run, so that another process can clean up after a worker that died."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

_ABANDONED_DRAFT_SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One run of a backend on this host."""

    run: str  # unique; names its folder and its control group
    label: str
    owner: str
    uid: int | None  # of the lease; None where the platform itself runs as a plain user
    groups: tuple[str, ...] = ()  # folders of its control group


def default_state_folder() -> Path:
    """GAUNTLET_STATE, or ./var/sandbox."""
    return Path(os.environ.get("GAUNTLET_STATE", "var/sandbox")).absolute()


def new_run_name(label: str) -> str:
    """A name for a run that no other has."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", label)[:60].strip(".-") + "-" + uuid.uuid4().hex[:12]


def write_record(folder: Path, record: RunRecord) -> Path:
    """Make the run's own folder, with its record in it from the first moment; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".draft-{record.run}"
    draft.mkdir(mode=0o700)
    (draft / "run.json").write_text(json.dumps(asdict(record)), encoding="utf-8")
    return draft.rename(folder / record.run)


def write_label(folder: Path, record: RunRecord, label: str) -> None:
    """Call a run that has its record otherwise from now on."""
    draft = folder / record.run / "run.json.draft"
    draft.write_text(json.dumps({**asdict(record), "label": label}), encoding="utf-8")
    draft.rename(folder / record.run / "run.json")


def read_records(folder: Path) -> Iterator[RunRecord]:
    """Every run that has a folder. Drafts that nobody finished are removed."""
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".draft-"):
            _forget_abandoned(path)
            continue
        try:
            known = json.loads((path / "run.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue  # being removed by its owner
        except ValueError:  # cut off when the machine went down, and all that ran with it
            yield RunRecord(run=path.name, label=path.name, owner="", uid=None)
            continue
        yield RunRecord(**{**known, "groups": tuple(known["groups"])})


def _forget_abandoned(path: Path) -> None:
    try:
        if time.time() - path.stat().st_mtime > _ABANDONED_DRAFT_SECONDS:
            shutil.rmtree(path)
    except FileNotFoundError:
        return


def remove_record(folder: Path, run: str) -> None:
    """Remove the run's folder, the record last of all. Idempotent."""
    path = folder / run
    if path.is_dir():
        for inner in path.iterdir():
            if inner.name != "run.json":
                inner.unlink()
        shutil.rmtree(path, ignore_errors=True)
