"""Which backend is opened, and what is said where none can be had."""

from __future__ import annotations

import pytest

from gauntlet_runtime.sandbox import open_sandbox
from gauntlet_runtime.sandbox.interface import SandboxUnavailable


def test_an_unknown_backend_is_named_with_those_there_are():
    with pytest.raises(SandboxUnavailable, match="bubblewrap, docker"):
        open_sandbox("chroot")


def test_without_bubblewrap_and_docker_it_says_how_to_get_one(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(SandboxUnavailable, match=r"apt-get install -y bubblewrap.*apt-get install -y docker\.io"):
        open_sandbox()


def test_the_best_backend_is_opened_where_none_is_named(tmp_path):
    assert open_sandbox(state=tmp_path).name == "bubblewrap"


@pytest.mark.parametrize("given", ["20 GB", "", "0"])
def test_a_wrong_bound_of_kept_images_stops_the_start_and_not_the_first_image(monkeypatch, tmp_path, given):
    monkeypatch.setenv("GAUNTLET_IMAGE_CACHE_BYTES", given)
    with pytest.raises(SandboxUnavailable, match="GAUNTLET_IMAGE_CACHE_BYTES must be a positive number"):
        open_sandbox("bubblewrap", state=tmp_path)
