"""Equal seeds give equal bytes, wherever and however often; other seeds give other sites."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from assetops_data import Size, write_site
from assetops_data.chance import Chance
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[4]
SMALL = Size(years=2, alert_years=1, telemetry_days=20, work_orders=120, alerts=40, anomalies=20)


def digest(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            whole.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def test_a_site_is_replayed_byte_for_byte(tmp_path: Path) -> None:
    first = write_site(tmp_path / "a", seed=b"one", size=SMALL)
    second = write_site(tmp_path / "b", seed=b"one", size=SMALL)
    assert first == second
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


def test_another_process_with_another_order_of_hashes_writes_the_same(tmp_path: Path) -> None:
    write_site(tmp_path / "here", seed=b"one", size=SMALL)
    code = (
        "import sys, pathlib; from assetops_data import Size, write_site; "
        f"write_site(pathlib.Path(sys.argv[1]), seed=b'one', size={SMALL!r})"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": str(ROOT / "competitions/assetops/generator")}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "there")], check=True, env=environment)
    assert digest(tmp_path / "here") == digest(tmp_path / "there")


def test_every_table_depends_on_the_seed(tmp_path: Path) -> None:
    one = write_site(tmp_path / "one", seed=b"one", size=SMALL)
    two = write_site(tmp_path / "two", seed=b"two", size=SMALL)
    assert {machine.id for machine in one.machines}.isdisjoint(machine.id for machine in two.machines)
    fixed = {"failure_modes", "failure_mode_sensors", "failure_codes", "primary_failure_codes", "anomaly_mapping"}
    fixed.add("environment")
    for path in sorted((tmp_path / "one").glob("*.*")):
        same = path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
        assert same == (path.stem in fixed), path.name


@pytest.mark.parametrize(
    "wrong",
    [{"telemetry_days": 0}, {"years": 0}, {"alert_years": 0}, {"alert_years": 99}, {"work_orders": -1}],
)
def test_a_size_that_cannot_be_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"site|count"):
        Size(**wrong)  # type: ignore[arg-type]


def test_a_site_needs_a_seed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="seed"):
        write_site(tmp_path / "site", seed=b"")
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize("days", [1, 2, 5, 9])
def test_the_smallest_sites_can_be_written(tmp_path: Path, days: int) -> None:
    size = Size(years=1, alert_years=0.5, telemetry_days=days, work_orders=0, alerts=0, anomalies=0)
    site = write_site(tmp_path / "site", seed=b"tiny", size=size)
    lines = (tmp_path / "site" / "telemetry" / f"{site.machines[0].id}.csv").read_text().splitlines()
    assert 1 < len(lines) <= days * 96 + 1


@given(st.binary(min_size=1, max_size=20), st.text(max_size=10), st.text(max_size=10))
def test_streams_are_their_seeds_and_names_alone(seed: bytes, name: str, other: str) -> None:
    chance = Chance(seed, "a")
    chance.stream(other).random()
    assert chance.stream(name).random() == Chance(seed, "a").stream(name).random()
    if name != other:
        assert chance.stream(name).random() != chance.stream(other).random()
    assert chance.under("b").stream(name).random() != chance.stream(name).random()


def test_normal_draws_are_normal_and_uniform_ones_uniform() -> None:
    chance = Chance(b"moments")
    normal, uniform = chance.normal("n", 100_001), chance.uniform("u", 100_001)
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1) < 0.02
    assert abs((np.abs(normal) > 1.96).mean() - 0.05) < 0.005
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.01
    walk = chance.wander("w", 50_000, steps=20)
    assert abs(walk.std() - 1) < 0.1
    assert np.corrcoef(walk[1:], walk[:-1])[0, 1] > 0.9
