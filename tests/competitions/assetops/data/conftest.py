"""One site of the usual size, and its tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from assetops_data import Site, write_site

ROOT = Path(__file__).resolve().parents[4]
ReadTable = Callable[[str], pd.DataFrame]


@pytest.fixture(scope="session")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("assetops-data") / "site"


@pytest.fixture(scope="session")
def site(site_folder: Path) -> Site:
    return write_site(site_folder, seed=b"for the tests of the data")


@pytest.fixture(scope="session")
def table(site: Site, site_folder: Path) -> ReadTable:
    """Read a table of the site; its times as times."""
    times = {"finished", "started", "reported", "time", "start", "end", "timestamp"}

    def read(name: str) -> pd.DataFrame:
        found = pd.read_csv(site_folder / f"{name}.csv")
        for column in times & set(found.columns):
            found[column] = pd.to_datetime(found[column])
        return found

    return read


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the real records."""
    return Path(os.environ.get("GAUNTLET_SHARED", ROOT.parent / "shared"))
